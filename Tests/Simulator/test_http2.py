"""HTTP/2 without faults, as Apple's service speaks it."""

import contextlib
import json
import re
import shutil
import ssl
import struct
import subprocess
import time

import pytest
from http2 import TOPIC, UUID, Client, context, jwt
from provider_token import base64url
from simulator import (
    CLEAN, PAYLOAD, ROOT, TOKEN, Simulator, enhanced, error, framed, item, make_certificates, simple, exchange,
)

HTTP2 = ("--http2-port", 0)
LONG = 5120


def sized(count):
    return PAYLOAD + b" " * (count - len(PAYLOAD))


@pytest.fixture(scope="module")
def checking(certificates):
    """A simulator without faults, for tests that change nothing."""
    simulator = Simulator(certificates, *HTTP2, "--check-payload", control=True)
    yield simulator
    simulator.kill()


def test_accepted_notifications_are_recorded(start, tmp_path):
    ledger = tmp_path / "ledger"
    simulator = start(*HTTP2, "--ledger", ledger, control=True)
    with Client(simulator) as client:
        headers = {"apns-push-type": "alert", "apns-expiration": "7", "apns-priority": "5", "apns-collapse-id": "x"}
        answer = client.answer(client.request(headers=[("apns-id", UUID), *headers.items()]))
        assert (answer.status, answer.headers["apns-id"], answer.body) == (200, UUID, b"")
        other = client.answer(client.request())
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", other.headers["apns-id"])
        first, second = simulator.control("GET", "/accepted")[1]["notifications"]
        assert first.pop("time") <= second.pop("time")
        assert first == {
            "connection": 1, "stream": 1, "apns_id": UUID, "unique_id": answer.headers["apns-unique-id"], "topic": TOPIC, "push_type": "alert", "expiration": "7",
            "priority": "5", "collapse_id": "x", "key_id": None, "token": TOKEN.hex(), "payload": PAYLOAD.decode()}
        assert (second["apns_id"], second["priority"]) == (other.headers["apns-id"], None)
        (connection,) = simulator.control("GET", "/connections")[1]["connections"]
        assert (connection["protocol"], connection["accepted"]) == ("http2", 2)
    totals = simulator.stop()
    assert (totals["accepted"], totals["duplicates"], totals["received"]) == (2, 1, 2)
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert [line.get("outcome") for line in lines] == ["accepted", "accepted", None]
    assert [line.get("duplicate") for line in lines[:2]] == [None, True]


def test_duplicates_by_identifier(simulator):
    with Client(simulator) as client:
        for number in range(3):
            client.push(b'{"aps":{"badge":%d}}' % number, headers=[("apns-id", UUID if number else UUID[::-1])])
        assert client.push(b'{"aps":{"badge":9}}', headers=[("apns-id", UUID)])[0] == 200
    assert simulator.totals()["duplicates"] == 2


@pytest.mark.parametrize(
    "options, status, reason",
    [
        ({"method": "GET"}, 405, "MethodNotAllowed"),
        ({"path": "/3/devices/" + TOKEN.hex()}, 404, "BadPath"),
        ({"path": "/"}, 404, "BadPath"),
        ({"path": "/3/device/"}, 400, "MissingDeviceToken"),
        ({"path": "/3/device"}, 400, "MissingDeviceToken"),
        *[({"path": "/3/device/" + token}, 400, "BadDeviceToken") for token in ("xyz", "0g", "0", "+1", "é")],
        ({"path": "/4/device/00"}, 404, "BadPath"),
        ({"path": "/3/device/" + "ab" * 101}, 400, "BadDeviceToken"),
        ({"path": "/3/device/" + TOKEN.hex().upper()}, 200, None),
        *[({"headers": [("apns-id", text)]}, 400, "BadMessageId") for text in (
            "7", UUID[:-1], UUID + "a", UUID.replace("-", "a", 1), "g" + UUID[1:])],
        ({"headers": [("apns-id", UUID.upper())]}, 200, None),
        ({"headers": [("apns-push-type", "alarm")]}, 400, "InvalidPushType"),
        *[({"headers": [("apns-push-type", kind)]}, 200, None) for kind in ("alert", "background", "mdm")],
        *[({"headers": [("apns-push-type", kind)]}, 400, "InvalidPushType") for kind in (
            "location", "voip", "complication", "fileprovider", "liveactivity", "pushtotalk", "widgets", "controls")],
        ({"headers": [("apns-expiration", "soon")]}, 400, "BadExpirationDate"),
        ({"headers": [("apns-expiration", "0")]}, 200, None),
        *[({"headers": [("apns-priority", str(number))]}, 200, None) for number in (1, 5, 10)],
        ({"headers": [("apns-priority", "7")]}, 400, "BadPriority"),
        ({"headers": [("apns-push-type", "background"), ("apns-priority", "10")]}, 400, "BadPriority"),
        ({"headers": [("apns-push-type", "background"), ("apns-priority", "5")]}, 200, None),
        ({"headers": [("apns-collapse-id", "x" * 64)]}, 200, None),
        ({"headers": [("apns-collapse-id", "x" * 65)]}, 400, "BadCollapseId"),
        ({"headers": [("apns-topic", "not a topic")]}, 400, "BadTopic"),
        ({"headers": [("apns-topic", "x" * 256)]}, 400, "BadTopic"),
        ({"headers": [("apns-topic", "com.example.other")]}, 400, "TopicDisallowed"),
        ({"headers": [("apns-topic", TOPIC)]}, 200, None),
        *[({"headers": [(name, value)] * 2}, 400, "DuplicateHeaders") for name, value in (
            ("apns-topic", TOPIC), ("apns-id", UUID), ("apns-priority", "5"), ("authorization", "bearer x"))],
        ({"payload": b""}, 400, "PayloadEmpty"),
        ({"payload": b"[1]"}, 400, "PayloadEmpty"),
        ({"payload": b'{"aps":1}'}, 400, "PayloadEmpty"),
        ({"payload": sized(4096)}, 200, None),
        ({"payload": sized(4097)}, 413, "PayloadTooLarge"),
        ({"payload": sized(LONG), "headers": [("apns-push-type", "voip"), ("apns-topic", TOPIC + ".voip")]}, 200, None),
        ({"payload": sized(LONG + 1), "headers": [("apns-push-type", "voip")]}, 413, "PayloadTooLarge"),
        ({"payload": sized(16384)}, 413, "PayloadTooLarge"),
    ],
)
def test_requests(checking, options, status, reason):
    with Client(checking) as client:
        stream = client.request(**options)
        answer = client.answer(stream)
        assert (answer.status, json.loads(answer.body)["reason"] if answer.body else None) == (status, reason)
        given = [value for name, value in options.get("headers", ()) if name == "apns-id"]
        assert answer.headers["apns-id"] in given or re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", answer.headers["apns-id"])
        # An invalid request does not affect the next.
        assert client.push() == (200, None)


def test_payloads_in_pieces(checking):
    with Client(checking) as client:
        stream = client.request(PAYLOAD[:5], end=False)
        for at in range(5, len(PAYLOAD)):
            client.connection.send_data(stream, PAYLOAD[at : at + 1], end_stream=at == len(PAYLOAD) - 1)
            client.flush()
        assert client.answer(stream).status == 200
        stream = client.request(PAYLOAD, end=False)
        client.connection.send_headers(stream, [("trailer", "x")], end_stream=True)
        client.flush()
        assert client.answer(stream).status == 200
        notifications = checking.control("GET", "/accepted?limit=10000")[1]["notifications"]
        assert [one["payload"] for one in notifications[-2:]] == [PAYLOAD.decode()] * 2


def test_settings_as_apples(checking):
    with Client(checking) as client:
        client.push()
        settings = client.connection.remote_settings
        assert (settings.max_concurrent_streams, settings.initial_window_size) == (1000, 65535)


def test_the_size_of_tokens(start):
    simulator = start(*HTTP2, "--token-size", 32)
    with Client(simulator) as client:
        assert client.push(token=bytes(32)) == (200, None)
        assert client.push(token=bytes(31)) == (400, "BadDeviceToken")
    assert simulator.stop()["reasons"] == {"BadDeviceToken": 1}


def test_the_list_of_bad_tokens(start, tmp_path):
    """A long list in a common notation: each token in it is bad, and no other."""
    listed, many = tmp_path / "bad", [struct.pack("!I", 2 * number) for number in range(5000)]
    listed.write_bytes(b"# gone\n\n<0102 aB>\r\n  ff # this too\nff\n" + b"\n".join(one.hex().encode() for one in many))
    simulator = start(*HTTP2, "--bad-tokens", listed, faults={"close_delay_ms": 0})
    bad, good = [b"\1\2\xab", b"\xff", *many[::50]], b"".join(enhanced(1, one[:3] + bytes([one[3] | 1])) for one in many)
    with Client(simulator) as client:
        assert {client.push(token=token) for token in bad} == {(400, "BadDeviceToken")}
        assert client.push() == (200, None)
    for frame, answer in ((enhanced(4, bad[0]), error(8, 4)), (simple(bad[0]), b""),
                          (framed(item(1, bad[0]), item(2, PAYLOAD), item(3, struct.pack("!I", 5))), error(8, 5))):
        assert exchange(simulator.connect(), good + frame + enhanced(6)) == (answer, CLEAN)
    totals = simulator.stop()
    assert (totals["reasons"], totals["statuses"]) == ({"BadDeviceToken": len(bad)}, {"8": 3})
    assert (totals["accepted"], totals["discarded"]) == (1 + 3 * 5000, 3)


def test_topics(start):
    simulator = start(*HTTP2, "--topic", TOPIC)
    with Client(simulator) as client:
        assert client.push() == (200, None)
    bearer = jwt(simulator)
    with Client(simulator, certificate=False) as client:
        def to(*topics):
            return client.push(headers=[("authorization", f"bearer {bearer}"), *[("apns-topic", one) for one in topics]])
        assert to() == (400, "MissingTopic")
        assert to("com.example.other") == (400, "DeviceTokenNotForTopic")
        assert to(TOPIC + ".voip") == (200, None)
        for unknown in (".other", ".voip.voip", "voip", ".", "lication"):
            assert to(TOPIC + unknown) == (400, "DeviceTokenNotForTopic")


KINDS = {".voip": "voip", ".voip-ptt": "pushtotalk", ".complication": "complication", ".pushkit.fileprovider": "fileprovider",
         ".location-query": "location", ".push-type.liveactivity": "liveactivity", ".push-type.widgets": "widgets",
         ".push-type.controls": "controls"}


@pytest.mark.parametrize("options", [[], ["--topic", TOPIC], ["--topic", f"org.example.other,{TOPIC}"]])
@pytest.mark.parametrize("certificate", [True, False])
def test_topic_suffixes_of_an_app(start, options, certificate):
    simulator = start(*HTTP2, *options)
    bearer = [] if certificate else [("authorization", f"bearer {jwt(simulator)}")]
    with Client(simulator, certificate=certificate) as client:
        for kind in KINDS:
            assert client.push(headers=[*bearer, ("apns-topic", TOPIC + kind)]) == (200, None), kind
            for type in ("alert", "background", "mdm", *KINDS.values()):
                answer = client.push(headers=[*bearer, ("apns-topic", TOPIC + kind), ("apns-push-type", type)])
                assert answer == ((200, None) if type == KINDS[kind] else (400, "InvalidPushType")), (kind, type)
        refusal = client.push(headers=[*bearer, ("apns-topic", TOPIC + ".other")])
        assert refusal == ((400, "TopicDisallowed") if certificate else (400, "DeviceTokenNotForTopic") if options else (200, None))


@pytest.mark.parametrize("options", [["--topic", TOPIC, "--topic", "org.example.other"], ["--topic", f"org.example.other,{TOPIC}"]])
def test_more_topics(start, options):
    """The certificate is valid for one app and, because of the option, for the others."""
    simulator = start(*HTTP2, *options)
    bearer = jwt(simulator)
    for certificate, refused in ((True, "TopicDisallowed"), (False, "DeviceTokenNotForTopic")):
        with Client(simulator, certificate=certificate) as client:
            def to(topic):
                return client.push(headers=[("authorization", f"bearer {bearer}"), ("apns-topic", topic)])
            assert to("org.example.other") == (200, None)
            assert to("org.example.other.voip") == (200, None)
            assert to(TOPIC) == (200, None)
            assert to("org.example.third") == (400, refused)


def test_a_topic_that_the_certificate_lacks(start):
    simulator = start(*HTTP2, "--topic", "org.example.other")
    with Client(simulator) as client:
        assert client.push(headers=[("apns-topic", "org.example.other")]) == (400, "TopicDisallowed")


def test_strict_by_default(start):
    simulator = start(*Simulator.STRICT)
    with Client(simulator) as client:
        for token, answer in ((bytes(32), 200), (bytes(100), 200), (bytes.fromhex("5f79"), 400), (bytes(31), 400)):
            assert client.push(token=token) == (answer, None if answer == 200 else "BadDeviceToken"), token
        for text in ("5f79", "a" * 65, "g" * 64, "ab" * 101):
            assert client.push(path=f"/3/device/{text}") == (400, "BadDeviceToken"), text
        for payload in (b"Hello", b"[]", b'{"alert":"x"}', b'{"aps":{}'):
            assert client.push(payload) == (400, "PayloadEmpty"), payload


def test_topics_of_the_team(start):
    """Provider tokens are for the team's topics; a certificate has its own."""
    simulator = start("--team-topic", "com.example.one,com.example.two", "--team-topic", "com.example.three")
    bearer = jwt(simulator)
    with Client(simulator, certificate=False) as client:
        for topic, answer in (("com.example.one", None), ("com.example.two.voip", None), ("com.example.three", None),
                              ("org.example.other", "TopicDisallowed"), ("com.example", "TopicDisallowed")):
            headers = [("authorization", f"bearer {bearer}"), ("apns-topic", topic)]
            assert client.push(headers=headers) == (400 if answer else 200, answer), topic
    with Client(simulator) as client:
        assert client.push() == (200, None)


def test_mdm(start):
    simulator = start(*HTTP2, "--check-payload")
    with Client(simulator) as client:
        assert client.push(b'{"mdm":"D1F2A3"}', headers=[("apns-push-type", "mdm")]) == (200, None)
        assert client.push(b'{"mdm":7}', headers=[("apns-push-type", "mdm")]) == (400, "PayloadEmpty")


def test_payloads_without_aps(start):
    """Apple does not parse the payloads of VoIP, file providers, locations and Wallet passes."""
    simulator = start(*HTTP2, "--check-payload")
    bearer = ("authorization", f"bearer {jwt(simulator)}")
    with Client(simulator, certificate=False) as client:
        def push(payload, topic, type=None):
            return client.push(payload, headers=[bearer, ("apns-topic", topic), *([("apns-push-type", type)] if type else [])])
        fine, empty = (200, None), (400, "PayloadEmpty")
        for kind in (".voip", ".pushkit.fileprovider", ".location-query", ".complication", ".voip-ptt"):
            for type in (None, KINDS[kind]):
                for payload in (b"{}", b'{"call":7}', b'{"container-identifier":"c","domain":"d"}', b'{"aps":{}}'):
                    assert push(payload, TOPIC + kind, type) == fine, (kind, type, payload)
            assert push(b"[]", TOPIC + kind) == push(b'{"aps":1}', TOPIC + kind) == push(b"7", TOPIC + kind) == empty
        for type in (None, "alert", "background"):
            assert push(b"{}", "pass.com.example.ticket", type) == fine
            assert push(b"{}", TOPIC, type) == empty
        assert push(b'{"mdm":7}', "com.apple.mgmt.External.7", "mdm") == empty
        assert push(b'\xef\xbb\xbf{"aps":{}}', TOPIC) == fine


def test_a_certificate_for_several_topics(start, tmp_path):
    made = make_certificates(tmp_path / "own", f"/UID={TOPIC}/CN=provider", f"""1.2.840.113635.100.6.3.6=ASN1:SEQUENCE:topics
[topics]
a=UTF8:{TOPIC}
b=SEQUENCE:kind
c=UTF8:{TOPIC}.voip
d=SEQUENCE:kind
[kind]
a=UTF8:app
""")
    simulator = start(*HTTP2, "--certificates", made)
    with Client(simulator) as client:
        assert client.push() == (400, "MissingTopic")
        assert client.push(headers=[("apns-topic", TOPIC)]) == (200, None)
        assert client.push(headers=[("apns-topic", TOPIC + ".voip")]) == (200, None)
        assert client.push(headers=[("apns-topic", TOPIC + ".other")]) == (400, "TopicDisallowed")


@pytest.mark.parametrize("name, type, other", [
    (TOPIC + ".voip", "voip", "alert"), ("com.apple.mgmt.External.7", "mdm", "alert"), (TOPIC, "alert", "voip")])
def test_the_certificate_determines_the_push_type(start, tmp_path, name, type, other):
    simulator = start(*HTTP2, "--certificates", make_certificates(tmp_path / "own", f"/UID={name}/CN=provider"))
    with Client(simulator) as client:
        assert client.push() == (200, None)
        assert client.push(headers=[("apns-push-type", type)]) == (200, None)
        assert client.push(headers=[("apns-push-type", other)]) == (400, "InvalidPushType")


def test_an_app_name_that_ends_like_a_topic_suffix(start, tmp_path):
    names = ["org.example.voip", "org.example.voip.voip"]
    made = make_certificates(tmp_path / "own", f"/UID={names[0]}/CN=provider", f"""1.2.840.113635.100.6.3.6=ASN1:SEQUENCE:topics
[topics]
a=UTF8:{names[0]}
b=UTF8:{names[1]}
""")
    simulator = start(*HTTP2, "--certificates", made)
    with Client(simulator) as client:
        for topic, type in zip(names, ("alert", "voip")):
            assert client.push(headers=[("apns-topic", topic), ("apns-push-type", type)]) == (200, None)
        assert client.push(headers=[("apns-topic", names[0]), ("apns-push-type", "voip")]) == (400, "InvalidPushType")


def test_a_foreign_certificate_is_refused(simulator, tmp_path):
    foreign = make_certificates(tmp_path / "foreign", "/UID=x/CN=provider")
    made = context(simulator, certificate=False)
    made.load_cert_chain(foreign / "provider.pem")
    with pytest.raises(OSError):
        sock = simulator.connect(("127.0.0.1", simulator.ready["http2_port"]), context=made)
        sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        while sock.recv(100):
            pass
        raise ConnectionError("closed in order")
    assert simulator.wait("/counters", lambda counters: counters["refused"] == 1)["connections"] == 0


def test_only_h2(checking, monkeypatch):
    """Also without ALPN, as Apple accepts it."""
    made = context(checking, alpn=())
    monkeypatch.setattr("http2.context", lambda *_: made)
    with Client(checking) as client:
        assert client.sock.selected_alpn_protocol() is None
        assert client.push() == (200, None)
    with checking.connect(("127.0.0.1", checking.ready["http2_port"]), context=context(checking, alpn=["http/1.1"])) as sock:
        assert sock.selected_alpn_protocol() is None
        assert b"HTTP/1" not in exchange(sock, b"POST / HTTP/1.1\r\nhost: localhost\r\n\r\n")[0]
    made = context(checking)
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    with checking.connect(("127.0.0.1", checking.ready["http2_port"]), context=made) as sock:
        assert (sock.version(), sock.selected_alpn_protocol()) == ("TLSv1.2", "h2")


# Provider tokens.


def test_a_provider_token(simulator):
    bearer = jwt(simulator)
    with Client(simulator, certificate=False, bearer=bearer) as client:
        client.until(lambda: 3 in client.settings)
        # One stream until the first response.
        assert client.settings[3] == 1
        assert client.push() == (200, None)
        client.until(lambda: client.settings[3] == 1000)
        streams = [client.request(flush=False) for _ in range(100)]
        client.flush()
        assert {client.answer(stream).status for stream in streams} == {200}
    assert simulator.control("GET", "/accepted")[1]["notifications"][0]["key_id"] == simulator.ready["token_key_id"]
    # The same token on several connections counts once, and all may start with it together.
    with contextlib.ExitStack() as open_ones:
        for bearer in bearer, jwt(simulator, age=1), jwt(simulator, age=2):
            clients = [open_ones.enter_context(Client(simulator, certificate=False, bearer=bearer)) for _ in range(8)]
            streams = [client.request() for client in clients]
            assert [client.answer(stream).status for client, stream in zip(clients, streams)] == [200] * 8


def test_one_stream_is_enforced(simulator):
    with Client(simulator, certificate=False, bearer=jwt(simulator)) as client:
        client.until(lambda: 3 in client.settings)
        client.connection.remote_settings.max_concurrent_streams = 100
        client.connection.remote_settings.acknowledge()
        # The client has now acknowledged the limit.
        client.connection.ping(b"12345678")
        client.flush()
        client.until(lambda: client.pongs)
        streams = [client.request(flush=False) for _ in range(3)]
        client.flush()
        while client.read():
            if len(client.answers) + len(client.resets) == 3:
                break
        assert len(client.answers) < 3


@pytest.mark.parametrize(
    "change, reason",
    [
        (None, "MissingProviderToken"),
        ("", "MissingProviderToken"),
        ("bearer", "MissingProviderToken"),
        ("bearer ", "MissingProviderToken"),
        ("basic abc", "InvalidProviderToken"),
        ("bearer abc", "InvalidProviderToken"),
        ("bearer a.b.c.d", "InvalidProviderToken"),
        ({"alg": "ES384"}, "InvalidProviderToken"),
        ({"kid": "UNKNOWNKEY"}, "InvalidProviderToken"),
        ({"iss": "OTHERTEAM1"}, "InvalidProviderToken"),
        ({"claims": {"iss": "EXAMPLE123"}}, "InvalidProviderToken"),
        ({"claims": {"iss": "EXAMPLE123", "iat": "now"}}, "InvalidProviderToken"),
        ({"head": {"alg": "ES256"}}, "InvalidProviderToken"),
        ({"age": -3600}, "InvalidProviderToken"),
        ({"age": 3601}, "ExpiredProviderToken"),
        ({"age": 3500}, None),
        ({"claims": {"iss": "EXAMPLE123", "iat": time.time() - 1}}, None),
        ({"claims": {"iss": "EXAMPLE123", "iat": str(int(time.time()))}}, None),
    ],
)
def test_invalid_provider_tokens(simulator, change, reason):
    value = f"bearer {jwt(simulator, **change)}" if isinstance(change, dict) else change
    headers = [("apns-topic", TOPIC)] + ([] if value is None else [("authorization", value)])
    with Client(simulator, certificate=False) as client:
        assert client.push(headers=headers) == ((403, reason) if reason else (200, None))
        client.until(lambda: 3 in client.settings)
        assert client.settings[3] == (1 if reason else 1000) or not reason


def p256(directory):
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", directory / "key.p8"],
                   check=True, capture_output=True)
    return directory / "key.p8"


def test_signatures_are_verified(simulator, tmp_path):
    head, claims, signature = jwt(simulator).split(".")
    other = "A" if signature[5] != "A" else "B"
    turned = base64url(json.dumps({"kid": simulator.ready["token_key_id"], "alg": "ES256"}).encode()).decode()
    for forged in (
            ".".join([head, claims, signature[:5] + other + signature[6:]]), ".".join([turned, claims, signature]),
            f"{head}.{claims}.{signature}=", f"{head}.{claims}.+/{signature[2:]}", f"{head}..{signature}", "..", "." * 9,
            jwt(simulator, key=p256(tmp_path))):
        with Client(simulator, certificate=False, bearer=forged) as client:
            assert client.push() == (403, "InvalidProviderToken")


def test_with_a_certificate_the_header_is_ignored(simulator):
    with Client(simulator) as client:
        assert client.push(headers=[("authorization", "bearer nonsense")]) == (200, None)


def test_keys_by_option(start, tmp_path):
    private, public = p256(tmp_path), tmp_path / "key.pub"
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    simulator = start(*HTTP2, "--provider-key", f"KEY0000001:TEAM000001:{private}",
                      "--provider-key", f"KEY0000002:TEAM000002:{public}")
    one, two = (jwt(simulator, key=private, kid=f"KEY000000{n}", iss=f"TEAM00000{n}") for n in (1, 2))
    with Client(simulator, certificate=False, bearer=one) as client:
        assert client.push() == (200, None)
        client.bearer = two
        assert client.push() == (403, "UnrelatedKeyIdInToken")
        client.bearer = one
        assert client.push() == (200, None)
    with Client(simulator, certificate=False, bearer=two) as client:
        assert client.push() == (200, None)


def test_refreshed_too_soon(simulator):
    first, soon = jwt(simulator, age=3000), jwt(simulator, age=2000)
    with Client(simulator, certificate=False, bearer=first) as client:
        assert client.push() == (200, None)
        client.bearer = soon
        assert client.push() == (429, "TooManyProviderTokenUpdates")
        client.bearer = jwt(simulator, age=1800)
        assert client.push() == (200, None)
        # The previous token stays valid until it is too old.
        client.bearer = first
        assert client.push() == (200, None)
    # Another connection starts with a separate token.
    with Client(simulator, certificate=False, bearer=jwt(simulator, age=1799)) as client:
        assert client.push() == (200, None)
        client.bearer = jwt(simulator, age=1700)
        assert client.push() == (429, "TooManyProviderTokenUpdates")
        simulator.control("PATCH", "/faults", {"token_renewal_min_s": 0})
        assert client.push() == (200, None)


@pytest.mark.parametrize("over, here, elsewhere", [("connection", 200, 200), ("key", 429, 429), ("address", 429, 200)])
def test_refreshed_too_soon_on_another_connection(shared, over, here, elsewhere):
    simulator = shared({"token_renewal_over": over})
    with Client(simulator, certificate=False, bearer=jwt(simulator, age=100)) as client:
        assert client.push() == (200, None)
        # The same token never counts as a refresh, from any address.
        for source in ("127.0.0.1", "127.0.0.2"):
            with Client(simulator, certificate=False, bearer=client.bearer, source=source) as other:
                assert other.push() == (200, None)
        for source, status in (("127.0.0.1", here), ("127.0.0.3", elsewhere)):
            with Client(simulator, certificate=False, bearer=jwt(simulator), source=source) as other:
                assert other.push()[0] == status
        client.bearer = jwt(simulator)
        assert client.push() == (429, "TooManyProviderTokenUpdates")


def test_a_token_expired_by_a_fault_is_refreshed_immediately(simulator):
    with Client(simulator, certificate=False, bearer=jwt(simulator, age=10)) as client:
        assert client.push() == (200, None)
        simulator.control("PATCH", "/faults", {"token_age_max_s": 5})
        assert client.push() == (403, "ExpiredProviderToken")
        client.bearer = jwt(simulator)
        assert client.push() == (200, None)


# Devices that are gone.


def test_gone_devices(start, tmp_path):
    gone, expired, listed = bytes(32), b"\1" * 32, b"\2" * 32
    feedback = tmp_path / "feedback"
    feedback.write_text(f"1234567890 {listed.hex()}\n")
    simulator = start(*HTTP2, "--feedback", feedback, control=True)
    simulator.control("POST", "/unregistered", {"token": gone.hex(), "timestamp": 1700000000})
    simulator.control("POST", "/unregistered", {"token": expired.hex(), "timestamp": 5, "reason": "ExpiredToken"})
    with Client(simulator) as client:
        def answer_for(token):
            answer = client.answer(client.request(token=token))
            return answer.status, json.loads(answer.body)
        assert answer_for(gone) == (410, {"reason": "Unregistered", "timestamp": 1700000000000})
        assert answer_for(expired) == (410, {"reason": "ExpiredToken", "timestamp": 5000})
        assert answer_for(listed) == (410, {"reason": "Unregistered", "timestamp": 1234567890000})
        assert client.push() == (200, None)
        tuples = exchange(simulator.connect(simulator.feedback))[0]
        assert len(tuples) == 3 * 38 and tuples[6:38] == listed
        # The feedback service having listed it changes nothing here.
        assert answer_for(gone)[0] == 410
        simulator.control("DELETE", "/unregistered")
        assert client.push(token=gone) == (200, None)
    status, answer = simulator.control("POST", "/unregistered", {"token": "ab", "reason": "BadPath"})
    assert (status, answer["error"]) == (400, "body:1:27: reason: expected Unregistered or ExpiredToken")


# Third-party clients.


def test_curl(simulator):
    url = f"https://127.0.0.1:{simulator.ready['http2_port']}/3/device/{TOKEN.hex()}"

    def curl(*options):
        ran = subprocess.run(
            ["curl", "--silent", "--show-error", "--http2", "--cacert", simulator.ready["ca"], "-d", PAYLOAD, *options,
             "-w", "\n%{http_code} %{http_version}", url], check=True, capture_output=True, text=True)
        return ran.stdout.split("\n")

    assert curl("--cert", simulator.ready["provider"]) == ["", "200 2"]
    assert curl() == ['{"reason":"MissingProviderToken"}', "403 2"]
    token = ["-H", f"authorization: bearer {jwt(simulator)}", "-H", f"apns-topic: {TOPIC}"]
    assert curl(*token) == ["", "200 2"]


def test_httpx(shared):
    httpx = pytest.importorskip("httpx", reason="Python has no httpx")
    simulator = shared()
    with httpx.Client(http2=True, verify=context(simulator)) as client:
        for number in range(20):
            answer = client.post(
                f"https://127.0.0.1:{simulator.ready['http2_port']}/3/device/{TOKEN.hex()}", content=PAYLOAD,
                headers={"apns-id": UUID, "apns-collapse-id": "x" * (64 + number % 2)})
            assert (answer.http_version, answer.headers["apns-id"]) == ("HTTP/2", UUID)
            assert (answer.status_code, answer.text) == (
                (400, '{"reason":"BadCollapseId"}') if number % 2 else (200, ""))
    assert (simulator.totals()["accepted"]) == 10


def test_h2load(shared):
    if not shutil.which("h2load"):
        pytest.skip("there is no h2load")
    simulator = shared()
    ran = subprocess.run(
        ["h2load", "-n", "1000", "-c", "2", "-m", "100", "-d", simulator.ready["ca"],
         "-H", f"authorization: bearer {jwt(simulator)}", "-H", f"apns-topic: {TOPIC}",
         f"https://127.0.0.1:{simulator.ready['http2_port']}/3/device/{TOKEN.hex()}"],
        check=True, capture_output=True, text=True, timeout=240)
    assert "1000 total, 1000 started, 1000 done, 1000 succeeded" in ran.stdout, ran.stdout


def test_the_page_s_curl(simulator, tmp_path):
    """The command that it prints to paste."""
    (command,) = re.findall(r"^curl --http2 .*(?:\n  .*)*", (ROOT / "Documentation/SIMULATOR.md").read_text(), re.MULTILINE)
    directory = simulator.ready["certificates"]
    command = command.replace("simulator-certificates", directory).replace(":8443", f":{simulator.ready['http2_port']}")
    ran = subprocess.run(command + " --silent --include", shell=True, check=True, capture_output=True, text=True)
    assert ran.stdout.startswith("HTTP/2 200")


def test_both_protocols_at_once(simulator, tmp_path):
    with Client(simulator) as client:
        assert client.push() == (200, None)
        assert exchange(simulator.connect(), enhanced(1) + enhanced(2, b""))[0] == error(2, 2)
    totals = simulator.totals()
    assert (totals["accepted"], totals["duplicates"], totals["statuses"]) == (2, 1, {"2": 1})
