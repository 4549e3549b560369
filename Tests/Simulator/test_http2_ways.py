"""Every HTTP/2 fault, set by option, rules file and control API, and removed again."""

import json
import socket
import time
import types

import pytest
from http2 import Client, jwt
from simulator import PAYLOAD

HTTP2 = ("--http2-port", 0)
COUNT = 5


def play(client, simulator):
    """Sends five pushes and a PING together; returns what was seen on the wire."""
    with client:
        client.connection.ping(b"12345678")
        began = time.monotonic()
        streams = [client.request(flush=False) for _ in range(COUNT)]
        client.flush()
        # The simulator closes after its last response.
        socket.socket.shutdown(client.sock, socket.SHUT_WR)
        done = lambda: all(one in client.resets or one in client.answers and client.answers[one].whole for one in streams)
        while not (done() and client.pongs) and client.goaway is None and client.read():
            pass
        return types.SimpleNamespace(
            statuses=[client.answers[one].status if one in client.answers else None for one in streams],
            bodies=[client.answers[one].body.decode() for one in streams if one in client.answers],
            resets=list(client.resets.values()), goaway=client.goaway and client.goaway[1:], pongs=len(client.pongs),
            reads=[ended for ended in client.reads if ended], settings=client.settings,
            room=client.connection.outbound_flow_control_window, seconds=time.monotonic() - began)


def tokens(simulator):
    """The answers to two tokens, the second issued soon after the first, and to the later one on another
    connection."""
    with Client(simulator, certificate=False, bearer=jwt(simulator, age=10)) as other:
        first = other.push()
        other.bearer = jwt(simulator)
        second = other.push()
    with Client(simulator, certificate=False, bearer=jwt(simulator)) as other:
        return first, second, other.push()


GOOD, ROOM = [200] * COUNT, 65535 - COUNT * len(PAYLOAD)
WAYS = {
    "streams_max": ({"streams_max": 7}, lambda seen: seen.settings[3] == 7),
    "window_bytes": ({"window_bytes": 1000}, lambda seen: seen.settings[4] == 1000),
    "credit_share": ({"credit_share": 0}, lambda seen: seen.room == 65535),
    "no_pong": ({"no_pong": True}, lambda seen: (seen.pongs, seen.statuses) == (0, GOOD)),
    "streams_after_rejection": (
        {"streams_after_rejection": 2, "bad_every": 1}, lambda seen: seen.statuses == [400] * COUNT and seen.settings[3] == 2),
    "services": (
        {"services": "pushes", "bad_every": 1, "bad_reason": "TooManyRequests"},
        lambda seen: seen.statuses == [429] * COUNT),
    "bad_reason": ({"bad_every": 1, "bad_reason": "TooManyRequests"}, lambda seen: seen.statuses == [429] * COUNT),
    "reset_share": ({"reset_share": 1}, lambda seen: seen.resets == [7] * COUNT),
    "reset_every": ({"reset_every": 2}, lambda seen: seen.resets == [7] * 2),
    "reset_code": ({"reset_every": 1, "reset_code": 2}, lambda seen: seen.resets == [2] * COUNT),
    "no_answer": ({"no_answer": 1}, lambda seen: (seen.statuses, seen.pongs) == ([None] * COUNT, 1)),
    "answer_delay_ms": ({"answer_delay_ms": 150}, lambda seen: seen.statuses == GOOD and seen.seconds >= 0.15),
    "answers": ({"answers": "each"}, lambda seen: seen.reads == [1] * COUNT),
    "answer_batch_ms": (
        {"answers": "batch", "answer_batch_ms": 150}, lambda seen: seen.reads == [COUNT] and seen.seconds >= 0.15),
    "goaway_after": ({"goaway_after": 2}, lambda seen: seen.goaway == (0, None) and seen.statuses[:2] == [200] * 2),
    "goaway": (
        {"goaway_after": 2, "goaway": "immediate"},
        lambda seen: seen.goaway == (0, None) and seen.statuses == [200, *[None] * 4]),
    "goaway_error": ({"goaway_after": 1, "goaway_error": 11}, lambda seen: seen.goaway == (11, None)),
    "goaway_reason": (
        {"goaway_after": 1, "goaway_reason": "Shutdown"}, lambda seen: seen.goaway == (0, b'{"reason":"Shutdown"}')),
}
ON_BEGINNINGS = {
    "connection_window_bytes": (
        {"connection_window_bytes": 100000}, lambda seen: seen.room == 100000 - COUNT * len(PAYLOAD)),
}
SOON = (429, "TooManyProviderTokenUpdates")
TOKENS = {
    "token_age_max_s": ({"token_age_max_s": 5}, ((403, "ExpiredProviderToken"), (200, None), (200, None))),
    "token_renewal_min_s": ({"token_renewal_min_s": 0}, ((200, None), (200, None), (200, None))),
    "token_renewal_over": ({"token_renewal_over": "key"}, ((200, None), SOON, SOON)),
}
# Over time: test_production.py.
LATER = {"goaway_age_s": ({"goaway_age_s": 7200}, None), "gone_delay_s": ({"gone_delay_s": [5, 9]}, None)}
EVERY = {**WAYS, **ON_BEGINNINGS, **TOKENS, **LATER}


def as_ever(seen):
    return (seen.statuses, seen.bodies, seen.resets, seen.goaway, seen.pongs, seen.reads, seen.room) == (
        GOOD, [""] * COUNT, [], None, 1, [COUNT], ROOM) and (seen.settings[3], seen.settings.get(4, 65535)) == (1000, 65535)


def connected(simulator):
    client = Client(simulator)
    client.until(lambda: 3 in client.settings)
    return client


def by_rules(start, tmp_path, names):
    """A simulator with a rules file that gives each of these faults a separate connection."""
    path = tmp_path / "rules.json"
    path.write_text(json.dumps([EVERY[name][0] | {"connections": number} for number, name in enumerate(names, 1)]))
    return start(*HTTP2, "--rules", path)


def test_every_fault_by_rules(start, tmp_path):
    names = [*WAYS, *ON_BEGINNINGS]
    simulator = by_rules(start, tmp_path, names)
    for name in names:
        seen = play(connected(simulator), simulator)
        assert EVERY[name][1](seen), (name, seen)


@pytest.mark.parametrize("name", [*WAYS, *ON_BEGINNINGS])
def test_set_at_the_start_and_removed(shared, name):
    faults, shows = EVERY[name]
    simulator = shared(faults)
    seen = play(connected(simulator), simulator)
    assert shows(seen), seen
    simulator.control("DELETE", "/faults")
    seen = play(connected(simulator), simulator)
    assert as_ever(seen), seen


@pytest.mark.parametrize("name", WAYS)
def test_on_open_connections(shared, name):
    """A fault starts and ends on a connection that was already open."""
    faults, shows = WAYS[name]
    simulator = shared()
    with connected(simulator) as client, connected(simulator) as other, connected(simulator) as last:
        seen = play(last, simulator)
        assert as_ever(seen), seen
        assert simulator.control("PUT", "/faults", faults)[0] == 200
        for number, fault in [(3, "streams_max"), (4, "window_bytes")]:
            if fault in faults:
                client.until(lambda: client.settings.get(number) == faults[fault])
        seen = play(client, simulator)
        assert shows(seen), seen
        simulator.control("PATCH", "/faults", {one: None for one in faults})
        assert simulator.control("GET", "/faults")[1]["faults"] == {}
        seen = play(other, simulator)
        assert as_ever(seen), seen


@pytest.mark.parametrize("name", TOKENS)
def test_tokens(start, tmp_path, name):
    """The simulator remembers the tokens of a key, so each way gets a separate simulator."""
    faults, answers = TOKENS[name]
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(faults))
    changed = start(*HTTP2, control=True)
    changed.control("PUT", "/faults", faults)
    for simulator in (start(*HTTP2, faults=faults), start(*HTTP2, "--rules", path), changed):
        assert tokens(simulator) == answers


def test_tokens_without_a_fault(start):
    assert tokens(start(*HTTP2)) == ((200, None), SOON, (200, None))
