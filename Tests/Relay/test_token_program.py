"""A relay with provider tokens from another program."""

import contextlib
import json
import os
import subprocess
import sys
import time

import pytest

from provider_token import jwt
from relaying import Queue, pushes, relay_program, token, wait_until

GIVER = """#!{python}
import os, sys
place = {place!r}
with open(place + "/runs", "a") as runs:
    runs.write(" ".join([os.environ["APNS_APP"], os.environ["APNS_TOKEN_NEED"], *sys.argv[1:]]) + "\\n")
if os.path.exists(place + "/held"):
    open(place + "/held").read()
if os.path.exists(place + "/sealed"):
    sys.exit("the vault is sealed, " + open(place + "/token").read())
other = place + "/" + os.environ["APNS_TOKEN_NEED"]
print(open(other if os.path.exists(other) else place + "/token").read())
"""


class Giver:
    """A program that prints the contents of a file, and records its arguments."""

    def __init__(self, place, simulator, **claims):
        self.place, self.simulator = place, simulator
        self.program = place / "give"
        self.program.write_text(GIVER.format(python=sys.executable, place=str(place)))
        self.program.chmod(0o700)
        self.give(**claims)
        ready = simulator.ready
        self.credentials = {
            "program": [str(self.program), "for shop"], "key_id": ready["token_key_id"], "team_id": ready["token_team_id"],
            "ca": ready["ca"], "program_timeout": "60s"}

    def give(self, **claims):
        self.token = jwt(self.simulator, **claims)
        (self.place / "new").write_text(self.token)
        (self.place / "new").rename(self.place / "token")

    def mark(self, name, is_there=True):
        (self.place / name).touch() if is_there else (self.place / name).unlink()

    @contextlib.contextmanager
    def held(self):
        """Runs in the meantime wait."""
        os.mkfifo(self.place / "held")
        yield
        open(self.place / "held", "w").close()
        (self.place / "held").unlink()

    @property
    def runs(self):
        try:
            return (self.place / "runs").read_text().splitlines()
        except FileNotFoundError:
            return []


@pytest.fixture
def simulator(start):
    return start("--topic", "com.example.app")


@pytest.fixture
def giver(simulator, tmp_path):
    return Giver(tmp_path, simulator)


def shown(giver, *relays):
    """Checks that the token appears in no output."""
    for one in relays:
        assert giver.token not in one.log.read_text() and giver.token not in one.get("/readyz")[1] + one.get("/metrics")[1]


def push_by(relay, simulator, queue, who, relays=3, count=100):
    """Starts relays with these credentials; returns them after they have pushed."""
    several = [relay(simulator, queue=queue, name=f"relay-{n}", app={"credentials": who}) for n in range(relays)]
    for one in several:
        one.start().wait_ready()
    queue.add(*({"id": f"{n}", "token": token(n)} for n in range(count)))
    wait_until(queue.is_empty, "the queue does not get empty")
    assert queue.counts() == {"accepted": count}
    return several


def test_one_run_for_all_relays(simulator, giver, relay, shared):
    several = push_by(relay, simulator, shared, giver.credentials)
    assert giver.runs == ["shop first for shop"]
    if isinstance(shared, Queue):
        stored, made = shared.rows("SELECT token, made FROM provider_tokens")[0]
        assert stored == giver.token and made % 1000 == 0 and abs(made / 1000 - time.time()) < 600
    shown(giver, *several)
    for one in several:
        one.stop()


def test_a_process_may_have_tokens_of_its_own(simulator, giver, relay, queue):
    push_by(relay, simulator, queue, giver.credentials | {"provider_token": "process", "key_id": None, "team_id": None}, relays=2)
    assert len(giver.runs) == 2 and queue.rows("SELECT * FROM provider_tokens") == []


def test_while_it_fails_nothing_is_lost_and_that_is_said_once(simulator, giver, relay, queue):
    giver.mark("sealed")
    one = relay(simulator, queue=queue, app={"credentials": giver.credentials}).start().wait_ready()
    queue.add(*({"id": f"{n}", "token": token(n)} for n in range(50)))
    wait_until(lambda: len(giver.runs) >= 3, "the program does not run again")
    wait_until(lambda: one.get("/readyz")[0] == 503, "it reports that it is ready")
    assert "ended with status 1: the vault is sealed, …" in one.get("/readyz")[1]
    assert one.get("/healthz")[0] == 200 and queue.counts() == {}
    shown(giver, one)
    said = one.said("no push is sent until")
    assert len(said) == 1 and said[0]["app"] == "shop" and said[0]["level"] == "warning", said
    giver.mark("sealed", False)
    one.wait_done()
    assert queue.counts() == {"accepted": 50} and len(pushes(simulator)) == 50
    assert {deliveries for *_, deliveries in queue.outcomes()} == {1}
    wait_until(lambda: one.get("/readyz")[0] == 200, "it does not report that it is ready")
    assert len(one.said("supplies provider tokens again")) == 1
    one.stop()


def test_a_slow_one_holds_up_nobody(simulator, giver, relay, queue):
    """Its worker keeps its lease, and loses no entries to others."""
    with giver.held():
        one = relay(
            simulator, queue=queue, app={"credentials": giver.credentials}, settings={"lease": "3s"}).start().wait_ready()
        queue.add({"id": "a", "token": token(1)})
        wait_until(lambda: queue.value("SELECT count(*) FROM held") == 1, "it is not claimed")
        first = queue.value("SELECT heard FROM workers")
        wait_until(lambda: queue.value("SELECT heard FROM workers") > first + 6000, "the worker is silent")
        # A producer is not delayed, nor is a second relay.
        queue.add({"id": "b", "token": token(2)})
        assert not one.said("lease expired") and len(giver.runs) == 1
    one.wait_done()
    assert queue.counts() == {"accepted": 2} and {row[4] for row in queue.outcomes()} == {1}


def test_an_aging_token_is_used_while_there_is_no_other(simulator, giver, relay, queue):
    """At 50 minutes the program runs again; its new token is used from then on."""
    giver.give(age=50 * 60)
    one = relay(simulator, queue=queue, app={"credentials": giver.credentials}).start().wait_ready()
    queue.add({"id": "a", "token": token(1)})
    wait_until(queue.is_empty, "it is not sent")
    assert queue.counts() == {"accepted": 1} and giver.runs == ["shop first for shop"]
    shown(giver, one)
    one.stop()


def test_a_refused_one_is_asked_for_again(start, relay, queue, tmp_path):
    simulator = start("--topic", "com.example.app", faults={"token_age_max_s": 1200})
    giver = Giver(tmp_path, simulator, age=30 * 60)
    (tmp_path / "refused").write_text(jwt(simulator))
    one = relay(simulator, queue=queue, app={"credentials": giver.credentials, "retry": {"max_deferrals": 1000}})
    one.start().wait_ready()
    queue.add({"id": "a", "token": token(1)})

    def is_sent():
        queue.rows("UPDATE entries SET due = 1 WHERE worker IS NULL AND due > 1")
        return queue.is_empty()

    wait_until(is_sent, "it is not sent")
    assert queue.counts() == {"accepted": 1} and giver.runs == ["shop first for shop", "shop refused for shop"]


def test_a_program_that_changed_is_asked_at_once(simulator, giver, relay, queue):
    one = relay(simulator, queue=queue, app={"credentials": giver.credentials | {"provider_token": "process"}}).start().wait_ready()
    wait_until(lambda: len(giver.runs) == 1, "it is not run")
    giver.program.write_text(giver.program.read_text() + "\n# Another.\n")
    one.signal(1)
    one.wait_said("reloaded")
    wait_until(lambda: len(giver.runs) == 2, "it is not run again")


UNTRIED = "not tried: everything after an error\n"


def test_check_and_print(simulator, giver, relay, queue, tmp_path):
    one = relay(simulator, queue=queue, app={"credentials": giver.credentials})

    def run(*words):
        return subprocess.run([relay_program(), "--config", one.file, *words], capture_output=True, text=True)

    ran = run("--check")
    assert ran.returncode == 0 and giver.runs == ["shop first for shop"], ran
    # A check stores no token in the queue.
    assert queue.rows("SELECT * FROM provider_tokens") == []
    giver.mark("sealed")
    ran = run("--check")
    assert ran.returncode == 1, ran
    assert ran.stdout == f"apps.shop: {giver.program}: it ended with status 1: the vault is sealed, …\n{UNTRIED}", ran
    printed = run("--print-config").stdout
    assert f'program: [{json.dumps(str(giver.program))}, "for shop"]' in printed
    giver.program.chmod(0o600)
    ran = run("--check")
    line = 1 + [number for number, text in enumerate(one.file.read_text().splitlines()) if '"program"' in text][0]
    assert ran.returncode == 2, ran
    assert ran.stderr == f"Error: {one.file}:{line}: apps.shop.credentials.program: {giver.program}: Permission denied\n", ran
