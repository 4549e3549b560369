"""Quiet hours of an app, and times that each device of a list gets by its own clock."""

import datetime
import json
import subprocess
import time
import zoneinfo

import pytest
from relaying import pushes, relay_program, token, wait_until
from test_campaigns import arrived, ran, told

ZONE = "Asia/Kathmandu"


def hours(begin, end):
    """Returns quiet hours between two UNIX times."""

    def local(at):
        return datetime.datetime.fromtimestamp(at, zoneinfo.ZoneInfo(ZONE)).strftime("%H:%M")

    return {"quiet_hours": {"from": local(begin), "to": local(end), "timezone": ZONE}}


def singles(lane, first, count, **more):
    return [{"id": f"{lane}-{n}", "token": token(n), "lane": lane} | more for n in range(first, first + count)]


def arrivals(simulator):
    return [int(push["token"], 16) for push in pushes(simulator)]


def test_in_quiet_hours_bulk_waits(start, relay, shared):
    simulator = start()
    one = relay(simulator, queue=shared, app=hours(time.time() - 3600, time.time() + 3600)).start().wait_ready()
    shared.add(*singles("bulk", 0, 20), *singles("normal", 100, 5), *singles("urgent", 200, 5), *singles("bulk", 300, 5, campaign="sale"))
    one.wait_said("quiet hours: the lane bulk waits until ")
    arrived(simulator, 10)
    time.sleep(1)  # Nothing may arrive in this time.
    assert sorted(arrivals(simulator)) == [*range(100, 105), *range(200, 205)]
    wait_until(lambda: one.metric('apns_relay_entries{app="shop",state="ready"}') == 25, "bulk is not ready")
    # Cancelled entries end at night too.
    assert told(one, "cancel", "--campaign", "sale")["outcomes"] == {"cancelled": 5}
    shared.add({"id": "later", "token": token(400), "lane": "bulk"})
    time.sleep(1)  # Nothing may arrive in this time.
    assert len(arrivals(simulator)) == 10
    one.stop()


@pytest.mark.parametrize("shared", ["SQLite"], indirect=True)
def test_quiet_hours_begin_and_end(start, relay, shared):
    """In the middle of a list and of what is held. They last a minute."""
    simulator = start("--seed", "1", faults={"streams_max": 1, "answer_delay_ms": 100})
    begin = (int(time.time()) // 60 + 1) * 60
    begin += 60 if begin - time.time() < 5 else 0
    one = relay(simulator, queue=shared, app=hours(begin, begin + 60) | {"limits": {"window": 300, "connections": 1}})
    shared.add({"id": "list", "tokens": json.dumps([token(n) for n in range(900)]), "lane": "bulk"}, *singles("bulk", 1000, 300))
    one.start().wait_ready()
    one.wait_said("quiet hours: the lane bulk waits until ")
    wait_until(lambda: one.metric("apns_relay_claimed_notifications") == 0, "some are still in flight")
    count = len(arrivals(simulator))
    shared.add(*singles("normal", 5000, 1))
    arrived(simulator, count + 1)
    time.sleep(5)  # Nothing may arrive in this time.
    assert arrivals(simulator)[count:] == [5000] and time.time() < begin + 60
    assert one.metric("apns_relay_claimed_notifications") == 0
    one.wait_said("the quiet hours are over")
    assert time.time() >= begin + 60
    simulator.control("PUT", "/faults", {"streams_max": 1, "answer_delay_ms": 0})
    one.wait_done()
    assert [n for n in arrivals(simulator) if n != 5000] == [*range(900), *range(1000, 1300)]
    one.stop()


# Local times


def enqueue(one, *words, **more):
    return subprocess.run(
        [relay_program(), "enqueue", "--config", one.file, "--alert", "Hello", *words], capture_output=True, text=True, **more)


def dues(queue):
    return {identifier: (due / 1000, tokens) for identifier, due, tokens in queue.rows("SELECT id, due, tokens FROM entries")}


@pytest.mark.parametrize("shared", ["SQLite"], indirect=True)
def test_each_device_has_its_own_morning(start, relay, shared, tmp_path):
    one = relay(start(), queue=shared)
    zones = ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Europe/Berlin", "Pacific/Auckland"]
    devices = tmp_path / "devices.csv"
    devices.write_text("token,timezone\n" + "".join(f"{token(n)},{zones[n % 5]}\n" for n in range(20)))
    began = time.time()
    words = ["--id", "sale", "--tokens", devices, "--entry", "3", "--at-local", "9:00"]
    done = enqueue(one, *words)
    assert done.returncode == 0, done.stderr
    found = dues(shared)
    assert set(found) == {f"sale-{n}" for n in range(1, 10)}
    seen = 0
    for due, tokens in found.values():
        assert began <= due <= began + 25 * 3600
        for device in json.loads(tokens):
            seen += 1
            zone = zoneinfo.ZoneInfo(device["timezone"])
            assert device["timezone"] == zones[int(device["token"], 16) % 5]
            assert datetime.datetime.fromtimestamp(due, zone).strftime("%H:%M:%S") == "09:00:00"
    assert seen == 20
    # On another day too the same devices have the same IDs.
    shared.rows("UPDATE entries SET due = 1")
    done = enqueue(one, *words)
    assert done.stdout == "0 entries enqueued, 9 known already; 20 devices; id sale\n", done.stderr
    assert {identifier: tokens for identifier, (_, tokens) in dues(shared).items()} == {
        identifier: tokens for identifier, (_, tokens) in found.items()}


@pytest.mark.parametrize("shared", ["SQLite"], indirect=True)
def test_a_day_begins_in_the_east(start, relay, shared, tmp_path):
    simulator = start()
    one = relay(simulator, queue=shared)
    now = datetime.datetime.now(zoneinfo.ZoneInfo("Europe/Berlin")) + datetime.timedelta(hours=1)
    (tmp_path / "devices").write_text("".join(
        json.dumps({"token": token(n), "timezone": zone}) + "\n" for n, zone in enumerate(["Asia/Tokyo", "Europe/Berlin", "America/Lima"])))
    (tmp_path / "campaign.yaml").write_text(f"id: day\nalert: Hello\ntokens: devices\nat_local: {now.strftime('%Y-%m-%dT%H:%M')}\n")
    done = subprocess.run(
        [relay_program(), "enqueue", "--config", one.file, "--campaign-file", tmp_path / "campaign.yaml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    one.start().wait_ready()
    arrived(simulator, 1)
    assert arrivals(simulator) == [0]
    # Its outcome is recorded a moment later.
    wait_until(lambda: len(dues(shared)) == 2, "the entry stays")
    rest = [due for due, _ in dues(shared).values()]
    assert max(abs(rest[0] - time.time()), abs(rest[1] - time.time())) > 5 * 3600 and min(rest) > time.time() + 3000


def test_what_lacks_a_zone_is_named(start, relay, shared, tmp_path):
    one = relay(start(), queue=shared)
    devices = tmp_path / "devices"
    good = json.dumps({"token": token(1), "timezone": "UTC"}) + "\n"
    for line, said in [
        (json.dumps({"token": token(2)}), ":2: the device has no timezone, such as Europe/Berlin, for the local time"),
        (token(2), ":2: the device has no timezone"), (json.dumps({"token": token(2), "timezone": 1}), ":2: the device has no timezone"),
        (json.dumps({"token": token(2), "timezone": "Berlyn"}), ":2: there is no time zone 'Berlyn', only such as Europe/Berlin"),
    ]:
        devices.write_text(good + line + "\n")
        done = enqueue(one, "--tokens", devices, "--at-local", "9:00")
        assert done.returncode == 2 and f"{devices}{said}" in done.stderr, (line, done.stderr)
        assert shared.is_empty()
    for words, said in [
        (["--tokens", devices, "--at-local", "9"], "--at-local must be a time without a zone, such as 9:00 or 2026-12-24T09:00, not '9'"),
        (["--tokens", devices, "--at-local", "9:00", "--in", "1h"], "give one of --at, --at-local and --in"),
        ([token(1), "--at-local", "9:00"], "--at-local is for --tokens"),
        (["--channel", "AQID", "--at-local", "9:00"], "--at-local is for --tokens"),
    ]:
        done = enqueue(one, *words)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)
    assert ran(one, "list").stdout == "shop has no campaigns\n"
