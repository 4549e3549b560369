"""Adversarial clients at every listener: the relay serves the others, and keeps a bounded amount for them."""

import contextlib
import fcntl
import resource
import select
import socket
import ssl
import struct
import termios
import time

import pytest

from legacy import answer, connect, context, enhanced, feedback, talk
from relaying import DEADLINE, pushes, token, wait_until
from simulator import CLEAN, error
from test_binary_listener import open_listener, people, raw  # noqa: F401
from test_http_listener import listener, h2_frame, h2_header  # noqa: F401

H2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2_frame(4, 0, 0)
H2_GET = b"".join(h2_header(name, value) for name, value in [(b":method", b"GET"), (b":scheme", b"http"), (b":authority", b"localhost"), (b":path", b"/x")])


def http1():
    while True:
        yield b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500


def http2():
    yield H2
    for first in range(1, 1 << 31, 200):
        yield b"".join(h2_frame(1, 5, stream, H2_GET) for stream in range(first, first + 200, 2))


def resets():
    """Opens streams and resets them immediately."""
    yield H2
    for first in range(1, 1 << 31, 200):
        yield b"".join(h2_frame(1, 5, stream, H2_GET) + h2_frame(3, 0, stream, b"\0\0\0\x08") for stream in range(first, first + 200, 2))


def pings():
    yield H2
    while True:
        yield h2_frame(6, 0, 0, bytes(8)) * 500


def settings():
    yield H2
    while True:
        yield h2_frame(4, 0, 0) * 500


def headers():
    """A request with endless headers."""
    yield H2 + h2_frame(1, 1, 1, H2_GET)
    while True:
        yield h2_frame(9, 0, 1, h2_header(b"a", b"b" * 100)) * 100


@pytest.mark.parametrize("kind", [http1, http2, resets, pings, settings, headers], ids=lambda kind: kind.__name__)
def test_who_reads_no_answers(start, listener, kind):  # noqa: F811
    """The relay stops reading from such a client, and closes it after `idle_timeout`."""
    simulator = start()
    one = listener(simulator, listener={"idle_timeout": "1s"})
    assert one.push(token(1))[0] == 200
    before, sent, deadline = one.relay.memory(), 0, time.monotonic() + DEADLINE
    with one.socket() as sock:
        with contextlib.suppress(ConnectionError):
            for data in kind():
                sock.sendall(data)
                sent += len(data)
                assert time.monotonic() < deadline and one.relay.memory() < before + 60_000, (sent, one.relay.memory() - before)
        print(kind.__name__, sent, one.relay.memory() - before, one.relay.seconds())
    assert one.push(token(2))[0] == 200
    assert len(pushes(simulator)) == 2
    one.relay.stop()


def test_more_connections_than_files(start, listener, tmp_path):  # noqa: F811
    """The relay can open the files that it needs itself, however many clients connect."""
    # Each push needs a new connection.
    simulator = start(faults={"goaway_after": 1})
    one = listener(simulator, listener={"idle_timeout": "3600s", "connections": 1000})
    assert one.push(token(1))[0] == 200
    resource.prlimit(one.relay.process.pid, resource.RLIMIT_NOFILE, (300, 300))
    with contextlib.ExitStack() as stack:
        kept = stack.enter_context(contextlib.closing(one.connection()))
        assert one.push(token(2), connection=kept)[0] == 200
        for _ in range(600):
            stack.enter_context(one.socket())
        wait_until(lambda: (one.relay.metric("apns_relay_listener_rejected_connections_total") or 0) >= 375, "no client is refused")
        for number in range(3):
            one.relay.queue.add({"id": f"late {number}", "token": token(3 + number)})
        one.relay.wait_done()
        # Established connections continue.
        assert one.push(token(4), connection=kept)[0] == 200
        assert one.relay.get("/healthz")[0] == 200
        (said,) = one.relay.said("clients are refused")
        assert said["message"].endswith("this process may open 300 files")
    one.relay.stop()


def status(one, data):
    """Returns the status server's response to these bytes, until it closes."""
    with socket.create_connection(("127.0.0.1", int(one.port_file.read_text())), timeout=DEADLINE) as sock:
        with contextlib.suppress(ConnectionError):
            for piece in [data] if isinstance(data, bytes) else data:
                sock.sendall(piece)
        answered = b""
        with contextlib.suppress(ConnectionError):
            while piece := sock.recv(65536):
                answered += piece
        return answered


def test_status_is_for_those_who_ask(start, relay):
    """Clients that send no request, or do not read, do not delay other clients."""
    one = relay(start()).start().wait_ready()
    port = int(one.port_file.read_text())
    # A connection has two seconds: if the machine is busy for longer, try again.
    for attempt in range(5):
        with contextlib.ExitStack() as stack:
            crowd = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)) for _ in range(120)]
            for deaf in crowd[:60]:
                deaf.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            for slow in crowd[60:90]:
                slow.sendall(b"GET")
            assert one.get("/healthz") == (200, "ok\n")
            # The silent connections are still open, so the request did not wait for their end.
            if not select.select(crowd[60:], [], [], 0)[0]:
                break
    else:
        raise AssertionError("a request waits until others are closed")
    with contextlib.ExitStack() as stack:
        for _ in range(600):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=DEADLINE))
        assert one.get("/healthz") == (200, "ok\n")
    one.stop()


def test_what_status_is_asked(start, relay):
    one = relay(start()).start().wait_ready()
    for request, wanted in (
        (b"GET /healthz HTTP/1.1\r\nHost: localhost:80\r\n\r\n", 200), (b"GET /healthz HTTP/1.0\r\n\r\n", 200), (b"HEAD / HTTP/1.1\r\nhost:[::1]\r\n\r\n", 200),
        # A page could read it through a host name that leads to this machine.
        (b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421), (b"GET / HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 421),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 421), (b"GET https://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 421),
        *((b"GET / HTTP/1.1\r\n" + hosts + b"\r\n", 400) for hosts in (
            b"", b"Host:\r\n", b"Host: localhost\r\nHost: localhost\r\n", b"Host: 127.0.0.1:x\r\n", b"Host: 127.0.0.1:+80\r\n", b"Host: a@localhost\r\n")),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", 405), (b"DELETE / HTTP/1.0\r\n\r\n", 405),
        (b"get / HTTP/1.0\r\n\r\n", 405), (b"GET / HTTP/2.0\r\n\r\n", 400), (b"GET  HTTP/1.1\r\n\r\n", 400), (b"\r\n\r\n", 400),
        (b"\xff\xfe \x00 HTTP/1.1\r\n\r\n", 400), (b"GET /../../etc/passwd HTTP/1.0\r\n\r\n", 404), (b"GET /metrics%00 HTTP/1.0\r\n\r\n", 404),
        (b"GET http://localhost/healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", 200), (b"GET http://LOCALHOST:80?a HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 100_000 + b"\r\n\r\n", 431), (b"a" * 9000, 431),
    ):
        answered = status(one, request)
        # If the relay closes before it has read a whole request, the response may get lost.
        if len(request) < 8192 or answered:
            assert answered.startswith(b"HTTP/1.1 %d " % wanted), (request[:60], answered)
    # A request that is not complete in time gets no response.
    assert status(one, b"GET / HTTP/1.1\nHost: localhost\n\n") == b"" and status(one, b"\x16\x03\x01") == b""
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert status(one, (whole[k : k + 1] for k in range(len(whole)))).endswith(b"ok\n")
    one.stop()


@contextlib.contextmanager
def full_disk(queue):
    with queue.open() as database:
        database.execute("CREATE TRIGGER full BEFORE INSERT ON entries BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        try:
            yield
        finally:
            database.execute("DROP TRIGGER full")


def test_who_wrote_and_went_is_not_lost(open_listener, people):  # noqa: F811
    """The queue is blocked for longer than a client waits: connected clients get status 10, and the notifications of
    disconnected ones are queued in the end."""
    listener = open_listener()
    tls = context(people.listed)
    with full_disk(listener.queue):
        listens = connect(listener.port, tls)
        listens.sendall(enhanced(9, raw(9)))
        for number in range(1, 6):
            sock = connect(listener.port, tls)
            sock.sendall(enhanced(number, raw(number)))
            if number % 2:
                sock.setblocking(False)
                with contextlib.suppress(ssl.SSLWantReadError):
                    sock.unwrap()
            sock.close()
        with listens:
            assert answer(listens) == (error(10, 0), CLEAN)
        assert listener.queue.entries_so_far() == 0
    wait_until(lambda: listener.queue.entries_so_far() == 5, "they are lost")
    listener.relay.wait_done()
    assert listener.queue.counts() == {"accepted": 5} and listener.relay.said("are lost") == []


def test_what_waits_for_the_queue_has_a_limit(open_listener, people):  # noqa: F811
    """Clients write, break their connections and reconnect while the queue accepts nothing."""
    listener = open_listener()
    tls = context(people.listed)
    count = 0
    with full_disk(listener.queue):
        before, came = listener.relay.memory(), b""
        while not came:
            assert count < 3000, "all are accepted"
            sock = connect(listener.port, tls)
            with contextlib.suppress(OSError):
                sock.sendall(enhanced(1, raw(count)))
                # The client is accepted and its notification read, unless it gets an error packet.
                wait_until(lambda: not unread(sock) or select.select([sock], [], [], 0)[0], "it is not read")
                if select.select([sock], [], [], 0)[0]:
                    came = answer(sock)
                    break
                count += 1
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
        assert came == (error(10, 0), CLEAN) and count >= 500
        assert listener.relay.memory() < before + 150_000
    # Bytes that the relay had not read when the connection broke are lost.
    wait_until(lambda: listener.queue.entries_so_far() >= 500, "they are lost")
    assert talk(listener.port, tls, b"\x09")[0] == error(128, 0)


def test_who_reads_no_feedback(open_listener, people):  # noqa: F811
    """The relay sends the list to two clients at a time, until they have read it or left, so that clients that do not
    read cost no memory. The others wait."""
    listener = open_listener()
    tls = context(people.listed)
    listener.queue.rows("INSERT INTO feedback (app, token, since) VALUES ('shop', ?, 7)", token(1))
    with contextlib.ExitStack() as stack:
        deaf = [stack.enter_context(connect(listener.feedback_port, tls)) for _ in range(9)]
        while deaf:
            most = min(2, len(deaf))
            wait_until(lambda: len(select.select(deaf, [], [], 0)[0]) >= most, "it is not logged")
            # By then every list that is sent concurrently has been sent.
            assert listener.relay.get("/healthz")[0] == 200
            told = select.select(deaf, [], [], 0.2)[0]
            assert len(told) == most
            for sock in told:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.close()
            deaf = [sock for sock in deaf if sock not in told]
    assert feedback(listener.feedback_port, tls) == ([(7, token(1))], CLEAN)
    wait_until(lambda: listener.queue.value("SELECT count(*) FROM feedback") == 0, "it is not forgotten")


def unread(sock):
    """Returns the number of bytes that the peer's system has not acknowledged."""
    return struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))[0]
