"""Every HTTP/2 fault, as seen on the wire."""

import json
import select
import struct
import time

import pytest
from http2 import Client, jwt
from simulator import CLEAN, DEADLINE, FIN, PAYLOAD, RESET, TOKEN, exchange

HTTP2 = ("--http2-port", 0)
BAD = bytes([0xBA]) * 32
REFUSED, INTERNAL, NO_ERROR, CALM = 7, 2, 0, 11

ALL_REASONS = {
    400: ["BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic",
          "DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType", "MissingDeviceToken",
          "MissingTopic", "PayloadEmpty", "TopicDisallowed"],
    403: ["BadCertificate", "BadCertificateEnvironment", "BadEnvironmentKeyIdInToken", "ExpiredProviderToken",
          "Forbidden", "InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken"],
    404: ["BadPath"], 405: ["MethodNotAllowed"], 410: ["ExpiredToken", "Unregistered"], 413: ["PayloadTooLarge"],
    429: ["TooManyProviderTokenUpdates", "TooManyRequests"], 500: ["InternalServerError"],
    503: ["ServiceUnavailable", "Shutdown"],
}


def token(number):
    return struct.pack("!I", number) * 8


def send(client, count, first=0, **options):
    """Sends `count` pushes in one write."""
    streams = [client.request(token=token(first + number), flush=False, **options) for number in range(count)]
    client.flush()
    return streams


def all_of(client, streams):
    client.until(lambda: all(one in client.resets or (one in client.answers and client.answers[one].whole)
                             for one in streams))


def test_every_reason_by_order(shared):
    simulator = shared({"bad_every": 1})
    names = simulator.control("PATCH", "/faults", {"bad_reason": "?"})[1]["error"].split("expected one of ")[1].split(", ")
    names = [name for name in names if name.isalpha()]
    assert len(names) >= 38 and {word for words in ALL_REASONS.values() for word in words} <= set(names)
    for name in [*names, "500 BadPath"]:
        told = simulator.control("PATCH", "/faults", {"bad_reason": [name, "418 Teapot"]})[1]["faults"]["bad_reason"]
        assert told == [name, "418 Teapot"]
    with Client(simulator) as client:
        for status, words in ALL_REASONS.items():
            for word in words:
                assert simulator.control("PATCH", "/faults", {"bad_reason": word})[0] == 200
                assert client.push() == (status, word)
        assert simulator.control("PATCH", "/faults", {"bad_reason": "418 Teapot"})[0] == 200
        assert client.push() == (418, "Teapot")
        assert simulator.control("GET", "/faults")[1]["faults"]["bad_reason"] == "418 Teapot"
    totals = simulator.totals()
    assert totals["reasons"] == {word: 1 for words in ALL_REASONS.values() for word in words} | {"Teapot": 1}
    assert totals["statuses"] == {}


@pytest.mark.parametrize(
    "faults, bad",
    [
        ({"bad_every": 3}, [2, 5, 8]),
        ({"bad_tokens": [token(4).hex()]}, [4]),
        ({"bad_prefixes": [token(5).hex()[:8]]}, [5]),
    ],
)
def test_bad_pushes(shared, faults, bad):
    simulator = shared(faults)
    with Client(simulator) as client:
        assert [number for number in range(10) if client.push(token=token(number))[0] != 200] == bad


@pytest.mark.parametrize("over, bad", [(None, [2, 5]), ("run", [2, 5]), ("connection", [])])
def test_every_third_across_connections(shared, over, bad):
    """One push per connection, like `apns send` and curl."""
    simulator = shared({"bad_every": 3, **({"count_over": over} if over else {})})

    def push(number):
        with Client(simulator) as client:
            return client.push(token=token(number))[0]

    assert [number for number in range(7) if push(number) != 200] == bad


def shares(start, seed):
    simulator = start(*HTTP2, "--seed", seed, faults={"bad_share": 0.2, "bad_reason": ["TooManyRequests", "BadDeviceToken"]})
    with Client(simulator) as client:
        # More than 100 streams may be opened once SETTINGS arrive.
        client.until(lambda: 3 in client.settings)
        streams = send(client, 200)
        all_of(client, streams)
        return [client.answers[stream].status for stream in streams]


def test_the_seed_determines_the_bad_share(start):
    first = shares(start, "1")
    assert set(first) == {200, 400, 429} and 20 <= 200 - first.count(200) <= 70
    assert shares(start, "1") == first
    assert shares(start, "2") != first


def test_the_seed_determines_generated_ids(start):
    def made():
        with Client(start(*HTTP2)) as client:
            return client.answer(client.request()).headers["apns-id"]
    assert made() == made()


def test_devices_gone_by_a_fault_are_in_the_feedback(shared):
    simulator = shared({"bad_tokens": [BAD.hex()], "bad_reason": "Unregistered"})
    before = time.time()
    with Client(simulator) as client:
        assert client.push() == (200, None)
        answer = client.answer(client.request(token=BAD))
        assert answer.status == 410
        told = json.loads(answer.body)
        assert told["reason"] == "Unregistered" and before * 1000 - 1000 < told["timestamp"] < time.time() * 1000 + 1000
    tuples = exchange(simulator.connect(simulator.feedback))[0]
    timestamp, length = struct.unpack_from("!IH", tuples)
    assert (timestamp, length, tuples[6:]) == (told["timestamp"] // 1000, 32, BAD)


# Streams and windows.


def test_the_stream_limit(shared):
    simulator = shared({"streams_max": 3})
    with Client(simulator) as client, Client(simulator, certificate=False, bearer=jwt(simulator)) as other:
        client.push()
        other.push()
        other.until(lambda: other.settings.get(3) == 3)
        assert client.settings[3] == 3
        for most in (1, 1500, 0, 20):
            simulator.control("PATCH", "/faults", {"streams_max": most})
            for one in (client, other):
                # Open connections get it without a request.
                one.until(lambda one=one: one.settings[3] == most)
        simulator.control("DELETE", "/faults")
        client.until(lambda: client.settings[3] == 1000)
        assert client.push() == (200, None)


def test_one_stream_too_many(start, tmp_path):
    """A stream over the limit is refused, and the rest of its data does not shrink the flow-control window
    permanently."""
    path = tmp_path / "ledger"
    simulator = start(*HTTP2, "--ledger", path, faults={"streams_max": 3})
    with Client(simulator) as client:
        client.until(lambda: client.settings.get(3) == 3)
        client.disregard()
        open_ones = [client.request(PAYLOAD[:3], end=False) for _ in range(3)]
        refused = []
        large = b'{"aps":{"alert":"' + b"x" * 4000 + b'"}}'
        for _ in range(10):
            client.until(lambda: client.connection.outbound_flow_control_window >= 7 * len(large))
            more = send_all(client, large, 7)
            client.until(lambda more=more: set(more) <= set(client.resets))
            refused += more
        assert set(client.resets.values()) == {REFUSED} and client.goaway is None
        for stream in open_ones:
            client.connection.send_data(stream, PAYLOAD[3:], end_stream=True)
        client.flush()
        all_of(client, open_ones)
        assert {client.answers[stream].status for stream in open_ones} == {200}
        assert client.push(large) == (200, None)
    totals = simulator.stop()
    assert (totals["accepted"], totals["ignored"]) == (4, len(refused))
    lines = [json.loads(line) for line in path.read_text().splitlines()[:-1]]
    assert [line["stream"] for line in lines if line["outcome"] == "ignored"] == refused
    assert {line["token"] for line in lines} == {TOKEN.hex()}


def send_all(client, payload, count):
    streams = [client.request(payload, flush=False) for _ in range(count)]
    client.flush()
    return streams


@pytest.mark.parametrize("certificate", [True, False])
def test_requests_before_settings_arrive(shared, certificate):
    """A client cannot know of a limit until its SETTINGS arrive."""
    simulator = shared({"streams_max": 2})
    with Client(simulator, certificate=certificate, bearer=None if certificate else jwt(simulator)) as client:
        streams = send_all(client, PAYLOAD, 300)
        all_of(client, streams)
        assert {client.answers[stream].status for stream in streams} == {200}
        assert (client.resets, client.goaway) == ({}, None)


def test_one_stream_until_a_token_is_accepted(simulator):
    with Client(simulator, certificate=False, bearer=jwt(simulator)) as client:
        client.until(lambda: client.settings.get(3) == 1)
        client.disregard()
        first = client.request(PAYLOAD[:3], end=False)
        second = client.request()
        client.until(lambda: second in client.resets)
        assert client.resets == {second: REFUSED}
        client.connection.send_data(first, PAYLOAD[3:], end_stream=True)
        client.flush()
        assert client.answer(first).status == 200
        client.until(lambda: client.settings[3] == 1000)
        streams = send_all(client, PAYLOAD, 50)
        all_of(client, streams)
        assert (client.resets, client.goaway) == ({second: REFUSED}, None)


def test_a_lower_limit_holds_once_acknowledged(simulator):
    with Client(simulator) as client:
        client.push()
        simulator.control("PATCH", "/faults", {"streams_max": 1})
        # The client has not read the new limit: this is still allowed.
        streams = send_all(client, PAYLOAD, 5)
        all_of(client, streams)
        client.until(lambda: client.settings[3] == 1)
        client.disregard()
        held = client.request(PAYLOAD[:3], end=False)
        excess = client.request()
        client.until(lambda: excess in client.resets)
        simulator.control("PATCH", "/faults", {"streams_max": 2})
        client.until(lambda: client.settings[3] == 2)
        assert client.push() == (200, None)
        client.connection.send_data(held, PAYLOAD[3:], end_stream=True)
        client.flush()
        assert client.answer(held).status == 200
        assert (client.resets, client.goaway) == ({excess: REFUSED}, None)


def test_a_lower_limit_lets_open_streams_finish(simulator):
    with Client(simulator) as client:
        client.push()
        streams = [client.request(PAYLOAD[:3], flush=False, end=False) for _ in range(5)]
        client.flush()
        simulator.control("PATCH", "/faults", {"streams_max": 1})
        client.until(lambda: client.settings[3] == 1)
        for stream in streams:
            client.connection.send_data(stream, PAYLOAD[3:], end_stream=True)
        client.flush()
        all_of(client, streams)
        assert {client.answers[stream].status for stream in streams} == {200}
        assert client.push() == (200, None)


def trickle(client, stream, payload):
    """Sends as much as the flow-control windows allow; returns the size of each piece."""
    pieces = []
    while payload:
        room = client.connection.local_flow_control_window(stream)
        if room <= 0:
            assert client.read(), client.end
            continue
        piece, payload = payload[:room], payload[room:]
        pieces.append(len(piece))
        client.connection.send_data(stream, piece, end_stream=not payload)
        client.flush()
    return pieces


def test_small_flow_control_windows(shared):
    simulator = shared({"window_bytes": 10, "credit_share": 1})
    with Client(simulator) as client:
        client.until(lambda: client.settings.get(4) == 10)
        stream = client.request(b"", headers=[], flush=False) and None
        client.until(lambda: client.answers)
        stream = client.connection.get_next_available_stream_id()
        client.connection.send_headers(stream, [
            (":method", "POST"), (":scheme", "https"), (":authority", "x"), (":path", f"/3/device/{TOKEN.hex()}")])
        assert trickle(client, stream, PAYLOAD) == [10, 10, len(PAYLOAD) - 20]
        assert client.answer(stream).status == 200
        simulator.control("PATCH", "/faults", {"window_bytes": 100000})
        client.until(lambda: client.settings[4] == 100000)
        assert client.push() == (200, None)


@pytest.mark.parametrize("window, room", [(20000, 20000), (65535, 65535), (1000000, 1000000)])
def test_the_flow_control_window_of_the_connection(shared, window, room):
    """Credit is given after `credit_share` of the window is used, and only that much."""
    simulator = shared({"connection_window_bytes": window, "credit_share": 0.5})
    with Client(simulator) as client:
        client.push(b"x" * 100)
        if room > 65535:
            client.until(lambda: client.connection.outbound_flow_control_window > 65535)
            assert client.connection.outbound_flow_control_window >= room - 100
        rooms = []
        for _ in range(100):
            client.push(b"x" * 4000)
            rooms.append(client.connection.outbound_flow_control_window)
        # Never more than the window, nor less than the part used before credit comes.
        late = rooms[len(rooms) // 2 :]
        assert max(late) <= max(room, 100) and min(late) >= room // 2 - 8000
        assert len(set(late)) > 2


def test_pings(simulator):
    with Client(simulator) as client:
        def ping(data):
            client.connection.ping(data)
            client.flush()
        ping(b"first123")
        client.until(lambda: client.pongs == [b"first123"])
        simulator.control("PATCH", "/faults", {"no_pong": True})
        ping(b"second45")
        assert client.push() == (200, None)
        assert client.pongs == [b"first123"]
        simulator.control("DELETE", "/faults")
        ping(b"third678")
        client.until(lambda: client.pongs == [b"first123", b"third678"])


# Responses.


@pytest.mark.parametrize("delay, least", [(300, 0.3), ([200, 400], 0.2)])
def test_late_answers(shared, delay, least):
    simulator = shared({"answer_delay_ms": delay})
    with Client(simulator) as client:
        began = time.monotonic()
        streams = send(client, 30)
        simulator.wait("/counters", lambda counters: counters["accepted"] == 30)
        assert not client.answers
        all_of(client, streams)
        waits = [client.answers[stream].at - began for stream in streams]
        assert min(waits) >= least
        # Responses with a range of delays overtake each other.
        assert (client.order == streams) == isinstance(delay, int)


def test_answers_in_batches(shared):
    simulator = shared({"answers": "batch", "answer_batch_ms": 300})
    with Client(simulator) as client:
        began = time.monotonic()
        streams = send(client, 10)
        client.connection.ping(b"12345678")
        client.flush()
        client.until(lambda: client.pongs)
        streams += send(client, 10, first=10)
        assert not client.answers
        all_of(client, streams)
        assert time.monotonic() - began >= 0.3
        assert [ended for ended in client.reads if ended] == [20]


def test_resets(shared):
    simulator = shared({"reset_every": 3})
    with Client(simulator) as client:
        streams = send(client, 9)
        all_of(client, streams)
        assert client.resets == {streams[2]: REFUSED, streams[5]: REFUSED, streams[8]: REFUSED}
    totals = simulator.totals()
    assert (totals["accepted"], totals["ignored"], totals["received"]) == (6, 3, 9)


def test_resets_of_accepted_notifications(shared):
    simulator = shared({"reset_share": 0.5, "reset_code": INTERNAL})
    with Client(simulator) as client:
        streams = send(client, 40)
        all_of(client, streams)
        assert 5 < len(client.resets) < 35 and set(client.resets.values()) == {INTERNAL}
    assert simulator.totals()["accepted"] == 40


def test_no_answer(shared):
    simulator = shared({"no_answer": 0.5})
    with Client(simulator) as client:
        send(client, 40)
        simulator.wait("/counters", lambda counters: counters["accepted"] == 40)
        simulator.control("PATCH", "/faults", {"no_answer": 0})
        assert client.push() == (200, None)
        assert 5 < len(client.answers) < 36
    assert simulator.totals()["accepted"] == 41


# GOAWAY, and ends without it.


@pytest.mark.parametrize("end", [CLEAN, FIN, RESET])
def test_goaway_graceful(shared, end):
    simulator = shared({"goaway_after": 5, "answer_delay_ms": 100, "close": end})
    with Client(simulator) as client:
        streams = send(client, 12)
        client.until(lambda: client.goaway)
        assert not client.answers
        assert client.goaway == (streams[4], NO_ERROR, None)
        # After GOAWAY h2 accepts no frames: read them raw.
        frames, ended = raw_to_end(client)
        assert [stream for kind, stream in frames if kind == 1] == streams[:5]
        assert ended == end
    totals = simulator.totals()
    assert (totals["accepted"], totals["discarded"], totals["shutdowns"]) == (5, 7, 1)


def raw_to_end(client):
    """Type and stream of each frame received, and how the connection ended."""
    # h2 has buffered nothing after GOAWAY, because the responses come later.
    data = b""
    while piece := client.received():
        data += piece
    frames, at = [], 0
    while at + 9 <= len(data):
        length = int.from_bytes(data[at : at + 3], "big")
        frames.append((data[at + 3], int.from_bytes(data[at + 5 : at + 9], "big")))
        at += 9 + length
    return frames, client.end


@pytest.mark.parametrize("end", [CLEAN, FIN, RESET])
def test_goaway_immediate(shared, end):
    simulator = shared({
        "goaway_after": 5, "goaway": "immediate", "goaway_error": CALM, "goaway_reason": "Shutdown", "close": end})
    with Client(simulator) as client:
        streams = send(client, 12)
        # A reset may overtake all of it.
        while client.goaway is None and client.read():
            pass
        if client.goaway or end != RESET:
            assert client.goaway == (streams[4], CALM, b'{"reason":"Shutdown"}')
            assert sorted(client.answers) == streams[:4]
        frames, ended = raw_to_end(client) if client.end is None else ([], client.end)
        assert (frames, ended) == ([], end)
    totals = simulator.totals()
    # The fifth was accepted, but the client cannot know.
    assert (totals["accepted"], totals["discarded"]) == (5, 7)


def test_goaway_without_closing(shared):
    simulator = shared({"goaway_after": 3, "goaway": "open", "times": 1})
    with Client(simulator) as client:
        half = client.request(PAYLOAD[:4], end=False, flush=False)
        streams = send(client, 3)
        client.until(lambda: client.goaway)
        assert client.goaway[0] == streams[2] and half < streams[0]
        # The stream begun before GOAWAY is accepted and answered; the connection stays open.
        client.sock.sendall(struct.pack("!I", len(PAYLOAD) - 4)[1:] + b"\0\1" + struct.pack("!I", half) + PAYLOAD[4:])
        simulator.wait("/counters", lambda counters: counters["accepted"] == 4)
        client.sock.settimeout(0.5)
        data = b""
        with pytest.raises(TimeoutError):
            while True:
                piece = client.sock.recv(65536)
                assert piece
                data += piece
        assert data[3] == 1 and int.from_bytes(data[5:9], "big") == half
        # It stays open after that, answers PING and ignores requests.
        client.sock.settimeout(DEADLINE)
        client.sock.sendall(b"\0\0\1\1\5" + struct.pack("!I", 99) + b"\x82")
        client.sock.sendall(b"\0\0\x08\6\0\0\0\0\0" + b"pingpong")
        assert client.sock.recv(100) == b"\0\0\x08\6\1\0\0\0\0" + b"pingpong"
    with Client(simulator) as client:
        assert [client.push()[0] for _ in range(5)] == [200] * 5


def test_goaway_over_the_whole_run(shared):
    simulator = shared({"goaway_after": 3, "count_over": "run"})
    with Client(simulator) as one, Client(simulator) as two:
        for client in (one, two, one):
            assert client.push() == (200, None)
        one.until(lambda: one.goaway)
        assert two.goaway is None and two.push() == (200, None)


@pytest.mark.parametrize("end", [CLEAN, FIN, RESET])
def test_an_end_without_goaway(shared, end):
    simulator = shared({"cut_after": 4, "cut": end})
    with Client(simulator) as client:
        streams = send(client, 10)
        ended = client.to_end()
        assert (client.goaway, ended) == (None, end)
        if end != RESET:
            assert sorted(client.answers) == streams[:3]
    totals = simulator.totals()
    # After a reset the rest cannot be read.
    assert (totals["accepted"], totals["discarded"]) == (4, 0 if end == RESET else 6)


def test_an_end_after_bytes(shared):
    simulator = shared({"cut_after_bytes": 300, "cut": "fin"})
    with Client(simulator) as client:
        send(client, 10)
        assert client.to_end() == FIN and client.goaway is None


def test_an_end_by_the_control_api(simulator):
    with Client(simulator) as client:
        client.push()
        (one,) = simulator.control("GET", "/connections")[1]["connections"]
        simulator.control("DELETE", f"/connections/{one['number']}?end=reset")
        assert client.to_end() == RESET and client.goaway is None


# Reading, and other faults of both protocols.


def test_stops_reading(shared):
    simulator = shared({"cut_after": 3, "cut": "stall"})
    with Client(simulator) as client:
        streams = send(client, 10)
        all_of(client, streams[:3])
        assert sorted(client.answers) == streams[:3]
        assert simulator.control("GET", "/counters")[1]["accepted"] == 3
        more = send(client, 5, first=10)
        assert select.select([client.sock], [], [], 0.3)[0] == []
        simulator.control("DELETE", "/faults")
        all_of(client, streams + more)
    assert simulator.totals()["accepted"] == 15


def test_a_stall_after_bytes_ends(shared):
    simulator = shared({"stall_after_bytes": 400, "stall_ms": 400})
    with Client(simulator) as client:
        began = time.monotonic()
        streams = send(client, 20)
        all_of(client, streams)
        assert time.monotonic() - began >= 0.4


def test_segments_and_records(shared):
    simulator = shared({"segment_bytes": 7, "segment_gap_ms": 0, "record_bytes": 5})
    with Client(simulator) as client:
        streams = send(client, 10)
        all_of(client, streams)
        assert {client.answers[stream].status for stream in streams} == {200}


def test_faults_of_the_handshake(start):
    simulator = start(*HTTP2, faults={"handshake_alert": "handshake_failure", "connections": 1}, control=True)
    with pytest.raises(OSError, match="(?i)handshake"):
        Client(simulator)
    with Client(simulator) as client:
        assert client.push() == (200, None)
    simulator.control("PUT", "/faults", {"refuse_ms": 300})
    with pytest.raises(ConnectionRefusedError):
        Client(simulator)


def test_rules_for_some_connections(start, tmp_path):
    path = tmp_path / "rules.json"
    path.write_text('[{"connections": 1, "goaway_after": 2}, {"connections": [2, 3], "bad_every": 1}]')
    simulator = start(*HTTP2, "--rules", path)
    with Client(simulator) as first, Client(simulator) as second, Client(simulator) as third, Client(simulator) as last:
        assert first.push() == (200, None)
        first.request()
        first.until(lambda: first.goaway)
        assert second.push() == third.push() == (400, "BadDeviceToken")
        assert last.push() == (200, None)


def test_thousands_over_goaways(start, tmp_path):
    """By the ledger, a client that obeys GOAWAY loses nothing and sends nothing twice."""
    ledger = tmp_path / "ledger"
    count = 2_100
    simulator = start(*HTTP2, "--ledger", ledger, faults={"goaway_after": 500, "connection_window_bytes": 1 << 20})
    waiting, done = list(range(count)), set()
    while waiting:
        with Client(simulator) as client:
            client.until(lambda: 3 in client.settings)
            sent = {}
            while client.goaway is None:
                while waiting and len(sent) < 500 and client.goaway is None:
                    number = waiting.pop(0)
                    sent[client.request(b"{}", token=token(number), flush=False)] = number
                if not sent:
                    break
                client.flush()
                client.read()
                for stream in client.order:
                    done.add(sent.pop(stream))
                del client.order[:]
            if client.goaway:
                answered = {stream for kind, stream in raw_to_end(client)[0] if kind == 1}
                for stream, number in sent.items():
                    if stream in answered:
                        done.add(number)
                    else:
                        assert stream > client.goaway[0]
                        waiting.insert(0, number)
    totals = simulator.stop()
    assert (len(done), totals["accepted"], totals["duplicates"]) == (count, count, 0)
    assert totals["shutdowns"] == count // 500 == totals["connections"] - 1
