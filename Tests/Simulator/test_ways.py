"""Every fault set in every way: option, rules file, control API; applied immediately, and removed again."""

import json
import re
import subprocess
import time
import types

import pytest
from simulator import (
    CLEAN, FIN, RESET, TOKEN, enhanced, error, read_to_end, exchange, tcp, tool,
)

BAD = bytes([0xBA]) * 32
AS_EVER = (error(2, 99), CLEAN)
HOUR = 3_600_000
NOTIFICATIONS = [enhanced(1), enhanced(2), enhanced(3, BAD), enhanced(4), enhanced(5)]
STREAM = b"".join(NOTIFICATIONS) + enhanced(99, b"") + enhanced(100, payload=b"")


def play(sock):
    """Sends six notifications and a sentinel; returns what came over the wire."""
    with sock:
        before, began = tcp(sock), time.monotonic()
        sock.sendall(STREAM)
        pieces, _, end = read_to_end(sock)
        after = tcp(sock)
    return types.SimpleNamespace(
        exchange=(b"".join(pieces), end),
        seconds=time.monotonic() - began,
        bytes=after.received - before.received,
        segments=after.data_segments - before.data_segments,
    )


def shows(*answer):
    return lambda seen: seen.exchange == answer


def lasts(seconds):
    """Only a minimum is certain on a busy machine."""
    return lambda seen: seen.exchange == AS_EVER and seen.seconds >= seconds


# Faults and what they show. A short time is replaced if a test must tell the end of the fault from the end of its
# time.
ON_CONNECTIONS = {
    "connections": ({"connections": [1, 1_000_000], "bad_every": 2}, shows(error(8, 2), CLEAN)),
    "connection_share": ({"connection_share": 1, "bad_every": 2}, shows(error(8, 2), CLEAN)),
    "times": ({"times": 9, "cut_after": 1}, shows(b"", FIN)),
    "count_over": ({"count_over": "run", "bad_every": 2}, shows(error(8, 2), CLEAN)),
    "bad_tokens": ({"bad_tokens": [BAD.hex()]}, shows(error(8, 3), CLEAN)),
    "bad_prefixes": ({"bad_prefixes": ["baba"]}, shows(error(8, 3), CLEAN)),
    "bad_every": ({"bad_every": 4}, shows(error(8, 4), CLEAN)),
    "bad_share": ({"bad_share": 1}, shows(error(8, 1), CLEAN)),
    "bad_status": ({"bad_every": 1, "bad_status": 5}, shows(error(5, 1), CLEAN)),
    "sentinel": ({"sentinel": "none"}, shows(error(4, 100), CLEAN)),
    "sentinel_status": ({"sentinel_status": 5}, shows(error(5, 99), CLEAN)),
    "error_delay_ms": ({"error_delay_ms": 150}, lasts(0.15)),
    "no_packet": ({"no_packet": 1}, shows(b"", CLEAN)),
    "identifier_zero": ({"identifier_zero": 1}, shows(error(2, 0), CLEAN)),
    "close_delay_ms": ({"close_delay_ms": 150}, lasts(0.15)),
    "one_segment": ({"one_segment": True}, lambda seen: seen.exchange == AS_EVER and seen.segments == 1),
    "close": ({"close": "reset"}, shows(error(2, 99), RESET)),
    "shutdown_after": ({"shutdown_after": 4}, shows(error(10, 4), CLEAN)),
    "cut_after": ({"cut_after": 4}, shows(b"", FIN)),
    "cut_after_bytes": ({"cut_after_bytes": 100}, shows(b"", FIN)),
    "cut": ({"cut_after_bytes": 100, "cut": "reset"}, shows(b"", RESET)),
    "stall_after_bytes": ({"stall_after_bytes": 100, "stall_ms": 150}, lasts(0.15)),
    "stall_ms": ({"cut_after": 3, "cut": "stall", "stall_ms": 150}, lasts(0.15)),
    "read_bytes_per_second": ({"read_bytes_per_second": 2000}, lasts(0.15)),
    # A record adds about 30 bytes to its content.
    "record_bytes": ({"record_bytes": 1}, lambda seen: seen.exchange == AS_EVER and seen.bytes > 150),
    "segment_bytes": ({"segment_bytes": 8}, lambda seen: seen.exchange == AS_EVER and seen.segments >= 9),
    "segment_gap_ms": ({"segment_bytes": 8, "segment_gap_ms": 40}, lasts(0.15)),
}
ENDLESS = {
    "error_delay_ms": {"error_delay_ms": HOUR},
    "close_delay_ms": {"close_delay_ms": HOUR},
    "stall_after_bytes": {"stall_after_bytes": 0},
    "stall_ms": {"cut_after": 3, "cut": "stall", "stall_ms": HOUR},
    "read_bytes_per_second": {"read_bytes_per_second": 1},
    "segment_gap_ms": {"segment_bytes": 8, "segment_gap_ms": HOUR},
}
# These apply to connections made while they are set, and to no others.
ON_BEGINNINGS = {
    "refuse_ms": ({"refuse_ms": HOUR}, "ConnectionRefusedError"),
    "handshake_delay_ms": ({"handshake_delay_ms": 150}, "late"),
    "handshake_alert": ({"handshake_alert": 40}, "SSLV3_ALERT_HANDSHAKE_FAILURE"),
    "tls_min": ({"tls_min": "1.3"}, "TLSv1.3"),
    "tls_max": ({"tls_max": "1.3"}, "TLSv1.3"),
    "session_tickets": ({"session_tickets": True}, "TLSv1.3"),
}


EVERY = ON_CONNECTIONS | ON_BEGINNINGS


def begin(simulator, least=0):
    """How a connection begins, in a word; "late" if it took at least `least`."""
    began = time.monotonic()
    try:
        with simulator.connect() as sock:
            is_late = least and time.monotonic() - began >= least
            return "late" if is_late else sock.version()
    except ConnectionRefusedError:
        return "ConnectionRefusedError"
    except OSError as refusal:
        return refusal.reason


def by_rules(start, tmp_path, names):
    """A simulator with a rules file that gives each of these faults a separate connection, from the second on."""
    path = tmp_path / "rules.json"
    path.write_text(json.dumps([EVERY[name][0] | {"connections": number} for number, name in enumerate(names, 2)]))
    return start("--rules", path)


def test_every_fault_by_rules(start, tmp_path):
    simulator = by_rules(start, tmp_path, ON_CONNECTIONS)
    assert play(simulator.connect()).exchange == AS_EVER
    for name in ON_CONNECTIONS:
        seen = play(simulator.connect())
        assert ON_CONNECTIONS[name][1](seen), (name, seen)


@pytest.mark.parametrize("name", ON_CONNECTIONS)
def test_every_fault_by_control(shared, name):
    faults, is_shown = ON_CONNECTIONS[name]
    seen = play(shared(faults).connect())
    assert is_shown(seen), seen


@pytest.mark.parametrize("name", ON_CONNECTIONS)
def test_begins_on_an_open_connection(shared, name):
    faults, is_shown = ON_CONNECTIONS[name]
    simulator = shared()
    with simulator.connect() as sock:
        # Past the handshake on the gateway's side too.
        simulator.wait("/counters", lambda counters: counters["connections"] == 1)
        simulator.control("PUT", "/faults", faults)
        seen = play(sock)
    assert is_shown(seen), seen


@pytest.mark.parametrize("name", ON_CONNECTIONS)
def test_ends_on_an_open_connection(shared, name):
    simulator = shared(ENDLESS.get(name, ON_CONNECTIONS[name][0]))
    with simulator.connect() as sock:
        simulator.wait("/counters", lambda counters: counters["connections"] == 1)
        simulator.control("DELETE", "/faults")
        seen = play(sock)
    assert seen.exchange == AS_EVER and seen.bytes < 100 and seen.segments < 9


def test_every_beginning_by_rules(start, tmp_path):
    """Without refuse_ms, which applies to all connections or none."""
    names = [name for name in ON_BEGINNINGS if name != "refuse_ms"]
    simulator = by_rules(start, tmp_path, names)
    assert begin(simulator) == "TLSv1.2"
    for name in names:
        word = ON_BEGINNINGS[name][1]
        assert begin(simulator, least=0.15 * (word == "late")) == word, name
    assert begin(by_rules(start, tmp_path, ["refuse_ms"])) == ON_BEGINNINGS["refuse_ms"][1]


@pytest.mark.parametrize("name", ON_BEGINNINGS)
def test_does_not_affect_open_connections(shared, name):
    faults, word = ON_BEGINNINGS[name]
    simulator = shared()
    with simulator.connect() as sock:
        simulator.wait("/counters", lambda counters: counters["connections"] == 1)
        simulator.control("PUT", "/faults", faults)
        assert begin(simulator, least=0.15 * (word == "late")) == word
        assert (sock.version(), *play(sock).exchange) == ("TLSv1.2", *AS_EVER)
    simulator.control("DELETE", "/faults")
    with simulator.connect() as sock:
        assert sock.version() == "TLSv1.2"


@pytest.mark.parametrize("by_file", [True, False])
def test_feedback_is_cut_in_every_way(start, shared, tmp_path, by_file):
    """test_faults covers the option."""
    (tmp_path / "rules").write_text('{"feedback_cut_bytes": 20}')
    simulator = start("--rules", tmp_path / "rules", control=True) if by_file else shared({"feedback_cut_bytes": 20})
    for answer in ((20, FIN), (38, CLEAN)):
        simulator.control("POST", "/unregistered", {"token": TOKEN.hex(), "timestamp": 5})
        told, end = exchange(simulator.connect(simulator.feedback))
        assert (len(told), end) == answer
        simulator.control("DELETE", "/faults")


def test_every_fault_by_option(start):
    """All together: the same as when set by the control API."""
    http2 = pytest.importorskip("test_http2_ways", reason="Python has no h2").EVERY
    every = {name: faults[name] for name, (faults, _) in (EVERY | http2).items()} | {"feedback_cut_bytes": 20}
    simulator = start("--http2-port", 0, faults=every, control=True)
    told = simulator.control("GET", "/faults")[1]["faults"]
    # Defaults are not listed.
    assert set(every) - set(told) == {"connection_share"}
    assert simulator.control("PUT", "/faults", every)[1]["faults"] == told
    ran = subprocess.run([tool(), "simulate", "--help"], check=True, capture_output=True, text=True)
    assert sorted(re.findall(r"^    (\w+)=\S+\n      \S", ran.stdout, re.MULTILINE)) == sorted(every)


# In separate rules, to avoid races between the ends of a stall, of a delay and of a cut.
EVERYTHING_BY_CHANCE = [
    {
        "connection_share": 0.4, "cut_after_bytes": [0, 20000], "stall_after_bytes": [0, 9000],
        "stall_ms": [0, 5],
    },
    {
        "connection_share": 0.9, "bad_share": 0.02, "bad_status": [1, 5, 8, 255], "no_packet": 0.3,
        "identifier_zero": 0.3, "error_delay_ms": [0, 5], "close_delay_ms": [0, 5],
        "shutdown_after": [10, 200], "cut_after": [10, 200], "cut_after_bytes": [0, 20000],
    },
]


def run(start, directory, seed):
    """Sends a hundred notifications on each of forty connections; returns the answers and the ledger's records."""
    directory.mkdir()
    path, rules = directory / "ledger", directory / "rules.json"
    rules.write_text(json.dumps(EVERYTHING_BY_CHANCE))
    simulator = start("--seed", seed, "--ledger", path, "--rules", rules)
    answers = []
    for number in range(40):
        frames = b"".join(
            enhanced(100 * number + one + 1, bytes([number, one]) * 16) for one in range(100)
        )
        answers.append(exchange(simulator.connect(), frames + enhanced(9999, b"")))
    totals = simulator.stop()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line.pop("time", None)
    # The next connection may come before the simulator has seen the end of the last.
    for counted in totals, lines[-1]["summary"]:
        counted.pop("connections_most")
    return answers, totals, lines


def test_same_seed_and_client_same_run(start, tmp_path):
    first = run(start, tmp_path / "1", "1")
    assert run(start, tmp_path / "2", "1") == first
    assert run(start, tmp_path / "3", "2")[0] != first[0]
    answers, totals, _ = first
    # Chance had its effect.
    assert {end for _, end in answers} == {CLEAN, FIN} and len({answer for answer, _ in answers}) > 5
    assert totals["accepted"] and totals["shutdowns"] and len(totals["statuses"]) > 2
