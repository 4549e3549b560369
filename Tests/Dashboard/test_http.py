"""HTTP in the page's server: persistent connections, limits, and invalid requests."""

import json
import os
import socket

import pytest
from simulator import DEADLINE, until


@pytest.fixture
def simulator(shared):
    return shared()


class Wire:
    """A connection on which the test writes every byte itself."""

    def __init__(self, simulator):
        self.port = simulator.ready["dashboard_port"]
        self.sock = socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE)
        self.reader = self.sock.makefile("rb")

    def send(self, line, *fields, body=b"", host=True):
        fields = (f"Host: 127.0.0.1:{self.port}", *fields) if host else fields
        self.sock.sendall("\r\n".join((line, *fields, "", "")).encode() + body)

    def answer(self, has_body=True):
        status = int(self.reader.readline().split()[1])
        headers = {}
        while (line := self.reader.readline().decode().strip()):
            name, value = line.split(": ", 1)
            headers[name.lower()] = value
        body = self.reader.read(int(headers.get("content-length", 0))) if has_body else b""
        return status, headers, body

    def is_at_end(self):
        return self.reader.read(1) == b""


def test_a_connection_serves_several_requests(simulator):
    wire = Wire(simulator)
    for path in ("/", "/nothing", "/page.js", "/control/counters"):
        wire.send(f"GET {path} HTTP/1.1")
        status, headers, body = wire.answer()
        assert status == (404 if path == "/nothing" else 200) and body and "connection" not in headers


def test_pipelined_requests_are_answered_in_order(simulator):
    wire = Wire(simulator)
    for path in ("/page.css", "/nothing", "/icon.svg"):
        wire.send(f"GET {path} HTTP/1.1")
    answers = [wire.answer() for _ in range(3)]
    assert [status for status, _, _ in answers] == [200, 404, 200]
    assert answers[0][1]["content-type"].startswith("text/css") and answers[2][1]["content-type"] == "image/svg+xml"


def test_an_offered_upgrade_is_ignored(simulator):
    wire = Wire(simulator)
    for path in ("/page.css", "/nothing", "/icon.svg"):
        wire.send(f"GET {path} HTTP/1.1", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
    wire.send("PATCH /control/faults HTTP/1.1", "Connection: Upgrade", "upgrade: h2c", "Expect: 100-continue", "Content-Length: 2", body=b"{}")
    assert [wire.answer()[0] for _ in range(5)] == [200, 404, 200, 100, 200]


@pytest.mark.parametrize("target, status", [
    ("http://127.0.0.1/icon.svg", 200), ("http://localhost:1/icon.svg?a", 200), ("http://evil.example/icon.svg", 403), ("icon.svg", 400),
])
def test_a_target_may_be_absolute(simulator, target, status):
    wire = Wire(simulator)
    wire.send(f"GET {target} HTTP/1.1")
    assert wire.answer()[0] == status


@pytest.mark.parametrize("line, fields", [("GET / HTTP/1.1", ["Connection: close"]), ("GET / HTTP/1.0", [])])
def test_the_last_request_ends_the_connection(simulator, line, fields):
    wire = Wire(simulator)
    wire.send(line, *fields)
    assert wire.answer()[0] == 200 and wire.is_at_end()


def test_a_half_closed_client_is_answered(simulator):
    wire = Wire(simulator)
    wire.send("GET /page.js HTTP/1.1")
    wire.sock.shutdown(socket.SHUT_WR)
    assert wire.answer()[0] == 200 and wire.is_at_end()


def test_an_answer_to_head_has_no_body(simulator):
    wire = Wire(simulator)
    wire.send("HEAD / HTTP/1.1")
    status, headers, _ = wire.answer(has_body=False)
    assert status == 405 and int(headers["content-length"]) > 0
    wire.send("GET /page.js HTTP/1.1")
    assert wire.answer()[0] == 200


@pytest.mark.parametrize("method, path", [("POST", "/"), ("DELETE", "/page.js"), ("PUT", "/events"), ("PUT", "/control/reset")])
def test_other_methods_are_refused(simulator, method, path):
    wire = Wire(simulator)
    wire.send(f"{method} {path} HTTP/1.1", "Content-Length: 2", body=b"{}")
    status, _, body = wire.answer()
    assert status == 405 and json.loads(body)["error"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_has_at_most_64_kib(simulator, chunked):
    wire = Wire(simulator)
    for size, expected in ((1 << 16, 200), ((1 << 16) + 1, 413), (10 << 20, 413), (2, 200)):
        body = b"{" + b" " * (size - 2) + b"}"
        if chunked:
            wire.send("PATCH /control/faults HTTP/1.1", "Transfer-Encoding: chunked",
                      body=b"%x\r\n%b\r\n0\r\n\r\n" % (size, body))
        else:
            wire.send("PATCH /control/faults HTTP/1.1", f"Content-Length: {size}", body=body)
        status, _, answer = wire.answer()
        assert status == expected, answer


@pytest.mark.parametrize("text", [
    b"hello\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64, b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
])
def test_an_invalid_request_is_refused_and_ends_the_connection(simulator, text):
    wire = Wire(simulator)
    wire.sock.sendall(text)
    assert wire.answer()[0] == 400 and wire.is_at_end()


def test_a_head_has_a_size_limit(simulator):
    wire = Wire(simulator)
    try:
        wire.send("GET / HTTP/1.1", "X: " + "x" * (1 << 20))
        assert wire.answer()[0] == 400
    except ConnectionError:
        # The server closed it before everything was sent.
        pass
    wire = Wire(simulator)
    wire.send("GET / HTTP/1.1")
    assert wire.answer()[0] == 200


@pytest.mark.parametrize("fields", [[], ["Host: 127.0.0.1", "Host: 127.0.0.1"]])
def test_a_request_must_name_one_host(simulator, fields):
    wire = Wire(simulator)
    wire.send("GET / HTTP/1.1", *fields, host=False)
    assert wire.answer()[0] in (400, 403)


def test_a_stream_is_chunked_and_ends_with_its_reader(start):
    simulator = start()
    before = open_sockets(simulator)
    wire = Wire(simulator)
    wire.send("GET /events?language=pt%2DBR HTTP/1.1")
    status, headers, _ = wire.answer(has_body=False)
    assert status == 200 and headers["transfer-encoding"] == "chunked"
    size = int(wire.reader.readline(), 16)
    event = wire.reader.read(size).decode()
    assert event.startswith("event: hello\n") and '"language":"pt-BR"' in event
    wire.reader.close()
    wire.sock.close()
    until(lambda: open_sockets(simulator) <= before)


def open_sockets(simulator):
    directory = f"/proc/{simulator.pid}/fd"
    count = 0
    for name in os.listdir(directory):
        try:
            count += os.readlink(f"{directory}/{name}").startswith("socket:")
        except FileNotFoundError:
            pass
    return count
