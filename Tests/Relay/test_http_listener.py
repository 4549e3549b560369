"""The HTTP listener: programs without HTTP/2 push with Apple's own requests, and get the responses of APNs."""

import collections
import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import time
import uuid

import pytest
from relaying import DEADLINE, identifier, pushes, relay_program, token, wait_until
from setups import Services
from simulator import ROOT
from test_broadcasts import state

PAYLOAD = b'{"aps":{"alert":"Hello"}}'
TOPIC = "com.example.app"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(self.path)


class Listener:
    """A relay with an HTTP listener."""

    def __init__(self, relay, simulator, tmp_path, *, listener=None, **arguments):
        self.port_file = tmp_path / "listener.port"
        self.listener = {"type": "http", "port": 0, "port_file": str(self.port_file)} | (listener or {})
        if "socket" in self.listener:
            del self.listener["port"]
        self.relay = relay(simulator, listeners={"web": self.listener}, **arguments)
        self.start()

    def start(self):
        before = len(self.relay.said("the listener web is open")) if self.relay.log.exists() else 0
        self.relay.start().wait_ready()
        self.relay.wait_said("the listener web is open", before + 1)

    @property
    def port(self):
        return int(self.port_file.read_text())

    def connection(self):
        if "socket" in self.listener:
            return UnixConnection(self.listener["socket"])
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)

    def socket(self):
        return contextlib.closing(socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE))

    def ask(self, method, path, body=None, connection=None, **headers):
        """Returns status, body and headers."""
        with contextlib.ExitStack() as stack:
            if connection is None:
                connection = stack.enter_context(contextlib.closing(self.connection()))
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None, answer.headers

    def push(self, to, payload=PAYLOAD, **arguments):
        return self.ask("POST", f"/3/device/{to}", payload, **arguments)


@pytest.fixture
def listener(relay, tmp_path):
    return lambda simulator, **arguments: Listener(relay, simulator, tmp_path, **arguments)


def request(to, payload=PAYLOAD, headers=""):
    return f"POST /3/device/{to} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(payload)}\r\n{headers}\r\n".encode() + payload


def read_answers(sock, count):
    """Reads `count` responses of one connection in order: status and apns-id."""
    stream, answers = sock.makefile("rb"), []
    while len(answers) < count:
        line = stream.readline()
        assert line, f"the connection ended after {len(answers)} responses"
        headers = {}
        while (header := stream.readline()) not in (b"\r\n", b""):
            name, _, value = header.decode().partition(":")
            headers[name.lower()] = value.strip()
        body = stream.read(int(headers.get("content-length", 0)))
        if line.split()[1] != b"100":
            answers.append((int(line.split()[1]), headers, json.loads(body) if body else None))
    return answers


def test_each_answer_of_apns(start, listener):
    simulator = start()
    gone_since = simulator.control("POST", "/unregistered", {"token": token(2)})[1]
    simulator.control("PUT", "/faults", {"bad_tokens": [token(3)]})
    one = listener(simulator)
    id = str(uuid.uuid4())
    status, told, headers = one.push(token(1), apns_id=id, apns_topic=TOPIC, apns_priority="5", apns_collapse_id="c")
    assert (status, told, headers["apns-id"]) == (200, None, id)
    status, told, headers = one.push(token(2))
    assert (status, told["reason"]) == (410, "Unregistered") and uuid.UUID(headers["apns-id"])
    assert 0 < told["timestamp"] <= time.time() * 1000, gone_since
    status, told, _ = one.push(token(3))
    assert (status, told) == (400, {"reason": "BadDeviceToken"})
    (push,) = pushes(simulator)
    assert (push["apns_id"], push["topic"], push["priority"], push["collapse_id"]) == (id, TOPIC, "5", "c")
    assert push["payload"].encode() == PAYLOAD
    # A request that the listener refuses never reaches the queue.
    before = one.relay.queue.entries_so_far()
    for status, reason, path, payload in (
        (400, "BadDeviceToken", "/3/device/zz", PAYLOAD), (400, "PayloadEmpty", f"/3/device/{token(1)}", b""),
        (413, "PayloadTooLarge", f"/3/device/{token(1)}", b"x" * 4097), (404, "BadPath", "/", PAYLOAD),
    ):
        said, told, _ = one.ask("POST", path, payload)
        assert (said, told["reason"]) == (status, reason)
    assert one.push("zz", apns_id=id)[2]["apns-id"] == id
    assert one.ask("GET", f"/3/device/{token(1)}")[:2] == (405, {"reason": "MethodNotAllowed"})
    assert one.relay.queue.entries_so_far() == before
    assert one.relay.metric('apns_relay_listener_responses_total{listener="web",status="200"}') == 1
    assert one.relay.metric('apns_relay_listener_responses_total{listener="web",status="400"}') == 4
    one.relay.stop()


def test_an_id_is_one_push(start, listener):
    """A client that got no response repeats the request with the same ID, and gets the first one's outcome."""
    simulator = start()
    simulator.control("POST", "/unregistered", {"token": token(2)})
    one = listener(simulator)
    ids = [str(uuid.uuid4()), str(uuid.uuid4())]
    first = one.push(token(1), apns_id=ids[0])[0], one.push(token(2), apns_id=ids[1])[:2]
    again = one.push(token(1), apns_id=ids[0].upper())[0], one.push(token(2), apns_id=ids[1])[:2]
    assert first == again and (first[0], first[1][0]) == (200, 410)
    assert len(pushes(simulator)) == 1
    # The same after a kill, when the relay's memory is gone.
    one.relay.kill()
    one.start()
    assert one.push(token(1), apns_id=ids[0])[0] == 200 and len(pushes(simulator)) == 1
    # For another device it is an error, with any preference.
    for prefer in "handling=strict", "respond-async":
        status, told, _ = one.push(token(9), apns_id=ids[0], prefer=prefer)
        assert (status, told["reason"]) == (400, "BadMessageId")
    assert len(pushes(simulator)) == 1


def test_async_is_answered_once_it_is_safe(start, listener):
    """A 202 comes before the service has responded, and a kill -9 after it loses nothing."""
    simulator = start(faults={"no_answer": 1})
    one = listener(simulator)
    ids = [str(uuid.uuid4()) for _ in range(20)]
    with contextlib.closing(one.connection()) as connection:
        for number, id in enumerate(ids):
            status, told, headers = one.push(token(number), apns_id=id, prefer="respond-async", connection=connection)
            assert (status, told, headers["apns-id"], headers["preference-applied"]) == (202, None, id, "respond-async")
    one.relay.kill()
    simulator.control("DELETE", "/faults")
    one.start()
    one.relay.wait_done()
    assert one.relay.queue.ends() == {id: [(0, "accepted", "")] for id in ids}


def test_kills_lose_nothing_and_push_nothing_twice(start, listener):
    """Clients repeat each request with the same ID until they have a response, while the relay is killed."""
    simulator = start(faults={"answer_delay_ms": 5})
    one = listener(simulator)
    kills, count, answers = 4, 240, {}

    def client(part):
        for number in range(part, count, 8):
            id = identifier("kills", number)
            deadline = time.monotonic() + DEADLINE
            while id not in answers:
                assert time.monotonic() < deadline
                with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                    status = one.push(token(number), apns_id=id)[0]
                    if status != 503:
                        answers[id] = status

    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        parts = [clients.submit(client, part) for part in range(8)]
        for kill in range(1, kills + 1):
            wait_until(lambda: len(answers) >= kill * count // (kills + 1) or all(part.done() for part in parts), "no request gets a response")
            one.relay.kill()
            one.start()
        for part in parts:
            part.result()
    one.relay.wait_done()
    assert set(answers.values()) == {200} and len(answers) == count
    assert one.relay.queue.ends() == {id: [(0, "accepted", "")] for id in answers}
    deliveries = dict(one.relay.queue.rows("SELECT id, deliveries FROM outcomes"))
    arrived = collections.Counter(push["apns_id"] for push in pushes(simulator))
    # A duplicate was in flight when its relay was killed.
    assert set(arrived) == set(answers) and all(times <= deliveries[id] for id, times in arrived.items())


def test_what_is_not_answered_in_time_stays(start, listener):
    simulator = start(faults={"no_answer": 1})
    one = listener(simulator, listener={"wait": "0.2s"})
    status, told, headers = one.push(token(1))
    assert (status, told) == (202, None)
    assert "preference-applied" not in headers
    simulator.control("DELETE", "/faults")
    one.relay.kill()
    one.start()
    one.relay.wait_done()
    assert one.relay.queue.ends() == {headers["apns-id"]: [(0, "accepted", "")]}


def test_pipelined_answers_come_in_order(start, listener):
    simulator = start()
    bad = [token(number) for number in range(0, 600, 7)]
    simulator.control("PUT", "/faults", {"bad_tokens": bad})
    one = listener(simulator)
    ids = [str(uuid.uuid4()) for _ in range(600)]
    with one.socket() as sock:
        sock.sendall(b"".join(request(token(number), headers=f"apns-id: {id}\r\n") for number, id in enumerate(ids)))
        answers = read_answers(sock, 600)
    assert [headers["apns-id"] for _, headers, _ in answers] == ids
    assert [status for status, _, _ in answers] == [200 if number % 7 else 400 for number in range(600)]
    assert len(pushes(simulator)) == 600 - len(bad)


def test_every_split_of_a_request(start, listener):
    simulator = start()
    one = listener(simulator)
    whole = request(token(1), headers=f"apns-id: {uuid.uuid4()}\r\n")
    with one.socket() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for cut in range(1, len(whole), 11):
            sock.sendall(whole[:cut])
            sock.sendall(whole[cut:])
            assert read_answers(sock, 1)[0][0] == 200
        for byte in whole:
            sock.sendall(bytes([byte]))
        assert read_answers(sock, 1)[0][0] == 200
    assert len(pushes(simulator)) == 1


def test_http_1_0_and_halves_of_connections(start, listener):
    simulator = start()
    one = listener(simulator)
    old = request(token(1)).replace(b"HTTP/1.1", b"HTTP/1.0")
    with one.socket() as sock:
        sock.sendall(old)
        sock.shutdown(socket.SHUT_WR)
        (status, headers, _), = read_answers(sock, 1)
        assert status == 200 and headers["connection"] == "close" and sock.recv(1) == b""
    with one.socket() as sock:
        for _ in range(2):
            sock.sendall(old.replace(b"Host: localhost", b"Connection: keep-alive"))
            (status, headers, _), = read_answers(sock, 1)
            assert status == 200 and headers["connection"] == "keep-alive"
    # Some clients wait for 100 Continue before they send the payload.
    with one.socket() as sock:
        head, payload = request(token(2), headers="Expect: 100-continue\r\n").split(b"\r\n\r\n")
        sock.sendall(head + b"\r\n\r\n")
        assert sock.recv(100).startswith(b"HTTP/1.1 100 Continue\r\n")
        sock.sendall(payload)
        assert read_answers(sock, 1)[0][0] == 200
    # A chunked body.
    with one.socket() as sock:
        sock.sendall(f"POST /3/device/{token(3)} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        for start_ in range(0, len(PAYLOAD), 5):
            part = PAYLOAD[start_:start_ + 5]
            sock.sendall(b"%x\r\n%s\r\n" % (len(part), part))
        sock.sendall(b"0\r\n\r\n")
        assert read_answers(sock, 1)[0][0] == 200
    assert len(pushes(simulator)) == 5


def test_what_is_no_request(start, listener):
    """Noise, endless bodies and incomplete requests: each gets a response or is closed, and other clients continue."""
    simulator = start()
    one = listener(simulator, listener={"idle_timeout": "1s"})
    for noise in b"\x16\x03\x01\x02\x00\x01\x00", b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", b"\r\n\r\n\r\n" * 99, os.urandom(4096), b"GET / HTTP/1.1\r\n" + b"a" * 100_000:
        with one.socket() as sock:
            with contextlib.suppress(ConnectionError):
                sock.sendall(noise)
                while sock.recv(65536):
                    pass
    with one.socket() as sock:
        sock.sendall(f"POST /3/device/{token(1)} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n".encode())
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                sock.sendall(b"x" * 4096)
        (status, headers, told), = read_answers(sock, 1)
        assert (status, headers["connection"], told["reason"]) == (413, "close", "PayloadTooLarge")
    # An incomplete request has a time limit, even if bytes of it keep coming.
    with one.socket() as sock:
        sock.settimeout(0.1)
        ended = False
        deadline = time.monotonic() + DEADLINE
        for byte in request(token(1), headers="a: " + "b" * 5000 + "\r\n"):
            try:
                sock.sendall(bytes([byte]))
                if sock.recv(1) == b"":
                    ended = True
                    break
            except TimeoutError:
                pass
            except ConnectionError:
                ended = True
                break
            assert time.monotonic() < deadline
        assert ended
    assert one.push(token(1))[0] == 200
    assert len(pushes(simulator)) == 1
    wait_until(lambda: one.relay.metric("apns_relay_listener_connections") == 0, "connections stay open")
    assert one.relay.metric("apns_relay_listener_waiting") == 0


LENGTH = f"Content-Length: {len(PAYLOAD)}\r\n"
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAYLOAD), PAYLOAD)


def test_two_ends_of_a_request_are_none(start, listener):
    """An ambiguous request is refused, and the bytes after it are not read as a request."""
    one = listener(start())
    hidden = request(token(99))

    def refused(headers, body=PAYLOAD):
        head = f"POST /3/device/{token(1)} HTTP/1.1\r\nHost: localhost\r\n".encode() + (headers if isinstance(headers, bytes) else headers.encode())
        with one.socket() as sock:
            sock.sendall(head + b"\r\n" + body + hidden)
            (status, answered, told), = read_answers(sock, 1)
            assert (status, answered["connection"], told["reason"]) == (400, "close", "BadRequest"), headers
            with contextlib.suppress(ConnectionError):
                assert sock.recv(1) == b"", headers

    for headers in (
        LENGTH + "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\n" + LENGTH, LENGTH * 2, LENGTH + "Content-Length: 3\r\n",
        "Content-Length: 5, 5\r\n", "Content-Length: -1\r\n", "Content-Length: +25\r\n", "Content-Length: 0x19\r\n",
        "Content-Length: 99999999999999999999999\r\n", LENGTH + "a: b\r\n c\r\n", LENGTH + "apns-collapse-id: a\x00b\r\n",
        LENGTH + "apns-collapse-id: a\rb: c\r\n", LENGTH + "apns-collapse-id: a\nb: c\r\n", LENGTH + "apns-collapse-id : a\r\n",
    ):
        refused(headers)
    for coding in "chunked, chunked", "xchunked", "chunked, identity", "\vchunked":
        refused(f"Transfer-Encoding: {coding}\r\n", CHUNKED)
    for chunk in b"ffffffffffffffffff\r\n", b"-1\r\n", b"0x1\r\nx\r\n", CHUNKED.replace(b"\r", b""), CHUNKED[:-2] + LENGTH.encode() + b"\r\n":
        refused("Transfer-Encoding: chunked\r\n", chunk)
    assert one.relay.queue.entries_so_far() == 0
    # Trailers have no effect, and numbers are not wrapped or rounded.
    with one.socket() as sock:
        trailers = CHUNKED[:-2] + b"apns-topic: com.example.other\r\napns-priority: 5\r\n\r\n"
        sock.sendall(f"POST /3/device/{token(1)} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + trailers)
        assert read_answers(sock, 1)[0][0] == 200
    for header, value, reason in (
        ("apns-expiration", "9223372036854775808", "BadExpirationDate"), ("apns-expiration", "-1", "BadExpirationDate"),
        ("apns-expiration", "1e3", "BadExpirationDate"), ("apns-priority", "9223372036854775808", "BadPriority"),
        ("apns-priority", "010", "BadPriority"), ("apns-priority", "+10", "BadPriority"),
    ):
        assert one.push(token(2), connection=None, **{header.replace("-", "_"): value})[1]["reason"] == reason
    for value in "9223372036854775807", "4294967296", "0":
        assert one.push(token(3), apns_expiration=value)[0] == 200
    one.relay.stop()


def h2_header(name, value):
    """Returns a literal header field without Huffman coding, and without any checks."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def h2_frame(kind, flags, stream, body=b""):
    return struct.pack("!I", len(body))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + body


def test_nothing_is_put_into_a_header(start, listener):
    """HTTP/2 allows a line break in a value; it must not become another header."""
    simulator = start()
    one = listener(simulator)
    common = b"".join(
        h2_header(name, value) for name, value in [
            (b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"localhost"), (b":path", f"/3/device/{token(1)}".encode())])
    evil = [b"a\r\nb: c", b"a\x00b", b"a\nb", b"a\rb"]
    names = [b"apns-collapse-id", b"apns-topic", b"apns-id", b"apns-push-type", b"apns-expiration", b"relay-app"]
    with one.socket() as sock:
        sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2_frame(4, 0, 0))
        stream, reset = 1, set()
        for name in names:
            for value in evil:
                sock.sendall(h2_frame(1, 4, stream, common + h2_header(name, value)) + h2_frame(0, 1, stream, PAYLOAD))
                stream += 2
        sock.sendall(h2_frame(1, 4, stream, common) + h2_frame(0, 1, stream, PAYLOAD))
        reader = sock.makefile("rb")
        while True:
            head = reader.read(9)
            reader.read(int.from_bytes(head[:3], "big"))
            kind, number = head[3], int.from_bytes(head[5:9], "big")
            if kind == 3:
                reset.add(number)
            if kind == 1:
                assert number == stream
                break
    assert reset == set(range(1, stream, 2))
    assert len(pushes(simulator)) == one.relay.queue.entries_so_far() == 1


def test_so_many_connections_and_no_more(start, listener):
    simulator = start()
    one = listener(simulator, listener={"connections": 3})
    with contextlib.ExitStack() as stack:
        kept = [stack.enter_context(contextlib.closing(one.connection())) for _ in range(3)]
        assert [one.push(token(1), connection=connection)[0] for connection in kept] == [200] * 3
        with one.socket() as sock:
            with contextlib.suppress(ConnectionError):
                assert sock.recv(1) == b""
        assert one.push(token(1), connection=kept[0])[0] == 200
    wait_until(lambda: one.relay.metric("apns_relay_listener_connections") == 0, "connections stay open")
    assert one.push(token(1))[0] == 200
    assert one.relay.metric("apns_relay_listener_rejected_connections_total") == 1


def test_a_unix_socket(start, listener, tmp_path):
    simulator = start()
    path = str(tmp_path / "listener.socket")
    # A socket that a killed relay left.
    socket.socket(socket.AF_UNIX).bind(path)
    one = listener(simulator, listener={"socket": path, "socket_mode": "600"})
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert one.push(token(1))[0] == 200
    one.relay.kill()
    one.start()
    assert one.push(token(2))[0] == 200
    one.relay.stop()
    assert not os.path.exists(path) and len(pushes(simulator)) == 2


def test_two_relays_do_not_share_a_socket(start, listener, relay, tmp_path):
    simulator = start()
    path = str(tmp_path / "listener.socket")
    one = listener(simulator, listener={"socket": path})
    other = relay(simulator, queue=one.relay.queue, name="other", listeners={"web": {"type": "http", "socket": path}}).start()
    assert other.process.wait(DEADLINE) == 2 and "another program listens there" in other.log.read_text()
    assert one.push(token(1))[0] == 200


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not here")
def test_curl_by_both_protocols(start, listener):
    simulator = start()
    one = listener(simulator)
    # Each on a new connection: curl 7.88 cannot use the last kind twice (curl#10634).
    for option, version in ("--http1.1", "1.1"), ("--http1.0", "1"), ("--http2", "1.1"), ("--http2-prior-knowledge", "2"):
        ran = subprocess.run(
            ["curl", "-sS", option, "-d", PAYLOAD, "-H", f"apns-topic: {TOPIC}", "-w", "%{http_code} %{http_version} %header{apns-id}",
             f"http://127.0.0.1:{one.port}/3/device/{token(1)}"],
            capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        status, said, id = ran.stdout.split()
        assert (status, said) == ("200", version) and uuid.UUID(id), option
    assert len(pushes(simulator)) == 4


@pytest.mark.skipif(not shutil.which("h2load"), reason="h2load is not here (nghttp2-client)")
def test_many_streams_of_http_2(start, listener, tmp_path):
    simulator = start()
    one = listener(simulator)
    payload = tmp_path / "payload"
    payload.write_bytes(PAYLOAD)
    ran = subprocess.run(
        ["h2load", "-n", "600", "-c", "3", "-m", "100", "-d", payload, f"http://127.0.0.1:{one.port}/3/device/{token(1)}"],
        capture_output=True, text=True)
    assert "600 succeeded, 0 failed, 0 errored" in ran.stdout, ran.stdout + ran.stderr
    assert len(pushes(simulator)) == 600
    assert one.relay.metric('apns_relay_listener_responses_total{listener="web",status="200"}') == 600


def test_authorization(start, listener, tmp_path):
    secret, other = "a-secret-that-is-long-enough", "another-secret-that-is-long"
    file = tmp_path / "tokens"
    file.write_text(f"# who may push\n{secret}\n")
    simulator = start()
    one = listener(simulator, listener={"host": "0.0.0.0", "authorization_file": str(file)})
    assert one.push(token(1), authorization=f"Bearer {secret}")[0] == 200
    # A browser on this machine sends requests for pages from elsewhere.
    status, told, _ = one.push(token(1), authorization=f"Bearer {secret}", origin="https://example.com")
    assert (status, told["reason"]) == (403, "Forbidden")
    for value, reason in (None, "MissingProviderToken"), (f"Bearer {other}", "InvalidProviderToken"), (secret, "InvalidProviderToken"), (
            f"Bearer {secret}x", "InvalidProviderToken"), ("Bearer ", "InvalidProviderToken"):
        status, told, _ = one.push(token(1), **({"authorization": value} if value else {}))
        assert (status, told["reason"]) == (403, reason)
    assert len(pushes(simulator)) == 1
    file.write_text(other)
    one.relay.signal(signal.SIGHUP)
    one.relay.wait_said("reloaded")
    assert one.push(token(1), authorization=f"Bearer {other}")[0] == 200
    assert one.push(token(1), authorization=f"Bearer {secret}")[0] == 403
    assert secret not in one.relay.log.read_text()


def test_listeners_change_without_a_restart(start, listener, tmp_path):
    simulator = start()
    one = listener(simulator)
    with contextlib.closing(one.connection()) as kept:
        assert one.push(token(1), connection=kept)[0] == 200
        path = str(tmp_path / "second.socket")
        one.relay.listeners["second"] = {"type": "http", "socket": path}
        one.relay.write()
        one.relay.signal(signal.SIGHUP)
        one.relay.wait_said("the listener second is open")
        # The connection of an unchanged listener stays open.
        assert one.push(token(2), connection=kept)[0] == 200
        with contextlib.closing(UnixConnection(path)) as second:
            assert one.push(token(3), connection=second)[0] == 200
        del one.relay.listeners["second"]
        one.relay.write()
        one.relay.signal(signal.SIGHUP)
        one.relay.wait_said("the listener second is closed")
        assert not os.path.exists(path)
        assert one.push(token(4), connection=kept)[0] == 200
    assert len(pushes(simulator)) == 4


def test_a_relay_that_stops(start, listener):
    """Waiting clients get a response, and a notification without an outcome stays in the queue."""
    simulator = start(faults={"answer_delay_ms": 300})
    one = listener(simulator)
    with concurrent.futures.ThreadPoolExecutor(20) as clients:
        answers = [clients.submit(one.push, token(number), apns_id=identifier("stops", number)) for number in range(20)]
        simulator.wait("/counters", lambda counters: counters["received"] >= 1)
        one.relay.stop()
    results = []
    for number, answer in enumerate(answers):
        try:
            results.append(answer.result()[0])
        except (ConnectionError, http.client.HTTPException):
            # The request came too late, or was never read.
            results.append(0)
    assert set(results) <= {200, 202, 503, 0} and 200 in results, results
    one.start()
    one.relay.wait_done()
    for number, status in enumerate(results):
        if status in (200, 202):
            assert one.relay.queue.ends()[identifier("stops", number)] == [(0, "accepted", "")]
    assert len({push["apns_id"] for push in pushes(simulator)}) == len(pushes(simulator))


def test_broadcasts_and_channels(start, listener):
    simulator = start("--channels-port", "0")
    place = {"host": "127.0.0.1", "port": simulator.ready["channels_port"]}
    one = listener(simulator, app={"channels": place})
    base = f"/1/apps/{TOPIC}"
    new = json.dumps({"message-storage-policy": 1, "push-type": "LiveActivity"})
    status, told, headers = one.ask("POST", f"{base}/channels", new)
    assert (status, told) == (201, None)
    channel = headers["apns-channel-id"]
    assert one.ask("GET", f"{base}/channels", apns_channel_id=channel)[:2] == (
        200, {"message-storage-policy": 1, "push-type": "LiveActivity"})
    assert one.ask("GET", f"{base}/all-channels")[:2] == (200, {"channels": [channel]})
    live = {"apns_push_type": "liveactivity", "apns_priority": "10", "apns_expiration": "0"}
    id = str(uuid.uuid4())
    status, told, headers = one.ask(
        "POST", f"/4/broadcasts/apps/{TOPIC}", state(score=3), apns_channel_id=channel, apns_request_id=id, **live)
    assert (status, told, headers["apns-request-id"]) == (200, None, id)
    (push,) = pushes(simulator)
    assert (push["channel"], json.loads(push["payload"])["aps"]["content-state"]) == (channel, {"score": 3})
    assert one.ask("DELETE", f"{base}/channels", apns_channel_id=channel)[:2] == (204, None)
    assert one.ask("GET", f"{base}/channels", apns_channel_id=channel)[:2] == (400, {"reason": "ChannelNotRegistered"})
    status, told, _ = one.ask("POST", f"/4/broadcasts/apps/{TOPIC}", state(), apns_channel_id=channel, **live)
    assert told == {"reason": "ChannelNotRegistered"}
    assert one.ask("POST", f"{base}/channels", "{}")[:1] == (400,)


def test_channels_follow_new_credentials(start, listener):
    simulator = start("--channels-port", "0")
    ready = simulator.ready
    who = {"certificate": ready["provider"], "ca": ready["provider"]}
    place = {"host": "127.0.0.1", "port": ready["channels_port"]}
    one = listener(simulator, app={"channels": place, "credentials": who})
    assert one.ask("GET", f"/1/apps/{TOPIC}/all-channels")[0] >= 500
    who["ca"] = ready["ca"]
    one.relay.write()
    one.relay.signal(signal.SIGHUP)
    one.relay.wait_said("reloaded")
    assert one.ask("GET", f"/1/apps/{TOPIC}/all-channels")[:2] == (200, {"channels": []})


def test_a_proxy(start, listener, tmp_path):
    simulator = start("--channels-port", "0")
    ports = [simulator.ready["http2_port"], simulator.ready["channels_port"]]
    (tmp_path / "password").write_text("p@ss\n")
    with contextlib.closing(Services()) as services:
        proxy = services.proxy()
        app = {"channels": {"host": "127.0.0.1", "port": ports[1]},
               "proxy": f"http://ann@127.0.0.1:{proxy}", "proxy_password_file": str(tmp_path / "password")}
        one = listener(simulator, app=app)
        assert one.push(token(1))[0] == 200
        assert one.ask("GET", f"/1/apps/{TOPIC}/all-channels")[:2] == (200, {"channels": []})
        # ann:p@ss
        assert all("Proxy-Authorization: Basic YW5uOnBAc3M=\r\n" in asked for asked in services.asked)
        assert {asked.split()[1] for asked in services.asked} == {f"127.0.0.1:{port}" for port in ports}

        def run(*words, **environment):
            return subprocess.run(
                [relay_program(), "--config", one.relay.file, *words], capture_output=True, text=True, env=os.environ | environment)

        assert run("--check").returncode == 0 and len(services.asked) == 3
        printed = run("--print-config").stdout
        assert f'proxy: "http://ann@127.0.0.1:{proxy}"' in printed and "p@ss" not in printed and "p@ss" not in one.relay.log.read_text()
        one.relay.stop()
        # The environment's, which counts only if the configuration says so.
        tunnel, there = services.proxy(to=ports[0]), {"host": "push.example", "server_name": "127.0.0.1"}
        for said, status, no_proxy in ("environment", 0, "other"), ("environment", 1, "push.example"), (None, 1, "other"):
            del services.asked[:]
            one.relay.write({"shop": there | {"proxy": said}})
            ran = run("--check", https_proxy=f"http://127.0.0.1:{tunnel}", no_proxy=no_proxy)
            assert ran.returncode == status and [asked.split()[1] for asked in services.asked] == [f"push.example:{ports[0]}"] * (1 - status), ran
        one.relay.write({"shop": there | {"proxy": f"http://ann:p%40ss@127.0.0.1:{services.proxy('407 Proxy Authentication Required')}"}})
        ran = run("--check")
        assert ran.returncode == 1 and "refused: 407 Proxy Authentication Required" in ran.stdout and "ss@" not in ran.stdout, ran
        assert "http://ann:PASSWORD@127.0.0.1:" in run("--print-config").stdout


def test_a_queue_that_cannot_be_written(start, listener, tmp_path):
    """The client gets 503; queued notifications are not lost."""
    simulator = start()
    one = listener(simulator)
    assert one.push(token(1))[0] == 200
    with one.relay.queue.open() as database:
        database.execute("CREATE TRIGGER full BEFORE INSERT ON entries BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        status, told, headers = one.push(token(2))
        assert (status, told["reason"], headers["retry-after"]) == (503, "ServiceUnavailable", "1")
        assert "disk full" in told["message"]
        assert one.push(token(2))[0] == 503 and len(one.relay.said("cannot be queued")) == 1
        database.execute("DROP TRIGGER full")
    assert one.push(token(2))[0] == 200
    assert len(pushes(simulator)) == 2 and len(one.relay.said("are queued again")) == 1


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not here")
@pytest.mark.parametrize("language", ["sh", "php"])
def test_the_page_as_it_stands(language, start, listener, tmp_path):
    """The examples of Documentation/LISTENERS.md."""
    program = shutil.which(language)
    if not program:
        pytest.skip(f"{language} is not here")
    text = (ROOT / "Documentation/LISTENERS.md").read_text()
    (example,) = re.findall(rf"```{language}\n(.*?)```", text, re.S)
    simulator = start()
    one = listener(simulator)
    file = tmp_path / "example"
    file.write_text(example.replace(":8200", f":{one.port}"))
    ran = subprocess.run([program, file], capture_output=True, text=True)
    assert ran.returncode == 0, ran
    if language == "php":
        assert ran.stdout.endswith(" 200 OK\n"), ran
    (push,) = pushes(simulator)
    assert push["token"] == token(1) and push["payload"].encode() == PAYLOAD
