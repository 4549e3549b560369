"""Every fault, as seen on the wire."""

import select
import socket
import ssl
import struct
import time

import pytest
from simulator import (
    CLEAN, DEADLINE, FIN, PAYLOAD, RESET, TCP_CLOSE_WAIT, TOKEN, enhanced, error, finish, framed, is_end, item,
    read_to_end, simple, exchange, tcp,
)

SENTINEL = enhanced(99, token=b"")
TLS12 = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)
BAD = bytes([0xBA]) * 32


def records(raw, sock_context, data):
    """Speaks TLS in memory over a plain socket; returns the data received, its records, and the number of
    segments."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = sock_context.wrap_bio(incoming, outgoing)
    reads, wire = [], b""

    def pump(act):
        while True:
            try:
                result = act()
                raw.sendall(outgoing.read())
                return result
            except ssl.SSLWantReadError:
                raw.sendall(outgoing.read())
                piece = raw.recv(65536)
                if not piece:
                    incoming.write_eof()
                reads.append(piece)
                incoming.write(piece)

    pump(tls.do_handshake)
    del reads[:]
    before = tcp(raw).data_segments
    pump(lambda: tls.write(data))
    answer = b""
    while True:
        try:
            piece = pump(lambda: tls.read(65536))
        except ssl.SSLError as end:
            if not (isinstance(end, ssl.SSLZeroReturnError) or is_end(end)):
                raise
            break
        if not piece:
            break
        answer += piece
    wire = b"".join(reads)
    sizes, offset = [], 0
    while offset + 5 <= len(wire):
        kind, _, length = struct.unpack_from("!BHH", wire, offset)
        sizes.append((kind, length))
        offset += 5 + length
    return answer, sizes, tcp(raw).data_segments - before


@pytest.mark.parametrize(
    "faults, bad, good",
    [
        ({"bad_tokens": [BAD.hex()]}, BAD, TOKEN),
        ({"bad_tokens": [TOKEN.hex(), BAD.hex()]}, BAD, bytes(32)),
        ({"bad_prefixes": ["baba"]}, b"\xba\xba" + bytes(30), b"\xba\xbb" + bytes(30)),
    ],
)
def test_bad_tokens(shared, faults, bad, good):
    simulator = shared(faults)
    answer = exchange(simulator.connect(), enhanced(1, good) + enhanced(2, bad) + enhanced(3, good))
    assert answer == (error(8, 2), CLEAN)
    totals = simulator.totals()
    assert (totals["accepted"], totals["statuses"], totals["discarded"]) == (1, {"8": 1}, 1)


def test_every_nth_is_bad_on_each_connection(shared):
    simulator = shared({"bad_every": 3})
    for _ in range(2):
        sent = b"".join(enhanced(number) for number in range(1, 6))
        assert exchange(simulator.connect(), sent) == (error(8, 3), CLEAN)


def bad_by_share(start, seed):
    simulator = start("--seed", seed, faults={"bad_share": 0.3, "close_delay_ms": 0})
    assert simulator.ready["seed"] == int(seed)
    tokens = [struct.pack("!I", number) * 8 for number in range(200)]
    bad, at = [], 0
    while at < len(tokens):
        sock = simulator.connect()
        sent = b"".join(enhanced(at + n + 1, token) for n, token in enumerate(tokens[at:]))
        # Accepted ones get no answer; the sentinel ends the list.
        answer, end = exchange(sock, sent + enhanced(1000, b""))
        assert end == CLEAN and len(answer) == 6
        at = struct.unpack("!BBI", answer)[2]
        if at < 1000:
            bad.append(at)
    return bad


def test_the_seed_determines_the_bad_share(start):
    first = bad_by_share(start, "1")
    assert 30 <= len(first) <= 90
    assert bad_by_share(start, "1") == first
    assert bad_by_share(start, "2") != first


def test_the_seed_determines_the_bad_status(start):
    def drawn():
        simulator = start("--seed", "3", faults={"bad_every": 1, "bad_status": [1, 8, 255]})
        return [exchange(simulator.connect(), enhanced(1))[0][1] for _ in range(12)]

    statuses = drawn()
    assert set(statuses) == {1, 8, 255}
    assert drawn() == statuses


@pytest.mark.parametrize("delay, least", [(400, 0.4), ([300, 500], 0.3)])
def test_late_error_packet(shared, delay, least):
    simulator = shared({"error_delay_ms": delay})
    with simulator.connect() as sock:
        began = time.monotonic()
        sock.sendall(enhanced(1) + SENTINEL + enhanced(3) * 10)
        pieces, times, end = read_to_end(sock)
    assert (b"".join(pieces), end) == (error(2, 99), CLEAN)
    assert times[0] - began >= least
    totals = simulator.totals()
    assert (totals["accepted"], totals["discarded"]) == (1, 10)


@pytest.mark.parametrize("end", [CLEAN, FIN, RESET])
@pytest.mark.parametrize("packet", [True, False])
def test_the_end_after_an_error(shared, end, packet):
    simulator = shared({"close": end, "no_packet": not packet})
    assert exchange(simulator.connect(), SENTINEL) == (error(2, 99) if packet else b"", end)


@pytest.mark.parametrize("end", [CLEAN, FIN, RESET])
def test_discards_for_a_while_before_the_end(shared, end):
    simulator = shared({"close": end, "close_delay_ms": 300})
    with simulator.connect() as sock:
        began = time.monotonic()
        sock.sendall(SENTINEL)
        assert sock.recv(6) == error(2, 99)
        sock.sendall(enhanced(1) * 5)
        assert read_to_end(sock)[2] == end
        assert time.monotonic() - began >= 0.3
    assert simulator.control("GET", "/counters")[1]["discarded"] == 5


@pytest.mark.parametrize("faults, kinds, is_so", [
    ({}, [23, 21], lambda segments, _: segments >= 2),
    ({"one_segment": True}, [23, 21], lambda segments, _: segments == 1),
    ({"record_bytes": 1}, [23] * 6 + [21], lambda segments, _: segments >= 1),
    # The records of the packet and of close_notify, in pieces of 8; the kernel may resend one.
    ({"segment_bytes": 8, "segment_gap_ms": 20}, [23, 21],
     lambda segments, sizes: segments >= sum(-(-(5 + length) // 8) for _, length in sizes)),
])
def test_records_and_segments_of_packet_and_end(shared, faults, kinds, is_so):
    simulator = shared(faults)
    with simulator.connect(plain=True) as raw:
        answer, sizes, segments = records(raw, simulator.context(versions=TLS12), SENTINEL)
    assert answer == error(2, 99)
    assert [kind for kind, _ in sizes] == kinds and is_so(segments, sizes)


@pytest.mark.parametrize("end", [CLEAN, FIN])
def test_fin_in_the_packet_s_segment(shared, end):
    simulator = shared({"one_segment": True, "close": end, "error_delay_ms": 200})
    while True:
        with simulator.connect() as sock:
            handshake = tcp(sock).received
            sock.sendall(SENTINEL)
            # Wait for the acknowledgements of the gateway's kernel.
            while tcp(sock).unacked:
                pass
            before = tcp(sock)
            if before.received > handshake:
                continue  # too late: the gateway was as fast
            select.select([sock], [], [], DEADLINE)
            after = tcp(sock)
            assert (after.segments - before.segments, after.state) == (1, TCP_CLOSE_WAIT)
            assert read_to_end(sock)[::2] == ([error(2, 99)], end)
            break


def test_reset_right_after_the_packet(shared):
    """A client that keeps writing finds the connection reset, and still gets the packet."""
    simulator = shared({"one_segment": True, "close": RESET})
    with simulator.connect() as sock:
        sock.sendall(SENTINEL)
        poll = select.poll()
        poll.register(sock, 0)
        assert poll.poll(DEADLINE * 1000)
        with pytest.raises(OSError):
            sock.sendall(enhanced(1))
        assert read_to_end(sock)[::2] == ([error(2, 99)], RESET)


def test_shutdown_names_the_last_accepted(shared):
    simulator = shared({"shutdown_after": 3})
    sent = b"".join(enhanced(number) for number in range(11, 20))
    assert exchange(simulator.connect(), sent) == (error(10, 13), CLEAN)
    totals = simulator.totals()
    assert (totals["accepted"], totals["discarded"], totals["shutdowns"]) == (3, 6, 1)
    assert totals["statuses"] == {}


def test_command_0_gets_no_shutdown_packet(shared):
    simulator = shared({"shutdown_after": 2})
    assert exchange(simulator.connect(), simple() * 3) == (b"", CLEAN)
    assert simulator.totals()["shutdowns"] == 1


def test_shutdown_after_a_notification_without_an_identifier(shared):
    simulator = shared({"shutdown_after": 1})
    assert exchange(simulator.connect(), framed(item(1, TOKEN), item(2, PAYLOAD))) == (error(10, 0), CLEAN)


def silent(sock):
    """True if nothing is received and the connection stays open."""
    sock.settimeout(0.2)
    with pytest.raises(TimeoutError):
        sock.recv(1)
    sock.settimeout(DEADLINE)
    return True


def fill(sock, frame):
    """Sends until the peer stops reading."""
    sock.settimeout(0.2)
    with pytest.raises(TimeoutError):
        while True:
            sock.sendall(frame * 1000)
    sock.settimeout(DEADLINE)


@pytest.mark.parametrize("end", [CLEAN, FIN, RESET])
def test_ends_after_notifications_without_a_packet(shared, end):
    simulator = shared({"cut_after": 3, "cut": end})
    for _ in range(2):
        assert exchange(simulator.connect(), b"".join(enhanced(n) for n in range(1, 9))) == (b"", end)
    totals = simulator.totals()
    assert (totals["accepted"], totals["discarded"], totals["statuses"]) == (6, 10, {})


@pytest.mark.parametrize("end", [CLEAN, FIN, RESET])
@pytest.mark.parametrize(
    "faults, packet",
    [({"bad_every": 3, "bad_status": 8}, error(8, 3)), ({"shutdown_after": 3}, error(10, 3))],
)
def test_ends_after_notifications_with_a_packet(shared, faults, packet, end):
    simulator = shared({**faults, "close": end})
    for _ in range(2):
        assert exchange(simulator.connect(), b"".join(enhanced(n) for n in range(1, 9))) == (packet, end)


def test_stalls_after_notifications_without_a_packet(shared):
    simulator = shared({"cut_after": 3, "cut": "stall"})
    with simulator.connect() as sock:
        sock.sendall(enhanced(1) * 2)
        simulator.wait("/counters", lambda counters: counters["accepted"] == 2)
        fill(sock, enhanced(1))
        assert simulator.control("GET", "/counters")[1]["received"] == 3


@pytest.mark.parametrize("faults, packet", [({}, error(2, 99)), ({"no_packet": 1}, b"")])
def test_stalls_after_a_rejection(shared, faults, packet):
    simulator = shared({"close": "stall", **faults})
    with simulator.connect() as sock:
        sock.sendall(SENTINEL)
        assert sock.recv(6) == packet if packet else silent(sock)
        fill(sock, enhanced(1))
        # Without faults it ends as usual.
        simulator.control("DELETE", "/faults")
        assert read_to_end(sock)[0] == []


def test_times_limits_a_fault(shared):
    simulator = shared({"cut_after": 2, "cut": RESET, "times": 1})
    sent = enhanced(1) * 5 + SENTINEL
    assert [exchange(simulator.connect(), sent) for _ in range(3)] == [(b"", RESET), (error(2, 99), CLEAN), (error(2, 99), CLEAN)]
    simulator = shared({"cut_after_bytes": 5, "times": 2})
    assert [exchange(simulator.connect(), sent)[0] for _ in range(3)] == [b"", b"", error(2, 99)]
    simulator = shared({"shutdown_after": 1, "times": 1})
    assert [exchange(simulator.connect(), sent)[0] for _ in range(2)] == [error(10, 1), error(2, 99)]


@pytest.mark.parametrize(
    "faults, answers",
    [
        ({"cut_after": 5, "cut": CLEAN}, [b"", b"", error(2, 99), b"", error(2, 99)]),
        ({"shutdown_after": 5}, [b"", error(10, 1), error(2, 99), error(10, 1), error(2, 99)]),
        ({"bad_every": 5}, [error(8, 1), error(8, 1), error(2, 99), error(8, 1), error(2, 99)]),
        ({"shutdown_after": 5, "cut_after": 6, "times": 2}, [error(10, 1), error(10, 1)] + [error(2, 99)] * 3),
    ],
)
def test_counting_over_the_whole_run(shared, faults, answers):
    """Every fifth of the run, over connections of 5, 5, 2, 3 and 1 notifications."""
    simulator = shared({"count_over": "run", **faults})
    counts = [5, 5, 2, 3, 1]
    answers[0] = answers[1]
    assert [exchange(simulator.connect(), enhanced(1) * count + SENTINEL)[0] for count in counts] == answers


def test_identifier_zero_by_chance(shared):
    some = shared({"identifier_zero": 0.5, "bad_every": 1})
    names = {exchange(some.connect(), enhanced(5))[0] for _ in range(20)}
    assert names == {error(8, 0), error(8, 5)}


NAMELESS = framed(item(2, PAYLOAD), item(3, struct.pack("!I", 99)))
EMPTY = framed(item(1, b""), item(2, PAYLOAD), item(3, struct.pack("!I", 99)))


@pytest.mark.parametrize("sentinel", [SENTINEL, EMPTY, NAMELESS])
@pytest.mark.parametrize("identifier", ["own", "zero"])
@pytest.mark.parametrize("status", [None, 2, 5, 8, 128])
def test_sentinel(shared, status, identifier, sentinel):
    """The fault changes the answer to an empty token and no other."""
    faults = {"sentinel": identifier, "bad_tokens": [BAD.hex()], "close_delay_ms": 0}
    if status is not None:
        faults["sentinel_status"] = status
    simulator = shared(faults)
    answer = error(status or 2, 99 if identifier == "own" else 0)
    assert exchange(simulator.connect(), enhanced(1) + sentinel + enhanced(2)) == (answer, CLEAN)
    assert exchange(simulator.connect(), enhanced(1) + enhanced(3, BAD)) == (error(8, 3), CLEAN)
    assert exchange(simulator.connect(), enhanced(4, payload=b"")) == (error(4, 4), CLEAN)


def test_sentinel_not_answered(shared):
    simulator = shared({"sentinel": "none"})
    empty = framed(item(1, b""), item(2, PAYLOAD), item(3, bytes(4)))
    finish(simulator.connect(), SENTINEL + enhanced(1) + empty + enhanced(2))
    totals = simulator.totals()
    assert (totals["accepted"], totals["ignored"], totals["statuses"]) == (2, 2, {})


@pytest.mark.parametrize("faults, count, seconds", [
    # The last twentieth may arrive without delay.
    ({"read_bytes_per_second": 20000}, 20000 // len(enhanced(1)), 0.9),
    ({"stall_after_bytes": len(enhanced(1)) + 5, "stall_ms": 400}, 2, 0.4),
    ({"cut_after": 3, "cut": "stall", "stall_ms": 100}, 10, 0.3),
])
def test_reads_slowly_or_stalls_for_a_while(shared, faults, count, seconds):
    simulator = shared(faults)
    began = time.monotonic()
    assert exchange(simulator.connect(), enhanced(1) * count + SENTINEL) == (error(2, 99), CLEAN)
    assert time.monotonic() - began >= seconds
    assert simulator.totals()["accepted"] == count


@pytest.mark.parametrize("faults", [
    {"read_bytes_per_second": 20000},
    {"stall_after_bytes": 100, "stall_ms": 200},
    {"cut_after": 3, "cut": "stall", "stall_ms": 10, "times": 5},
])
@pytest.mark.parametrize("leave", ["close", "close_notify", "fin"])
def test_slow_reading_after_the_client_left(shared, faults, leave):
    """A client that writes and leaves does not speed the gateway up and loses nothing in flight."""
    simulator = shared(faults)
    sock = simulator.connect()
    if leave == "close_notify":
        finish(sock, enhanced(1) * 100)
    else:
        sock.sendall(enhanced(1) * 100)
        if leave == "fin":
            socket.socket.shutdown(sock, socket.SHUT_WR)
            assert read_to_end(sock)[::2] == ([], CLEAN)
        sock.close()
    simulator.wait("/connections", lambda answer: answer["connections"] == [])
    assert simulator.totals()["accepted"] == 100


def test_a_stall_without_end_does_not_block_others(start):
    simulator = start(faults={"stall_after_bytes": 1000, "connections": 1}, control=True)
    with simulator.connect() as stalled:
        stalled.settimeout(0.2)
        with pytest.raises(TimeoutError):
            while True:
                stalled.sendall(enhanced(1) * 200)
        for _ in range(4):
            assert exchange(simulator.connect(), enhanced(2) * 1000 + SENTINEL) == (error(2, 99), CLEAN)
        counters = simulator.control("GET", "/counters")[1]
        assert counters["accepted"] == 4000 + 1000 // len(enhanced(1))


@pytest.mark.parametrize("end", [CLEAN, FIN, RESET])
@pytest.mark.parametrize("extra", [0, 7])
def test_ends_after_bytes(shared, end, extra):
    frame = enhanced(1)
    simulator = shared({"cut_after_bytes": 3 * len(frame) + extra, "cut": end})
    assert exchange(simulator.connect(), frame * 10) == (b"", end)
    assert simulator.totals()["accepted"] == 3


def test_the_seed_determines_the_end(start):
    def drawn(seed, **others):
        simulator = start("--seed", seed, faults={"cut_after_bytes": [0, 5000], **others}, control=True)
        counts = []
        for number in range(1, 6):
            before = simulator.control("GET", "/counters")[1]["accepted"]
            assert exchange(simulator.connect(), enhanced(number) * 100) == (b"", FIN)
            counts.append(simulator.control("GET", "/counters")[1]["accepted"] - before)
        return counts

    first = drawn("11")
    assert len(set(first)) > 1
    assert drawn("11") == first
    assert drawn("12") != first
    # Another fault does not change the others.
    assert drawn("11", error_delay_ms=[5, 50]) == first


def test_refuses_connections_for_a_while(simulator):
    began = time.monotonic()
    assert simulator.control("PATCH", "/faults", {"refuse_ms": 1500})[0] == 200
    refusals = 0
    while True:
        try:
            sock = simulator.connect()
            break
        except ConnectionRefusedError:
            refusals += 1
            assert time.monotonic() - began < 240
    assert refusals > 0
    assert time.monotonic() - began >= 1.5
    assert exchange(sock, SENTINEL) == (error(2, 99), CLEAN)


@pytest.mark.parametrize("method, path, body", [("DELETE", "/faults", None), ("PUT", "/faults", {"bad_every": 1}), ("PATCH", "/faults", {"refuse_ms": None})])
def test_a_refused_port_opens_when_the_fault_ends(shared, method, path, body):
    simulator = shared({"refuse_ms": 3600000})
    for address in (simulator.gateway, simulator.feedback):
        with pytest.raises(ConnectionRefusedError):
            simulator.connect(address)
    # Another fault does not affect the port.
    simulator.control("PATCH", "/faults", {"close_delay_ms": 10})
    with pytest.raises(ConnectionRefusedError):
        simulator.connect()
    assert simulator.control(method, path, body)[0] == 200
    assert exchange(simulator.connect(), SENTINEL) == (error(2, 99), CLEAN)
    assert exchange(simulator.connect(simulator.feedback)) == (b"", CLEAN)


def test_refusing_repeatedly(simulator):
    for _ in range(10):
        simulator.control("PUT", "/faults", {"refuse_ms": 3600000})
        with pytest.raises(ConnectionRefusedError):
            simulator.connect()
        simulator.control("DELETE", "/faults")
        assert exchange(simulator.connect(), SENTINEL) == (error(2, 99), CLEAN)


@pytest.mark.parametrize("faults", [{"stall_after_bytes": 10}, {"cut_after": 1, "cut": "stall"}])
@pytest.mark.parametrize("method", ["DELETE", "PUT"])
def test_a_stalled_connection_wakes_when_the_fault_ends(shared, faults, method):
    simulator = shared(faults)
    with simulator.connect() as sock:
        sock.sendall(enhanced(1) * 5 + SENTINEL)
        simulator.wait("/connections", lambda answer: answer["connections"][0]["bytes"] > 0)
        assert silent(sock)
        # Another fault does not wake it.
        simulator.control("PATCH", "/faults", {"bad_every": 1000})
        assert silent(sock)
        simulator.control(method, "/faults", None if method == "DELETE" else {"bad_every": 1000})
        assert read_to_end(sock)[0] == [error(2, 99)]
    assert simulator.totals()["accepted"] == 5


def test_a_fault_begins_on_an_idle_connection(simulator):
    with simulator.connect() as sock:
        sock.sendall(enhanced(1))
        simulator.wait("/counters", lambda counters: counters["accepted"] == 1)
        # Counting starts here.
        simulator.control("PUT", "/faults", {"cut_after": 2, "cut": CLEAN})
        sock.sendall(enhanced(2))
        simulator.wait("/counters", lambda counters: counters["accepted"] == 2)
        assert silent(sock)
        simulator.control("PUT", "/faults", {"cut_after_bytes": 0, "cut": RESET})
        assert read_to_end(sock)[::2] == ([], RESET)


@pytest.mark.parametrize("faults", [{}, {"handshake_alert": 40}])
def test_a_delayed_handshake_continues_when_the_fault_ends(shared, faults):
    simulator = shared({"handshake_delay_ms": 3600000, **faults})
    with simulator.connect(plain=True) as raw:
        context = simulator.context()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing)
        with pytest.raises(ssl.SSLWantReadError):
            tls.do_handshake()
        raw.sendall(outgoing.read())
        assert silent(raw)
        simulator.control("DELETE", "/faults")
        assert raw.recv(1) == b"\x16"


@pytest.mark.parametrize(
    "alert, name",
    [("handshake_failure", "HANDSHAKE_FAILURE"), (45, "CERTIFICATE_EXPIRED"), ("unknown_ca", "UNKNOWN_CA")],
)
def test_handshake_alert(shared, alert, name):
    simulator = shared({"handshake_alert": alert})
    with pytest.raises(ssl.SSLError, match=name):
        simulator.connect()
    assert simulator.totals()["connections"] == 0


VERSIONS = {"1.0": ssl.TLSVersion.TLSv1, "1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


@pytest.mark.parametrize(
    "faults, offered, spoken",
    [
        ({}, ("1.2", "1.3"), "TLSv1.2"),
        ({}, ("1.3", "1.3"), None),
        ({}, ("1.0", "1.0"), None),
        ({"tls_min": "1.0"}, ("1.0", "1.0"), "TLSv1"),
        ({"tls_max": "1.3"}, ("1.2", "1.3"), "TLSv1.3"),
        ({"tls_min": "1.3"}, ("1.2", "1.2"), None),
        ({"session_tickets": True}, ("1.2", "1.3"), "TLSv1.3"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tls_versions(shared, faults, offered, spoken):
    simulator = shared(faults)
    context = simulator.context(versions=tuple(VERSIONS[version] for version in offered))
    if spoken is None:
        with pytest.raises(ssl.SSLError):
            simulator.connect(context=context)
    else:
        with simulator.connect(context=context) as sock:
            assert sock.version() == spoken
            assert exchange(sock, SENTINEL) == (error(2, 99), CLEAN)


@pytest.mark.parametrize("options", [[], ["--tls-max", "1.3"]])
def test_no_byte_without_data_by_default(start, options):
    simulator = start(*options, control=True)
    with simulator.connect() as sock:
        simulator.wait("/counters", lambda counters: counters["connections"] == 1)
        raw = socket.socket(fileno=sock.fileno())
        try:
            raw.settimeout(0.2)
            with pytest.raises(TimeoutError):
                raw.recv(1, socket.MSG_PEEK)
        finally:
            raw.detach()


@pytest.mark.parametrize(
    "options", [["--session-tickets"], ["--fault", "session_tickets=true"], ["--session-tickets", "--fault", "tls_min=1.3"]])
@pytest.mark.parametrize("service", ["gateway", "feedback"])
def test_session_tickets_right_after_the_handshake(start, options, service):
    """Tickets can be read although the gateway has sent no data."""
    simulator = start(*options)
    with simulator.connect(getattr(simulator, service), plain=True) as raw:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = simulator.context().wrap_bio(incoming, outgoing)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                raw.sendall(outgoing.read())
                incoming.write(raw.recv(65536))
        assert tls.version() == "TLSv1.3" and incoming.pending == 0
        raw.sendall(outgoing.read())
        head = raw.recv(5, socket.MSG_WAITALL)
        assert head[0] == 23 and struct.unpack("!H", head[3:])[0] > 100
        incoming.write(head + raw.recv(struct.unpack("!H", head[3:])[0], socket.MSG_WAITALL))
        # It contains no data.
        with pytest.raises(ssl.SSLWantReadError):
            tls.read(1)


def test_session_tickets_resume_a_session(start):
    """A resumed session keeps the certificate from the first handshake."""
    simulator = start("--session-tickets", "--topic", "com.example.app", control=True)
    context = simulator.context()
    with simulator.connect(context=context) as sock:
        sock.sendall(SENTINEL)
        assert sock.recv(6) == error(2, 99)
        session = sock.session
    with socket.create_connection(simulator.gateway, timeout=DEADLINE) as raw:
        sock = context.wrap_socket(raw, session=session)
        assert sock.session_reused
        assert exchange(sock, enhanced(1) + SENTINEL) == (error(2, 99), CLEAN)


@pytest.mark.parametrize("end", [CLEAN, FIN, RESET])
def test_ends_after_session_tickets(start, end):
    simulator = start("--session-tickets", faults={"close": end}, control=True)
    for joined in (False, True):
        simulator.control("PATCH", "/faults", {"one_segment": joined})
        answer = exchange(simulator.connect(), enhanced(1) + SENTINEL)
        assert answer == (error(2, 99), end) or joined and end == RESET
    with simulator.connect() as sock:
        (one,) = simulator.wait("/connections", lambda answer: any(one["tls"] for one in answer["connections"]))["connections"]
        assert (one["tls"], "UID=com.example.app" in one["subject"]) == ("1.3", True)
        finish(sock, enhanced(1))
    with pytest.raises(ssl.SSLError):
        with simulator.connect(context=simulator.context(certificate=False)) as sock:
            sock.recv(1)
    simulator.wait("/counters", lambda counters: counters["refused"] == 1)
    assert simulator.stop()["accepted"] == 3


@pytest.mark.parametrize("options, version, tickets", [
    ([], "1.2", False), (["--tls-max", "1.3"], "1.3", False), (["--fault", 'tls_max="1.3"'], "1.3", False),
    (["--session-tickets"], "1.3", True)])
def test_session_tickets_only_if_requested(start, options, version, tickets):
    """In every version, no data comes before the packet."""
    simulator = start(*options)
    with simulator.connect(plain=True) as raw:
        answer, sizes, _ = records(raw, simulator.context(versions=(VERSIONS[version],) * 2), SENTINEL)
    assert answer == error(2, 99)
    ahead = sizes[:-2]
    assert sum(length for _, length in ahead) > 200 if tickets else not ahead


@pytest.mark.parametrize("end", [CLEAN, FIN, RESET])
def test_feedback_cut_in_a_tuple(start, tmp_path, end):
    path = tmp_path / "feedback"
    path.write_text("".join(f"{number} {TOKEN.hex()}\n" for number in range(3)))
    simulator = start("--feedback", path, faults={"feedback_cut_bytes": 50, "cut": end})
    tuples = b"".join(struct.pack("!IH", number, 32) + TOKEN for number in range(3))
    assert exchange(simulator.connect(simulator.feedback)) == (tuples[:50], end)


def test_faults_for_some_connections(start):
    simulator = start(faults={"connections": [2, 3], "bad_every": 1})
    answers = [exchange(simulator.connect(), enhanced(1) + SENTINEL)[0] for _ in range(4)]
    assert answers == [error(2, 99), error(8, 1), error(8, 1), error(2, 99)]
    simulator = start(faults={"connection_share": 0.5, "bad_every": 1})
    answers = {exchange(simulator.connect(), enhanced(1) + SENTINEL)[0] for _ in range(20)}
    assert answers == {error(2, 99), error(8, 1)}


def test_rules_for_some_connections_and_others(start, tmp_path):
    path = tmp_path / "rules.json"
    path.write_text(
        """[{"connections": 1, "cut_after": 2, "cut": "reset"},
            {"connections": [2, 3], "bad_every": 1, "bad_status": 7},
            {"connections": 4, "tls_max": "1.3"}]"""
    )
    simulator = start("--rules", path, faults={"identifier_zero": True}, control=True)
    sent = enhanced(1) * 5 + SENTINEL
    answers = [exchange(simulator.connect(), sent) for _ in range(3)]
    assert answers == [(b"", RESET), (error(7, 0), CLEAN), (error(7, 0), CLEAN)]
    versions = []
    for _ in range(2):
        with simulator.connect() as sock:
            versions.append((sock.version(), exchange(sock, sent)))
    # No rule applies to the last connection.
    assert versions == [("TLSv1.3", (error(2, 0), CLEAN)), ("TLSv1.2", (error(2, 99), CLEAN))]
    faults = simulator.control("GET", "/faults")[1]["faults"]
    assert [rule.pop("identifier_zero") for rule in faults] == [1.0] * 3
    assert faults[1] == {"connections": [2, 3], "bad_every": 1, "bad_status": [7]}
    again = simulator.control("PUT", "/faults", [{"connections": 6, "bad_every": 1}, {"bad_every": 2}])[1]
    assert again["faults"] == [{"connections": 6, "bad_every": 1}, {"bad_every": 2}]
    assert [exchange(simulator.connect(), sent)[0] for _ in range(2)] == [error(8, 1)] * 2
    assert simulator.stop()["accepted"] == 2 + 5 + 5 + 1


def test_rules_file(start, tmp_path):
    path = tmp_path / "rules.json"
    path.write_text('{"bad_every": 2,\n "bad_status": [5], "identifier_zero": true}')
    simulator = start("--rules", path, faults={"identifier_zero": False})
    assert exchange(simulator.connect(), enhanced(1) + enhanced(2)) == (error(5, 2), CLEAN)
