"""HTTP/2: responses and provider tokens, against the simulator."""

import json
import re
import time

import libapns
import pytest

TOKEN = bytes(range(32))
GONE = bytes(range(1, 33))
HELLO = b'{"aps":{"alert":"Hello"}}'
TOPIC = "com.example.app"
UUID = "123e4567-e89b-12d3-a456-42665544000a"
KEY_ID, TEAM_ID = "SIMULATOR1", "EXAMPLE123"


def has_http2():
    try:
        libapns.Session(libapns.Credentials(dangerously_accept_any_peer=True), host="127.0.0.1").close(0)
    except libapns.ArgumentError:
        return False
    return True


HAS_HTTP2 = has_http2()
needs_http2 = pytest.mark.skipif(not HAS_HTTP2, reason="the library was built without HTTP/2")


@pytest.fixture
def push(who):
    """Makes HTTP/2 sessions to a simulator and closes them after the test."""
    sessions = []

    def push(simulator, credentials=None, **options):
        options = {"protocol": libapns.Protocol.HTTP2, "outcomes": "each", **options}
        sessions.append(
            libapns.Session(
                credentials or who, host="127.0.0.1", port=simulator.ready["http2_port"], **options
            )
        )
        return sessions[-1]

    yield push
    for session in sessions:
        session.close(0)


@pytest.fixture
def bearer(certificates):
    return libapns.Credentials(
        token_key_file=certificates / "provider-token.p8", key_id=KEY_ID, team_id=TEAM_ID,
        ca_file=certificates / "ca.pem",
    )  # fmt: skip


@pytest.mark.skipif(HAS_HTTP2, reason="the library has HTTP/2")
@pytest.mark.parametrize("protocol", [libapns.Protocol.HTTP2, "http2"])
def test_a_library_without_http2_says_so(who, protocol):
    with pytest.raises(libapns.ArgumentError, match="HTTP/2, which this library was built without"):
        libapns.Session(who, protocol=protocol)


@needs_http2
@pytest.mark.parametrize("protocol", [libapns.Protocol.HTTP2, "http2", 0])
def test_accepted_with_a_certificate(start, push, protocol):
    simulator = start("--http2-port", 0)
    with push(simulator, protocol=protocol) as session:
        identifier = session.send(TOKEN, HELLO, user_data="mine", apns_id=UUID.upper())
        session.send(TOKEN, HELLO)
    first, second = session
    assert (first.kind, first.reject) == (libapns.EventKind.ACCEPTED, libapns.Reject.NONE)
    assert (first.identifier, first.user_data) == (identifier, "mine")
    assert (first.http_status, first.apns_id) == (200, UUID)
    assert (first.reason, first.reason_text, first.timestamp) == (libapns.Reason.NONE, "", 0)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", second.apns_id)
    assert second.apns_id != UUID
    assert simulator.stop()["accepted"] == 2


@needs_http2
def test_accepted_with_a_provider_token(start, push, bearer):
    simulator = start("--http2-port", 0, control=True)
    with push(simulator, bearer, topic=TOPIC) as session:
        session.send_many([(TOKEN, HELLO)] * 200)
    assert [event.http_status for event in session] == [200] * 200
    lines = simulator.control("GET", "/accepted")[1]["notifications"]
    assert {(line["topic"], line["key_id"]) for line in lines} == {(TOPIC, KEY_ID)}
    said = bearer.describe()
    assert (said.key_id, said.team_id) == (KEY_ID, TEAM_ID)
    assert (said.subject, said.chain_length, len(said)) == (None, 0, 6)


@needs_http2
def test_a_key_as_bytes_and_an_invalid_key(start, push, certificates):
    key = (certificates / "provider-token.p8").read_bytes()
    ca = certificates / "ca.pem"
    made = libapns.Credentials(token_key=key, key_id=KEY_ID, team_id=TEAM_ID, ca_file=ca)
    with push(start("--http2-port", 0), made, topic=TOPIC) as session:
        session.send(TOKEN, HELLO)
    assert [event.kind.name for event in session] == ["ACCEPTED"]
    with pytest.raises(libapns.CredentialsError):
        libapns.Credentials(token_key=key[:60], key_id=KEY_ID, team_id=TEAM_ID, ca_file=ca)
    for odd in ({"key_id": None}, {"team_id": "short"}, {"key_id": "ABC123DEF!"}):
        names = {"key_id": KEY_ID, "team_id": TEAM_ID, **odd}
        with pytest.raises(libapns.ArgumentError, match="key_id|team_id"):
            libapns.Credentials(token_key=key, ca_file=ca, **names)
    with pytest.raises(TypeError):
        libapns.Credentials(token_key="text", key_id=KEY_ID, team_id=TEAM_ID, ca_file=ca)


@needs_http2
def test_every_field_reaches_the_service(start, push):
    simulator = start("--http2-port", 0, control=True)
    soon = int(time.time()) + 1000
    with push(simulator) as session:
        session.send(
            TOKEN, HELLO, topic=TOPIC, push_type="alert", priority=5, expiry=soon,
            collapse_id="score", apns_id=UUID,
        )  # fmt: skip
        session.send_many([
            libapns.Notification(TOKEN, HELLO, push_type=libapns.PushType.LOCATION, topic=TOPIC + ".location-query"),
            libapns.Notification(TOKEN, b'{"aps":{"content-changed":true}}', expiry=0, priority=1, push_type="widgets",
                                 collapse_id="other"),
            (TOKEN, b'{"aps":{"content-available":1}}', None),
        ])  # fmt: skip
    names = ("topic", "push_type", "priority", "expiration", "collapse_id")
    lines = simulator.control("GET", "/accepted")[1]["notifications"]
    assert lines[0]["apns_id"] == UUID
    assert [tuple(line[name] for name in names) for line in lines] == [
        (TOPIC, "alert", "5", str(soon), "score"),
        (TOPIC + ".location-query", "location", None, None, None),
        (lines[2]["topic"], "widgets", "1", "0", "other"),
        (lines[3]["topic"], "background", "5", None, None),
    ]


REFUSALS = [
    reason for reason in libapns.Reason
    if reason.http_status in (400, 403, 404, 405, 413)
    and reason.name not in ("IDLE_TIMEOUT", "EXPIRED_PROVIDER_TOKEN", "UNRELATED_KEY_ID_IN_TOKEN")
]  # fmt: skip


@needs_http2
@pytest.mark.parametrize("reason", REFUSALS, ids=lambda reason: reason.name)
def test_each_rejection(start, push, reason):
    simulator = start("--http2-port", 0, faults={"bad_tokens": ["ff"], "bad_reason": reason.text})
    with push(simulator) as session:
        session.send(b"\xff", HELLO, user_data=1, apns_id=UUID)
        session.send(TOKEN, HELLO, user_data=2)
    (refused,) = [event for event in session if event.user_data == 1]
    assert (refused.kind, refused.reason) == (libapns.EventKind.REJECTED, reason)
    assert (refused.reason_text, refused.http_status) == (reason.text, reason.http_status)
    assert (refused.apns_id, refused.timestamp) == (UUID, 0)
    assert (refused.reject == libapns.Reject.INVALID_TOKEN) == (
        reason in (libapns.Reason.BAD_DEVICE_TOKEN, libapns.Reason.DEVICE_TOKEN_NOT_FOR_TOPIC)
    )


@needs_http2
def test_a_gone_device(start, push):
    simulator = start("--http2-port", 0, control=True)
    simulator.control("POST", "/unregistered", json.dumps({"token": GONE.hex()}))
    before = int(time.time()) - 3600
    with push(simulator) as session:
        session.send(GONE, HELLO)
    (event,) = session
    assert (event.kind, event.reject) == (libapns.EventKind.REJECTED, libapns.Reject.NONE)
    assert (event.reason, event.http_status) == (libapns.Reason.UNREGISTERED, 410)
    assert before < event.timestamp <= time.time()
    assert session.gone() == [(event.timestamp, GONE)]
    assert session.gone() == []


def test_gone_refers_to_feedback_over_the_binary_interface(who):
    with pytest.raises(libapns.ArgumentError, match="over the binary interface, the feedback service lists"):
        libapns.Session(who, protocol="binary").gone()


@needs_http2
def test_a_response_that_asks_for_a_retry(start, push):
    faults = {"bad_every": 3, "bad_reason": "TooManyRequests"}
    simulator = start("--http2-port", 0, faults=faults, control=True)
    with push(simulator) as session:
        session.send_many([(TOKEN, HELLO)] * 4)
        session.drain(240)
    assert [event.kind.name for event in session] == ["ACCEPTED"] * 4
    assert session.stats().resent > 0


@needs_http2
def test_retries_end_with_the_retry_timeout(start, push):
    faults = {"bad_every": 1, "bad_reason": "TooManyRequests"}
    session = push(start("--http2-port", 0, faults=faults), retry_timeout=1.5, ping_after=-1)
    session.send(TOKEN, HELLO)
    session.drain(240)
    (event,) = session
    assert (event.kind, event.reason) == (libapns.EventKind.REJECTED, libapns.Reason.TOO_MANY_REQUESTS)


@needs_http2
def test_ping_after_is_never_or_whole_seconds(start, push):
    with pytest.raises(ValueError, match="ping_after"):
        push(start("--http2-port", 0), ping_after=-2)


@needs_http2
def test_refused_arguments(start, push, bearer):
    session = push(start("--http2-port", 0))
    for odd, message in (
        ({"topic": "a b"}, "topic cannot have character 0x20"),
        ({"push_type": 99}, "push_type is 99"),
        ({"priority": 7}, "priority is 7"),
        ({"push_type": "background", "priority": 10}, "background"),
        ({"push_type": "voip", "topic": TOPIC}, "push_type is voip, but the topic does not end in .voip"),
        ({"collapse_id": "x" * 65}, "more than 64"),
        ({"apns_id": "7"}, "not a UUID"),
    ):
        with pytest.raises(libapns.ArgumentError, match=message):
            session.send(TOKEN, HELLO, **odd)
    for odd, kind in (
        ({"push_type": "alarm"}, ValueError), ({"push_type": 256}, ValueError),
        ({"push_type": 1.5}, TypeError), ({"topic": 7}, TypeError), ({"topic": "a\0b"}, ValueError),
        ({"collapse_id": b"x"}, TypeError), ({"apns_id": 7}, TypeError),
    ):  # fmt: skip
        with pytest.raises(kind):
            session.send(TOKEN, HELLO, **odd)
    with pytest.raises(libapns.ArgumentError, match="collapse_id") as caught:
        session.send_many([(TOKEN, HELLO), libapns.Notification(TOKEN, HELLO, collapse_id="x" * 65)])
    assert caught.value.taken == 1
    assert session.stats().taken == 1
    with pytest.raises(libapns.ArgumentError, match="topic"):
        push(start("--http2-port", 0), bearer).send(TOKEN, HELLO)


@needs_http2
def test_the_size_that_each_kind_may_have(start, push):
    long = b'{"aps":{"alert":"%s"}}' % (b"x" * 4500)
    with push(start("--http2-port", 0)) as session:
        with pytest.raises(libapns.ArgumentError, match="more than 4096"):
            session.send(TOKEN, long)
        session.send(TOKEN, long, push_type=libapns.PushType.VOIP)
    assert [event.kind.name for event in session] == ["ACCEPTED"]


@needs_http2
def test_unread_responses_are_freed(start, push):
    """The session frees responses, read or not."""
    simulator = start("--http2-port", 0, faults={"bad_every": 5, "bad_reason": "BadDeviceToken"})
    with push(simulator, outcomes="failures") as session:
        session.send_many([(TOKEN, HELLO, number) for number in range(1000)])
    assert session.stats().events == 200
    assert next(iter(session)).reason == libapns.Reason.BAD_DEVICE_TOKEN
    del session
    with push(simulator) as session:
        session.send_many([(TOKEN, HELLO)] * 1000)
    assert session.stats().events == 1000


@needs_http2
def test_defaults_are_apple_s(who):
    with libapns.Session(who) as session:
        assert (session.host, session.port) == (libapns.HOST_PRODUCTION, libapns.PORT_HTTP2)
    with pytest.raises(ValueError, match="unknown protocol: 'http3'"):
        libapns.Session(who, protocol="http3")
    with pytest.raises(libapns.ArgumentError, match="protocol is 9"):
        libapns.Session(who, protocol=9)


@pytest.mark.parametrize("protocol, production, sandbox", [
    pytest.param("http2", libapns.HOST_PRODUCTION, libapns.HOST_SANDBOX, marks=needs_http2),
    ("binary", libapns.BINARY_HOST_PRODUCTION, libapns.BINARY_HOST_SANDBOX),
])
def test_the_environment_names_the_host(who, protocol, production, sandbox):
    for environment, host in (
        ("production", production), (0, production), ("sandbox", sandbox), (libapns.Environment.SANDBOX, sandbox),
    ):
        with libapns.Session(who, protocol=protocol, environment=environment) as session:
            assert session.host == host
    with libapns.Session(who, protocol=protocol, environment="sandbox", host="127.0.0.1") as session:
        assert session.host == "127.0.0.1"
    with pytest.raises(libapns.ArgumentError, match=f"environment is sandbox, but host is production's: {production}"):
        libapns.Session(who, protocol=protocol, environment="sandbox", host=production)
    with pytest.raises(ValueError, match="unknown environment: 'staging'"):
        libapns.Session(who, protocol=protocol, environment="staging")
    with pytest.raises(libapns.ArgumentError, match="environment is sandbox, but host is production's"):
        libapns.Feedback(who, environment="sandbox", host=libapns.FEEDBACK_HOST_PRODUCTION)


def test_the_binary_interface_ignores_http2_arguments(start, connect):
    with connect(start(faults={"bad_tokens": ["ff"]})) as session:
        session.send(b"\xff", HELLO, topic=TOPIC, push_type="alert", collapse_id="x", apns_id=UUID)
    (event,) = session
    assert event.reject == libapns.Reject.INVALID_TOKEN
    assert (event.reason, event.http_status, event.apns_id) == (libapns.Reason.NONE, 0, "")
