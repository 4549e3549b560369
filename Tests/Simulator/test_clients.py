"""The habits of legacy clients, one per test."""

import socket
import ssl
import struct
import subprocess
import time

import pytest
from simulator import (
    CLEAN, DEADLINE, PAYLOAD, TOKEN, enhanced, error, framed, item, read_to_end, simple, exchange,
)

TLS12 = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)


def test_takes_any_readable_byte_for_an_error(simulator):
    """Such a client drops the connection when it becomes readable; while pushes are accepted it never does."""
    with simulator.connect() as sock:
        sock.sendall(enhanced(1) * 100)
        simulator.wait("/counters", lambda counters: counters["accepted"] == 100)
        raw = socket.socket(fileno=sock.fileno())
        try:
            raw.setblocking(False)
            with pytest.raises(BlockingIOError):
                raw.recv(1, socket.MSG_PEEK)
        finally:
            raw.detach()


def test_writes_and_closes_without_reading(simulator):
    """With unread session tickets its kernel would send RST, and what is in flight would be lost."""
    for number in range(20):
        sock = simulator.connect()
        sock.sendall(enhanced(1) * 500)
        sock.close()
    simulator.wait("/counters", lambda counters: counters["accepted"] == 20 * 500)


def test_checks_for_the_end_before_it_reads(simulator):
    """The packet comes some 50 ms before close_notify."""
    with simulator.connect() as sock:
        began = time.monotonic()
        sock.sendall(enhanced(4, b""))
        pieces, times, end = read_to_end(sock)
        assert (pieces, end) == ([error(2, 4)], CLEAN)
        assert time.monotonic() - began >= 0.05


def test_reads_feedback_to_the_end_of_each_record(start, tmp_path):
    """Every record ends with a tuple, and the end of the connection comes separately."""
    path = tmp_path / "feedback"
    path.write_text("".join(f"{number} {TOKEN.hex()}\n" for number in range(2000)))
    simulator = start("--feedback", path)
    began = time.monotonic()
    with simulator.connect(simulator.feedback) as sock:
        pieces, _, end = read_to_end(sock)
        assert time.monotonic() - began >= 0.05
    assert end == CLEAN
    # One call reads one record.
    assert len(pieces) > 1 and all(len(piece) % 38 == 0 for piece in pieces)
    assert b"".join(pieces) == b"".join(
        struct.pack("!IH", number, 32) + TOKEN for number in range(2000)
    )


def test_keeps_writing_after_the_packet(simulator):
    """If the gateway closed immediately, its kernel would send RST and destroy the packet."""
    with simulator.connect() as sock:
        sock.sendall(enhanced(2) * 99 + enhanced(1, b"") + enhanced(2) * 20000)
        sock.sendall(enhanced(3) * 20000)
        pieces, _, end = read_to_end(sock)
    assert (b"".join(pieces), end) == (error(2, 1), CLEAN)
    simulator.wait("/counters", lambda counters: (counters["accepted"], counters["discarded"]) == (99, 40000))


@pytest.mark.parametrize("faults", [{}, {"error_delay_ms": 300}])
def test_closes_its_side_and_waits_for_the_answer(shared, faults):
    """A late answer arrives, and without an answer the connection ends cleanly."""
    simulator = shared(faults)
    with simulator.connect() as sock:
        sock.sendall(enhanced(1) * 10 + enhanced(2, b""))
        socket.socket.shutdown(sock, socket.SHUT_WR)
        assert read_to_end(sock)[::2] == ([error(2, 2)], CLEAN)
    with simulator.connect() as sock:
        sock.sendall(enhanced(1) * 10)
        socket.socket.shutdown(sock, socket.SHUT_WR)
        assert read_to_end(sock)[::2] == ([], CLEAN)
    assert simulator.totals()["accepted"] == 20


def test_closes_its_side_and_waits_for_feedback(start, tmp_path):
    """Also reads a list written by hand."""
    path = tmp_path / "feedback"
    path.write_text(f"# gone\n\n5 {TOKEN.hex()}\r\n  4294967295\t<01 02>  # too\n0 ff")
    simulator = start("--feedback", path)
    with simulator.connect(simulator.feedback) as sock:
        socket.socket.shutdown(sock, socket.SHUT_WR)
        last = struct.pack("!IHHIHB", 2**32 - 1, 2, 0x0102, 0, 1, 255)
        assert read_to_end(sock)[::2] == ([struct.pack("!IH", 5, 32) + TOKEN + last], CLEAN)


def test_expects_no_answer_to_command_0(simulator):
    assert exchange(simulator.connect(), simple() + simple(b"") + simple()) == (b"", CLEAN)
    totals = simulator.totals()
    assert (totals["accepted"], totals["statuses"], totals["discarded"]) == (1, {"2": 1}, 1)


def test_leaves_items_out_or_puts_the_identifier_first(simulator):
    number = item(3, struct.pack("!I", 6))
    frames = framed(item(1, TOKEN), item(2, PAYLOAD)) + framed(number, item(1, TOKEN), item(2, PAYLOAD))
    assert exchange(simulator.connect(), frames + framed(number, item(1, b""), item(2, PAYLOAD))) == (
        error(2, 6), CLEAN,
    )
    assert simulator.totals()["accepted"] == 2


@pytest.mark.parametrize("identifiers", [(0, 1, 2), (1, 2, 3), (5, 5, 5)])
def test_uses_any_identifiers(simulator, identifiers):
    *good, bad = identifiers
    sent = b"".join(enhanced(number) for number in good) + enhanced(bad, b"")
    assert exchange(simulator.connect(), sent) == (error(2, bad), CLEAN)
    assert simulator.totals()["accepted"] == 2


@pytest.mark.parametrize("name", [None, "127.0.0.1", "localhost", "gateway.sandbox.push.apple.com", "x.example"])
def test_sends_any_name_in_sni(simulator, name):
    context = simulator.context()
    # The certificate also covers Apple's names.
    context.check_hostname = name not in (None, "x.example")
    assert exchange(simulator.connect(context=context, name=name), enhanced(1, b"")) == (error(2, 1), CLEAN)


def test_has_no_certificate(simulator):
    """With TLS 1.2 the client is refused during the handshake."""
    with pytest.raises(OSError):
        simulator.connect(context=simulator.context(certificate=False))
    assert simulator.wait("/counters", lambda counters: counters["refused"] == 1)["connections"] == 0


@pytest.mark.parametrize("name", ["127.0.0.1", "::1", "17.188.0.1"])
def test_sends_an_address_in_sni(simulator, name):
    """Against RFC 6066. Python refuses to do this, so openssl is the client."""
    ran = subprocess.run(
        ["openssl", "s_client", "-connect", "%s:%d" % simulator.gateway, "-servername", name, "-quiet",
         "-CAfile", simulator.ready["ca"], "-cert", simulator.ready["provider"], "-verify_return_error"],
        input=enhanced(1, b""), capture_output=True, timeout=DEADLINE,
    )
    assert ran.stdout == error(2, 1)


def test_supports_only_rsa(simulator):
    context = simulator.context(versions=TLS12)
    context.set_ciphers("AES256-SHA:AES128-SHA:AES128-GCM-SHA256:@SECLEVEL=0")
    with simulator.connect(context=context) as sock:
        assert "ECDHE" not in sock.cipher()[0]
        assert exchange(sock, enhanced(1, b"")) == (error(2, 1), CLEAN)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_speaks_tls_1_0_if_allowed(start):
    old = (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1)
    simulator = start("--tls-min", "1.0")
    with simulator.connect(context=simulator.context(versions=old)) as sock:
        assert sock.version() == "TLSv1"
        assert exchange(sock, enhanced(1, b"")) == (error(2, 1), CLEAN)
    with pytest.raises(ssl.SSLError):
        strict = start()
        strict.connect(context=strict.context(versions=old))


def test_sends_byte_by_byte(simulator):
    with simulator.connect() as sock:
        for byte in simple() + enhanced(2) + framed(item(1, TOKEN), item(2, PAYLOAD)) + enhanced(3, b""):
            sock.sendall(bytes([byte]))
        assert read_to_end(sock)[0] == [error(2, 3)]
    assert simulator.totals()["accepted"] == 3
