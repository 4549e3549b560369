"""HTTP/2 clients that do everything wrong: no crash, no leaked descriptor, flat memory."""

import contextlib
import random
import socket
import struct
import subprocess

import pytest
from http2 import Client, context, jwt
from simulator import DEADLINE, PAYLOAD, TOKEN, Simulator, ends_in_order

SEED = 20261121
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
CONNECTS = 480


def frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload


SETTINGS = frame(4, 0, 0)


def encoded(name, value):
    """A never-indexed literal, not Huffman-coded."""
    return b"\x10" + b"".join(bytes([len(text)]) + text for text in (name, value))


HEADERS = b"\x83\x87" + encoded(b":path", b"/3/device/" + TOKEN.hex().encode()) + encoded(b":authority", b"x")


def push(stream):
    return frame(1, 4, stream, HEADERS) + frame(0, 1, stream, PAYLOAD)


def works(simulator):
    with Client(simulator) as client:
        assert client.push() == (200, None)


@pytest.fixture(scope="module")
def warm(certificates):
    """A warmed-up simulator: what it creates only once exists."""
    simulator = Simulator(certificates, "--http2-port", 0, "--control-keeps", "1", control=True)
    simulator.address = ("127.0.0.1", simulator.ready["http2_port"])
    for _ in range(20):
        works(simulator)
    yield simulator
    simulator.stop()


@pytest.fixture
def resting(warm):
    """The same simulator; the test must leave it as it was."""
    with warm.renew().rests(works):
        yield warm


def leave(sock):
    """Closes immediately with a reset, so that data in flight is dropped."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def send_all(simulator, made, data):
    """Sends, closes its side, and reads what comes."""
    with contextlib.suppress(OSError), simulator.connect(simulator.address, context=made) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        # The simulator does not report every end, and a client that leaves discards what it sent.
        sock.settimeout(0.3)
        with contextlib.suppress(OSError):
            while sock.recv(65536):
                pass
        leave(sock)


def test_raw_frames_are_understood(resting):
    """Checks the client: otherwise the tests below would prove nothing."""
    with resting.connect(resting.address, context=context(resting)) as sock:
        sock.sendall(PREFACE + SETTINGS + push(1) + push(3))
        resting.wait("/counters", lambda counters: counters["accepted"] == 2)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 9, 10, 24, 33, 1000])
@pytest.mark.parametrize("faults, frames, counts", [
    ({}, [push(number) for number in range(1, 25, 2)], {"accepted": 12}),
    ({"goaway_after": 9, "goaway": "open"}, [push(number) for number in range(1, 25, 2)], {"accepted": 9, "discarded": 3}),
    # The limit is in force, because the client acknowledges its SETTINGS.
    ({"streams_max": 1}, [frame(4, 1, 0), frame(1, 4, 1, HEADERS), push(3), frame(0, 1, 1, PAYLOAD)], {"accepted": 1, "ignored": 1}),
])
def test_frames_in_pieces(resting, faults, frames, counts, size):
    """Frames are parsed, or dropped, in pieces of any size."""
    resting.control("PUT", "/faults", faults)
    data, pong = PREFACE + SETTINGS + b"".join(frames) + frame(6, 0, 0, b"12345678"), b""
    with resting.connect(resting.address, context=context(resting)) as sock:
        for at in range(0, len(data), size):
            sock.sendall(data[at : at + size])
        while frame(6, 1, 0, b"12345678") not in pong:
            pong += sock.recv(65536)
        resting.wait("/counters", lambda told: counts.items() <= told.items())
    resting.control("DELETE", "/faults")


def test_random_bytes(resting):
    dice, made = random.Random(SEED), context(resting)
    for number in range(60):
        begin = [b"", PREFACE, PREFACE + SETTINGS, PREFACE + SETTINGS + push(1)][number % 4]
        send_all(resting, made, begin + dice.randbytes(dice.randrange(20000)))


def test_random_frames(resting):
    """Each is well formed; the sequence makes no sense."""
    dice, made = random.Random(SEED), context(resting)
    for _ in range(60):
        frames = [
            frame(dice.randrange(11), dice.randrange(256), dice.choice([0, 1, 1, 2, 3, 5, 99, 2**31 - 1]),
                  dice.choice([b"", HEADERS, PAYLOAD, dice.randbytes(4), dice.randbytes(5), dice.randbytes(8),
                               dice.randbytes(dice.randrange(300))]))
            for _ in range(40)]
        send_all(resting, made, PREFACE + SETTINGS + b"".join(frames))


def test_mutated_requests(resting, count=60):
    dice, made = random.Random(SEED), context(resting)
    for _ in range(count):
        bytes_ = bytearray(PREFACE + SETTINGS + b"".join(push(2 * number + 1) for number in range(20)))
        for _ in range(3):
            bytes_[dice.randrange(len(PREFACE), len(bytes_))] = dice.randrange(256)
        send_all(resting, made, bytes_)


@pytest.mark.parametrize("faults", [{"goaway_after": 3}, {"goaway_after": 3, "goaway": "open"}, {"cut_after": 3}])
def test_mutated_requests_while_it_ends(resting, faults):
    resting.control("PUT", "/faults", faults)
    test_mutated_requests(resting, 20)
    resting.control("DELETE", "/faults")


def test_truncated_requests(resting):
    made = context(resting)
    whole = PREFACE + SETTINGS + push(1)
    for at in range(0, len(whole), 7):
        send_all(resting, made, whole[:at])


def test_large_headers(resting):
    made = context(resting)
    long = b"".join(encoded(b"x-%d" % number, b"y" * 100) for number in range(100))
    send_all(resting, made, PREFACE + SETTINGS + frame(1, 5, 1, HEADERS + long))
    endless = frame(1, 1, 1, HEADERS) + frame(9, 0, 1, long) * 200
    send_all(resting, made, PREFACE + SETTINGS + endless)
    with resting.connect(resting.address, context=made) as sock:
        sock.sendall(PREFACE + SETTINGS + frame(1, 0, 1, HEADERS) + frame(9, 0, 1, b"") * 1000)
        data = b""
        with contextlib.suppress(OSError):
            while piece := sock.recv(65536):
                data += piece
        # GOAWAY, ENHANCE_YOUR_CALM.
        assert data[-17:][3] == 7 and data[-4:] == b"\0\0\0\x0b"


def test_payloads_without_end(resting):
    """Bytes beyond the largest payload are not kept."""
    before = resting.memory()
    with Client(resting) as client:
        client.push()
        for _ in range(8):
            stream = client.request(b"x", end=False)
            for _ in range(400):
                while client.connection.local_flow_control_window(stream) < 16000:
                    assert client.read()
                client.connection.send_data(stream, b"x" * 16000)
                client.flush()
        assert resting.memory() - before < 8192


def test_half_closed(resting):
    """A client that half-closes still gets its responses."""
    resting.control("PUT", "/faults", {"answer_delay_ms": 200})
    with resting.connect(resting.address, context=context(resting)) as sock:
        sock.sendall(PREFACE + SETTINGS + push(1) + push(3))
        # FIN without close_notify.
        socket.socket.shutdown(sock, socket.SHUT_WR)
        data = b""
        with contextlib.suppress(OSError):
            while piece := sock.recv(65536):
                data += piece
    assert data.count(b"\x01\x05\x00\x00\x00") == 2
    resting.control("DELETE", "/faults")


def test_clients_that_reset(resting):
    made = context(resting)
    for _ in range(15):
        sock = resting.connect(resting.address, context=made)
        sock.sendall(PREFACE + SETTINGS + b"".join(push(2 * number + 1) for number in range(90)))
        leave(sock)


def test_cancelled_streams(resting):
    """RST_STREAM before and after the end of a request, and more of them than the simulator tolerates."""
    with Client(resting) as client:
        client.push()
        for number in range(100):
            stream = client.request(flush=False, end=number % 2 == 0)
            client.connection.reset_stream(stream)
        client.flush()
        assert client.push() == (200, None)
    flood = b"".join(frame(1, 4, 2 * n + 1, HEADERS) + frame(3, 0, 2 * n + 1, b"\0\0\0\x08") for n in range(20000))
    send_all(resting, context(resting), PREFACE + SETTINGS + flood)


@pytest.mark.parametrize("flood", [frame(6, 0, 0, b"12345678"), SETTINGS, frame(2, 0, 1, b"\0\0\0\0\7")])
def test_floods_of_control_frames(resting, flood):
    send_all(resting, context(resting), PREFACE + SETTINGS + flood * 10_000)


def never_read(simulator, timeout):
    """A connection to a client of which only the kernel reads."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.settimeout(DEADLINE)
    raw.connect(simulator.address)
    sock = context(simulator).wrap_socket(raw)
    sock.settimeout(timeout)
    return sock


def test_clients_that_never_read(resting):
    """Its responses do not pile up: the simulator stops reading from it."""
    before = resting.memory()
    with never_read(resting, timeout=1) as sock:
        sock.sendall(PREFACE + frame(4, 0, 0, struct.pack("!HI", 4, 0)) + SETTINGS)
        # Flow-control windows do not limit these: bad requests without a body, and responses without one.
        with contextlib.suppress(OSError):
            for start in range(0, 400_000, 500):
                sock.sendall(b"".join(
                    frame(1, 5, 2 * (start + n) + 1, HEADERS) + frame(3, 0, 2 * (start + n) + 1, b"\0\0\0\x08")
                    for n in range(50)))
        works(resting)
        assert resting.memory() - before < 32768
        leave(sock)


def test_responses_that_are_never_read(resting):
    before = resting.memory()
    with never_read(resting, timeout=3) as sock:
        sock.sendall(PREFACE + SETTINGS)
        sock.recv(100)
        sock.sendall(frame(4, 1, 0) + frame(8, 0, 0, struct.pack("!I", 1 << 30)))
        # The simulator stops reading, or closes it for too many open streams.
        with pytest.raises(OSError):
            for number in range(1_000_000):
                sock.sendall(frame(1, 5, 2 * number + 1, HEADERS))
        leave(sock)
    # A million responses would be hundreds of MB.
    assert resting.memory() - before < 32768


def test_many_connects(resting):
    made = context(resting)
    bearer = jwt(resting)

    def connect(number):
        if number % 4 == 0:
            with resting.connect(resting.address, plain=True) as raw:
                raw.sendall(b"\x16\x03\x01"[: number % 8])
        elif number % 4 == 1:
            with resting.connect(resting.address, context=made) as sock:
                sock.sendall(PREFACE + SETTINGS + push(1))
        elif number % 4 == 2:
            with Client(resting, certificate=False, bearer=bearer) as client:
                assert client.push() == (200, None)
        else:
            with resting.connect(resting.address, context=made) as sock:
                sock.sendall(PREFACE + SETTINGS + push(1)[:60])

    resting.forgets(connect, CONNECTS, kb=2)


def test_stops_with_open_connections(start):
    dice = random.Random(SEED)
    for _ in range(5):
        simulator = start("--http2-port", 0, "--fault", "answer_delay_ms=50,500", stderr=subprocess.PIPE)
        address, made = ("127.0.0.1", simulator.ready["http2_port"]), context(simulator)
        with contextlib.ExitStack() as open_ones:
            for number in range(12):
                sock = open_ones.enter_context(simulator.connect(address, context=made, plain=number % 4 == 0))
                if number % 4:
                    sock.sendall(PREFACE + SETTINGS + push(1) + push(3)[: dice.randrange(100)])
            ends_in_order(simulator)
