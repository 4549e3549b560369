"""Worlds: simulators within a simulator, made and ended through the control API."""

import concurrent.futures
import contextlib
import http.client
import json
import subprocess

import pytest
from http2 import TOPIC, Client, jwt
from recording import HEADER, event, push, stand_in
from simulator import (
    CLEAN, DEADLINE, PAYLOAD, RESET, TOKEN, World, ends_in_order, enhanced, error, exchange, read_to_end,
)


@pytest.fixture
def world(simulator):
    """Makes worlds and ends them after the test."""
    with contextlib.ExitStack() as worlds:
        yield lambda **options: worlds.enter_context(World(simulator, **options))


def test_a_world_is_all_its_own(simulator, world):
    one, other = world(), world(faults={"bad_every": 1, "bad_reason": "TooManyRequests"})
    assert len({simulator.ready["http2_port"], one.ready["http2_port"], other.ready["http2_port"]}) == 3
    with Client(simulator) as mine, Client(one) as first, Client(other) as second:
        assert [client.push() for client in (mine, first)] == [(200, None)] * 2
        assert second.push() == (429, "TooManyRequests")
        for where in (one, other):
            (connection,) = where.control("GET", "/connections")[1]["connections"]
            assert connection["number"] == 1
        assert first.push(token=bytes(32)) == (200, None)
    assert (simulator.totals()["accepted"], simulator.totals()["reasons"]) == (1, {})
    assert [one.totals()[name] for name in ("accepted", "duplicates", "connections")] == [2, 0, 1]
    assert [other.totals()[name] for name in ("accepted", "reasons")] == [0, {"TooManyRequests": 1}]
    tokens = [push["token"] for push in one.control("GET", "/accepted")[1]["notifications"]]
    assert tokens == [TOKEN.hex(), bytes(32).hex()]
    assert one.control("POST", "/reset")[1]["accepted"] == 0
    assert simulator.control("GET", "/counters")[1]["accepted"] == 1
    assert simulator.control("GET", "/faults")[1]["faults"] == {}


def test_orders_for_one_world_only(simulator, world):
    one, other = world(), world()
    one.control("POST", "/unregistered", {"token": TOKEN.hex()})
    one.control("POST", "/rejections", {"token": bytes(32).hex(), "reason": "BadDeviceToken"})
    one.control("PUT", "/faults", {"bad_prefixes": ["ff"]})
    wanted = {TOKEN: "Unregistered", bytes(32): "BadDeviceToken", b"\xff" * 32: "BadDeviceToken"}
    for where in (simulator, one, other):
        with Client(where) as client:
            for token, reason in wanted.items():
                assert client.push(token=token)[1] == (reason if where is one else None)
    assert exchange(one.connect(one.feedback))[0][6:] == TOKEN
    assert exchange(simulator.connect(simulator.feedback)) == (b"", CLEAN)


def test_channels_and_subscriptions(simulator, world):
    one, other = world(channels_max=1), world(no_broadcasts=[TOPIC])
    new = {"path": f"/1/apps/{TOPIC}/channels", "payload": b'{"push-type":"LiveActivity","message-storage-policy":1}'}
    with Client(one, port="channels_port") as client:
        channel = client.answer(client.request(**new)).headers["apns-channel-id"]
        assert client.push(**new) == (400, "CannotCreateChannelConfig")
    with Client(other, port="channels_port") as client:
        assert client.push(**new) == (400, "FeatureNotEnabled")
    assert one.control("POST", "/subscriptions", {"token": TOKEN.hex(), "channel": channel})[0] == 200
    assert [one["channel"] for one in one.control("GET", "/channels")[1]["channels"]] == [channel]
    for where in (simulator, other):
        assert where.control("GET", "/channels")[1]["channels"] == []
        assert where.control("GET", "/subscriptions")[1] == {"subscriptions": []}


def test_the_binary_ports(world):
    one = world(faults={"bad_every": 2, "bad_status": 5})
    assert exchange(one.connect(), enhanced(1) + enhanced(2)) == (error(5, 2), CLEAN)
    assert (one.totals()["accepted"], one.totals()["statuses"]) == (1, {"5": 1})


def test_options(world):
    one = world(topics=["com.example.other"], seed=3, environment="production", check_payload=True)
    assert one.ready["seed"] == one.control("GET", "/faults")[1]["seed"] == 3
    with Client(one) as client:
        assert client.push() == (400, "DeviceTokenNotForTopic")
    with Client(world(environment="production", check_payload=True)) as client:
        assert "apns-unique-id" not in client.answer(client.request()).headers
        assert client.push(b"{}") == (400, "PayloadEmpty")
    teams = world(team_topics=["com.example.other"])
    with Client(teams, certificate=False, bearer=jwt(teams)) as client:
        assert client.push() == (400, "TopicDisallowed")


def test_a_world_like_production(world):
    one = world(like="production", faults={"gone_delay_s": 0})
    faults = one.control("GET", "/faults")[1]["faults"]
    assert (faults["streams_after_rejection"], faults["goaway_age_s"], faults["gone_delay_s"]) == (1, [7200, 86400], 0)
    with Client(one) as client:
        assert "apns-unique-id" not in client.answer(client.request()).headers
    with Client(world(like="production", environment="sandbox")) as client:
        assert "apns-unique-id" in client.answer(client.request()).headers


DAY = [HEADER, event("opened"), push("a", (503, "Shutdown"), at=5), push("b", (400,), at=5), push("a", (410, "Unregistered"), at=9),
       push("slow", (429, "Slow"), at=20, ms=3_600_000), event("closed", at=10**12)]


def test_each_world_plays_its_recording_from_the_start(simulator, world):
    for one in (world(replay=DAY, speed=1e6), world(replay=DAY, speed=1e6)):
        with Client(one) as client:
            assert [client.push(token=stand_in(device)) for device in "aba"] == [
                (503, "Shutdown"), (400, "BadDeviceToken"), (410, "Unregistered")]
            assert client.push(token=stand_in("slow")) == (429, "Slow")
    with Client(world()) as client, Client(simulator) as other:
        assert client.push(token=stand_in("a")) == other.push(token=stand_in("a")) == (200, None)


def test_provider_tokens_are_limited_by_world(world):
    for _ in range(2):
        # A second world knows nothing of the first one's tokens.
        one = world(faults={"token_renewal_over": "key"})
        with Client(one, certificate=False, bearer=jwt(one)) as client:
            assert client.push() == (200, None)
            client.bearer = jwt(one, age=60)
            assert client.push() == (429, "TooManyProviderTokenUpdates")


def test_the_same_seed_repeats_a_run(world):
    def identifiers():
        with Client(world()) as client:
            return [client.answer(client.request()).headers["apns-id"] for _ in range(3)]

    assert identifiers() == identifiers()


@pytest.mark.parametrize(
    "body, message",
    [
        ("[]", "expected an object of options"),
        ('{"port": 1}', "unknown option port"),
        ('{"faults": {"bad": 1}}', "unknown fault bad"),
        ('{"like": "sandbox"}', "like: expected production"),
        ('{"like": "production", "faults": {"bad": 1}}', "unknown fault bad"),
        ('{"faults": {"tls_min": "1.3", "tls_max": "1.2"}}', "tls_min 1.3 is above tls_max 1.2"),
        ('{"topics": "x"}', "topics: expected an array"),
        ('{"team_topics": [""]}', "team_topics: expected bundle IDs"),
        ('{"seed": -1}', "seed: expected a number"),
        ('{"channels_max": "x"}', "channels_max: expected a number"),
        ('{"environment": "x"}', "environment: expected sandbox or production"),
        ('{"check_payload": 1}', "check_payload: expected true or false"),
        ('{"replay": "day.jsonl"}', "replay: expected the lines of a recording"),
        ('{"replay": []}', "replay: expected the lines of a recording"),
        ('{"replay": [{"at": 1, "event": "closed"}]}', 'body:1:13: expected {"apns_recording":1}: not a recording'),
        ('{"replay": [{"apns_recording": 1},\n{"at": 1, "event": "opend"}]}', "body:2:20: event: expected one of push, opened"),
        ('{"replay": [{"apns_recording": 1}], "speed": 0}', "speed: expected a number above 0"),
        ('{"speed": 2}', "speed: expected a number above 0 and at most 1000000000, with replay"),
        ("{", "body:1:2: the JSON ends too early"),
    ],
)
def test_wrong_options(simulator, body, message):
    with simulator.rests(lambda simulator: None):
        status, answer = simulator.control("POST", "/worlds", body)
        assert status == 400 and message in answer["error"], answer
    assert simulator.control("GET", "/worlds")[1] == {"worlds": []}


def test_requests_for_worlds(simulator, world):
    one = world()
    assert simulator.control("GET", one.path) == (200, one.ready_of_world)
    assert simulator.control("GET", "/worlds") == (200, {"worlds": [one.ready_of_world]})
    for method, path, status in (
            ("PUT", "/worlds", 405), ("PUT", one.path, 405), ("GET", "/worlds/", 404), ("GET", "/worlds/0", 404),
            ("GET", "/worlds/x/counters", 404), ("GET", f"{one.path}/", 404), ("POST", f"{one.path}/shutdown", 404),
            ("GET", f"{one.path}/worlds", 404), ("POST", f"{one.path}/counters", 405),
            ("DELETE", f"{one.path}/connections/9", 404)):
        answer = simulator.control(method, path)
        assert answer[0] == status and answer[1]["error"], (method, path, answer)


def test_the_end_of_a_world(simulator):
    """Connections and ports close, and its totals have everything that came before."""
    with simulator.rests(lambda simulator: None):
        one = World(simulator)
        one.control("PUT", "/faults", {"no_answer": 1})
        with Client(one) as client, one.connect() as binary, socket_closed(one.ready["http2_port"]):
            client.request()
            one.wait("/counters", lambda counters: counters["accepted"] == 1)
            binary.sendall(enhanced(1))
            one.wait("/counters", lambda counters: counters["accepted"] == 2)
            status, totals = one.end()
            assert (status, totals["accepted"], totals["connections"]) == (200, 2, 2)
            assert client.to_end() in (CLEAN, RESET)
            assert read_to_end(binary)[2] in (CLEAN, RESET)
        assert simulator.control("GET", f"{one.path}/counters")[0] == 404
        assert one.end()[0] == 404


@contextlib.contextmanager
def socket_closed(port):
    """Fails unless nothing listens on the port after the block."""
    yield
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE).connect()


def test_a_world_that_refuses_connections_ends_too(simulator):
    with simulator.rests(lambda simulator: None):
        one = World(simulator, faults={"refuse_ms": 3_600_000})
        with pytest.raises(ConnectionRefusedError):
            one.connect()
        assert one.end()[0] == 200


def test_there_is_a_largest_number(start):
    simulator = start("--worlds-max", 2, control=True)
    one, other = World(simulator), World(simulator)
    status, answer = simulator.control("POST", "/worlds")
    assert (status, answer) == (503, {"error": "there are 2 worlds already; DELETE /worlds/N ends one"})
    # A wrong request takes no place.
    one.end()
    assert simulator.control("POST", "/worlds", "[]")[0] == 400
    assert World(simulator).ready["http2_port"] != other.ready["http2_port"]
    # The end of the simulator ends its worlds.
    simulator.stop()


def test_the_simulator_ends_in_order_with_open_worlds(start):
    simulator = start(control=True, stderr=subprocess.PIPE)
    one = World(simulator)
    with Client(one) as client:
        assert client.push() == (200, None)
        ends_in_order(simulator)
        assert client.to_end() in (CLEAN, RESET)


def test_many_worlds_leave_nothing_behind(simulator):
    """A thousand tests on one process: descriptors and memory return to what they were."""
    def test(number):
        with World(simulator) as one, Client(one) as client:
            one.control("POST", "/rejections", {"token": TOKEN.hex(), "reason": "BadDeviceToken"})
            assert client.push() == (400, "BadDeviceToken")
            assert client.push(PAYLOAD + b" " * 4000, token=number.to_bytes(32, "big")) == (200, None)
            assert one.control("GET", "/counters")[1]["accepted"] == 1

    with concurrent.futures.ThreadPoolExecutor(4) as tests:
        list(tests.map(test, range(200)))
        before = simulator.memory()
        with simulator.rests(lambda simulator: None):
            list(tests.map(test, range(200, 1000)))
        # The allocator's own caches; a world that stayed would keep some 50 kB.
        assert simulator.memory() - before < 8_000
    assert simulator.control("GET", "/worlds")[1] == {"worlds": []}
    assert simulator.totals()["connections"] == 0


def test_worlds_with_recordings_leave_nothing_behind(simulator):
    """Their ends of connections are planned for days to come."""
    day = [*DAY, *(push("many", (410,), at=number) for number in range(500))]

    def test(_):
        with World(simulator, replay=day) as one, Client(one) as client:
            assert client.push(token=stand_in("many")) == (410, "Unregistered")

    with concurrent.futures.ThreadPoolExecutor(4) as tests:
        list(tests.map(test, range(60)))
        before = simulator.memory()
        list(tests.map(test, range(200)))
        # A recording that stayed would keep 100 kB.
        assert simulator.memory() - before < 8_000


def test_rejections(simulator):
    other = bytes(32)
    answer = simulator.control("POST", "/rejections", {"token": TOKEN.hex(), "reason": "InternalServerError", "times": 2})
    assert answer == (200, {"rejections": [{"token": TOKEN.hex(), "reason": "InternalServerError", "times": 2}]})
    simulator.control("POST", "/rejections", {"token": other.hex(), "reason": "Unregistered"})
    simulator.control("POST", "/rejections", {"token": "ff" * 32, "reason": "418 Teapot"})
    with Client(simulator) as client:
        assert [client.push()[0] for _ in range(3)] == [500, 500, 200]
        answers = [client.answer(client.request(token=other)) for _ in range(2)]
        assert [answer.status for answer in answers] == [410, 410] and json.loads(answers[0].body)["timestamp"] > 1e12
        assert client.push(token=b"\xff" * 32) == (418, "Teapot")
        listed = simulator.control("GET", "/rejections")[1]["rejections"]
        assert listed == [{"token": other.hex(), "reason": "Unregistered"}, {"token": "ff" * 32, "reason": "418 Teapot"}]
        assert simulator.control("DELETE", "/rejections") == (200, {"rejections": []})
        assert client.push(token=other) == (200, None)
    # The feedback service has only devices of /unregistered.
    assert exchange(simulator.connect(simulator.feedback)) == (b"", CLEAN)
    simulator.control("POST", "/rejections", {"token": TOKEN.hex(), "reason": "Unregistered"})
    simulator.control("POST", "/reset")
    assert simulator.control("GET", "/rejections")[1] == {"rejections": []}


@pytest.mark.parametrize(
    "body, message",
    [
        ('{"token": "0g", "reason": "Shutdown"}', "token: 'g' is not a hex digit"),
        ('{"token": "00"}', "reason: expected one of Apple's"),
        ('{"token": "00", "reason": "Nonsense"}', "reason: expected one of Apple's"),
        ('{"token": "00", "reason": "Shutdown", "times": 0}', "times: expected a number of pushes"),
        ('{"token": "00", "reason": "Shutdown", "status": 1}', "status is not allowed here"),
    ],
)
def test_wrong_rejections(simulator, body, message):
    status, answer = simulator.control("POST", "/rejections", body)
    assert status == 400 and message in answer["error"], answer
