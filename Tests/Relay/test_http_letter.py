"""Details of the HTTP listener: offered upgrades, hosts and origins, headers, and the owner of a topic."""

import contextlib
import json
import signal
import socket
import ssl
import struct
import subprocess
import threading
import uuid

import pytest
from relaying import relay_program, pushes, token
from test_http_listener import CHUNKED, LENGTH, PAYLOAD, TOPIC, listener, h2_frame, h2_header, read_answers, request  # noqa: F401

PUSH = f"/3/device/{token(1)}"
OFFER = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"


def raw(one, *requests, count=None):
    """Returns the responses to requests that are written together to one connection."""
    with one.socket() as sock:
        sock.sendall(b"".join(requests))
        return read_answers(sock, count or len(requests))


def post(headers="Host: localhost\r\n", target=PUSH, version="1.1", payload=PAYLOAD):
    return f"POST {target} HTTP/{version}\r\nContent-Length: {len(payload)}\r\n{headers}\r\n".encode() + payload


def streams(one, *requests):
    """Returns the responses to HTTP/2 requests, each as status, reason and headers; None if it was reset."""
    hpack = pytest.importorskip("hpack", reason="Python has no hpack")
    start = [(":method", "POST"), (":scheme", "http")]
    with one.socket() as sock:
        sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2_frame(4, 0, 0))
        for number, headers in enumerate(requests):
            block = b"".join(h2_header(name.encode(), value.encode()) for name, value in start + headers)
            sock.sendall(h2_frame(1, 4, 2 * number + 1, block) + h2_frame(0, 1, 2 * number + 1, PAYLOAD))
        decoder, answers, frames, reader = hpack.Decoder(), {}, [], sock.makefile("rb")
        heads, bodies = {}, {}
        while len(answers) < len(requests):
            head = reader.read(9)
            body, kind, flags, (stream,) = reader.read(int.from_bytes(head[:3], "big")), head[3], head[4], struct.unpack("!I", head[5:])
            if kind == 3:
                answers[stream] = None
            elif kind == 1:
                heads[stream] = dict(decoder.decode(body))
            elif kind == 0:
                assert body, "an empty frame of data"
                bodies[stream] = body
            if kind in (0, 1) and flags & 1:
                said = json.loads(bodies[stream])["reason"] if stream in bodies else None
                answers[stream] = (int(heads[stream][":status"]), said, heads[stream])
        return [answers[stream] for stream in sorted(answers)]


def h2_push(*headers, path=PUSH):
    return [(":path", path), *headers]


# MARK: Upgrades


def test_an_offered_upgrade_is_ignored(start, listener):
    """Everything after it is read: similar-looking bodies, chunks, pipelined requests, in any pieces."""
    simulator = start()
    one = listener(simulator)
    lines = b'{"aps":{"alert":"Hello"},\n"x":\n1,\r\nupgrade:2,\nUpgrade: h2c\r\n}'
    chunked = (
        f"POST {PUSH} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n{OFFER}\r\n".encode()
        + CHUNKED[:-2] + b"Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n")
    offers = [
        post("Host: localhost\r\n" + OFFER), post("Host: localhost\r\nuPGRADE:h2c\r\nconnection:\tupgrade\r\n"), chunked,
        post("upgrade: websocket\r\nUpgrade: h2c\r\nHost: localhost\r\nProxy-Connection: upgrade\r\n"),
        post("Host: localhost\r\nUpgraded: no\r\nUp: " + "u" * 9 + "\r\nConnection: Upgrade\r\n"),
        f"GET {PUSH} HTTP/1.1\r\nHost: localhost\r\n{OFFER}\r\n".encode(), post(),
    ]
    wanted = [200, 200, 200, 200, 200, 405, 200]
    assert [status for status, *_ in raw(one, *offers)] == wanted
    whole = b"".join(offers)
    with one.socket() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for size in 1, 3, 7, 64:
            for place in range(0, len(whole), size):
                sock.sendall(whole[place : place + size])
            assert [status for status, *_ in read_answers(sock, len(offers))] == wanted, size
    # Lines of a body are not headers.
    one.relay.queue.rows("CREATE TABLE seen (payload)")
    one.relay.queue.rows("CREATE TRIGGER seen AFTER INSERT ON entries BEGIN INSERT INTO seen VALUES (NEW.payload); END")
    assert raw(one, post("Host: localhost\r\n" + OFFER, payload=lines), post())[1][0] == 200
    assert {payload.encode() for payload, in one.relay.queue.rows("SELECT payload FROM seen")} == {lines, PAYLOAD}
    # CONNECT is not supported, and ends the connection.
    with one.socket() as sock:
        sock.sendall(b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n" + post())
        (status, headers, _), = read_answers(sock, 1)
        assert (status, headers["connection"]) == (400, "close") and sock.recv(1) == b""


def test_a_word_before_the_body(start, listener):
    """100 Continue comes when it is the request's turn, and never with HTTP/1.0."""
    one = listener(start())
    with one.socket() as sock:
        first, second = post(), post("Host: localhost\r\nExpect: 100-Continue\r\n" + OFFER)
        head = second[: -len(PAYLOAD)]
        sock.sendall(first + head)
        answers = sock.makefile("rb")
        lines = []
        while not lines or not lines[-1].startswith(b"HTTP/1.1 100"):
            lines.append(answers.readline())
            assert lines[-1], lines
        assert lines[0].startswith(b"HTTP/1.1 200")
        assert answers.readline() == b"\r\n"
        sock.sendall(PAYLOAD)
        assert read_answers(sock, 1)[0][0] == 200
    with one.socket() as sock:
        sock.sendall(post("Expect: 100-continue\r\n", version="1.0"))
        assert sock.recv(100).startswith(b"HTTP/1.0 200")


# MARK: Hosts and origins


HOSTS = [
    ("Host: localhost\r\n", 200), ("host:127.0.0.1:80\r\n", 200), ("HOST: LocalHost:8200 \r\n", 200), ("Host: [::1]:1\r\n", 200), ("Host: 127.9.9.9\r\n", 200),
    ("", 400), ("Host:\r\n", 400), ("Host: localhost\r\nHost: localhost\r\n", 400), ("Host: localhost\r\nhost: evil.example\r\n", 400),
    ("Host: localhost, evil.example\r\n", 400), ("Host: a@localhost\r\n", 400), ("Host: localhost:+80\r\n", 400), ("Host: localhost:99999\r\n", 400),
    ("Host: local host\r\n", 400), ("Host: localhost/\r\n", 400), ("Host: http://localhost\r\n", 400),
    ("Host: evil.example\r\n", 421), ("Host: evil.example:8200\r\n", 421), ("Host: localhost.evil.example\r\n", 421), ("Host: 127.0.0.1.evil.example\r\n", 421),
    ("Host: 192.0.2.1\r\n", 421), ("Host: 127.0.0.999\r\n", 421), ("Host: [2001:db8::1]\r\n", 421),
]
TARGETS = [
    (f"http://127.0.0.1{PUSH}", 200), (f"HTTP://localhost:8200{PUSH}?a=http://b", 200), (f"http://evil.example{PUSH}", 421), (f"https://localhost{PUSH}", 421),
    (f"http://a@localhost{PUSH}", 400), (f"http://{PUSH}", 400), (PUSH[1:], 400), ("http://localhost", 404), ("*", 404),
]


def test_which_hosts_are_asked_for(start, listener):
    """A page with a name that leads here by DNS sends its own name; proxies and HTTP/1.1 clients may send the absolute form."""
    simulator = start()
    one = listener(simulator)
    for headers, wanted in HOSTS:
        (status, answered, told), = raw(one, post(headers))
        assert status == wanted, headers
        assert uuid.UUID(answered["apns-id"]), headers
    for target, wanted in TARGETS:
        assert raw(one, post(target=target))[0][0] == wanted, target
    # With HTTP/1.0 the host is optional, but it is checked.
    assert [raw(one, post(headers, version="1.0"))[0][0] for headers in ("", "Host: localhost\r\n", "Host: evil.example\r\n")] == [200, 200, 421]
    taken = sum(wanted == 200 for _, wanted in HOSTS + TARGETS) + 2
    assert len(pushes(simulator)) == one.relay.queue.entries_so_far() == taken
    # Requests about channels have the same checks.
    for headers, wanted in (b"Host: evil.example\r\n", 421), (b"Host: localhost\r\nOrigin: http://localhost\r\n", 403), (b"Host: localhost\r\nSec-Fetch-Site: same-site\r\n", 403):
        assert raw(one, f"GET /1/apps/{TOPIC}/all-channels HTTP/1.1\r\n".encode() + headers + b"\r\n")[0][0] == wanted


def test_hosts_of_http_2(start, listener):
    simulator = start()
    one = listener(simulator)
    local, evil = (":authority", "localhost:80"), (":authority", "evil.example")
    wanted = [
        (h2_push(local), 200), (h2_push(("host", "localhost")), 200), (h2_push(local, ("host", "localhost:80")), 200), (h2_push(local, ("te", "trailers")), 200),
        (h2_push(), 400), (h2_push(("host", "")), 400), (h2_push(local, ("host", "evil.example")), 400), (h2_push(local, ("host", "localhost:80"), ("host", "localhost:80")), 400),
        (h2_push(("host", "localhost"), ("host", "localhost")), 400), (h2_push(local, ("content-length", f"+{len(PAYLOAD)}")), 400),
        (h2_push(evil), 421), (h2_push(("host", "evil.example")), 421), (h2_push(local, ("te", "gzip")), None), (h2_push(local, ("upgrade", "h2c")), None),
        (h2_push(local, path="http://localhost" + PUSH), 400), (h2_push(local, path=PUSH[1:]), 400),
    ]
    answers = streams(one, *(headers for headers, _ in wanted))
    assert [answer and answer[0] for answer in answers] == [status for _, status in wanted]
    assert all(uuid.UUID(answer[2]["apns-id"]) for answer in answers if answer)
    assert len(pushes(simulator)) == 4


def test_a_unix_socket_has_any_host(start, listener, tmp_path):
    path = str(tmp_path / "listener.socket")
    one = listener(start(), listener={"socket": path})
    for headers, wanted in ("Host: relay.example\r\n", 200), ("Host:\r\n", 200), ("", 400), ("Host: a\r\nHost: a\r\n", 400):
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as sock:
            sock.connect(path)
            sock.sendall(post(headers))
            assert read_answers(sock, 1)[0][0] == wanted, headers


def test_beyond_this_machine_it_is_told_what_that_means(start, listener, tmp_path):
    file = tmp_path / "tokens"
    file.write_text("a-secret-that-is-long-enough\n")
    one = listener(start(), listener={"host": "0.0.0.0", "authorization_file": str(file)})
    assert "without TLS" in one.relay.said("listeners.web: 0.0.0.0 is reachable from other machines")[0]["message"]
    assert one.push(token(1), authorization="Bearer a-secret-that-is-long-enough", host="relay.example")[0] == 200
    assert one.push(token(1), host="relay.example")[1]["reason"] == "MissingProviderToken"
    settings = json.loads(one.relay.file.read_text())
    settings["status"]["host"] = "0.0.0.0"
    one.relay.file.write_text(json.dumps(settings))

    def check():
        return subprocess.run([relay_program(), "--config", one.relay.file, "--check", "--offline"], capture_output=True, text=True)

    ran = check()
    assert ran.returncode == 0 and "warning: listeners.web: 0.0.0.0 is reachable from other machines" in ran.stdout, ran
    assert "warning: status: 0.0.0.0 is reachable from other machines" in ran.stdout
    # --check also reports an invalid list.
    file.write_text("a-secret-that-is-long-enough other\n")
    ran = check()
    assert ran.returncode == 1 and f"listeners.web: {file}:1: there is no app 'other'" in ran.stdout, ran


# MARK: Headers


def test_headers_by_the_letter(start, listener):
    simulator = start()
    one = listener(simulator)
    for header, values, status, reason in (
        ("apns-expiration", ["+5", "-0", "", "5 5", "0x5", "5.0", "٥", "99999999999999999999"], 400, "BadExpirationDate"),
        ("apns-priority", ["+10", "010", "", "10.0", "5,10"], 400, "BadPriority"), ("apns-id", ["1", "{" + str(uuid.uuid4()) + "}"], 400, "BadMessageId"),
        ("apns-push-type", ["Alert", "", "alert,alert"], 400, "InvalidPushType"), ("apns-collapse-id", [""], 400, "BadCollapseId"),
        ("apns-topic", ["", TOPIC.upper(), TOPIC + ".", TOPIC + "."], 400, "TopicDisallowed"), ("content-encoding", ["gzip", "identity, gzip"], 415, "UnsupportedMediaType"),
    ):
        for value in values:
            (said, headers, told), = raw(one, post(f"Host: localhost\r\n{header}: {value}\r\n"))
            assert (said, told["reason"]) == (status, reason), (header, value)
            assert uuid.UUID(headers["apns-id"])
    (said, _, told), = raw(one, f"POST {PUSH} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n".encode() + CHUNKED)
    assert (said, told["reason"]) == (501, "NotImplemented")
    # A duplicate header is refused, even with equal values.
    for header, values in (
        ("relay-app", ["shop", "other"]), ("relay-app", ["shop", "shop"]), ("authorization", ["a", "b"]), ("apns-topic", [TOPIC] * 2), ("apns-channel-id", ["a", "b"]),
        ("apns-id", [str(uuid.uuid4())] * 2),
    ):
        (said, headers, told), = raw(one, post("Host: localhost\r\n" + "".join(f"{header}: {value}\r\n" for value in values)))
        assert (said, told["reason"]) == (400, "DuplicateHeaders") and uuid.UUID(headers["apns-id"]), header
    # Invalid UTF-8 is refused, and not replaced.
    for header in b"apns-collapse-id", b"apns-topic", b"relay-app":
        (said, _, told), = raw(one, post().replace(b"\r\n\r\n", b"\r\n" + header + b": \xff\r\n\r\n"))
        assert (said, told["reason"]) == (400, "BadRequest"), header
    assert one.relay.queue.entries_so_far() == 0
    # An invalid preference is ignored, and so are blanks around a value.
    assert raw(one, post("Host: localhost\r\nPrefer: wait=+0\r\nTE: trailers, gzip\r\nConnection: TE\r\n"))[0][0] == 200
    assert raw(one, post("Host: localhost\r\napns-priority:10\r\napns-expiration:\t0 \r\napns-id:  " + str(uuid.uuid4()) + " \t\r\n"))[0][0] == 200


def test_each_answer_names_its_request(start, listener):
    """The response has the client's ID exactly as written, or a new one."""
    simulator = start()
    one = listener(simulator)
    id = str(uuid.uuid4()).upper()
    for said in (
        one.push(token(1), apns_id=id), one.push("zz", apns_id=id), one.ask("GET", PUSH, apns_id=id), one.ask("POST", "/", PAYLOAD, apns_id=id),
        one.push(token(1), b"x" * 5000, apns_id=id), one.push(token(1), b"x" * 20_000, apns_id=id), one.push(token(1), apns_id=id, origin="http://a"),
        one.push(token(2), apns_id=id), one.push(token(1), apns_id=id, host="evil.example"),
    ):
        assert said[2].get_all("apns-id") == [id], said
    for path in f"/1/apps/{TOPIC}x/all-channels", f"/4/broadcasts/apps/{TOPIC}":
        assert one.ask("GET", path, apns_request_id=id)[2].get_all("apns-request-id") == [id]
        assert uuid.UUID(one.ask("GET", path)[2]["apns-request-id"])
    for noise, wanted in (b"junk\r\n\r\n", 400), (post("a: " + "b" * 100_000 + "\r\n"), 431), (post("a: b\r\n" * 300), 431):
        (status, headers, _), = raw(one, noise)
        assert status == wanted and uuid.UUID(headers["apns-id"])
    assert len(pushes(simulator)) == 1
    # Requests that are refused unread are counted too.
    assert one.relay.metric('apns_relay_listener_responses_total{listener="web",status="413"}') == 2


class OddChannels:
    """A channel service that responds with 200 and an unreadable body."""

    def __init__(self, directory, bodies):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(f"{directory}/server.pem", f"{directory}/server.key")
        self.context.set_alpn_protocols(["h2"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.place = {"host": "127.0.0.1", "port": self.listener.getsockname()[1]}
        self.bodies = iter(bodies)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        import h2.config
        import h2.connection
        import h2.events
        for status, body in self.bodies:
            plain, _ = self.listener.accept()
            with contextlib.suppress(OSError), self.context.wrap_socket(plain, server_side=True) as sock:
                connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
                connection.initiate_connection()
                sock.sendall(connection.data_to_send())
                while data := sock.recv(65536):
                    for event in connection.receive_data(data):
                        if isinstance(event, h2.events.StreamEnded):
                            connection.send_headers(event.stream_id, [(":status", status)], end_stream=not body)
                            if body:
                                connection.send_data(event.stream_id, body, end_stream=True)
                    sock.sendall(connection.data_to_send())


def test_an_answer_that_cannot_be_read_is_no_200(start, listener):
    pytest.importorskip("h2", reason="Python has no h2")
    simulator = start()
    asked = [("GET", "channels"), ("GET", "all-channels"), ("POST", "channels"), ("GET", "channels"), ("GET", "channels"), ("GET", "channels")]
    odd = OddChannels(simulator.ready["certificates"], [
        ("200", b"{"), ("200", b'{"channels":7}'), ("201", b""), ("200", b'{"message-storage-policy":7,"push-type":"LiveActivity"}'),
        ("200", b'{"message-storage-policy":1,"push-type":"Postcard"}'), ("302", b"")])
    one = listener(simulator, app={"channels": odd.place})
    for method, what in asked:
        body = json.dumps({"message-storage-policy": 1, "push-type": "LiveActivity"}) if method == "POST" else None
        status, told, _ = one.ask(method, f"/1/apps/{TOPIC}/{what}", body, **({} if method == "POST" else {"apns_channel_id": "dHN0LXNyY2gtY2hubA=="}))
        assert (status, told["reason"]) == (502, "Unknown"), (method, what, told)


# MARK: Owner of a topic


def two_apps(one, simulator, **more):
    """The app shop with com.example.app, and others."""
    one.relay.write({"shop": {}, **more})
    one.relay.signal(signal.SIGHUP)
    one.relay.wait_said(f"reloaded, with {1 + len(more)} apps")


def test_a_topic_is_one_apps(start, listener):
    """A topic is the app's own, or derived from it by Apple's rules. An exact topic of another app is that app's."""
    # No outcome arrives before the response.
    simulator = start(faults={"no_answer": 1})
    one = listener(simulator)
    two_apps(one, simulator, voip={"topic": TOPIC + ".voip"}, live={"topic": TOPIC + ".push-type.liveactivity"}, other={"topic": "com.example.other"})

    def owner(topic, **headers):
        id = str(uuid.uuid4())
        status, told, _ = one.push(token(1), apns_topic=topic, apns_id=id, prefer="respond-async", **headers)
        if status == 202:
            return one.relay.queue.value("SELECT app FROM (SELECT app, id FROM entries UNION SELECT app, id FROM outcomes) WHERE id = ?", id)
        return told["reason"]

    no = "TopicDisallowed"
    for topic, app in (
        (TOPIC, "shop"), (TOPIC + ".voip", "voip"), (TOPIC + ".push-type.liveactivity", "live"), (TOPIC + ".complication", "shop"), (TOPIC + ".push-type.widgets", "shop"),
        (TOPIC + ".voip.complication", "voip"), ("com.example.other", "other"), (TOPIC + ".bank", no), (TOPIC + "x", no), ("com.example", no), (TOPIC + ".voip-ptt", "shop"),
    ):
        assert owner(topic) == app, topic
    # Naming the app gives the same result.
    assert owner(TOPIC, relay_app="shop") == "shop" and owner(TOPIC, relay_app="other") == no == owner(TOPIC + ".voip", relay_app="shop")
    assert owner("com.example.other", relay_app="nobody") == no
    # A channel is the app's with the bundle ID as its topic.
    for bundle, app in (TOPIC, "other"), (TOPIC + ".push-type.liveactivity", None), ("com.example", None), ("com.example.other", "shop"), (TOPIC + ".voip", "shop"):
        status, told, _ = one.ask("GET", f"/1/apps/{bundle}/all-channels", **({"relay_app": app} if app else {}))
        assert (status, told["reason"]) == (400, no), bundle


def test_a_listener_of_one_app_is_of_no_other(start, listener):
    simulator = start()
    one = listener(simulator, listener={"app": "shop"})
    two_apps(one, simulator, other={"topic": "com.example.other"}, voip={"topic": TOPIC + ".voip"})
    assert one.push(token(1))[0] == one.push(token(1), apns_topic=TOPIC)[0] == one.push(token(1), relay_app="shop")[0] == 200
    for headers in {"apns_topic": "com.example.other"}, {"apns_topic": TOPIC + ".voip"}, {"apns_topic": "com.example"}, {"relay_app": "other"}:
        assert one.push(token(1), **headers)[1]["reason"] == "TopicDisallowed", headers
    for bundle in "com.example.other", "com.example", TOPIC + ".voip":
        for method, path in ("GET", f"/1/apps/{bundle}/all-channels"), ("DELETE", f"/1/apps/{bundle}/channels"), ("POST", f"/4/broadcasts/apps/{bundle}"):
            assert one.ask(method, path, apns_channel_id="dHN0LXNyY2gtY2hubA==")[1]["reason"] == "TopicDisallowed", (method, path)
    assert len(pushes(simulator)) == 3


def test_tokens_name_their_apps(start, listener, tmp_path):
    secrets = {name: f"a-secret-for-{name}-that-is-long" for name in ("shop", "other", "both", "all")}
    file = tmp_path / "tokens"
    # If the relay has one app, a token without apps is for that app.
    file.write_text(f"{secrets['shop']}\n")
    simulator = start(faults={"no_answer": 1})
    one = listener(simulator, listener={"authorization_file": str(file)})

    def reason(who, **headers):
        status, told, _ = one.push(token(1), authorization=f"Bearer {secrets[who]}", prefer="respond-async", **headers)
        return told["reason"] if told else status

    def reload(text, times):
        file.write_text(text)
        one.relay.signal(signal.SIGHUP)
        one.relay.wait_said("reloaded, with 2 apps", times)

    assert reason("shop") == 202
    # If it has several, the former list stays in use: a token must not gain rights.
    two_apps(one, simulator, other={"topic": "com.example.other"})
    assert one.relay.said("the token names no app, and the relay has 2") and reason("shop") == 202
    assert reason("shop", apns_topic="com.example.other") == "TopicDisallowed"
    reload(f"{secrets['shop']} shop # no\n", 2)
    assert one.relay.said(f"{file}:1: a line must be a token, a space, and apps")
    reload(f"# who\n{secrets['shop']} shop\n\n{secrets['other']}\tother\n{secrets['both']}  other,shop\n{secrets['all']} *\n", 3)
    for who, own, others in ("shop", 202, "TopicDisallowed"), ("other", "TopicDisallowed", 202), ("both", 202, 202), ("all", 202, 202):
        assert (reason(who, apns_topic=TOPIC), reason(who, apns_topic="com.example.other")) == (own, others), who
        assert reason(who, apns_topic=TOPIC, relay_app="other") == "TopicDisallowed"
    # A request without a topic is for the client's only app, and other apps are not disclosed.
    assert reason("shop") == reason("other") == 202 and reason("both") == "MissingTopic"
    told = one.push(token(1), authorization=f"Bearer {secrets['shop']}", relay_app="other")[1]
    assert told["reason"] == "TopicDisallowed" and "com.example" not in json.dumps(told)
    assert one.ask("GET", f"/1/apps/{TOPIC}/all-channels", authorization=f"Bearer {secrets['other']}")[1]["reason"] == "TopicDisallowed"
    # Two tokens are refused, in either order.
    for first, second in ("shop", "other"), ("other", "shop"):
        both = "".join(f"Authorization: Bearer {secrets[name]}\r\n" for name in (first, second))
        assert raw(one, post("Host: localhost\r\n" + both))[0][2]["reason"] == "DuplicateHeaders"
