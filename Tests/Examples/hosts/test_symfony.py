"""Examples/integrations/symfony in php-fpm, and in Messenger's workers with a queue in Redis, while APNs goes away."""

import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.parse

import loopback
import phphost
import pytest
from apns import BAD, COUNT, GOOD, PORT, token
from simulator import DEADLINE, ROOT, until
from told import Told
from users import Users

sys.path.insert(0, str(ROOT / "Tests/Extensions/php"))
from fastcgi import Pool  # noqa: E402

COMPONENTS = ("Notifier", "HttpClient", "EventDispatcher", "Messenger")
WORKERS = 4


@pytest.fixture
def environment(apns):
    options = {"team": apns.ready["token_team_id"], "topic": "com.example.app", "key": apns.ready["token_key"],
               "ca_file": apns.ready["ca"], "timeout": "1"}  # fmt: skip
    dsn = f"apns://{apns.ready['token_key_id']}@127.0.0.1:{PORT}?{urllib.parse.urlencode(options)}"
    debian = [f"Symfony/Component/{one}" for one in COMPONENTS]
    return phphost.environment("symfony", debian, APNS_DSN=dsn, APNS_CERTIFICATE=apns.ready["provider"])


def test_units(environment):
    phphost.unit_tests(environment)


def test_fpm(environment, apns, tmp_path, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    fpm = Pool(tmp_path, phphost.MODULE, WORKERS)
    workers = set()

    def ask(one=None):
        answer = json.loads(fpm.request(phphost.SCRIPTS / "symfony_page.php", f"token={one}" if one else ""))
        workers.add(answer["worker"])
        return answer

    try:
        users = Users(WORKERS - 1, ask)
        for n in range(COUNT // 2):
            users.waiting.put(token(n))
        apns.wait(COUNT // 4)
        with users.starting:
            in_flight = set(users.pending)
            apns.kill()
        # Pushes fail in time, and one after the other; meanwhile the site has answered other users.
        users.wait(1, "not sent", "in doubt")
        failed, others = users.count("not sent", "in doubt"), 0
        while users.count("not sent", "in doubt") < failed + 2 * WORKERS:
            ask()
            others += 1
        assert others >= 2 * WORKERS
        apns.start()
        for n in range(COUNT // 2, COUNT):
            users.waiting.put(token(n))
        users.wait(COUNT, "sent", "gone")
        users.end()
    finally:
        fpm.stop()
    assert users.tokens("gone") == BAD and users.tokens("sent") == GOOD
    assert len(workers) <= WORKERS
    accepted = apns.accepted()
    assert set(accepted) == GOOD
    # A push may arrive twice if it was in flight when APNs was killed, or if the page said that it is in doubt.
    for one, count in accepted.items():
        assert count <= 1 + (one in in_flight) + users.told[one].count("in doubt"), users.told[one]


@contextlib.contextmanager
def consumer(environment, log):
    first = token(COUNT)
    command = phphost.php(phphost.SCRIPTS / "symfony_worker.php", "consume", first, log)
    said = log.with_name("consumer.log")
    with open(said, "wb") as output, subprocess.Popen(
        command, env=environment, stderr=output, start_new_session=True
    ) as process:
        try:
            yield process
            process.send_signal(signal.SIGTERM)
            assert process.wait(DEADLINE) == 0, said.read_text()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_worker(environment, apns, tmp_path):
    """Two forked workers live through an end of their connections, old provider tokens and an absence of APNs."""
    told = Told(tmp_path / "told", tmp_path / "consumer.log")
    produce = phphost.php(phphost.SCRIPTS / "symfony_worker.php", "produce")

    def put(first, end):
        tokens = "".join(token(n) + "\n" for n in range(first, end))
        subprocess.run(produce, env=environment, input=tokens, text=True, check=True)

    def wait(count):
        told.wait(lambda: len(told.tokens("sent", "gone")) >= count)

    with loopback.redis(tmp_path), consumer(environment, told.path):
        put(0, 40)
        wait(41)
        # APNs closes idle connections.
        for one in apns.simulator.control("GET", "/connections")[1]["connections"]:
            apns.simulator.control("DELETE", f"/connections/{one['number']}?end=close_notify")
        put(40, 60)
        wait(61)
        assert told.rows("not sent", "in doubt") == []
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
        assert told.rows("not sent", "in doubt") == []
        put(100, 150)
        wait(111)
        apns.kill()
        put(150, COUNT)
        told.wait(lambda: len(told.rows("not sent", "in doubt")) >= 4)
        apns.start()
        wait(COUNT + 1)
    assert told.tokens("gone") == BAD
    assert len({row["worker"] for row in told.rows("sent")}) == 3
    accepted = apns.accepted()
    del accepted[token(COUNT)]
    assert set(accepted) == GOOD
    # Messenger delivers at least once: a message that APNs accepted without an answer, because it was killed, may come
    # again, and each worker had one then.
    doubts = collections.Counter(row["token"] for row in told.rows("in doubt"))
    assert sum(max(count - 1 - doubts[one], 0) for one, count in accepted.items()) <= 2
