"""The service's side of a recording, as seen on the wire."""

import subprocess

import pytest
from http2 import Client
from recording import event, push, stand_in, written
from simulator import DEADLINE, RESET, TOKEN, tool, until

REFUSED, INTERNAL, NO_ERROR = 7, 2, 0
# In milliseconds, at a speed at which it takes a tenth of a second, and the rest of the test.
LATER, END, FAST = 3_600_000, 36_000_000_000, 36_000


@pytest.fixture
def play(start, tmp_path):
    """Starts a simulator that plays these lines."""
    def play(*events, speed=None):
        speeds = ("--speed", speed) if speed else ()
        return start("--replay", written(tmp_path / "day.jsonl", event("opened"), *events), *speeds)

    return play


def statuses(client, device, count):
    return [client.push(token=stand_in(device)) for _ in range(count)]


def test_each_device_gets_its_answers_in_their_order(play):
    simulator = play(
        push("a", (503, "Shutdown"), at=5), push("b", (400,), at=5), push("a", (410, "Unregistered"), at=9),
        push("a", (200,), at=20), push("b", (429, "Slow"), at=30), push("b", (503,), at=31), push("b", (418,), at=32))
    with Client(simulator) as client:
        assert statuses(client, "a", 2) == [(503, "Shutdown"), (410, "Unregistered")]
        assert statuses(client, "b", 4) == [
            (400, "BadDeviceToken"), (429, "Slow"), (503, "ServiceUnavailable"), (418, "Unknown")]
        answer = client.answer(client.request(token=stand_in("a")))
        assert answer.status == 200 and answer.headers["apns-id"]


def test_lines_may_be_in_any_order(play):
    simulator = play(push("a", (410,), at=9), push("a", (503,), at=5))
    with Client(simulator) as client:
        assert [status for status, _ in statuses(client, "a", 2)] == [503, 410]


def test_the_rules_still_apply(play):
    simulator = play(push("a", (200,)))
    with Client(simulator) as client:
        assert client.push(token=stand_in("a"), headers=[("apns-priority", "7")]) == (400, "BadPriority")
        assert client.push(token=stand_in("a")) == (200, None)


def test_the_slowest_speed(play):
    simulator = play(push("a", (503,), at=5), event("closed", connection=1, at=10**12), speed=1e-300)
    with Client(simulator) as client:
        assert client.push(token=TOKEN) == (503, "ServiceUnavailable")


def test_other_devices_get_the_answer_of_that_time(play):
    simulator = play(push("a", (429, "TooManyRequests")), push("b", (500,), at=LATER), push("c", (200,), at=END), speed=FAST)
    with Client(simulator) as client:
        seen = []
        until(lambda: seen.append(client.push(token=TOKEN)[0]) or seen[-1] == 500, lambda: seen)
        assert set(seen[:-1]) <= {429}, seen


def test_after_the_recording_the_service_accepts(play):
    simulator = play(push("a", (500,)))
    with Client(simulator) as client:
        until(lambda: client.push(token=TOKEN) == (200, None))
        assert client.push(token=stand_in("a")) == (500, "InternalServerError")
        assert client.push(token=stand_in("a")) == (200, None)


def test_answers_take_their_time(play):
    simulator = play(push("slow", (200,), ms=500), push("fast", (410,)))
    with Client(simulator) as client:
        slow, fast = client.request(token=stand_in("slow"), flush=False), client.request(token=stand_in("fast"))
        client.answer(slow)
        assert client.order == [fast, slow]


def test_the_speed_divides_the_times(play):
    simulator = play(push("slow", (410,), ms=LATER), speed=LATER)
    with Client(simulator) as client:
        assert client.push(token=stand_in("slow")) == (410, "Unregistered")


def test_resets(play):
    simulator = play(
        push("a", reset="REFUSED_STREAM"), push("a", reset="INTERNAL_ERROR", ms=1), push("a", (200,)))
    with Client(simulator) as client:
        for code in (REFUSED, INTERNAL):
            stream = client.request(token=stand_in("a"))
            client.until(lambda stream=stream: stream in client.resets)
            assert client.resets[stream] == code
        assert client.push(token=stand_in("a")) == (200, None)
    totals = simulator.stop()
    assert (totals["accepted"], totals["ignored"]) == (2, 1)


def test_goaway_with_a_push_that_it_left_without_a_response(play):
    simulator = play(
        push("a", (200,)), push("b", ms=10), event("goaway", at=LATER, error="NO_ERROR", reason="Shutdown"),
        push("b", (410,), connection=2, again=True, at=LATER))
    with Client(simulator) as client:
        first = client.request(token=stand_in("a"), flush=False)
        client.request(token=stand_in("b"))
        client.until(lambda: client.goaway)
        assert client.goaway == (first, NO_ERROR, b'{"reason":"Shutdown"}')
        assert client.answers[first].status == 200
    with Client(simulator) as client:
        assert client.push(token=stand_in("b")) == (410, "Unregistered")


def test_a_lost_push_before_the_last_stream_of_goaway_gets_its_next_answer(play):
    simulator = play(
        push("b", ms=LATER), push("a", (200,)), push("c", ms=1), event("goaway", at=LATER),
        push("b", (410,), connection=2, again=True, at=LATER))
    with Client(simulator) as client:
        lost, last = client.request(token=stand_in("b"), flush=False), client.request(token=stand_in("a"), flush=False)
        client.request(token=stand_in("c"))
        client.answer(lost)
        client.until(lambda: client.goaway)
        assert client.answers[lost].status == 410 and client.goaway[0] == last


def test_a_push_that_was_lost_with_a_connection_that_ends_elsewhere(play):
    simulator = play(
        push("a", ms=1), push("b", ms=500), event("closed", at=LATER), push("b", (410,), connection=2, at=LATER))
    with Client(simulator) as client, Client(simulator) as other:
        stream = other.request(token=stand_in("b"))
        client.request(token=stand_in("a"))
        client.to_end()
        assert other.answer(stream).status == 410


def test_goaway_at_its_time(play):
    simulator = play(event("goaway", at=100, error="INTERNAL_ERROR"))
    with Client(simulator) as client:
        client.until(lambda: client.goaway)
        assert client.goaway == (0, INTERNAL, None)
    # Once.
    with Client(simulator) as client:
        assert client.push() == (200, None)


@pytest.mark.parametrize("name", ["reset", "closed"])
def test_an_answer_that_the_end_prevented_comes_on_the_next_connection(play, name):
    simulator = play(
        push("a", (410,), ms=1000), push("b", ms=1), push("other", (500,)), event(name, at=LATER), push("b", (200,), connection=2, at=LATER))
    with Client(simulator) as client:
        client.request(token=stand_in("a"), flush=False)
        client.request(token=stand_in("b"))
        end = client.to_end()
        assert (end == RESET) == (name == "reset") and not client.answers
    with Client(simulator) as client:
        assert client.push(token=stand_in("a")) == (410, "Unregistered")
        assert client.push(token=stand_in("b")) == (200, None)


def test_a_push_whose_connection_has_ended_already(play):
    """The provider is slower than the recorded one."""
    simulator = play(push("b", ms=1), event("closed", at=100), push("b", (410,), connection=2, at=110))
    with Client(simulator) as client:
        client.to_end()
    with Client(simulator) as client:
        assert client.push(token=stand_in("b")) == (410, "Unregistered")


def test_a_push_without_an_answer(play):
    simulator = play(push("a", silence=True), push("b", (200,)), push("a", (410,), at=9))
    with Client(simulator) as client:
        silent = client.request(token=stand_in("a"))
        assert client.push(token=stand_in("b")) == (200, None)
        assert silent not in client.answers and client.push(token=stand_in("a")) == (410, "Unregistered")


def test_connections_are_refused_as_long_as_they_were(play):
    simulator = play(
        push("a", ms=1), event("closed", at=LATER), event("refused", at=LATER + 2, connection=2, cause="refused"),
        event("refused", at=LATER + 900, connection=3), event("opened", at=LATER + 1500, connection=4, ms=20))
    with Client(simulator) as client:
        client.request(token=stand_in("a"))
        client.to_end()
    with pytest.raises(ConnectionRefusedError):
        Client(simulator)

    def connects():
        try:
            return Client(simulator)
        except ConnectionRefusedError:
            return None

    with until(connects) as client:
        assert client.push() == (200, None)


def refusal(certificates, path, *more):
    ran = subprocess.run(
        [tool(), "simulate", "--http2-port", "0", "--certificates", certificates, "--replay", path, *more],
        capture_output=True, text=True, timeout=DEADLINE)
    assert ran.returncode == 2, ran
    return ran.stderr


@pytest.mark.parametrize("line, words", [
    ("no", "3:1: not a JSON value"),
    ('{"at":1', "3:8: "),
    ('{"event":"closed"}', '3:1: at: expected a number of at least 0'),
    ('{"at":-1,"event":"closed"}', "3:7: at: expected a number of at least 0"),
    ('{"at":1,"event":"opend"}', "3:17: event: expected one of push, opened, goaway, closed, reset, refused"),
    ('{"at":1,"event":"push"}', "3:1: device: expected a text"),
    ('{"at":1,"event":"push","device":"a","status":1000}', "3:46: status: expected 200 to 599"),
    ('{"at":1,"event":"push","device":"a","status":"200"}', "3:46: status: expected a number of at least 0"),
    ('{"at":1,"event":"push","device":"a","reset":"NO"}', "3:45: reset: expected one of NO_ERROR, PROTOCOL_ERROR, "),
    ('{"at":1,"event":"push","device":"a","priority":7}', "3:48: priority: expected 10, 5 or 1"),
    ('{"at":1,"event":"push","device":"a","silence":1}', "3:47: silence: expected true or false"),
    ('{"at":1,"event":"closed"}', "3:1: connection: expected a number of at least 0"),
])
def test_a_wrong_line(certificates, tmp_path, line, words):
    path = written(tmp_path / "day.jsonl", event("opened"))
    path.write_text(path.read_text() + line + "\n")
    assert f"Error: --replay: {path}:{words}" in refusal(certificates, path)


@pytest.mark.parametrize("first", ['{"apns_recording":2}', '{"list":"devices.csv"}', "[]"])
def test_another_file(certificates, tmp_path, first):
    path = tmp_path / "day.jsonl"
    path.write_text(first + "\n")
    assert f'{path}:1:1: expected {{"apns_recording":1}}: not a recording' in refusal(certificates, path)
    path.write_text("")
    assert f"{path}:1:1: the JSON ends too early" in refusal(certificates, path)
