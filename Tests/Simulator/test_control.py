"""The control interface and the ledger."""

import json
import signal
import struct
import time

import pytest
from simulator import CLEAN, TOKEN, enhanced, error, finish, simple, story


def test_accepted_in_pages(start):
    simulator = start(control=True)
    finish(simulator.connect(), b"".join(enhanced(number) for number in range(1, 26)))
    seen, at = [], 0
    while True:
        status, page = simulator.control("GET", f"/accepted?from={at}&limit=10")
        assert status == 200 and page["total"] == 25 and page["first"] == at
        if not page["notifications"]:
            break
        seen += [one["identifier"] for one in page["notifications"]]
        at = page["next"]
    assert seen == list(range(1, 26))
    one = simulator.control("GET", "/accepted?limit=1")[1]["notifications"][0]
    assert one["token"] == TOKEN.hex() and json.loads(one["payload"])["aps"]


def test_keeps_the_latest(start):
    simulator = start("--control-keeps", "10", control=True)
    finish(simulator.connect(), b"".join(enhanced(number) for number in range(1000)))
    page = simulator.control("GET", "/accepted?from=0")[1]
    assert page["total"] == 1000 and page["notifications"][-1]["identifier"] == 999
    assert page["first"] + len(page["notifications"]) == 1000
    assert len(page["notifications"]) < 100


def test_counters_and_reset(start):
    simulator = start(control=True)
    assert story(simulator.connect(), enhanced(1) + enhanced(2, b"") + enhanced(3))[1] == CLEAN
    counters = simulator.wait("/counters", lambda counters: counters["discarded"] == 1)
    assert (counters["accepted"], counters["rejected"], counters["received"]) == (1, {"2": 1}, 3)
    counters = simulator.control("POST", "/reset")[1]
    assert (counters["accepted"], counters["rejected"], counters["received"]) == (0, {}, 0)
    assert simulator.control("GET", "/accepted")[1]["total"] == 0


def test_unregistered_devices_are_told_once_and_pushes_to_them_accepted(start):
    simulator = start(control=True)
    before = int(time.time())
    assert simulator.control("POST", "/unregistered", {"token": TOKEN.hex()})[0] == 200
    listed = simulator.control("POST", "/unregistered", {"token": "0102", "timestamp": 5})[1]
    assert listed["unregistered"][1] == {"timestamp": 5, "token": "0102"}
    finish(simulator.connect(), enhanced(1))
    told, end = story(simulator.connect(simulator.feedback))
    timestamp = struct.unpack_from("!I", told)[0]
    assert before <= timestamp <= time.time()
    assert told == struct.pack("!IH", timestamp, 32) + TOKEN + struct.pack("!IH", 5, 2) + b"\1\2"
    assert end == CLEAN
    assert story(simulator.connect(simulator.feedback)) == (b"", CLEAN)
    assert simulator.control("GET", "/unregistered")[1] == {"unregistered": []}
    assert simulator.stop()["accepted"] == 1


def test_faults_come_and_go_on_an_open_connection(start):
    simulator = start(control=True)
    with simulator.connect() as sock:
        sock.sendall(enhanced(1))
        simulator.wait("/counters", lambda counters: counters["accepted"] == 1)
        answer = simulator.control("PUT", "/faults", {"bad_every": 1, "bad_status": 5})
        assert answer == (200, {"seed": 7, "faults": {"bad_every": 1, "bad_status": [5]}})
        assert story(sock, enhanced(2)) == (error(5, 2), CLEAN)
    merged = simulator.control("PATCH", "/faults", {"bad_status": None, "no_packet": 1})[1]
    assert merged["faults"] == {"bad_every": 1, "no_packet": 1.0}
    assert story(simulator.connect(), enhanced(2)) == (b"", CLEAN)
    assert simulator.control("DELETE", "/faults")[1]["faults"] == {}
    assert simulator.control("GET", "/faults")[1]["faults"] == {}
    assert story(simulator.connect(), enhanced(3) + enhanced(4, b"")) == (error(2, 4), CLEAN)


@pytest.mark.parametrize(
    "method, path, body, status, words",
    [
        ("PUT", "/faults", '{"bad_every": 2,\n "nonsense": 1}', 400, "body:2:2: no fault is called nonsense"),
        ("PUT", "/faults", '{"bad_every": 2', 400, "body:1:16: "),
        ("PUT", "/faults", '{"bad_share": 2}', 400, "bad_share: expected a number from 0 to 1"),
        ("PUT", "/faults", '{"tls_min": "1.3", "tls_max": "1.2"}', 400, "tls_min 1.3 is above tls_max 1.2"),
        ("POST", "/unregistered", '{"token": "zz"}', 400, "token: 'z' is not a hex digit"),
        ("POST", "/unregistered", '{"token": "00", "time": 1}', 400, "time means nothing here"),
        ("GET", "/accepted?from=x", None, 400, "from=x is not a number"),
        ("GET", "/nothing", None, 404, "/counters"),
        ("DELETE", "/counters", None, 405, "/counters takes GET"),
    ],
)
def test_says_what_is_wrong(start, method, path, body, status, words):
    simulator = start(control=True)
    answer = simulator.control(method, path, body)
    assert answer[0] == status and words in answer[1]["error"]
    assert simulator.control("GET", "/faults")[1]["faults"] == {}


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "127.0.0.1@evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:8080"}, 200),
    ],
)
def test_answers_nobody_from_elsewhere(start, headers, status):
    assert start(control=True).control("GET", "/counters", headers=headers)[0] == status


def test_open_connections(start):
    simulator = start(control=True)
    with simulator.connect() as sock:
        sock.sendall(enhanced(1) * 3)
        answer = simulator.wait(
            "/connections", lambda answer: any(one["accepted"] == 3 for one in answer["connections"])
        )
        (one,) = answer["connections"]
        assert one["bytes"] == 3 * len(enhanced(1)) and str(sock.getsockname()[1]) in one["peer"]
    simulator.wait("/connections", lambda answer: answer["connections"] == [])


def test_shutdown(start):
    simulator = start(control=True)
    assert simulator.control("POST", "/shutdown")[0] == 202
    assert simulator.process.wait(20) == 0


def test_ledger(start, tmp_path):
    path = tmp_path / "ledger"
    simulator = start("--ledger", path, faults={"sentinel": "none"})
    bad = enhanced(3, bytes(101))
    assert story(simulator.connect(), enhanced(1) + enhanced(2, b"") + bad + enhanced(4) + simple())[1] == CLEAN
    finish(simulator.connect(), enhanced(9) + enhanced(10, payload=b'{"aps":{}}') + enhanced(4))
    totals = simulator.stop()
    *lines, summary = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(one["connection"], one["identifier"], one["fate"]) for one in lines] == [
        (1, 1, "accepted"), (1, 2, "ignored"), (1, 3, "rejected"), (1, 4, "discarded"),
        (1, None, "discarded"), (2, 9, "accepted"), (2, 10, "accepted"), (2, 4, "accepted"),
    ]
    assert lines[2]["status"] == 5
    # The same token and payload, whatever the identifier; what was discarded was never seen.
    assert [one.get("duplicate", False) for one in lines] == [False] * 5 + [True, False, True]
    assert summary["summary"] == totals
    assert (totals["accepted"], totals["duplicates"], totals["discarded"]) == (4, 2, 2)


def test_summary_on_request(start):
    simulator = start()
    finish(simulator.connect(), enhanced(1) * 3)
    simulator.process.send_signal(signal.SIGUSR1)
    assert json.loads(simulator.line())["accepted"] == 3
    assert simulator.stop()["accepted"] == 3


@pytest.mark.parametrize(
    "payload, status",
    [
        (b'{"aps":{}}', None),
        (b'{"aps":{"alert":"\\ud83d\\ude00"},"a":[1,-2.5e3,null,true]}', None),
        (b"{}", 1),
        (b'{"aps":[]}', 1),
        (b"[]", 1),
        (b'{"aps":{}} x', 1),
        (b'{"aps":{"badge":01}}', 1),
        (b'{"aps":{"alert":"\xff"}}', 1),
        (b"[" * 2000, 1),
    ],
)
def test_payloads_are_checked_where_that_is_wanted(start, payload, status):
    simulator = start("--check-payload")
    answer = story(simulator.connect(), enhanced(1, payload=payload) + enhanced(2, b""))
    assert answer == ((error(status, 1) if status else error(2, 2)), CLEAN)


@pytest.mark.parametrize(
    "topic, answer", [("any", error(2, 2)), ("com.example.app", error(2, 2)), ("com.other", error(8, 1))]
)
def test_topic_of_the_certificate(start, topic, answer):
    simulator = start("--topic", topic)
    assert story(simulator.connect(), enhanced(1) + enhanced(2, b"")) == (answer, CLEAN)


def test_starts_at_once(start):
    start()
    # The best of a few: the machine is shared.
    assert min(start().start_cost for _ in range(5)) < 0.1
