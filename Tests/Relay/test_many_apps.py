"""A relay of many apps: those without entries rest."""

import os
import pathlib
import signal
import time

import pytest
from relaying import pushes, token, wait_until

APPS = [f"app-{n}" for n in range(60)]


@pytest.fixture
def limited(tmp_path, monkeypatch):
    """Starts relays with this limit of open files."""

    def limit(words):
        program = tmp_path / "limited"
        program.write_text(f'#!/bin/sh\nulimit {words}\nexec {os.environ["APNS_RELAY_TOOL"]} "$@"\n')
        program.chmod(0o700)
        monkeypatch.setenv("APNS_RELAY_TOOL", str(program))

    return limit


def working(relay):
    """Returns the apps whose workers have a thread."""
    names = (thread / "comm" for thread in pathlib.Path(f"/proc/{relay.process.pid}/task").iterdir())
    return {name.read_text().strip().removeprefix("app ") for name in names if name.read_text().startswith("app ")}


def heartbeats(queue):
    """Returns when each of an app's workers was last heard, by its ID."""
    if queue.setting.get("file"):
        return dict(queue.rows("SELECT number, heard FROM workers WHERE app = 'app-7'"))
    words = iter(queue.ask("HGETALL", "apns:{app-7}:workers"))
    return {number: int(value.split()[0]) for number, value in zip(words, words)}


def served(start, relay, queue, **options):
    one = relay(start(), queue=queue, **options)
    one.write({name: {} for name in APPS})
    return one.start().wait_ready()


def push(one, queue, *apps):
    """Has a notification of each app pushed."""
    most = len(pushes(one.simulator)) + len(apps)
    for app in apps:
        queue.add({"id": f"{app} {most}", "token": token(1)}, app=app)
    wait_until(lambda: len(pushes(one.simulator)) >= most, f"{len(pushes(one.simulator))} of {most} were pushed")
    assert len(pushes(one.simulator)) == most


def test_the_usual_limit_of_open_files_does_not_bound_the_apps(start, relay, shared, limited):
    limited("-S -n 100")
    one = served(start, relay, shared)
    push(one, shared, *APPS)
    assert working(one) == set(APPS)


def test_apps_take_turns_with_the_open_files_that_there_are(start, relay, shared, limited):
    limited("-n 100")
    one = served(start, relay, shared, settings={"lease": "1s"})
    push(one, shared, *APPS)
    push(one, shared, *APPS)
    for app in APPS:
        name = f'apns_relay_outcomes_total{{app="{app}",outcome="accepted"}}'
        wait_until(lambda: one.metric(name) == 2, f"{app} has not two outcomes")
    wait_until(lambda: one.get("/readyz")[0] == 200, one.get("/readyz")[1])


def test_only_apps_with_entries_have_a_thread(start, relay, shared):
    one = served(start, relay, shared)
    assert working(one) == set()
    push(one, shared, "app-7")
    assert working(one) == {"app-7"}
    assert one.get("/healthz")[0] == one.get("/readyz")[0] == 200
    assert one.metric('apns_relay_claimed_entries_total{app="app-8"}') == 0
    assert one.process.poll() is None


def test_an_app_whose_entries_wait_does_not_rest(start, relay, shared):
    shared.add({"id": "later", "token": token(1), "due": int(time.time() * 1000) + 600_000}, app="app-7")
    assert working(served(start, relay, shared)) == {"app-7"}


def test_resting_apps_keep_their_place_in_the_queue(start, relay, shared):
    """A relay reclaims from workers that were silent for a second."""
    one = served(start, relay, shared, settings={"lease": "1s"})
    first = heartbeats(shared)
    other = relay(one.simulator, queue=shared, name="other", settings={"lease": "1s"})
    other.write({name: {} for name in APPS})
    other.start().wait_ready()
    before = heartbeats(shared)
    assert len(before) == 2
    wait_until(lambda: all(heartbeats(shared)[number] > time + 3000 for number, time in before.items()), "no heartbeats")
    assert heartbeats(shared).keys() == before.keys()
    other.kill()
    wait_until(lambda: heartbeats(shared).keys() == first.keys(), "the workers of a relay that was killed stay")


def test_a_resting_app_whose_lease_expired_joins_again(start, relay, shared):
    one = served(start, relay, shared, settings={"lease": "1s"})
    first = heartbeats(shared)
    one.suspend()
    other = relay(one.simulator, queue=shared, name="other", settings={"lease": "1s"})
    other.write({name: {} for name in APPS})
    other.start().wait_ready()
    wait_until(lambda: not first.keys() & heartbeats(shared).keys(), "nobody reclaims from a silent relay")
    one.signal(signal.SIGCONT)
    wait_until(lambda: len(heartbeats(shared)) == 2, "it does not join again")
    other.stop()
    push(one, shared, "app-7")


def test_resting_apps_leave_the_queue_at_the_end(start, relay, shared):
    one = served(start, relay, shared)
    one.stop()
    assert heartbeats(shared) == {}


def test_resting_apps_get_new_credentials_and_settings(start, relay, shared):
    one = served(start, relay, shared)
    one.write({name: {"limits": {"window": 50}} for name in APPS[:30]})
    one.signal(signal.SIGHUP)
    one.wait_said("reloaded")
    push(one, shared, "app-7")
    assert one.metric('apns_relay_claimed_entries_total{app="app-8"}') == 0
    assert one.metric('apns_relay_claimed_entries_total{app="app-59"}') is None
