"""Clients that do everything wrong: no crash, no leaked descriptor, flat memory."""

import contextlib
import os
import random
import resource
import socket
import ssl
import struct
import subprocess

import pytest
from simulator import CLEAN, DEADLINE, TOKEN, Simulator, ends_in_order, enhanced, error, finish, exchange

SEED = 20261121
CONNECTS = 1_600


def works(simulator):
    assert exchange(simulator.connect(), enhanced(7, b"")) == (error(2, 7), CLEAN)


@pytest.fixture(scope="module")
def warm(certificates):
    """A warmed-up simulator: what it creates only once exists."""
    simulator = Simulator(certificates, "--control-keeps", "1", control=True)
    for _ in range(20):
        works(simulator)
    yield simulator
    simulator.stop()


@pytest.fixture
def resting(warm):
    """The same simulator; the test must leave it as it was."""
    with warm.renew({"close_delay_ms": 0}).rests(works):
        yield warm


def test_random_bytes(resting):
    dice = random.Random(SEED)
    for first in [*range(10), *dice.choices(range(256), k=20)]:
        sock = resting.connect()
        with contextlib.suppress(OSError), sock:
            sock.sendall(bytes([first]) + dice.randbytes(dice.randrange(20000)))


def test_random_bytes_for_tls(resting):
    dice = random.Random(SEED)
    for number in range(40):
        with resting.connect(plain=True) as raw, contextlib.suppress(OSError):
            raw.sendall((b"\x16\x03\x01" if number % 2 else b"") + dice.randbytes(dice.randrange(3000)))
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(4096):
                pass


def test_mutated_frames(resting):
    dice = random.Random(SEED)
    for _ in range(40):
        frames = bytearray(b"".join(enhanced(number) for number in range(20)))
        for _ in range(3):
            frames[dice.randrange(len(frames))] = dice.randrange(256)
        sock = resting.connect()
        with contextlib.suppress(OSError), sock:
            sock.sendall(frames)


def test_truncated_frames(resting):
    frame = enhanced(1)
    for at in range(0, len(frame), 3):
        with resting.connect() as sock:
            sock.sendall(frame[:at])
            sock.unwrap().close()


def test_half_closed(resting):
    """The client's FIN comes without close_notify, or before any data."""
    for number in range(20):
        with resting.connect(plain=True) as raw:
            if number % 2:
                raw.shutdown(socket.SHUT_WR)
                with contextlib.suppress(OSError):
                    assert raw.recv(10) == b""
        sock = resting.connect()
        with contextlib.suppress(OSError), sock:
            sock.sendall(enhanced(1) + (enhanced(2, b"") if number % 3 else b""))
            sock.shutdown(socket.SHUT_WR)
            sock.recv(6)


def test_leaves_in_the_handshake(resting):
    for number in range(30):
        with resting.connect(plain=True) as raw:
            raw.sendall(b"\x16\x03\x01\x02\x00\x01"[: number % 7])


def test_clients_that_reset(resting):
    for _ in range(30):
        sock = resting.connect()
        sock.sendall(enhanced(1) * 200)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()


def test_clients_that_never_read(resting):
    """The client does not read the error packet; the connection ends anyway."""
    socks = [resting.connect() for _ in range(10)]
    for sock in socks:
        sock.sendall(enhanced(1, b""))
    resting.wait("/connections", lambda answer: answer["connections"] == [])
    for sock in socks:
        sock.close()


def test_feedback_that_is_never_read(start, tmp_path):
    """More than sockets hold: other clients do not wait, and it is freed when its client leaves."""
    path = tmp_path / "feedback"
    path.write_text(f"1 {'ab' * 100}\n" * 45_000)
    simulator = start("--feedback", path, control=True)
    finish(simulator.connect())
    with simulator.rests(works), socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.settimeout(DEADLINE)
        raw.connect(simulator.feedback)
        with simulator.context().wrap_socket(raw) as sock:
            simulator.wait("/counters", lambda counters: counters["feedback_connections"] == 1)
            assert exchange(simulator.connect(), enhanced(1) * 1000 + enhanced(7, b""))[0] == error(2, 7)
            assert exchange(simulator.connect(simulator.feedback)) == (b"", CLEAN)
            # The simulator still has data to send.
            assert len(sock.recv(16384)) == 16384 // 106 * 106


def test_stalled_clients_do_not_block_others(resting):
    """Each event loop has many clients that stop within a hello, a TLS record or a frame."""
    context = resting.context()
    hello = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), hello).do_handshake()
    hello = hello.read()
    with contextlib.ExitStack() as open_ones:
        for number in range(20):
            raw = open_ones.enter_context(resting.connect(plain=True))
            raw.sendall(hello[: 20 + number])
            within_frame = open_ones.enter_context(resting.connect(context=context))
            within_frame.sendall(enhanced(1)[: 5 + number])
            within_record = open_ones.enter_context(resting.connect(context=context))
            os.write(within_record.fileno(), b"\x17\x03\x03\x40\x00" + bytes(number))
        for _ in range(4):
            assert exchange(resting.connect(), enhanced(1) * 20_000 + enhanced(9, b"")) == (error(2, 9), CLEAN)


@pytest.mark.parametrize("resets", [False, True])
def test_clients_leave_a_stall_without_end(resting, resets):
    """A stalled connection still detects that its client left."""
    resting.control("PUT", "/faults", {"stall_after_bytes": 10})
    for _ in range(10):
        sock = resting.connect()
        sock.sendall(enhanced(1))
        if resets:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
    resting.totals()
    resting.control("DELETE", "/faults")


def test_out_of_descriptors(start):
    """Without a free descriptor, connections wait and are accepted later."""
    simulator = start(faults={"close_delay_ms": 0})
    count = simulator.descriptors()
    resource.prlimit(simulator.pid, resource.RLIMIT_NOFILE, (count + 10, count + 10))
    plain = [simulator.connect(plain=True) for _ in range(30)]
    for sock in plain:
        sock.close()
    assert exchange(simulator.connect(), enhanced(7, b"")) == (error(2, 7), CLEAN)
    assert simulator.process.poll() is None


def test_many_connects(resting):
    context = resting.context()

    def connect(number):
        if number % 2:
            with resting.connect(plain=True) as raw:
                if number % 4 == 3:
                    raw.sendall(b"\x16\x03\x01")
        else:
            with resting.connect(context=context) as sock:
                sock.sendall(enhanced(1, b"" if number % 4 else TOKEN))

    resting.forgets(connect, CONNECTS, kb=0.5)


def test_stops_with_open_connections(start):
    """In any state, it ends immediately and its event loops report no leftovers."""
    dice = random.Random(SEED)
    for _ in range(5):
        simulator = start(stderr=subprocess.PIPE)
        context = simulator.context()
        with contextlib.ExitStack() as open_ones:
            for number in range(12):
                sock = open_ones.enter_context(simulator.connect(context=context, plain=number % 4 == 0))
                if number % 4:
                    sock.sendall(enhanced(1) + (enhanced(2, b"") if number % 2 else b""))
                if dice.random() < 0.5:
                    socket.socket.shutdown(sock, socket.SHUT_WR)
            ends_in_order(simulator)
