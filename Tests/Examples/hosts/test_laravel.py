"""Examples/integrations/laravel in the workers of Laravel's queue, while APNs goes away."""

import collections
import contextlib
import shutil
import signal
import subprocess

import loopback
import phphost
import pytest
from apns import BAD, COUNT, GOOD, PORT, token
from simulator import DEADLINE, until
from told import Told

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


@contextlib.contextmanager
def workers(environment, count, directory):
    """Laravel's queue workers, which end gracefully."""
    command = phphost.php(APPLICATION / "artisan.php", "queue:work", "--sleep=0.05", "--tries=0")
    with open(directory / "workers.log", "wb") as log:
        running = [subprocess.Popen(command, env=environment, stdout=log, stderr=log) for _ in range(count)]
        try:
            yield
            for one in running:
                assert one.poll() is None, "a worker has ended by itself"
                one.send_signal(signal.SIGTERM)
            for one in running:
                assert one.wait(DEADLINE) == 0, (directory / "workers.log").read_text()
        finally:
            for one in running:
                one.kill()
                one.wait()


def test_queue(environment, apns, tmp_path):
    """Two workers live through an end of their connections, old provider tokens and an absence of APNs."""
    told = Told(tmp_path / "told", tmp_path / "workers.log")

    def put(first, end):
        tokens = "".join(token(n) + "\n" for n in range(first, end))
        command = phphost.php(APPLICATION / "artisan.php", "push")
        run = subprocess.run(command, env=environment, input=tokens, text=True, capture_output=True)
        assert run.returncode == 0, run.stdout + run.stderr

    def wait(count):
        told.wait(lambda: len(told.tokens("sent", "gone")) >= count)

    with loopback.redis(tmp_path), workers(environment, 2, tmp_path):
        put(0, 40)
        wait(40)
        # APNs closes idle connections.
        for one in apns.simulator.control("GET", "/connections")[1]["connections"]:
            apns.simulator.control("DELETE", f"/connections/{one['number']}?end=close_notify")
        put(40, 60)
        wait(60)
        # Provider tokens are too old after two seconds, and the session makes a new one for the same push. (Of a second
        # nothing may be left when a token is made, because it says whole seconds.)
        assert apns.simulator.control("PUT", "/faults", {"token_age_max_s": 2})[0] == 200

        def aged():
            put(COUNT, COUNT + 1)
            return apns.simulator.control("GET", "/counters")[1]["reasons"].get("ExpiredProviderToken")

        until(aged)
        apns.simulator.control("DELETE", "/faults")
        put(60, 100)
        wait(101)
        assert told.rows("failed", "not sent", "in doubt") == []
        put(100, 150)
        wait(110)
        apns.kill()
        put(150, COUNT)
        told.wait(lambda: len(told.rows("not sent", "in doubt")) >= 4)
        apns.start()
        wait(COUNT + 1)
    assert told.tokens("gone") == BAD
    assert told.rows("failed") == []
    assert len({row["worker"] for row in told.rows("sent")}) == 2
    accepted = apns.accepted()
    del accepted[token(COUNT)]
    assert set(accepted) == GOOD
    # The queue delivers at least once: a notification that APNs accepted without an answer, because it was killed, may
    # come again, and each worker had one then.
    doubts = collections.Counter(row["token"] for row in told.rows("in doubt"))
    assert sum(max(count - 1 - doubts[one], 0) for one, count in accepted.items()) <= 2
