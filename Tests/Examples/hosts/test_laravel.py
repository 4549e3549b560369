"""Examples/integrations/laravel in php-fpm, and in the workers of Laravel's queue, while APNs goes away."""

import shutil

import phphost
import pytest
from apns import PORT
from hosts import Host, Told, redis

APPLICATION = phphost.SCRIPTS / "laravel"


@pytest.fixture
def environment(apns, tmp_path):
    app = tmp_path / "app"
    shutil.copytree(APPLICATION / "config", app / "config")
    (app / "bootstrap/cache").mkdir(parents=True)
    (app / "storage/logs").mkdir(parents=True)
    return phphost.environment(
        "laravel", ["Illuminate"], APNS_CERTIFICATE=apns.ready["provider"], APNS_APP=str(app),
        APNS_TOLD=str(tmp_path / "told"), APN_KEY_ID=apns.ready["token_key_id"],
        APN_TEAM_ID=apns.ready["token_team_id"], APN_PRIVATE_KEY=apns.ready["token_key"],
        APN_BUNDLE_ID="com.example.app", APN_PORT=str(PORT), APN_CA_FILE=apns.ready["ca"],
    )  # fmt: skip


def test_units(environment):
    phphost.unit_tests(environment)


def test_fpm(environment, apns, tmp_path):
    phphost.push_in_fpm(apns, "laravel/page.php", environment, tmp_path, "extension=mbstring", "extension=ctype")


def test_queue(environment, apns, tmp_path):
    """Two workers live through an end of their connections, old provider tokens and an absence of APNs."""
    told = Told(tmp_path / "told", tmp_path / "workers.log")
    artisan = phphost.php(APPLICATION / "artisan.php")

    def worker():
        return Host([*artisan, "queue:work", "--sleep=0.05", "--tries=0"], tmp_path / "workers.log", env=environment)

    with redis(tmp_path), worker(), worker():
        phphost.live_long(apns, told, [*artisan, "push"], environment)
    assert told.rows("failed") == []
    assert len({row["worker"] for row in told.rows("sent")}) == 2
    phphost.judge(apns, told)
