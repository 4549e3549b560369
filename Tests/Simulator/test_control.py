"""The control API and the ledger."""

import concurrent.futures
import contextlib
import json
import os
import re
import select
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

import pytest
from simulator import (
    CLEAN, DEADLINE, FIN, PAYLOAD, RESET, TOKEN, Simulator, World, ends_in_order, enhanced, error, finish, framed, item,
    make_certificates, read_to_end, simple, exchange, tool,
)


def framed_push(identifier, token=TOKEN, payload=PAYLOAD):
    return framed(item(1, token), item(2, payload), item(3, struct.pack("!I", identifier)))


def test_accepted_in_pages(simulator):
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
    # Any form of a query.
    assert simulator.control("GET", "/accepted?%66rom=%32%34")[1]["notifications"][0]["identifier"] == 25
    one = simulator.control("GET", "/accepted?limit=1")[1]["notifications"][0]
    assert one["token"] == TOKEN.hex() and json.loads(one["payload"])["aps"]


def test_the_record_of_each_command(start, tmp_path):
    """In the control API and in the file alike."""
    path = tmp_path / "accepted"
    simulator = start("--accepted", path, control=True)
    escaped = '{"a":"\\" \x01 \t é 😀"}'.encode()
    odd = [escaped, b"\xff", b"\xc3\x28", b"\xff\xfe\xfd"]
    items = [item(3, struct.pack("!I", 9)), item(5, b"\5"), item(4, bytes(4)), item(2, PAYLOAD), item(1, b"\1\2\3")]
    finish(simulator.connect(), simple() + enhanced(7, expiry=1_700_000_000) + framed(*items) + framed(*reversed(items[3:])))
    finish(simulator.connect(), b"".join(enhanced(1, payload=payload) for payload in odd))
    told = simulator.control("GET", "/accepted")[1]["notifications"]
    simulator.stop()
    assert told == [json.loads(line) for line in path.read_text().splitlines()]
    names = ("connection", "command", "identifier", "expiry", "priority", "token", "payload")
    assert [tuple(one[name] for name in names) for one in told[:4]] == [
        (1, 0, None, None, None, TOKEN.hex(), PAYLOAD.decode()), (1, 1, 7, 1_700_000_000, None, TOKEN.hex(), PAYLOAD.decode()),
        (1, 2, 9, 0, 5, "010203", PAYLOAD.decode()), (1, 2, None, None, None, "010203", PAYLOAD.decode())]
    assert told[4]["payload"].encode() == escaped
    assert [one.get("payload_base64") for one in told[4:]] == [None, "/w==", "wyg=", "//79"]


def test_serves_many_at_once(simulator):
    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        for _ in range(8):
            clients.submit(lambda: finish(simulator.connect(), b"".join(map(framed_push, range(500)))))
    totals = simulator.totals()
    assert (totals["accepted"], totals["connections"]) == (4000, 8)
    notifications = simulator.control("GET", "/accepted?limit=4000")[1]["notifications"]
    assert len({one["connection"] for one in notifications}) == 8


def test_keeps_the_latest(start):
    simulator = start("--control-keeps", "10", control=True)
    finish(simulator.connect(), b"".join(enhanced(number) for number in range(1000)))
    page = simulator.control("GET", "/accepted?from=0")[1]
    assert page["total"] == 1000 and page["notifications"][-1]["identifier"] == 999
    assert page["first"] + len(page["notifications"]) == 1000
    assert len(page["notifications"]) < 100


def test_counters_and_reset(simulator):
    assert exchange(simulator.connect(), enhanced(1) + enhanced(2, b"") + enhanced(3))[1] == CLEAN
    counters = simulator.wait("/counters", lambda counters: counters["discarded"] == 1)
    assert (counters["accepted"], counters["statuses"], counters["received"]) == (1, {"2": 1}, 3)
    counters = simulator.control("POST", "/reset")[1]
    assert (counters["accepted"], counters["statuses"], counters["received"]) == (0, {}, 0)
    assert simulator.control("GET", "/accepted")[1]["total"] == 0


def test_unregistered_devices_are_listed_once_and_pushes_to_them_accepted(simulator):
    before = int(time.time())
    assert simulator.control("POST", "/unregistered", {"token": TOKEN.hex()})[0] == 200
    listed = simulator.control("POST", "/unregistered", {"token": "0102", "timestamp": 5})[1]
    assert listed["unregistered"][1] == {"timestamp": 5, "token": "0102"}
    finish(simulator.connect(), enhanced(1))
    told, end = exchange(simulator.connect(simulator.feedback))
    timestamp = struct.unpack_from("!I", told)[0]
    assert before <= timestamp <= time.time()
    assert told == struct.pack("!IH", timestamp, 32) + TOKEN + struct.pack("!IH", 5, 2) + b"\1\2"
    assert end == CLEAN
    assert exchange(simulator.connect(simulator.feedback)) == (b"", CLEAN)
    assert simulator.control("GET", "/unregistered")[1] == {"unregistered": []}
    totals = simulator.totals()
    assert [totals[name] for name in ("accepted", "feedback_connections", "feedback_tuples")] == [1, 2, 2]


def test_faults_come_and_go_on_an_open_connection(simulator):
    with simulator.connect() as sock:
        sock.sendall(enhanced(1))
        simulator.wait("/counters", lambda counters: counters["accepted"] == 1)
        answer = simulator.control("PUT", "/faults", {"bad_every": 1, "bad_status": 5})
        assert answer == (200, {"seed": 7, "faults": {"bad_every": 1, "bad_status": [5]}})
        assert exchange(sock, enhanced(2)) == (error(5, 2), CLEAN)
    merged = simulator.control("PATCH", "/faults", {"bad_status": None, "no_packet": 1})[1]
    assert merged["faults"] == {"bad_every": 1, "no_packet": 1.0}
    assert exchange(simulator.connect(), enhanced(2)) == (b"", CLEAN)
    assert simulator.control("DELETE", "/faults")[1]["faults"] == {}
    assert simulator.control("GET", "/faults")[1]["faults"] == {}
    assert exchange(simulator.connect(), enhanced(3) + enhanced(4, b"")) == (error(2, 4), CLEAN)


@pytest.mark.parametrize(
    "method, path, body, status, words",
    [
        ("PUT", "/faults", '{"bad_every": 2,\n "nonsense": 1}', 400, "body:2:2: unknown fault nonsense"),
        ("PUT", "/faults", '{"bad_every": 2', 400, "body:1:16: "),
        ("PUT", "/faults", '{"bad_share": 2}', 400, "bad_share: expected a number from 0 to 1"),
        ("PUT", "/faults", '{"tls_min": "1.3", "tls_max": "1.2"}', 400, "tls_min 1.3 is above tls_max 1.2"),
        ("POST", "/unregistered", '{"token": "zz"}', 400, "token: 'z' is not a hex digit"),
        ("POST", "/unregistered", '{"token": "00", "time": 1}', 400, "time is not allowed here"),
        ("GET", "/accepted?from=x", None, 400, "from=x is not a number"),
        ("GET", "/nothing", None, 404, "/counters"),
        ("DELETE", "/counters", None, 405, "/counters takes GET"),
        ("DELETE", "/connections/7", None, 404, "no connection 7 is open"),
        ("DELETE", "/connections/x", None, 404, "no connection x is open"),
        ("DELETE", "/connections/7?end=soon", None, 400, "end=soon: expected one of close_notify, fin"),
        ("GET", "/connections/7", None, 405, "/connections/7 takes DELETE"),
        ("PUT", "/faults", "[]", 400, "body:1:1: expected an object of faults"),
        ("PUT", "/faults", '[{}, {"cut": 1}]', 400, "body:1:14: cut: expected one of"),
        ("PATCH", "/faults", '[{"cut": "fin"}]', 400, "body:1:1: expected an object of faults"),
        *[("PUT", "/faults", json.dumps({name: value}), 400, f"{name}: expected {words}") for name, value, words in (
            ("bad_every", 0, "a whole number of at least 1"), ("bad_every", 1.5, "a whole number of at least 1"),
            ("bad_share", 1.1, "a number from 0 to 1"), ("bad_status", 256, "a number from 0 to 255"),
            ("close", "rst", "one of close_notify, fin, reset, stall"), ("goaway_reason", "", "a text"),
            ("token_age_max_s", -1, "a whole number of at least 0"), ("times", 0, "a whole number of at least 1"),
            *[("bad_reason", text, "one of BadCertificate, ") for text in ("Teapot", "99 X", "700 X", "400", "")])],
        ("PUT", "/faults", '{"bad_tokens": ["0x"]}', 400, "bad_tokens: 'x' is not a hex digit"),
        ("PUT", "/faults", '{"error_delay_ms": [9, 5]}', 400, "error_delay_ms: 9 is above 5"),
        # No JSON.
        *[("PUT", "/faults", text, 400, f"body:1:{column}: ") for text, column in (
            ("{", 2), ("[1,]", 4), ("01", 2), ('"\\x"', 2), ('"\\ud83d"', 2), ('"a', 1), ("nul", 4), ("1 2", 3), ('{"a" 1}', 6),
            ("-", 2), ("1.", 3), ("1e999", 1), ('"\t"', 2))],
        pytest.param("PUT", "/faults", "[" * 50_000, 400, "body:1:", id="deep"),
        ("PUT", "/faults", '[1,-0.5e+3,"\\u00e9\\ud83d\\ude00",true,null]', 400, "body:1:2: expected an object of faults"),
    ],
)
def test_error_messages(simulator, method, path, body, status, words):
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
        ({"Host": "127.0.0.1@evil.example"}, 400),
        ({"Host": "127.0.0.1:+80"}, 400),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://HOST"}, 403),
        ({"Origin": "http://HOST"}, 200),
        # A page of another program on this machine; an Internet page may embed it.
        ({"Origin": "http://127.0.0.1:8080"}, 403),
        ({"Origin": "http://localhost"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
    ],
)
def test_refuses_foreign_pages(simulator, headers, status):
    host = f"127.0.0.1:{simulator.ready['control_port']}"
    headers = {name: value.replace("HOST", host) for name, value in headers.items()}
    assert simulator.control("GET", "/counters", headers=headers)[0] == status


def test_an_offered_upgrade_is_ignored(simulator):
    """A request with a body still gets 100 Continue."""
    offer = "Host: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
    with socket.create_connection(("127.0.0.1", simulator.ready["control_port"]), DEADLINE) as sock:
        answers = sock.makefile("rb")
        for turn in range(3):
            sock.sendall(f"PATCH /faults HTTP/1.1\r\n{offer}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n".encode())
            assert answers.readline().startswith(b"HTTP/1.1 100") and answers.readline() == b"\r\n", turn
            sock.sendall(b"{}")
            for byte in f"GET /counters HTTP/1.1\r\n{offer}\r\n".encode():
                sock.sendall(bytes([byte]))
            for _ in range(2):
                assert answers.readline().startswith(b"HTTP/1.1 200"), turn
                headers = dict(line.decode().lower().split(": ", 1) for line in iter(answers.readline, b"\r\n"))
                answers.read(int(headers["content-length"]))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_foreign_page_s_form_changes_nothing(simulator, method):
    """The body may be anything, and text/plain needs no permission from the browser."""
    foreign = {"Content-Type": "text/plain", "Origin": "http://localhost:3000"}
    before = simulator.control("GET", "/faults")[1]
    assert simulator.control(method, "/faults", {"tls_min": "1.3"}, foreign)[0] == 403
    assert simulator.control("GET", "/faults")[1] == before


@pytest.mark.parametrize(
    "request_text, status",
    [
        ("GET /counters HTTP/1.0\r\n\r\n", 403),
        ("GET /counters HTTP/1.1\r\n\r\n", 400),
        ("GET /counters HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400),
        ("GET http://evil.example/counters HTTP/1.1\r\nHost: localhost\r\n\r\n", 403),
        ("GET http://localhost:80/counters HTTP/1.1\r\nHost: evil.example\r\n\r\n", 200),
        ("GET ftp://localhost/counters HTTP/1.1\r\nHost: localhost\r\n\r\n", 421),
        ("GET /counters HTTP/1.1\r\nHost: \r\n\r\n", 403),
        ("GET http://evil.example/counters HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
        ("POST /shutdown HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost.evil.example\r\n\r\n", 403),
        ("POST /reset HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n", 413),
        ("GET /counters HTTP/1.1\r\nHost: LOCALHOST:80\r\n\r\n", 200),
    ],
)
def test_closes_on_invalid_requests(simulator, request_text, status):
    with socket.create_connection(("127.0.0.1", simulator.ready["control_port"]), DEADLINE) as sock:
        sock.sendall(request_text.encode())
        if "Content-Length" in request_text:
            sock.sendall(b" " * 2_000_000)
        assert sock.recv(4096).split(b" ", 2)[1] == str(status).encode()
    assert simulator.process.poll() is None


def test_control_listens_on_loopback_only(start):
    """Wherever the gateway listens: every address of 127.0.0.0/8 is local, and the control API uses one."""
    simulator = start("--host", "0.0.0.0", control=True)
    assert exchange(simulator.connect(("127.0.0.2", simulator.gateway[1])), enhanced(1, b""))[0] == error(2, 1)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", simulator.ready["control_port"]), DEADLINE)


def test_reset_clears_the_records(simulator):
    simulator.control("POST", "/unregistered", {"token": "0102"})
    for _ in range(2):
        finish(simulator.connect(), enhanced(1) * 2)
        assert simulator.control("GET", "/counters")[1]["duplicates"] == 1
        simulator.control("POST", "/reset")
    assert simulator.control("GET", "/unregistered")[1] == {"unregistered": []}
    simulator.control("POST", "/unregistered", {"token": "0102"})
    assert simulator.control("DELETE", "/unregistered")[1] == {"unregistered": []}
    assert exchange(simulator.connect(simulator.feedback)) == (b"", CLEAN)


@pytest.mark.parametrize("host, address", [("[::1]", "::1"), ("::1", "::1"), ("::", "::1"), ("::", "127.0.0.1")])
def test_common_notations_of_addresses(start, host, address):
    simulator = start("--host", host, control=True)
    assert simulator.ready["host"] == host.strip("[]")
    with simulator.connect((address, simulator.gateway[1]), plain=True) as sock:
        answer = simulator.wait("/connections", lambda answer: answer["connections"] != [])
        wanted = f"[{address}]" if ":" in address else address
        assert answer["connections"][0]["peer"] == f"{wanted}:{sock.getsockname()[1]}"


def test_open_connections(simulator):
    with simulator.connect() as sock:
        sock.sendall(enhanced(1) * 3)
        answer = simulator.wait(
            "/connections", lambda answer: any(one["accepted"] == 3 for one in answer["connections"])
        )
        (one,) = answer["connections"]
        assert one["bytes"] == 3 * len(enhanced(1)) and one["peer"] == "127.0.0.1:%d" % sock.getsockname()[1]
        assert set(one["subject"].split(",")) == {"UID=com.example.app", "CN=Apple Push Services: com.example.app"}
    simulator.wait("/connections", lambda answer: answer["connections"] == [])


@pytest.mark.parametrize("query, end", [("", FIN), ("?end=close_notify", CLEAN), ("?end=fin", FIN), ("?end=reset", RESET)])
def test_ends_one_connection(simulator, query, end):
    with simulator.connect() as first, simulator.connect() as second:
        # Connections are numbered in the order of their acceptance.
        ports = {int(one["peer"].rsplit(":", 1)[1]): one["number"] for one in simulator.wait(
            "/connections", lambda answer: len(answer["connections"]) == 2)["connections"]}
        number = ports[second.getsockname()[1]]
        assert simulator.control("DELETE", f"/connections/{number}{query}") == (
            200, {"number": number, "end": end},
        )
        assert read_to_end(second)[::2] == ([], end)
        second.close()
        answer = simulator.wait("/connections", lambda answer: len(answer["connections"]) == 1)
        assert answer["connections"][0]["number"] == ports[first.getsockname()[1]]
        assert simulator.control("DELETE", f"/connections/{number}")[0] == 404
        assert exchange(first, enhanced(1, b"")) == (error(2, 1), CLEAN)


def test_ends_a_stalled_connection(shared):
    simulator = shared({"stall_after_bytes": 0})
    with simulator.connect() as sock:
        (one,) = simulator.wait("/connections", lambda answer: answer["connections"] != [])["connections"]
        assert simulator.control("DELETE", f"/connections/{one['number']}?end=reset")[0] == 200
        assert read_to_end(sock)[::2] == ([], RESET)


def test_shutdown(start):
    simulator = start(control=True)
    assert simulator.control("POST", "/shutdown")[0] == 202
    assert simulator.process.wait(20) == 0


def test_ledger(start, tmp_path):
    path = tmp_path / "ledger"
    simulator = start("--ledger", path, faults={"sentinel": "none"})
    bad = enhanced(3, bytes(101))
    assert exchange(simulator.connect(), enhanced(1) + enhanced(2, b"") + bad + enhanced(4) + simple())[1] == CLEAN
    finish(simulator.connect(), enhanced(9) + enhanced(10, payload=b'{"aps":{}}') + enhanced(4))
    totals = simulator.stop()
    *lines, summary = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(one["connection"], one["identifier"], one["outcome"]) for one in lines] == [
        (1, 1, "accepted"), (1, 2, "ignored"), (1, 3, "rejected"), (1, 4, "discarded"),
        (1, None, "discarded"), (2, 9, "accepted"), (2, 10, "accepted"), (2, 4, "accepted"),
    ]
    assert lines[2]["status"] == 5
    # The same token and payload are a duplicate under any identifier; discarded ones do not count.
    assert [one.get("duplicate", False) for one in lines] == [False] * 5 + [True, False, True]
    assert summary["summary"] == totals
    assert (totals["accepted"], totals["duplicates"], totals["discarded"]) == (4, 2, 2)


@pytest.mark.parametrize("option", ["--ledger", "--accepted"])
def test_full_disk(start, option):
    """The gateway keeps working; at its end the run reports an incomplete record."""
    simulator = start(option, "/dev/full", stderr=subprocess.PIPE)
    for number in range(3):
        assert exchange(simulator.connect(), enhanced(1) + enhanced(2, b"")) == (error(2, 2), CLEAN)
    simulator.process.send_signal(signal.SIGTERM)
    out, err = simulator.process.communicate(timeout=DEADLINE)
    assert json.loads(out.splitlines()[-1])["accepted"] == 3
    assert simulator.process.returncode == 1
    assert f"Error: {option}: /dev/full: No space left on device; later notifications are not recorded" in err
    # One message, however much is lost.
    assert err.count("recording stopped") == 1


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGHUP], ids=lambda number: number.name)
def test_summary_on_request(start, number):
    simulator = start()
    for count in (3, 6):
        finish(simulator.connect(), enhanced(1) * 3)
        simulator.process.send_signal(number)
        assert json.loads(simulator.line())["accepted"] == count
    assert simulator.stop()["accepted"] == 6


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_ends_while_its_bytes_are_paced(start, tmp_path, number):
    """Sending everything would take days."""
    path = tmp_path / "feedback"
    path.write_text(f"1 {TOKEN.hex()}\n" * 10_000)
    simulator = start("--feedback", path, faults={"segment_bytes": 1, "segment_gap_ms": 1000})
    with simulator.connect(simulator.feedback, plain=True) as raw, simulator.connect() as gateway:
        with simulator.context().wrap_socket(raw) as tls:
            gateway.sendall(enhanced(1, b""))
            # The first bytes of each have arrived.
            for sock in (tls, gateway):
                assert select.select([sock], [], [], DEADLINE)[0]
            simulator.process.send_signal(number)
            assert simulator.process.wait(DEADLINE) == 0
    assert simulator.stop()["feedback_tuples"] == 10_000


def test_ends_cleanly_during_requests(start):
    """Clients that reach the control API during the shutdown get a response or are closed."""
    for _ in range(5):
        simulator = start(control=True, stderr=subprocess.PIPE)
        address = ("127.0.0.1", simulator.ready["control_port"])
        begun = threading.Barrier(5)

        def poll():
            begun.wait(DEADLINE)
            with contextlib.suppress(OSError):
                while True:
                    with socket.create_connection(address, timeout=DEADLINE) as sock:
                        sock.sendall(b"GET /counters HTTP/1.1\r\nHost: localhost\r\n\r\n")
                        sock.recv(1)

        with concurrent.futures.ThreadPoolExecutor() as clients:
            for _ in range(4):
                clients.submit(poll)
            begun.wait(DEADLINE)
            ends_in_order(simulator)


LATE_SIGNAL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

int sigaction(int number, const struct sigaction *action, struct sigaction *before) {
  int (*real)(int, const struct sigaction *, struct sigaction *) = dlsym(RTLD_NEXT, "sigaction");
  const struct timespec second = {1, 0};
  if (action && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN && number == atoi(getenv("LATE_SIGNAL")))
    nanosleep(&second, NULL);
  return real(number, action, before);
}
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP], ids=lambda number: number.name)
def test_signals_are_handled_once_it_is_ready(start, monkeypatch, tmp_path, number):
    """Even if the thread that handles them starts late, as on a busy machine."""
    (tmp_path / "late.c").write_text(LATE_SIGNAL)
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", "late.so", "late.c", "-ldl"]
    subprocess.run(command, cwd=tmp_path, check=True)
    monkeypatch.setenv("LD_PRELOAD", str(tmp_path / "late.so"))
    monkeypatch.setenv("LATE_SIGNAL", str(int(number)))
    began = time.monotonic()
    simulator = start()
    simulator.process.send_signal(number)
    assert time.monotonic() - began >= 1, "ready before the signal was handled"
    if number in (signal.SIGUSR1, signal.SIGHUP):
        assert json.loads(simulator.line())["accepted"] == 0
    else:
        simulator.process.wait(DEADLINE)
    assert simulator.stop()["accepted"] == 0


@pytest.mark.parametrize(
    "payload, status",
    [
        (b'{"aps":{}}', None),
        (b'{"aps":{"alert":"\\ud83d\\ude00"},"a":[1,-2.5e3,null,true]}', None),
        (b'{"mdm":"D1F2A3"}', None),
        (b'{"mdm":1}', 1),
        (b'{"mdm":"D1F2A3","aps":7}', 1),
        (b"{}", 1),
        (b'{"aps":[]}', 1),
        (b"[]", 1),
        (b'{"aps":{}} x', 1),
        (b'{"aps":{"badge":01}}', 1),
        (b'{"aps":{"alert":"\xff"}}', 1),
        (b"[" * 2000, 1),
    ],
)
def test_payloads_are_checked_if_requested(start, payload, status):
    simulator = start("--check-payload")
    answer = exchange(simulator.connect(), enhanced(1, payload=payload) + enhanced(2, b""))
    assert answer == ((error(status, 1) if status else error(2, 2)), CLEAN)


@pytest.mark.parametrize(
    "topic, answer", [("any", error(2, 2)), ("com.example.app", error(2, 2)), ("com.other", error(8, 1)),
                      ("com.other,com.example.app", error(2, 2)), ("com.other,com.example", error(8, 1))]
)
def test_topic_of_the_certificate(start, topic, answer):
    simulator = start("--topic", topic)
    assert exchange(simulator.connect(), enhanced(1) + enhanced(2, b"")) == (answer, CLEAN)


@pytest.mark.parametrize(
    "subject, status",
    [("/CN=no topic", 3), ("/CN=empty/UID=", 3), ("/UID=" + "a" * 256, 6), ("/UID=" + "a" * 255, 2)],
)
def test_topic_missing_or_too_long(start, tmp_path, subject, status):
    own = make_certificates(tmp_path / "certificates", subject)
    simulator = start("--certificates", own, "--topic", "any")
    answer = error(status, 2 if status == 2 else 1)
    assert exchange(simulator.connect(), enhanced(1) + enhanced(2, b"")) == (answer, CLEAN)
    assert start("--certificates", own).stop()["statuses"] == {}


@pytest.mark.parametrize("option, frame", [("--legacy", enhanced), ("--framed", framed_push)])
@pytest.mark.parametrize("most", [256, 2048])
def test_payload_limits(start, option, frame, most):
    simulator = start(f"{option}-payload-max", most)
    fits, does_not = frame(1, payload=b" " * most), frame(2, payload=b" " * (most + 1))
    assert exchange(simulator.connect(), fits + does_not) == (error(7, 2), CLEAN)
    assert simulator.stop()["accepted"] == 1


@pytest.mark.parametrize("size, length, answer", [
    ("any", 100, error(2, 3)), ("any", 1, error(2, 3)), ("32", 100, error(5, 2)), ("32-100", 100, error(2, 3)), ("32-100", 31, error(5, 2))])
def test_token_sizes(start, size, length, answer):
    simulator = start("--token-size", size)
    sent = enhanced(1) + enhanced(2, bytes(length)) + enhanced(3, b"")
    assert exchange(simulator.connect(), sent) == (answer, CLEAN)


def test_starts_quickly(start):
    # The best of several, without the time that other processes used, because the machine is shared.
    assert any(start().start_cost < 0.1 for _ in range(20))


def test_many_simulators_together(tmp_path):
    """Started together in a directory without certificates: these are made once, and only the owner can read the
    keys."""
    command = [tool(), "simulate", "--json", "--http2-port", "0", "--gateway-port", "0", "--feedback-port", "0"]
    command += ["--control-port", "0", "--certificates", str(tmp_path / "deep" / "new")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    try:
        ready = [json.loads(one.stdout.readline()) for one in running]
        ports = [one[name] for one in ready for name in ("gateway_port", "feedback_port", "control_port")]
        assert len(set(ports)) == 3 * 8 and len({one["ca"] for one in ready}) == 1
        for one in ready:
            context = ssl.create_default_context(cafile=one["ca"])
            context.load_cert_chain(one["provider"])
            sock = socket.create_connection(("127.0.0.1", one["gateway_port"]), timeout=DEADLINE)
            sock = context.wrap_socket(sock, server_hostname="127.0.0.1")
            assert exchange(sock, enhanced(1, b"")) == (error(2, 1), CLEAN)
    finally:
        for one in running:
            one.terminate()
        ends = [one.wait(DEADLINE) for one in running]
        for one in running:
            one.stdout.close()
    assert ends == [0] * 8
    made = {path: path.read_bytes() for path in (tmp_path / "deep" / "new").iterdir()}
    modes = {path.name: path.stat().st_mode & 0o777 for path in made}
    public = {"ca.pem", "server.pem", "provider-certificate.pem"}
    assert {name for name, mode in modes.items() if mode == 0o644} == public
    assert all(mode == 0o600 and "KEY" in (tmp_path / "deep" / "new" / name).read_text() for name, mode in modes.items() if name not in public)
    # Other users can reach the files.
    assert (tmp_path / "deep" / "new").stat().st_mode & 0o777 == 0o755
    Simulator(tmp_path / "deep" / "new").stop()
    assert {path: path.read_bytes() for path in made} == made


def test_ends_when_its_parent_dies(start, certificates):
    parent = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    simulator = start("--parent", parent.pid)
    assert simulator.process.poll() is None
    parent.kill()
    # It ends even though nothing has waited for the parent yet.
    assert simulator.process.wait(DEADLINE) == 0
    parent.communicate()


def test_the_text_that_it_prints_when_ready(certificates):
    command = [tool(), "simulate", "--gateway-port", "0", "--feedback-port", "0", "--http2-port", "0", "--seed", "5"]
    command += ["--control-port", "0", "--certificates", certificates, "--parent", str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run, contextlib.ExitStack() as end:
        end.callback(run.kill)
        lines = []
        while not lines or not lines[-1].startswith("ready "):
            lines.append(run.stdout.readline())
            assert lines[-1]
        assert "To repeat this run: --seed 5\n" in lines
        where = dict(pair.split("=", 1) for pair in lines[-1].split()[1:])
        host, port = where["gateway"].split(":")
        socket.create_connection((host, int(port)), timeout=DEADLINE).close()
        # The commands to paste work unchanged.
        told = "".join(lines)
        (look,) = re.findall(r"openssl s_client (?:.*\\\n)*.*", told)
        shown = subprocess.run(
            look, shell=True, input=enhanced(1, b"").decode(), check=True, capture_output=True, text=True)
        assert "Verify return code: 0" in shown.stdout
        (line,) = [line.strip() for line in lines if line.strip().startswith("curl http:")]
        shown = subprocess.run(line, shell=True, check=True, capture_output=True, text=True)
        assert json.loads(shown.stdout)["accepted"] == 0
        run.terminate()
        assert "accepted: 0" in run.stdout.read()


def test_only_the_owner_reads_records(start, certificates, tmp_path):
    """The ledger and the accepted notifications contain device tokens, so only the owner can read them."""
    before = os.umask(0)
    try:
        simulator = start("--ledger", tmp_path / "ledger", "--accepted", tmp_path / "accepted")
    finally:
        os.umask(before)
    finish(simulator.connect(), enhanced(1))
    simulator.stop()
    for name in "ledger", "accepted":
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600 and (tmp_path / name).stat().st_size > 0

    (tmp_path / "elsewhere").write_text("kept")
    (tmp_path / "link").symlink_to("elsewhere")
    os.link(tmp_path / "elsewhere", tmp_path / "hard")
    refused = {"link": "is a symbolic link, which is not followed", "hard": "several names"}
    for option in "--ledger", "--accepted":
        for name, message in refused.items():
            ran = subprocess.run([tool(), "simulate", "--gateway-port", "0", "--feedback-port", "0", "--certificates",
                                  certificates, option, tmp_path / name], capture_output=True, text=True, timeout=DEADLINE)
            assert ran.returncode != 0 and message in ran.stderr, ran.stderr
    assert (tmp_path / "elsewhere").read_text() == "kept"


def test_the_description_lists_every_request(simulator):
    """The API answers the listed requests, and no others. A world has the same without worlds."""
    described = simulator.control("GET", "/openapi.json")[1]
    assert described["openapi"] == "3.1.0"
    with World(simulator) as world:
        of_world = world.control("GET", "/openapi.json")[1]
        only = set(described["paths"]) - set(of_world["paths"])
        assert only == {"/worlds", "/worlds/{number}", "/shutdown"}
        for path, operations in of_world["paths"].items():
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                operation = operations.get(method.lower())
                status = world.control(method, path.replace("{number}", "9"))[0]
                if not operation:
                    assert status == 405, (method, path)
                elif operation.get("requestBody", {}).get("required"):
                    assert status == 400, (method, path)
                else:
                    assert status == (404 if "{number}" in path else 200), (method, path)
    help = " ".join(subprocess.run([tool(), "simulate", "--help"], check=True, capture_output=True, text=True).stdout.split())
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            assert f"{method.upper()} {path.replace('{number}', 'N')}" in help
            assert " ".join(operation["summary"].split()) in help
    faults = described["paths"]["/faults"]["put"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert "bad_every" in faults and len(faults) > 50


def test_the_description_names_members_as_they_are(simulator):
    """Every member of a body is known to its request, and the required ones are needed."""
    paths = simulator.control("GET", "/openapi.json")[1]["paths"]
    full = {"token": "00", "reason": "Shutdown", "channel": "AA=="}
    for path in ("/rejections", "/unregistered", "/subscriptions", "/worlds"):
        schema = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        needed = {name: full[name] for name in schema["required"]}
        for name in schema["properties"]:
            status, answer = simulator.control("POST", path, {**needed, name: {"nonsense": 1}})
            assert status == 400 and "not allowed" not in answer["error"] and "unknown option" not in answer["error"], answer
        for name in needed:
            assert simulator.control("POST", path, {one: full[one] for one in needed if one != name})[0] == 400, name
        assert simulator.control("POST", path, {**needed, "nonsense": 1})[0] == 400
