"""Every rule of Documentation/SIMULATOR-RULES.md, seen by a client that is not ours, on a simulator without options."""

import base64
import json
import re
import ssl
import subprocess
import sys

import pytest
from http2 import TOPIC, UUID, Client, jwt
from simulator import ROOT, TOKEN, Simulator, World
from test_http2 import p256

PAGE = ROOT / "Documentation/SIMULATOR-RULES.md"
GOOD = (200, None)
SUFFIXED = {"location": ".location-query", "voip": ".voip", "complication": ".complication",
            "fileprovider": ".pushkit.fileprovider", "liveactivity": ".push-type.liveactivity", "pushtotalk": ".voip-ptt",
            "widgets": ".push-type.widgets", "controls": ".push-type.controls"}
TYPES = {"alert": "", "background": "", "mdm": "", **SUFFIXED}


def to(answer, payload=b'{"aps":{"alert":"Hello"}}', **fields):
    """A push with these header fields, apns- left out, and its answer; a list repeats a field."""
    headers = []
    for name, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            headers.append(("authorization" if name == "authorization" else f"apns-{name.replace('_', '-')}", value))
    return {"payload": payload, "headers": headers}, answer if isinstance(answer, tuple) else (400, answer)


def at(answer, path, method="POST"):
    return {"path": path, "method": method}, answer if isinstance(answer, tuple) else (400, answer)


def sized(count, start=b'{"aps":{}}'):
    return start + b" " * (count - len(start))


# A request with the simulator's certificate, and its response.
PUSHES = {
    "method": [at((405, "MethodNotAllowed"), f"/3/device/{TOKEN.hex()}", method) for method in ("GET", "PUT", "DELETE")],
    "path": [at((404, "BadPath"), path) for path in ("/", "/3/devices/00", "/2/device/00", "/4/broadcasts/apps/a/b")],
    "token-missing": [at("MissingDeviceToken", "/3/device/")],
    "token-form": [at("BadDeviceToken", f"/3/device/{text}") for text in ("x" * 64, "0" * 63, "0" * 62, "0" * 202)]
    + [at(GOOD, f"/3/device/{text}") for text in ("ab" * 32, "AB" * 32, "ab" * 100)],
    "token-environment": [at(GOOD, f"/3/device/{'80' * 32}")],
    "id-form": [to("BadMessageId", id=text) for text in ("7", UUID[1:], UUID.replace("-", ""), f"{{{UUID}}}")] + [to(GOOD, id=UUID)],
    "id-lower-case": [to(GOOD, id=UUID.upper())],
    "expiration": [to("BadExpirationDate", expiration=text) for text in ("soon", "-1", "1.5", "9" * 20)]
    + [to(GOOD, expiration=text) for text in ("0", "1", "4102444800")],
    "priority": [to("BadPriority", priority=text) for text in ("0", "2", "11", "high", "05")]
    + [to(GOOD, priority=text) for text in ("1", "5", "10")],
    "priority-background": [to("BadPriority", push_type="background", priority=text) for text in ("10", "1")]
    + [to(GOOD, push_type="background", priority="5")],
    "priority-content-available": [to(GOOD, b'{"aps":{"content-available":1}}', priority="10")],
    "collapse-id": [to("BadCollapseId", collapse_id="x" * 65), to("BadCollapseId", collapse_id="é" * 33),
                    to(GOOD, collapse_id="x" * 64), to(GOOD, collapse_id="é" * 32)],
    "duplicate-fields": [to("DuplicateHeaders", **{name: [text, text]}) for name, text in (
        ("topic", TOPIC), ("id", UUID), ("priority", "5"), ("expiration", "0"), ("collapse_id", "x"), ("push_type", "alert"))],
    "topic-form": [to("BadTopic", topic=text) for text in ("a b", "a/b", "é", "x" * 256)],
    "topic-of-certificate": [to("TopicDisallowed", topic="com.example.other"), to(GOOD, topic=TOPIC), to(GOOD)],
    "push-type": [to("InvalidPushType", push_type=text) for text in ("alarm", "Alert", "")]
    + [to(GOOD, push_type=kind, topic=TOPIC + suffix, priority="5") for kind, suffix in TYPES.items()],
    "push-type-missing": [to(GOOD)],
    "push-type-suffix": [to(GOOD if kind == other or not suffix and not TYPES[other] else "InvalidPushType", topic=TOPIC + suffix, push_type=other, priority="5")
                         for kind, suffix in TYPES.items() for other in TYPES],
    "push-type-mdm": [to(GOOD, b'{"mdm":"D1F2"}', push_type="mdm")],
    "push-type-contents": [to(GOOD, push_type="background", priority="5"), to(GOOD, b'{"aps":{"content-available":1}}', push_type="alert")],
    "payload-missing": [to("PayloadEmpty", b"")],
    "payload-size": [pair for kind, suffix in TYPES.items() if kind != "voip" for pair in (
        to(GOOD, sized(4096), push_type=kind, topic=TOPIC + suffix, priority="5"),
        to((413, "PayloadTooLarge"), sized(4097), push_type=kind, topic=TOPIC + suffix, priority="5"))],
    "payload-size-voip": [to(GOOD, sized(5120), push_type="voip", topic=TOPIC + ".voip"),
                          to((413, "PayloadTooLarge"), sized(5121), push_type="voip", topic=TOPIC + ".voip")],
    "payload-json": [to("PayloadEmpty", payload) for payload in (b"Hello", b"[]", b'{"aps":{}', b'{"aps":1}', b"{}", b'\xff')],
    "payload-live-activity": [to(GOOD, push_type="liveactivity", topic=TOPIC + ".push-type.liveactivity")],
    "payload-keys": [to(GOOD, b'{"aps":{"badge":"one","relevance-score":"x"}}')],
}  # fmt: skip


@pytest.fixture(scope="module")
def usual(certificates):
    """A simulator as people start it. Every test has a world."""
    simulator = Simulator(certificates, *Simulator.STRICT, "--channels-port", 0, control=True)
    yield simulator
    simulator.kill()


@pytest.mark.parametrize("rule", PUSHES)
def test_push(usual, rule):
    with World(usual) as world, Client(world) as client:
        for request, answer in PUSHES[rule]:
            assert client.push(**request) == answer, request


# Fields and bodies of broadcasts, and what a good one has.
BROADCAST = {"push_type": "liveactivity", "priority": "10", "expiration": "0"}
UPDATE = b'{"aps":{"timestamp":1,"event":"update","content-state":{}}}'
BROADCASTS = {
    "path": [({"path": "/4/broadcasts/apps/"}, (400, "BadTopic")), ({"method": "GET"}, (405, "MethodNotAllowed"))],
    "channel": [({"channel_id": None}, "MissingChannelId"), ({"channel_id": "?"}, "BadChannelId"),
                ({"channel_id": base64.b64encode(bytes(16)).decode()}, "ChannelNotRegistered")],
    "push-type": [({"push_type": None}, "MissingPushType"), ({"push_type": "alert"}, "InvalidPushType")],
    "priority": [({"priority": None}, "BadPriority"), ({"priority": "7"}, "BadPriority"), ({"priority": "1"}, GOOD), ({"priority": "5"}, GOOD)],
    "expiration": [({"expiration": None}, "BadExpirationDate"), ({"expiration": "x"}, "BadExpirationDate"), ({"expiration": "4102444800"}, GOOD)],
    "request-id": [({"request_id": "7"}, "BadMessageId"), ({"request_id": UUID}, GOOD)],
    "other-fields": [({"topic": "com.example.other"}, GOOD), ({"collapse_id": "x" * 65}, GOOD), ({"id": "7"}, GOOD)],
    "size": [({"payload": sized(5120, UPDATE)}, GOOD), ({"payload": sized(5121, UPDATE)}, (413, "PayloadTooLarge")),
             ({"payload": b""}, "PayloadEmpty")],
    "start": [({"payload": UPDATE.replace(b"update", b"start")}, "PayloadEmpty"), ({"payload": UPDATE.replace(b"update", b"end")}, GOOD)],
    "app": [({"path": "/4/broadcasts/apps/com.example.other"}, "TopicDisallowed"),
            ({"path": f"/4/broadcasts/apps/{TOPIC.upper()}"}, "TopicMismatch")],
}  # fmt: skip


def channel_of(world, policy=1):
    with Client(world, port="channels_port") as client:
        body = json.dumps({"message-storage-policy": policy, "push-type": "LiveActivity"}).encode()
        return client.answer(client.request(body, path=f"/1/apps/{TOPIC}/channels")).headers["apns-channel-id"]


@pytest.mark.parametrize("rule", BROADCASTS)
def test_broadcast(usual, rule):
    with World(usual) as world, Client(world) as client:
        channel = channel_of(world)
        for changes, answer in BROADCASTS[rule]:
            others = {name: changes[name] for name in ("path", "method") if name in changes}
            fields = {"channel_id": channel, **BROADCAST, **changes}
            headers = [(f"apns-{name.replace('_', '-')}", value) for name, value in fields.items()
                       if value and name not in ("path", "method", "payload")]
            request = {"path": f"/4/broadcasts/apps/{TOPIC}", **others, "payload": changes.get("payload", UPDATE)}
            assert client.push(**request, headers=headers) == (answer if isinstance(answer, tuple) else (400, answer)), changes


NEW = b'{"message-storage-policy":1,"push-type":"LiveActivity"}'
CHANNELS = {
    "path": [({"path": "/1/apps/x"}, (404, "BadPath")), ({"path": "/3/device/00"}, (404, "BadPath")), ({"method": "PUT"}, (405, "MethodNotAllowed"))],
    "body": [({"payload": payload}, "PayloadEmpty") for payload in (b"", b"[]", NEW.replace(b"1", b"2"), b'{"push-type":"LiveActivity"}')],
    "push-type": [({"payload": NEW.replace(b"push-type", b"x")}, "MissingPushType"), ({"payload": NEW.replace(b"LiveA", b"a")}, "InvalidPushType")],
    "channel": [({"method": method, "payload": b"", "headers": headers}, reason) for method in ("GET", "DELETE") for headers, reason in (
        ([], "MissingChannelId"), ([("apns-channel-id", "?")], "BadChannelId"),
        ([("apns-channel-id", base64.b64encode(bytes(16)).decode())], "ChannelNotRegistered"))],
    "app": [({"path": "/1/apps/com.example.other/channels"}, "TopicDisallowed")],
}  # fmt: skip


@pytest.mark.parametrize("rule", CHANNELS)
def test_channel(usual, rule):
    with World(usual) as world, Client(world, port="channels_port") as client:
        for changes, answer in CHANNELS[rule]:
            request = {"payload": NEW, "path": f"/1/apps/{TOPIC}/channels", **changes}
            assert client.push(**request) == (answer if isinstance(answer, tuple) else (400, answer)), changes


def test_a_channel_from_its_creation_to_its_end(usual):
    with World(usual) as world, Client(world, port="channels_port") as client:
        def ask(method, path, payload=b"", channel=None):
            answer = client.answer(client.request(payload, method=method, path=f"/1/apps/{TOPIC}/{path}",
                                                  headers=[("apns-channel-id", channel)] if channel else []))
            assert re.fullmatch(r"[0-9a-f-]{36}", answer.headers["apns-request-id"])
            return answer
        made = ask("POST", "channels", NEW)
        channel = made.headers["apns-channel-id"]
        assert (made.status, len(base64.b64decode(channel, validate=True)) > 0) == (201, True)
        shown = ask("GET", "channels", channel=channel)
        assert (shown.status, json.loads(shown.body)) == (200, json.loads(NEW))
        assert json.loads(ask("GET", "all-channels").body) == {"channels": [channel]}
        assert ask("DELETE", "channels", channel=channel).status == 204
        assert json.loads(ask("GET", "all-channels").body) == {"channels": []}


def test_channels_of_an_app(usual):
    with World(usual, channels_max=2) as world, Client(world, port="channels_port") as client:
        answers = [client.answer(client.request(NEW, path=f"/1/apps/{TOPIC}/channels")) for _ in range(3)]
        assert [answer.status for answer in answers] == [201, 201, 400]
        assert json.loads(answers[2].body) == {"reason": "CannotCreateChannelConfig"}


def test_apps_that_may_not_broadcast(usual):
    with World(usual, no_broadcasts=[TOPIC]) as world, Client(world, port="channels_port") as client:
        assert client.push(NEW, path=f"/1/apps/{TOPIC}/channels") == (400, "FeatureNotEnabled")


def test_storage_policy(usual):
    """0 takes no expiration but 0. 1 stores the newest broadcast for later subscribers."""
    with World(usual) as world, Client(world) as client:
        for policy, expiration, answer in ((0, "4102444800", (400, "BadExpirationDate")), (0, "0", GOOD), (1, "4102444800", GOOD)):
            channel = channel_of(world, policy)
            fields = {"channel-id": channel, "push-type": "liveactivity", "priority": "10", "expiration": expiration}
            headers = [(f"apns-{name}", value) for name, value in fields.items()]
            assert client.push(UPDATE, path=f"/4/broadcasts/apps/{TOPIC}", headers=headers) == answer
            world.control("POST", "/subscriptions", {"token": TOKEN.hex(), "channel": channel})
            assert bool(world.control("GET", "/activities")[1]["activities"]) == (policy == 1)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1")
def test_tls_versions(usual):
    address = ("127.0.0.1", usual.ready["http2_port"])
    for version, works in ((ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
        made = usual.context(versions=(version, version))
        made.set_alpn_protocols(["h2"])
        if works:
            with usual.connect(address, context=made) as sock:
                assert sock.selected_alpn_protocol() == "h2"
        else:
            with pytest.raises(ssl.SSLError):
                usual.connect(address, context=made)


def test_responses(usual):
    """An empty body or the reason, always the identifier, and apns-unique-id in the sandbox only."""
    with World(usual) as world, Client(world) as client:
        accepted, refused = (client.answer(client.request(headers=headers)) for headers in ([("apns-id", UUID)], [("apns-priority", "7")]))
        assert (accepted.status, accepted.body, accepted.headers["apns-id"]) == (200, b"", UUID)
        assert "apns-unique-id" in accepted.headers
        assert (refused.status, json.loads(refused.body)) == (400, {"reason": "BadPriority"})
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", refused.headers["apns-id"])
    with World(usual, environment="production") as world, Client(world) as client:
        assert "apns-unique-id" not in client.answer(client.request()).headers


def test_devices_on_request(usual):
    """Gone ones with the time in milliseconds; too many requests; the other environment; and other apps."""
    with World(usual) as world, Client(world) as client:
        for token, reason in ((bytes(32), "Unregistered"), (b"\1" * 32, "ExpiredToken")):
            world.control("POST", "/unregistered", {"token": token.hex(), "reason": reason, "timestamp": 1_700_000_000})
            answer = client.answer(client.request(token=token))
            assert (answer.status, json.loads(answer.body)) == (410, {"reason": reason, "timestamp": 1_700_000_000_000})
        for status, reason in ((429, "TooManyRequests"), (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"), (500, "InternalServerError")):
            world.control("POST", "/rejections", {"token": TOKEN.hex(), "reason": reason})
            assert client.push() == (status, reason)


def test_topics_of_devices(usual):
    with World(usual, topics=["com.example.other"]) as world, Client(world) as client:
        assert client.push() == (400, "DeviceTokenNotForTopic")


def test_topics_of_keys(usual):
    with World(usual, team_topics=["com.example.other"]) as world:
        with Client(world, certificate=False, bearer=jwt(world)) as client:
            assert client.push() == (400, "TopicDisallowed")


def test_a_token_needs_a_topic(usual):
    with World(usual) as world, Client(world, certificate=False) as client:
        assert client.push(headers=[("authorization", f"bearer {jwt(world)}")]) == (400, "MissingTopic")


def test_keys_of_one_environment(start, tmp_path):
    key = p256(tmp_path)
    keys = [f"sandbox:KEY0000001:TEAM000001:{key}", f"production:KEY0000002:TEAM000001:{key}", f"KEY0000003:TEAM000001:{key}"]
    simulator = start(*[argument for one in keys for argument in ("--provider-key", one)], control=True)
    for environment, other in (("sandbox", 2), ("production", 1)):
        with World(simulator, environment=environment) as world:
            for number in (1, 2, 3):
                bearer = jwt(world, key=key, kid=f"KEY000000{number}", iss="TEAM000001")
                with Client(world, certificate=False, bearer=bearer) as client:
                    assert client.push() == ((403, "BadEnvironmentKeyIdInToken") if number == other else GOOD)


def test_environments_of_keys_and_certificates(usual):
    """Both work everywhere, until a fault says otherwise."""
    for environment in ("sandbox", "production"):
        with World(usual, environment=environment) as world:
            for client in Client(world), Client(world, certificate=False, bearer=jwt(world)):
                with client:
                    assert client.push() == GOOD
            for reason in ("BadEnvironmentKeyIdInToken", "BadCertificateEnvironment", "BadCertificate", "Forbidden"):
                world.control("PUT", "/faults", {"bad_every": 1, "bad_reason": reason})
                with Client(world) as client:
                    assert client.push() == (403, reason)


def test_priority_frames(usual):
    with World(usual) as world, Client(world) as client:
        assert client.push() == GOOD
        for stream in (3, 101):
            client.connection.prioritize(stream, weight=7)
        client.flush()
        assert client.push() == GOOD


def test_many_mistakes(usual):
    with World(usual) as world, Client(world) as client:
        assert {client.push(path="/") for _ in range(100)} == {(404, "BadPath")}
        assert client.push() == GOOD


def test_goaway_with_a_reason(usual):
    for reason in ("Shutdown", "IdleTimeout"):
        with World(usual, faults={"goaway_after": 1, "goaway_reason": reason}) as world, Client(world) as client:
            assert client.push() == GOOD
            client.to_end()
            last, error, data = client.goaway
            assert (last, error, json.loads(data)) == (1, 0, {"reason": reason})


# The page.


def rows():
    """The page's rows with a rule: its cells."""
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and cells[0] != "rule" and not set(cells[0]) <= {"-"}:
            yield cells


def test_each_row_of_the_page_has_a_test():
    told = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", ROOT / "Tests/Simulator"],
        capture_output=True, text=True, cwd=ROOT)
    tests = {line.rpartition("/")[2] for line in told.stdout.splitlines() if "::" in line}
    tests |= {test.partition("[")[0] for test in tests}
    listed = set()
    for cells in rows():
        assert len(cells) == 4 and all(cells), cells
        assert re.fullmatch(r"(\[\d+\] ?)+|RFC [\d, .]+|observed|none", cells[1]), cells
        assert re.match(r"yes|no\b", cells[2]), cells
        named = re.findall(r"`([^`]+)`", cells[3])
        assert named and set(named) <= tests, (cells, set(named) - tests)
        listed |= set(named)
    ours = {f"test_rules.py::{test}[{rule}]" for test, rules in (
        ("test_push", PUSHES), ("test_broadcast", BROADCASTS), ("test_channel", CHANNELS)) for rule in rules}
    assert ours <= listed, ours - listed
    # The clients are h2 and curl, never ours.
    for file in {test.partition("::")[0] for test in listed}:
        assert not re.search(r"^import libapns|tool\(\), .send.", (ROOT / "Tests/Simulator" / file).read_text(), re.M), file
