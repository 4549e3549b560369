"""Examples/integrations/symfony in php-fpm, and in Messenger's workers with a queue in Redis, while APNs goes away."""

import collections
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import urllib.parse

import loopback
import phphost
import pytest
from apns import BAD, COUNT, GOOD, PORT, token
from simulator import DEADLINE, ROOT, until

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


class Users:
    """Users of a site who ask for one push after the other, and again if the page says that it was not sent."""

    def __init__(self, fpm):
        self.fpm, self.waiting, self.told = fpm, queue.Queue(), collections.defaultdict(list)
        self.starting, self.pending, self.workers = threading.Lock(), set(), set()
        self.changed = threading.Condition()
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(WORKERS - 1)]
        for thread in self.threads:
            thread.start()

    def ask(self):
        while (one := self.waiting.get()) is not None:
            with self.starting:
                self.pending.add(one)
            answer = json.loads(self.fpm.request(phphost.SCRIPTS / "symfony_page.php", f"token={one}"))
            with self.changed:
                self.pending.discard(one)
                self.told[one].append(answer["told"])
                self.workers.add(answer["worker"])
                self.changed.notify_all()
            if answer["told"] in ("not sent", "in doubt"):
                self.waiting.put(one)

    def count(self, *words):
        return sum(told.count(word) for told in list(self.told.values()) for word in words)

    def wait(self, count, *words):
        with self.changed:
            assert self.changed.wait_for(lambda: self.count(*words) >= count, DEADLINE), self.told

    def end(self):
        for _ in self.threads:
            self.waiting.put(None)
        for thread in self.threads:
            thread.join(DEADLINE)


def test_fpm(environment, apns, tmp_path, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    fpm = Pool(tmp_path, phphost.MODULE, WORKERS)
    try:
        users = Users(fpm)
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
            assert "worker" in json.loads(fpm.request(phphost.SCRIPTS / "symfony_page.php"))
            others += 1
        assert others >= 2 * WORKERS
        apns.start()
        for n in range(COUNT // 2, COUNT):
            users.waiting.put(token(n))
        users.wait(COUNT, "sent", "gone")
        users.end()
    finally:
        fpm.stop()
    told = {word: {one for one, words in users.told.items() if word in words} for word in ("sent", "gone", "in doubt")}
    assert told["gone"] == BAD and told["sent"] == GOOD
    assert len(users.workers) <= WORKERS
    accepted = apns.accepted()
    assert set(accepted) == GOOD
    # A push may arrive twice if it was in flight when APNs was killed, or if the page said that it is in doubt.
    for one, count in accepted.items():
        assert count <= 1 + (one in in_flight) + users.told[one].count("in doubt"), users.told[one]


@contextlib.contextmanager
def consumer(environment, log):
    first = token(COUNT)
    command = phphost.php(phphost.SCRIPTS / "symfony_worker.php", "consume", first, log)
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
            process.send_signal(signal.SIGTERM)
            assert process.wait(DEADLINE) == 0, process.stderr.read()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_worker(environment, apns, tmp_path):
    """Two forked workers live through an end of their connections, old provider tokens and an absence of APNs."""
    log = tmp_path / "told"
    produce = phphost.php(phphost.SCRIPTS / "symfony_worker.php", "produce")

    def put(first, end):
        tokens = "".join(token(n) + "\n" for n in range(first, end))
        subprocess.run(produce, env=environment, input=tokens, text=True, check=True)

    def told(*words):
        rows = map(json.loads, log.read_text().splitlines()) if log.exists() else []
        return [row for row in rows if row["told"] in words]

    def wait(count, *words):
        until(lambda: len(told(*words)) >= count, lambda: log.read_text())

    with loopback.redis(tmp_path), consumer(environment, log):
        put(0, 40)
        wait(41, "sent", "gone")
        # APNs closes idle connections.
        for one in apns.simulator.control("GET", "/connections")[1]["connections"]:
            apns.simulator.control("DELETE", f"/connections/{one['number']}?end=close_notify")
        put(40, 60)
        wait(61, "sent", "gone")
        assert told("not sent", "in doubt") == []
        # Provider tokens are too old after a second, and the session makes a new one for the same push.
        assert apns.simulator.control("PUT", "/faults", {"token_age_max_s": 1})[0] == 200

        def aged():
            put(COUNT, COUNT + 1)
            return apns.simulator.control("GET", "/counters")[1]["reasons"].get("ExpiredProviderToken")

        until(aged)
        apns.simulator.control("DELETE", "/faults")
        put(60, 100)
        until(lambda: len({row["token"] for row in told("sent", "gone")}) == 101, lambda: log.read_text())
        assert told("not sent", "in doubt") == []
        put(100, 150)
        until(lambda: len({row["token"] for row in told("sent", "gone")}) > 110, lambda: log.read_text())
        apns.kill()
        wait(4, "not sent", "in doubt")
        apns.start()
        put(150, COUNT)
        until(lambda: {row["token"] for row in told("sent", "gone")} >= GOOD | BAD, lambda: log.read_text())
    assert {row["token"] for row in told("gone")} == BAD
    assert len({row["worker"] for row in told("sent")}) == 3
    accepted = apns.accepted()
    del accepted[token(COUNT)]
    assert set(accepted) == GOOD
    # Messenger delivers at least once: a message that APNs accepted without an answer, because it was killed, may come
    # again, and each worker had one then.
    doubts = collections.Counter(row["token"] for row in told("in doubt"))
    assert sum(max(count - 1 - doubts[one], 0) for one, count in accepted.items()) <= 2
