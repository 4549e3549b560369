"""Channels and broadcasts as Apple documents them, with this suite's own client and with curl."""

import base64
import contextlib
import json
import re
import subprocess
import time

import pytest
from http2 import TOPIC, UUID, Client, jwt
from simulator import DEADLINE, ROOT, TOKEN, tool

SERVICES = ("--http2-port", 0, "--channels-port", 0)
NEW = {"message-storage-policy": 1, "push-type": "LiveActivity"}
CHANNELS = f"/1/apps/{TOPIC}/channels"
ALL = f"/1/apps/{TOPIC}/all-channels"
BROADCAST = f"/4/broadcasts/apps/{TOPIC}"
REQUIRED = {"apns-push-type": "liveactivity", "apns-expiration": "0", "apns-priority": "10"}
SECOND = bytes(range(32, 64))
STRANGER = base64.b64encode(bytes(16)).decode()


def management(simulator, **arguments):
    return Client(simulator, port="channels_port", **arguments)


def fetch(client, method, path=CHANNELS, body=None, **headers):
    """Returns status, reason or body, and headers."""
    payload = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.answer(client.request(
        payload, path=path, method=method, headers=[(name.replace("_", "-"), value) for name, value in headers.items()]))
    told = json.loads(answer.body) if answer.body else None
    return answer.status, told.get("reason", told) if told else None, answer.headers


def create(simulator, policy=1, app=TOPIC, **arguments):
    with management(simulator, **arguments) as client:
        status, told, headers = fetch(client, "POST", f"/1/apps/{app}/channels", NEW | {"message-storage-policy": policy})
        assert (status, told) == (201, None)
        return headers["apns-channel-id"]


def state(event="update", timestamp=1_800_000_000, score=0, **others):
    return json.dumps({"aps": {"timestamp": timestamp, "event": event, "content-state": {"score": score}} | {
        name.replace("_", "-"): value for name, value in others.items()}}).encode()


def broadcast(client, channel, payload=None, path=BROADCAST, method="POST", omit=(), **headers):
    every = REQUIRED | ({} if channel is None else {"apns-channel-id": channel})
    every |= {name.replace("_", "-"): value for name, value in headers.items()}
    answer = client.answer(client.request(
        state() if payload is None else payload, path=path, method=method,
        headers=[(name, value) for name, value in every.items() if name not in omit]))
    return answer.status, json.loads(answer.body)["reason"] if answer.body else None, answer.headers


def activities(simulator):
    return simulator.control("GET", "/activities")[1]["activities"]


def subscribe(simulator, channel, *tokens):
    for token in tokens:
        assert simulator.control("POST", "/subscriptions", {"token": token.hex(), "channel": channel})[0] == 200


@pytest.fixture
def shared(lasting, shared):
    """Deletes the test's channels and subscriptions, which a reset keeps."""
    yield shared
    lasting.renew()
    for each in lasting.control("GET", "/subscriptions")[1]["subscriptions"]:
        assert lasting.control("DELETE", "/subscriptions", each)[0] == 200
    with management(lasting) as client:
        for each in lasting.control("GET", "/channels")[1]["channels"]:
            assert fetch(client, "DELETE", apns_channel_id=each["channel"])[0] == 204


@pytest.fixture(scope="module")
def serving(certificates):
    """A simulator without faults and a channel of each policy, for tests that change nothing."""
    from simulator import Simulator

    simulator = Simulator(certificates, *SERVICES, control=True)
    simulator.once, simulator.stored = create(simulator, 0), create(simulator, 1)
    yield simulator
    simulator.kill()


# ---- Channel management ----------------------------------------------------


def test_a_channel_s_life(simulator):
    with management(simulator) as client:
        status, body, headers = fetch(client, "POST", body=NEW, apns_request_id=UUID)
        assert (status, body, headers["apns-request-id"]) == (201, None, UUID)
        channel = headers["apns-channel-id"]
        assert len(base64.b64decode(channel, validate=True)) == 16
        assert "apns-unique-id" not in headers and "apns-id" not in headers
        status, body, headers = fetch(client, "GET", apns_channel_id=channel)
        assert (status, body) == (200, NEW)
        # The simulator makes an ID if the request lacks one.
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", headers["apns-request-id"])
        second = fetch(client, "POST", body=NEW | {"message-storage-policy": 0})[2]["apns-channel-id"]
        assert fetch(client, "GET", apns_channel_id=second)[1] == NEW | {"message-storage-policy": 0}
        assert fetch(client, "GET", ALL)[:2] == (200, {"channels": [channel, second]})
        assert fetch(client, "DELETE", apns_channel_id=channel)[:2] == (204, None)
        for method in "GET", "DELETE":
            assert fetch(client, method, apns_channel_id=channel)[:2] == (400, "ChannelNotRegistered")
        assert fetch(client, "GET", ALL)[1] == {"channels": [second]}
    # Channel management requests do not count as notifications.
    totals = simulator.totals()
    assert (totals["received"], totals["accepted"], totals["reasons"]) == (0, 0, {})


def test_the_same_seed_makes_the_same_channels(start):
    made = [[create(simulator) for _ in range(3)] for simulator in (start(*SERVICES), start(*SERVICES))]
    assert made[0] == made[1] and len(set(made[0])) == 3
    assert create(start(*SERVICES, "--seed", "8")) not in made[0]


@pytest.mark.parametrize(
    "method, options, status, reason",
    [
        ("POST", {"path": "/1/apps/channels"}, 404, "BadPath"),
        ("POST", {"path": "/1/apps//channels"}, 404, "BadPath"),
        ("POST", {"path": CHANNELS + "/"}, 404, "BadPath"),
        ("GET", {"path": "/3/device/" + TOKEN.hex()}, 404, "BadPath"),
        ("POST", {"path": BROADCAST}, 404, "BadPath"),
        ("PUT", {}, 405, "MethodNotAllowed"),
        ("POST", {"path": ALL}, 405, "MethodNotAllowed"),
        ("DELETE", {"path": ALL}, 405, "MethodNotAllowed"),
        ("POST", {"body": b""}, 400, "PayloadEmpty"),
        ("POST", {"body": b"{"}, 400, "PayloadEmpty"),
        ("POST", {"body": b"[]"}, 400, "PayloadEmpty"),
        ("POST", {"body": NEW | {"message-storage-policy": 2}}, 400, "PayloadEmpty"),
        ("POST", {"body": NEW | {"message-storage-policy": "1"}}, 400, "PayloadEmpty"),
        ("POST", {"body": {"push-type": "LiveActivity"}}, 400, "PayloadEmpty"),
        ("POST", {"body": {"message-storage-policy": 1}}, 400, "MissingPushType"),
        ("POST", {"body": NEW | {"push-type": "liveactivity"}}, 400, "InvalidPushType"),
        ("POST", {"body": NEW | {"push-type": 1}}, 400, "InvalidPushType"),
        ("POST", {"body": NEW | {"x": "y" * 5000}}, 413, "PayloadTooLarge"),
        ("POST", {"body": NEW, "apns_request_id": "7"}, 400, "BadMessageId"),
        ("POST", {"body": NEW, "path": "/1/apps/com.example.other/channels"}, 400, "TopicDisallowed"),
        ("POST", {"body": NEW, "path": "/1/apps/com.Example.app/channels"}, 400, "TopicMismatch"),
        ("POST", {"body": NEW, "path": "/1/apps/com.example!/channels"}, 400, "BadTopic"),
        ("POST", {"body": NEW, "path": "/1/apps/com.example.app.voip/channels"}, 400, "TopicDisallowed"),
        ("GET", {}, 400, "MissingChannelId"),
        ("DELETE", {"apns_channel_id": ""}, 400, "MissingChannelId"),
        ("GET", {"apns_channel_id": "not base64"}, 400, "BadChannelId"),
        ("GET", {"apns_channel_id": STRANGER.rstrip("=")}, 400, "BadChannelId"),
        ("DELETE", {"apns_channel_id": base64.b64encode(bytes(17)).decode()}, 400, "BadChannelId"),
        ("GET", {"apns_channel_id": STRANGER}, 400, "ChannelNotRegistered"),
        ("DELETE", {"apns_channel_id": STRANGER}, 400, "ChannelNotRegistered"),
    ],
)
def test_channel_management_requests(serving, method, options, status, reason):
    with management(serving) as client:
        found = fetch(client, method, **options)
        assert found[:2] == (status, reason)
        assert found[2]["apns-request-id"]
        # An invalid request does not affect the next.
        assert fetch(client, "GET", ALL)[:2] == (200, {"channels": [serving.once, serving.stored]})


def test_the_maximum_number_of_channels(start):
    simulator = start(*SERVICES, "--channels-max", 3, "--topic", f"{TOPIC},org.example.other")
    with management(simulator) as client:
        made = [fetch(client, "POST", body=NEW) for _ in range(4)]
        assert [one[:2] for one in made] == [(201, None)] * 3 + [(400, "CannotCreateChannelConfig")]
        # Another app has its own limit.
        assert fetch(client, "POST", "/1/apps/org.example.other/channels", NEW)[0] == 201
        first = made[0][2]["apns-channel-id"]
        assert fetch(client, "GET", "/1/apps/org.example.other/channels", apns_channel_id=first)[1] == "ChannelNotRegistered"
        assert fetch(client, "DELETE", apns_channel_id=first)[0] == 204
        assert fetch(client, "POST", body=NEW)[0] == 201


def test_a_list_longer_than_the_flow_control_window(start):
    """2,500 identifiers are longer than the client's flow-control window; and eight clients that create them
    together get neither one too many nor a duplicate."""
    simulator = start(*SERVICES, "--channels-max", 2500)
    with contextlib.ExitStack() as open_ones:
        clients = [open_ones.enter_context(management(simulator)) for _ in range(8)]
        answers = []
        for client in clients:
            # Before the first response only one stream may be open.
            assert fetch(client, "GET", ALL)[0] == 200
            streams = [client.request(json.dumps(NEW).encode(), path=CHANNELS, flush=False) for _ in range(320)]
            answers.append((client, streams))
        for client, _ in answers:
            client.flush()
        answers = [client.answer(stream) for client, streams in answers for stream in streams]
        made = {one.headers["apns-channel-id"] for one in answers if one.status == 201}
        assert len(made) == 2500
        refused = [(one.status, json.loads(one.body)["reason"]) for one in answers if one.status != 201]
        assert refused == [(400, "CannotCreateChannelConfig")] * 60
        status, told, _ = fetch(clients[0], "GET", ALL)
        assert status == 200 and set(told["channels"]) == made and len(told["channels"]) == 2500


def test_apps_without_broadcasts(start):
    simulator = start(*SERVICES, "--no-broadcasts", TOPIC, "--topic", f"{TOPIC},org.example.other")
    with management(simulator) as client:
        assert fetch(client, "POST", body=NEW)[:2] == (400, "FeatureNotEnabled")
        assert fetch(client, "GET", ALL)[:2] == (400, "FeatureNotEnabled")
        assert fetch(client, "GET", "/1/apps/org.example.other/all-channels")[:2] == (200, {"channels": []})
    with Client(simulator) as client:
        assert broadcast(client, STRANGER)[:2] == (400, "FeatureNotEnabled")
        assert client.push() == (200, None)


def test_authorization_is_that_of_pushes(start):
    simulator = start(*SERVICES, "--topic", TOPIC)
    with management(simulator, certificate=False) as client:
        assert fetch(client, "GET", ALL)[:2] == (403, "MissingProviderToken")
        assert fetch(client, "GET", ALL, authorization="bearer nonsense")[:2] == (403, "InvalidProviderToken")
        # An invalid path is invalid for every provider.
        assert fetch(client, "GET", "/")[:2] == (404, "BadPath")
    with management(simulator, certificate=False, bearer=jwt(simulator)) as client:
        assert fetch(client, "POST", body=NEW)[0] == 201
        assert fetch(client, "GET", "/1/apps/com.example.other/all-channels")[:2] == (400, "TopicDisallowed")
        assert fetch(client, "GET", "/1/apps/com.example.App/all-channels")[:2] == (400, "TopicMismatch")
    with management(simulator, certificate=False, bearer=jwt(simulator, age=4000)) as client:
        assert fetch(client, "GET", ALL)[:2] == (403, "ExpiredProviderToken")


def test_channel_ids(simulator):
    """Base64 of up to 16 bytes, in canonical form."""
    good = [base64.b64encode(bytes((number * 201 + size) % 256 for number in range(size))).decode() for size in range(1, 17)]
    subscribe(simulator, good[0], TOKEN)
    for channel in good[1:]:
        answer = simulator.control("POST", "/subscriptions", {"token": TOKEN.hex(), "channel": channel})
        assert {"token": TOKEN.hex(), "channel": channel} in answer[1]["subscriptions"]
    bad = ["", "A", "AA", "AA=", "AB==", "AA===", "A===", "AA==AA==", "-_==", "AA==\n", "A A="]
    for channel in [*bad, base64.b64encode(bytes(17)).decode()]:
        status, told = simulator.control("POST", "/subscriptions", {"token": TOKEN.hex(), "channel": channel})
        assert status == 400 and "is not a channel ID" in told["error"], channel


# ---- Broadcasts ------------------------------------------------------------


@pytest.mark.parametrize(
    "options, status, reason",
    [
        ({}, 200, None),
        ({"method": "GET"}, 405, "MethodNotAllowed"),
        ({"path": BROADCAST + "/x"}, 404, "BadPath"),
        ({"path": "/4/broadcasts/apps/"}, 400, "BadTopic"),
        ({"path": "/4/broadcasts/apps/com.example.other"}, 400, "TopicDisallowed"),
        ({"path": "/4/broadcasts/apps/com.example"}, 400, "TopicDisallowed"),
        ({"path": "/4/broadcasts/apps/com.example.App"}, 400, "TopicMismatch"),
        ({"omit": ["apns-channel-id"]}, 400, "MissingChannelId"),
        ({"apns_channel_id": "?"}, 400, "BadChannelId"),
        ({"apns_channel_id": STRANGER}, 400, "ChannelNotRegistered"),
        ({"apns_channel_id": "AAAA"}, 400, "ChannelNotRegistered"),
        ({"omit": ["apns-push-type"]}, 400, "MissingPushType"),
        ({"apns_push_type": "alert"}, 400, "InvalidPushType"),
        ({"omit": ["apns-expiration"]}, 400, "BadExpirationDate"),
        ({"apns_expiration": "soon"}, 400, "BadExpirationDate"),
        ({"apns_expiration": "-1"}, 400, "BadExpirationDate"),
        ({"apns_expiration": "1900000000"}, 400, "BadExpirationDate"),
        ({"apns_expiration": "00"}, 200, None),
        ({"omit": ["apns-priority"]}, 400, "BadPriority"),
        ({"apns_priority": "7"}, 400, "BadPriority"),
        ({"apns_priority": "5"}, 200, None),
        ({"apns_priority": "1"}, 200, None),
        ({"apns_request_id": "7"}, 400, "BadMessageId"),
        ({"apns_request_id": UUID}, 200, None),
        ({"payload": b""}, 400, "PayloadEmpty"),
        ({"payload": state(filler="x" * 4500) + b" " * 5120}, 413, "PayloadTooLarge"),
        ({"payload": state().ljust(5120)}, 200, None),
        ({"payload": state().ljust(5121)}, 413, "PayloadTooLarge"),
        ({"payload": state("start", attributes_type="Match", attributes={})}, 400, "PayloadEmpty"),
        ({"payload": state("end")}, 200, None),
        ({"payload": b"x"}, 200, None),
    ],
)
def test_broadcast_requests(serving, options, status, reason):
    with Client(serving) as client:
        found = broadcast(client, serving.once, **options)
        assert found[:2] == (status, reason)
        assert found[2]["apns-request-id"] == options.get("apns_request_id", found[2]["apns-request-id"])
        assert "apns-id" not in found[2] and ("apns-unique-id" in found[2]) == (status == 200)
        assert broadcast(client, serving.stored, apns_expiration="1900000000")[:2] == (200, None)


def test_duplicate_headers(serving):
    for name, value in {"apns-channel-id": serving.once, "apns-request-id": UUID, **REQUIRED}.items():
        with Client(serving) as client:
            every = [(key, word) for key, word in {"apns-channel-id": serving.once, **REQUIRED}.items() if key != name]
            assert client.push(state(), path=BROADCAST, headers=[*every, (name, value), (name, value)]) == (400, "DuplicateHeaders")


def test_a_broadcast_reaches_subscribers(start, tmp_path):
    ledger, accepted = tmp_path / "ledger", tmp_path / "accepted"
    simulator = start(*SERVICES, "--ledger", ledger, "--accepted", accepted, control=True)
    channel, other = create(simulator), create(simulator)
    subscribe(simulator, channel, TOKEN, SECOND)
    subscribe(simulator, other, TOKEN)
    with Client(simulator) as client:
        _, _, headers = broadcast(client, channel, state(score=1), apns_request_id=UUID)
        unique = headers["apns-unique-id"]
        assert broadcast(client, STRANGER)[1] == "ChannelNotRegistered"
    found = activities(simulator)
    assert [(one["token"], one["channel"], one["content_state"], one["state"], one["started_by"]) for one in found] == [
        (token.hex(), channel, {"score": 1}, "active", "app") for token in (TOKEN, SECOND)]
    (first,) = simulator.control("GET", "/accepted")[1]["notifications"]
    first.pop("time")
    # Channel management used the earlier connections.
    assert first == {
        "connection": 3, "stream": 1, "apns_id": UUID, "unique_id": unique, "topic": TOPIC, "push_type": "liveactivity",
        "expiration": "0", "priority": "10", "collapse_id": None, "key_id": None, "channel": channel, "devices": 2,
        "token": "", "payload": state(score=1).decode()}
    channels = simulator.control("GET", "/channels")[1]["channels"]
    assert [(one["channel"], one["broadcasts"], one["subscribers"]) for one in channels] == [
        (channel, 1, [TOKEN.hex(), SECOND.hex()]), (other, 0, [TOKEN.hex()])]
    totals = simulator.stop()
    assert (totals["accepted"], totals["broadcasts"], totals["deliveries"], totals["reasons"]) == (
        1, 1, 2, {"ChannelNotRegistered": 1})
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert [(line["outcome"], line["channel"], line["devices"], line.get("reason")) for line in lines[:-1]] == [
        ("accepted", channel, 2, None), ("rejected", STRANGER, 0, "ChannelNotRegistered")]
    assert [json.loads(line)["channel"] for line in accepted.read_text().splitlines()] == [channel]


def test_a_channel_belongs_to_its_app(start):
    simulator = start(*SERVICES, "--topic", f"{TOPIC},org.example.other")
    channel = create(simulator, app="org.example.other")
    with Client(simulator) as client:
        assert broadcast(client, channel)[:2] == (400, "ChannelNotRegistered")
        assert broadcast(client, channel, path="/4/broadcasts/apps/org.example.other")[:2] == (200, None)


def test_duplicates_are_counted_per_channel(simulator):
    first, second = create(simulator), create(simulator)
    with Client(simulator) as client:
        for channel in (first, second, first):
            assert broadcast(client, channel)[0] == 200
    assert simulator.totals()["duplicates"] == 1


def test_subscriptions(start, tmp_path):
    channel = create(start(*SERVICES))
    listed = tmp_path / "subscriptions"
    listed.write_text(f"# The same seed makes the same channel.\n{TOKEN.hex(' ', 4)}  {channel}\n\n{SECOND.hex()}\t{channel} # second\n")
    simulator = start(*SERVICES, "--subscriptions", listed, control=True)
    assert create(simulator) == channel
    both = [{"token": token.hex(), "channel": channel} for token in (TOKEN, SECOND)]
    assert simulator.control("GET", "/subscriptions") == (200, {"subscriptions": both})
    assert simulator.control("POST", "/subscriptions", both[0]) == (200, {"subscriptions": both})
    assert simulator.control("DELETE", "/subscriptions", both[0]) == (200, {"subscriptions": both[1:]})
    assert simulator.control("DELETE", "/subscriptions", both[0])[0] == 404
    for wrong in {}, {"token": "xyz", "channel": channel}, {"token": "00", "channel": "?"}, both[0] | {"x": 1}:
        assert simulator.control("POST", "/subscriptions", wrong)[0] == 400
    with Client(simulator) as client:
        assert broadcast(client, channel)[0] == 200
    assert [one["token"] for one in activities(simulator)] == [SECOND.hex()]


@pytest.mark.parametrize("line, place", [
    ("00ff", ":1:5: expected a token, then a channel ID"), ("00fg " + STRANGER, ":1:4: 'g' is not a hex digit"),
    ("00ff x=", ":1:6: x= is not a channel ID")])
def test_a_wrong_list_of_subscriptions(certificates, tmp_path, line, place):
    from simulator import tool

    listed = tmp_path / "subscriptions"
    listed.write_text(line + "\n")
    ran = subprocess.run([tool(), "simulate", "--certificates", certificates, "--http2-port", "0", "--subscriptions", listed],
                         capture_output=True, text=True, timeout=DEADLINE)
    assert ran.returncode == 2 and f"--subscriptions: {listed}{place}" in ran.stderr


def test_a_later_subscriber_gets_the_stored_message(simulator):
    stored, once = create(simulator, 1), create(simulator, 0)
    with Client(simulator) as client:
        later = str(int(time.time()) + 600)
        for score in (1, 2):
            assert broadcast(client, stored, state(score=score), apns_expiration=later)[0] == 200
        # Not stored: sent once, or already expired.
        assert broadcast(client, stored, state(score=3))[0] == 200
        assert broadcast(client, stored, state(score=4), apns_expiration="1")[0] == 200
        assert broadcast(client, once, state(score=5))[0] == 200
    subscribe(simulator, stored, TOKEN)
    subscribe(simulator, once, SECOND)
    assert [(one["token"], one["content_state"]) for one in activities(simulator)] == [(TOKEN.hex(), {"score": 2})]
    told = simulator.control("GET", "/channels")[1]["channels"]
    assert [json.loads(one["stored"])["aps"]["content-state"] if one["stored"] else None for one in told] == [{"score": 2}, None]


def test_a_stored_message_expires(simulator):
    channel = create(simulator)
    with Client(simulator) as client:
        assert broadcast(client, channel, apns_expiration=str(int(time.time()) + 1))[0] == 200
    simulator.wait("/channels", lambda answer: answer["channels"][0]["stored"] is None)
    subscribe(simulator, channel, TOKEN)
    assert activities(simulator) == []


# ---- Live Activities -------------------------------------------------------


def live(client, payload, token=TOKEN):
    return client.push(payload, token=token, headers=[
        ("apns-push-type", "liveactivity"), ("apns-topic", f"{TOPIC}.push-type.liveactivity"), ("apns-priority", "10")])


def test_a_live_activity_s_life(simulator):
    now = int(time.time())
    with Client(simulator) as client:
        assert live(client, state("start", now, 0, attributes_type="Match", attributes={"home": "A"}, alert={"title": "t", "body": "b"})) == (200, None)
        (one,) = activities(simulator)
        assert {name: one[name] for name in ("state", "app", "token", "started_by", "attributes_type", "attributes", "content_state", "updates")} == {
            "state": "active", "app": TOPIC, "token": TOKEN.hex(), "started_by": "push", "attributes_type": "Match",
            "attributes": {"home": "A"}, "content_state": {"score": 0}, "updates": 0}
        assert live(client, state("update", now + 2, 2, stale_date=now + 600)) == (200, None)
        # The device ignores an update older than its last one.
        assert live(client, state("update", now + 1, 1)) == (200, None)
        (one,) = activities(simulator)
        assert (one["content_state"], one["timestamp"], one["updates"], one["outdated"], one["stale_date"]) == (
            {"score": 2}, now + 2, 1, 1, now + 600)
        assert live(client, state("update", now + 3, 3, stale_date=now - 1)) == (200, None)
        assert activities(simulator)[0]["state"] == "stale"
        assert live(client, state("update", now + 4, 4)) == (200, None)
        assert activities(simulator)[0]["state"] == "active"
        assert live(client, state("end", now + 5, 5, dismissal_date=now + 600)) == (200, None)
        (one,) = activities(simulator)
        assert (one["state"], one["content_state"], one["dismissal_date"]) == ("ended", {"score": 5}, now + 600)
        # Later updates belong to another activity, which the app has started.
        assert live(client, state("update", now + 6, 6)) == (200, None)
        assert [(one["state"], one["content_state"]["score"]) for one in activities(simulator)] == [("ended", 5), ("active", 6)]
        assert live(client, state("end", now + 7, 7, dismissal_date=now - 1)) == (200, None)
        assert [one["state"] for one in activities(simulator)] == ["ended", "dismissed"]
        # An activity of another device.
        assert live(client, state("update", now, 1), SECOND) == (200, None)
        assert activities(simulator)[2]["token"] == SECOND.hex()
    assert simulator.control("POST", "/reset")[0] == 200
    assert activities(simulator) == []


@pytest.mark.parametrize("ahead", [None, 90_000])
def test_an_ended_activity_stays_at_most_four_hours(simulator, ahead):
    with Client(simulator) as client:
        assert live(client, state("start", 1)) == (200, None)
        assert live(client, state("end", 2, **({"dismissal_date": int(time.time()) + ahead} if ahead else {}))) == (200, None)
        (one,) = activities(simulator)
        assert one["state"] == "ended" and 14400 - 300 < one["dismissal_date"] - time.time() <= 14400


def test_invalid_numbers_and_events(simulator):
    with Client(simulator) as client:
        for aps in {}, {"event": "begin"}, {"event": 1}:
            assert live(client, json.dumps({"aps": aps}).encode()) == (200, None)
        assert activities(simulator) == []
        assert live(client, state("start", 7.9, stale_date="8", relevance_score=2)) == (200, None)
        assert live(client, state("end", 1e300)) == (200, None)
    (one,) = activities(simulator)
    assert [one[name] for name in ("timestamp", "stale_date", "relevance_score", "outdated", "state")] == [7, None, 2.0, 1, "active"]


def test_keeps_the_newest_activities(start, tmp_path):
    """At least 20,000, and at most half as many more."""
    channel = create(start(*SERVICES))
    listed, tokens = tmp_path / "subscriptions", [f"{number:08x}" for number in range(30_100)]
    listed.write_text("".join(f"{token} {channel}\n" for token in tokens))
    simulator = start(*SERVICES, "--subscriptions", listed, control=True)
    assert create(simulator) == channel
    with Client(simulator) as client:
        assert broadcast(client, channel)[0] == 200
        # A forgotten activity can start again.
        assert live(client, state(), bytes(4)) == (200, None)
    found = activities(simulator)
    assert 20_000 <= len(found) <= 30_000 and [one["token"] for one in found[-4:]] == [*tokens[-3:], tokens[0]]
    assert found[-1]["number"] == len(tokens) + 1


def test_a_started_activity_subscribes_to_its_channel(simulator):
    channel = create(simulator)
    now = int(time.time())
    with Client(simulator) as client:
        assert broadcast(client, channel, state("update", now + 1, 1), apns_expiration=str(now + 600))[0] == 200
        begin = state("start", now, 0, attributes_type="Match", attributes={}, input_push_channel=channel)
        assert live(client, begin) == (200, None)
        # The stored message arrived immediately.
        (one,) = activities(simulator)
        assert (one["channel"], one["content_state"], one["updates"]) == (channel, {"score": 1}, 1)
        assert simulator.control("GET", "/subscriptions")[1]["subscriptions"] == [{"token": TOKEN.hex(), "channel": channel}]
        # A push to the token does not reach an activity on a channel.
        assert live(client, state("update", now + 9, 9)) == (200, None)
        assert broadcast(client, channel, state("update", now + 2, 2))[0] == 200
        assert [one["content_state"]["score"] for one in activities(simulator)] == [2, 9]
        # An end older than the device's last update is ignored.
        assert broadcast(client, channel, state("end", now, 0))[0] == 200
        assert activities(simulator)[0]["state"] == "active"
        # When the activity ends, so does its subscription; the channel stays.
        assert broadcast(client, channel, state("end", now + 3, 3))[0] == 200
        assert activities(simulator)[0]["state"] == "ended"
        assert simulator.control("GET", "/subscriptions")[1]["subscriptions"] == []
        assert simulator.control("GET", "/channels")[1]["channels"][0]["broadcasts"] == 4


def test_a_content_state_is_shown_as_it_was_written(simulator):
    text = '{"aps":{"timestamp":1,"event":"update","content-state": {"big": 12345678901234567890, "a":[1.50,"}"]} }}'
    with Client(simulator) as client:
        assert live(client, text.encode()) == (200, None)
    assert '"content_state":{"big": 12345678901234567890, "a":[1.50,"}"]},' in raw(simulator, "/activities")


def raw(simulator, path):
    import urllib.request

    with urllib.request.urlopen(f"http://127.0.0.1:{simulator.ready['control_port']}{path}") as answer:
        return answer.read().decode()


# ---- Faults ----------------------------------------------------------------


def test_faults_apply_to_broadcasts_and_channel_management(shared):
    simulator = shared({"bad_every": 2, "bad_reason": "ServiceUnavailable"})
    with management(simulator) as client:
        assert [fetch(client, "POST", body=NEW)[:2] for _ in range(4)] == [(201, None), (503, "ServiceUnavailable")] * 2
        assert len(fetch(client, "GET", ALL)[1]["channels"]) == 2
    assert simulator.control("PUT", "/faults", {"services": "pushes", "bad_every": 2, "bad_reason": "ServiceUnavailable"})[0] == 200
    channel = create(simulator)
    with management(simulator) as client:
        assert [fetch(client, "GET", ALL)[0] for _ in range(4)] == [200] * 4
    subscribe(simulator, channel, TOKEN)
    with Client(simulator) as client:
        assert [broadcast(client, channel, state(score=score))[:2] for score in range(4)] == [
            (200, None), (503, "ServiceUnavailable")] * 2
    # Rejected broadcasts reached no device.
    assert activities(simulator)[0]["updates"] == 2


def test_a_channel_exists_although_its_creation_got_no_answer(shared):
    simulator = shared({"services": "channels", "cut_after": 1, "times": 1})
    with management(simulator) as client:
        client.request(json.dumps(NEW).encode(), path=CHANNELS)
        assert client.to_end() and client.answers == {}
    with management(simulator) as client:
        assert len(fetch(client, "GET", ALL)[1]["channels"]) == 1


def test_goaway_over_broadcasts(shared):
    simulator = shared({"services": "pushes", "goaway_after": 2})
    channel = create(simulator)
    subscribe(simulator, channel, TOKEN)
    with Client(simulator) as client:
        assert [broadcast(client, channel, state(score=score))[0] for score in (1, 2)] == [200, 200]
        client.to_end()
        assert client.goaway[:2] == (3, 0)
    assert (activities(simulator)[0]["updates"], simulator.totals()["shutdowns"]) == (2, 1)


def test_a_reset_request_is_not_carried_out(shared):
    simulator = shared({"services": "channels", "reset_every": 1})
    with management(simulator) as client:
        stream = client.request(json.dumps(NEW).encode(), path=CHANNELS)
        client.until(lambda: client.resets)
        assert client.resets == {stream: 7}
    assert simulator.control("GET", "/channels")[1]["channels"] == []
    # With any other code it was carried out.
    assert simulator.control("PUT", "/faults", {"reset_every": 1, "reset_code": 2})[0] == 200
    with management(simulator) as client:
        client.request(json.dumps(NEW).encode(), path=CHANNELS)
        client.until(lambda: client.resets)
    assert simulator.control("GET", "/channels")[1]["count"] == 1


# ---- Response headers ------------------------------------------------------


@pytest.mark.parametrize("environment, has", [(None, True), ("sandbox", True), ("production", False)])
def test_unique_ids_only_in_the_sandbox(start, environment, has):
    simulator = start(*SERVICES, *(["--environment", environment] if environment else []), control=True)
    channel = create(simulator)
    with Client(simulator) as client:
        answers = [client.answer(client.request()).headers for _ in range(2)] + [broadcast(client, channel)[2]]
        assert client.push(token=b"")[0] == 400
        unique = [headers.get("apns-unique-id") for headers in answers]
        refused = client.answer(client.request(token=b"")).headers
    assert "apns-unique-id" not in refused
    assert [re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text or "") is not None for text in unique] == [has] * 3
    assert len(set(unique)) == (3 if has else 1)
    assert [one["unique_id"] for one in simulator.control("GET", "/accepted")[1]["notifications"]] == unique


# ---- curl ------------------------------------------------------------------


def test_everything_with_curl(simulator):

    def curl(port, path, *options, certificate=True):
        ran = subprocess.run(
            ["curl", "--silent", "--show-error", "--http2", "--include", "--cacert", simulator.ready["ca"],
             *(["--cert", simulator.ready["provider"]] if certificate else []), *options,
             f"https://127.0.0.1:{simulator.ready[port]}{path}"],
            check=True, capture_output=True, text=True)
        head, _, body = ran.stdout.partition("\n\n")
        status, *lines = head.splitlines()
        return int(status.split()[1]), dict(line.split(": ", 1) for line in lines if ": " in line), body and json.loads(body)

    def about(channel, *options):
        return curl("channels_port", CHANNELS, "--header", f"apns-channel-id: {channel}", *options)

    new = ["--header", "content-type: application/json", "--data", json.dumps(NEW)]
    status, headers, body = curl("channels_port", CHANNELS, *new, "--header", f"apns-request-id: {UUID}")
    assert (status, headers["apns-request-id"], body) == (201, UUID, "")
    channel = headers["apns-channel-id"]
    assert about(channel)[::2] == (200, NEW)
    assert curl("channels_port", ALL)[::2] == (200, {"channels": [channel]})
    bearer = ["--header", f"authorization: bearer {jwt(simulator)}"]
    assert curl("channels_port", ALL, *bearer, certificate=False)[::2] == (200, {"channels": [channel]})
    assert curl("channels_port", ALL, certificate=False)[::2] == (403, {"reason": "MissingProviderToken"})
    subscribe(simulator, channel, TOKEN)
    headers = [word for name, value in {"apns-channel-id": channel, **REQUIRED}.items() for word in ("--header", f"{name}: {value}")]
    status, answer, body = curl("http2_port", BROADCAST, *headers, "--data", state(score=3).decode())
    assert (status, body) == (200, "") and answer["apns-request-id"] and answer["apns-unique-id"]
    assert activities(simulator)[0]["content_state"] == {"score": 3}
    assert curl("http2_port", BROADCAST, "--data", "{}")[::2] == (400, {"reason": "MissingChannelId"})
    assert about(channel, "--request", "DELETE")[0] == 204
    assert about(channel)[::2] == (400, {"reason": "ChannelNotRegistered"})
    assert curl("http2_port", BROADCAST, *headers, "--data", state().decode())[::2] == (400, {"reason": "ChannelNotRegistered"})


def follow(simulator, name):
    """Runs the page's commands that begin with the function of this name, unchanged, and returns their output."""
    (commands,) = re.findall(rf"^```sh\n({name}\(\).*?)^```", (ROOT / "Documentation/SIMULATOR.md").read_text(), re.MULTILINE | re.DOTALL)
    for word, told in {"simulator-certificates": simulator.ready["certificates"], "8443": str(simulator.ready["http2_port"]),
                       "8444": str(simulator.ready["channels_port"]), "8190": str(simulator.ready["control_port"]),
                       "command apns": tool()}.items():
        assert word in commands or word == "command apns", word
        commands = commands.replace(word, told)
    commands = commands.replace("curl -d", "curl --silent -d").replace("\ncurl http", "\ncurl --silent http")
    return subprocess.run(["bash", "-euo", "pipefail", "-c", commands], check=True, capture_output=True, text=True).stdout


def test_the_page_s_commands(simulator):
    listed, shown, subscribed, shows = documents(follow(simulator, "ask"))
    assert len(listed["channels"]) == 1 and shown == NEW
    assert subscribed["subscriptions"] == [{"token": "5f79cfda4d01aa3a", "channel": listed["channels"][0]}]
    assert shows["activities"][0]["content_state"] == {"score": 1}
    assert simulator.control("GET", "/channels")[1]["channels"] == []


def test_the_page_s_commands_with_the_tool(simulator):
    began = int(time.time())
    printed = follow(simulator, "apns")
    lines = printed.splitlines()
    channel = lines[0]
    assert len(base64.b64decode(channel, validate=True)) == 16 and lines[1] == f"{channel}  liveactivity, storage latest"
    subscribed, shows = (json.loads(line) for line in lines if line.startswith("{"))
    assert subscribed["subscriptions"] == [{"token": "5f79cfda4d01aa3a", "channel": channel}]
    (one,) = shows["activities"]
    assert (one["channel"], one["state"], one["content_state"], one["updates"]) == (channel, "ended", {"score": 2}, 2)
    assert began <= one["timestamp"] <= time.time()
    counters = simulator.control("GET", "/counters")[1]
    assert (counters["broadcasts"], counters["accepted"]) == (2, 2)
    assert simulator.control("GET", "/channels")[1]["channels"] == []


def documents(text):
    """The JSON documents of a concatenation."""
    found, decoder = [], json.JSONDecoder()
    while text := text.strip():
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:]
    return found
