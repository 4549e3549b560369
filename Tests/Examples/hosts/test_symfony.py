"""Examples/integrations/symfony in php-fpm, and in Messenger's workers with a queue in Redis, while APNs goes away."""

import urllib.parse

import phphost
import pytest
from apns import PORT
from hosts import FIRST, Host, Told, redis

COMPONENTS = ("Notifier", "HttpClient", "EventDispatcher", "Messenger")


@pytest.fixture
def environment(apns):
    options = {"team": apns.ready["token_team_id"], "topic": "com.example.app", "key": apns.ready["token_key"],
               "ca_file": apns.ready["ca"], "timeout": "1"}  # fmt: skip
    dsn = f"apns://{apns.ready['token_key_id']}@127.0.0.1:{PORT}?{urllib.parse.urlencode(options)}"
    debian = [f"Symfony/Component/{one}" for one in COMPONENTS]
    return phphost.environment("symfony", debian, APNS_DSN=dsn, APNS_CERTIFICATE=apns.ready["provider"])


def test_units(environment):
    phphost.unit_tests(environment)


def test_fpm(environment, apns, tmp_path):
    phphost.push_in_fpm(apns, "symfony_page.php", environment, tmp_path)


def test_worker(environment, apns, tmp_path):
    """Two forked workers live through an end of their connections, old provider tokens and an absence of APNs."""
    told = Told(tmp_path / "told", tmp_path / "consumer.log")
    worker = phphost.php(phphost.SCRIPTS / "symfony_worker.php")
    with redis(tmp_path), Host([*worker, "consume", FIRST, told.path], tmp_path / "consumer.log", env=environment):
        told.wait(lambda: FIRST in told.tokens("sent"))
        phphost.live_long(apns, told, [*worker, "produce"], environment)
    assert len({row["worker"] for row in told.rows("sent")}) == 3
    phphost.judge(apns, told)
