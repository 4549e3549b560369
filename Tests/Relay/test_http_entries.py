"""`POST /v1/apps/APP/entries`: batches of entries, which are in the queue with the response."""

import json
import shutil
import signal
import socket
import subprocess
import time

import pytest
from relaying import DEADLINE, pushes, token, wait_until
from test_http_listener import TOPIC, h2_frame, h2_header, listener  # noqa: F401

PATH = "/v1/apps/shop/entries"
PAYLOAD = {"aps": {"alert": "Hello"}}
JSON, LINES = "application/json", "application/x-ndjson"


def entry(number, **fields):
    return {"id": f"order-{number}", "token": token(number), "payload": PAYLOAD} | fields


def post(one, entries, path=PATH, content_type=JSON, **arguments):
    """Returns the status and the JSON of the response."""
    body = entries
    if not isinstance(body, (str, bytes)):
        body = json.dumps(entries) if content_type == JSON else "".join(json.dumps(line) + "\n" for line in entries)
    return one.ask("POST", path, body, content_type=content_type, **arguments)[:2]


def test_a_batch_is_in_the_queue_with_its_response(start, listener, shared):
    simulator = start()
    one = listener(simulator, queue=shared)
    assert post(one, [entry(1), entry(2)]) == (201, {"added": 2, "known": 0})
    # A producer without a response repeats the batch.
    assert post(one, [entry(1), entry(2)]) == (200, {"added": 0, "known": 2})
    assert post(one, [entry(2), entry(3), entry(3)]) == (201, {"added": 1, "known": 2})
    one.relay.wait_done()
    assert sorted(push["token"] for push in pushes(simulator)) == [token(1), token(2), token(3)]
    # An ID stays known by its outcome.
    assert post(one, [entry(1)]) == (200, {"added": 0, "known": 1})
    assert post(one, []) == (200, {"added": 0, "known": 0})
    assert post(one, "", content_type=LINES) == (200, {"added": 0, "known": 0})


def test_each_field(start, listener, shared):
    simulator = start()
    one = listener(simulator, queue=shared)
    later = int(time.time()) + 3600
    entries = [
        entry(1, topic=TOPIC, push_type="background", priority=5, expiry=later, collapse_id="c", deadline=later,
              lane="urgent", campaign="sale", due=None),
        # Where a placeholder makes the payload no JSON, it is a text.
        {"id": "list", "payload": '{"aps":{"alert":"Hello {{name}}","badge":{{count}}}}', "lane": "bulk",
         "tokens": [{"token": token(2), "name": "Zoë", "count": 2}, {"token": token(3), "name": "Max", "count": 3}]},
        {"id": "plain", "payload": PAYLOAD, "tokens": [token(4), token(5).upper()]},
    ]
    assert post(one, json.dumps(entries), content_type=LINES) == (400, {
        "reason": "BadEntry", "index": 0, "message": "expected an object, at byte 1", "added": 0})
    text = "\r\n".join(json.dumps(line) for line in entries) + "\r\n\r\n"
    assert post(one, text, content_type="application/x-ndjson; charset=utf-8") == (201, {"added": 3, "known": 0})
    one.relay.wait_done()
    got = {push["token"]: push for push in pushes(simulator)}
    assert set(got) == {token(n) for n in range(1, 6)}
    first = got[token(1)]
    assert (first["topic"], first["push_type"], first["priority"], first["expiration"], first["collapse_id"]) == (
        TOPIC, "background", "5", str(later), "c")
    assert json.loads(got[token(3)]["payload"]) == {"aps": {"alert": "Hello Max", "badge": 3}}
    waits = int(time.time() * 1000) + 3_000_000
    assert post(one, [entry(9, due=waits)])[0] == 201
    assert not shared.is_empty()


@pytest.mark.parametrize("field, value, words", [
    ("id", None, "missing"), ("id", "", "empty"), ("id", "x" * 65, "1 to 64"), ("id", 7, "not a string"), ("id", "a\u0000b", "control"),
    ("token", "xyz", "hex"), ("token", None, "give one of token, tokens and channel"), ("tokens", [token(1)], "give one of"),
    ("payload", None, "missing"), ("payload", [1], "an object"), ("payload", "{", "not a JSON object"),
    ("payload", {"aps": {}, "x": "y" * 4096}, "limit is 4096"),
    ("topic", "com.example.other", "not the app's"), ("push_type", "strange", "no push type"), ("priority", 7, "10, 5 or 1"),
    ("priority", "10", "whole number"), ("expiry", -1, "from 0 on"), ("expiry", 1.5, "whole number"), ("deadline", True, "whole number"),
    ("collapse_id", "x" * 65, "limit is 64"), ("lane", "fast", "urgent, normal or bulk"), ("campaign", "x" * 65, "1 to 64"),
    ("due", 1_800_000_000, "milliseconds"), ("due", 10**15, "a year ahead"), ("app", "shop", "unknown field"),
    ("traceparent", "00-0", "not a traceparent"), ("traceparent", 7, "not a string"),
])
def test_an_invalid_entry_refuses_the_batch(start, listener, queue, field, value, words):
    one = listener(start())
    status, told = post(one, [entry(1), entry(2, **{field: value}), entry(3)])
    assert (status, told["reason"], told["index"], told["added"]) == (400, "BadEntry", 1, 0), told
    assert words in told["message"], told
    assert told["field"] == ("token" if "give one" in words else field)
    assert queue.entries_so_far() == 0


def test_invalid_lists_and_broadcasts(start, listener, queue):
    one = listener(start())
    several = {"id": "a", "payload": '{"aps":{"alert":"{{name}}"}}'}
    channel = {"id": "b", "payload": PAYLOAD, "channel": "dGVzdA=="}
    for given, field, words in [
        (several | {"tokens": [token(1)]}, "tokens", "at position 0: {{name}} is missing"),
        (several | {"tokens": [{"token": token(1), "name": "x"}, {"token": "xyz", "name": "y"}]}, "tokens", "at position 1"),
        (several | {"tokens": [{"name": "x"}]}, "tokens", '"token" is missing'),
        (several | {"tokens": [{"token": token(1), "name": "x" * 4096}]}, "payload", "limit is 4096"),
        (several | {"tokens": []}, "tokens", "1 to 1000"),
        (several | {"tokens": [{"token": token(n), "name": "x"} for n in range(1001)]}, "tokens", "1 to 1000"),
        (several | {"tokens": "all"}, "tokens", "an array"),
        (channel | {"channel": "?"}, "channel", "base64"),
        (channel | {"push_type": "alert"}, "push_type", "liveactivity"),
        (channel | {"collapse_id": "c"}, "collapse_id", "broadcast"),
    ]:
        status, told = post(one, [given])
        assert (status, told["index"], told["field"]) == (400, 0, field) and words in told["message"], told
    status, told = post(one, '[{"id":"a","id":"b"}]')
    assert (status, told["field"], told["message"]) == (400, "id", "id appears twice")
    for text in "", "{}", "[{]", "[" + json.dumps(entry(1)) + "] x", b"[\"\xff\"]":
        status, told = post(one, text)
        assert (status, told["reason"], told["added"]) == (400, "BadBatch", 0), told
    status, told = post(one, [entry(n) for n in range(1001)])
    assert (status, told["message"]) == (400, "there are more than 1000 entries")
    assert queue.entries_so_far() == 0


def test_what_else_is_refused(start, listener):
    one = listener(start())
    status, told, headers = one.ask("GET", PATH)
    assert (status, told["reason"], headers["allow"]) == (405, "MethodNotAllowed", "POST")
    assert headers["apns-request-id"]
    for path, expected in [("/v1/apps/news/entries", (404, "UnknownApp")), ("/v1/apps/shop/entry", (404, "BadPath"))]:
        status, told = post(one, [entry(1)], path=path)
        assert (status, told["reason"]) == expected
    for kind in "", "text/plain", "application/x-www-form-urlencoded":
        status, told = post(one, "[]", content_type=kind)
        assert (status, told["reason"]) == (415, "UnsupportedMediaType") and "application/x-ndjson" in told["message"]
    # An app may have such a name.
    assert post(one, [entry(1)], path="/v1/apps/%73hop/entries?x=y")[0] == 201


def test_tokens_name_their_apps(start, listener, tmp_path):
    file = tmp_path / "authorization"
    one_apps, all_apps = "secret-of-one-app-0001", "secret-of-all-apps-0002"
    file.write_text(f"{one_apps} shop\n{all_apps} *\n")
    simulator = start()
    listening = listener(simulator, listener={"authorization_file": str(file)})
    relay = listening.relay
    relay.write(apps={"shop": {}, "news": {"topic": "com.example.news"}})
    relay.signal(signal.SIGHUP)
    relay.wait_said("reloaded, with 2 apps")

    def status(secret, app, **fields):
        authorization = {"authorization": f"Bearer {secret}"} if secret else {}
        said, told = post(listening, [entry(1, **fields)], path=f"/v1/apps/{app}/entries", **authorization)
        return said, told.get("reason"), told.get("field")

    assert status(one_apps, "shop") == (201, None, None)
    assert status(one_apps, "news") == status(one_apps, "none") == (403, "Forbidden", None)
    assert status(all_apps, "news") == (201, None, None)
    assert status(all_apps, "none") == (404, "UnknownApp", None)
    # An app's entries have its topics.
    assert status(one_apps, "shop", topic="com.example.news") == (400, "BadEntry", "topic")
    assert status("secret-of-nobody-0003", "shop") == (403, "InvalidProviderToken", None)
    assert status(None, "shop") == (403, "MissingProviderToken", None)
    assert "secret-of" not in relay.log.read_text()


def test_a_listener_of_one_app(start, listener):
    one = listener(start(), listener={"app": "shop"})
    assert post(one, [entry(1)])[0] == 201
    status, told = post(one, [entry(1)], path="/v1/apps/news/entries")
    assert (status, told["reason"]) == (403, "Forbidden")


def large(bytes):
    """A batch of this many bytes, at least, in entries as large as they may be."""
    payload = {"aps": {"alert": "x" * 3900}}
    return json.dumps([entry(n, payload=payload) for n in range(bytes // 4000)])


def test_large_batches(start, listener):
    one = listener(start(), app={"limits": {"per_second": 1}})
    assert post(one, large(3_500_000)) == (201, {"added": 875, "known": 0})
    status, told = post(one, " " * 4_200_000)
    assert (status, told["reason"], told["message"]) == (413, "PayloadTooLarge", "the body has more than 4194304 bytes")
    # A client without permission gets no room for its entries.
    status, told = post(one, large(100_000), path="/v1/apps/news/entries")
    assert (status, told["reason"]) == (404, "UnknownApp")
    # The connection is read on after a large batch.
    connection = one.connection()
    for _ in range(3):
        assert post(one, large(1_000_000), connection=connection)[0] == 200
    assert one.push(token(1), connection=connection, prefer="respond-async")[0] == 202
    connection.close()


def test_the_memory_for_bodies_is_limited(start, listener):
    """Clients that begin many large batches and do not end them."""
    one = listener(start())
    body = b" " * 4_000_000
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\nContent-Length: 4100000\r\n\r\n".encode()
    silent = []
    for _ in range(8):
        silent.append(socket.create_connection(("127.0.0.1", one.port), timeout=DEADLINE))
        silent[-1].sendall(head + body)

    def refused():
        status, told = post(one, large(2_000_000))
        return (status, told.get("reason")) == (503, "ServiceUnavailable")

    wait_until(refused, "the bodies have no limit")
    assert one.push(token(1))[0] == 200
    assert one.relay.memory(most=True) < 250_000
    for sock in silent:
        sock.close()
    wait_until(lambda: not refused(), "the room is not given back")


def test_over_a_socket_and_http_2(start, listener, tmp_path):
    simulator = start()
    one = listener(simulator, listener={"socket": str(tmp_path / "listener.socket")})
    assert post(one, [entry(1)]) == (201, {"added": 1, "known": 0})
    one.relay.wait_done()
    common = b"".join(h2_header(name.encode(), value.encode()) for name, value in [
        (":method", "POST"), (":scheme", "http"), (":path", PATH), (":authority", "localhost"), ("content-type", JSON)])
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(DEADLINE)
        sock.connect(str(tmp_path / "listener.socket"))
        sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2_frame(4, 0, 0))
        sock.sendall(h2_frame(1, 4, 1, common) + h2_frame(0, 1, 1, json.dumps([entry(1), entry(2)]).encode()))
        got = b""
        while b'{"added":1,"known":1}' not in got:
            got += sock.recv(65536)


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not here")
def test_curl_uploads_a_file_over_http_2(start, listener, tmp_path):
    one = listener(start(), app={"limits": {"per_second": 1}})
    file = tmp_path / "batch.json"
    file.write_text(large(2_000_000))
    ran = subprocess.run(
        ["curl", "-sS", "--http2-prior-knowledge", "-H", f"content-type: {JSON}", "--data-binary", f"@{file}",
         f"http://127.0.0.1:{one.port}{PATH}"], capture_output=True, text=True, timeout=DEADLINE)
    assert json.loads(ran.stdout) == {"added": 500, "known": 0}, ran.stderr


def test_what_has_a_response_survives_a_kill(start, listener, shared):
    simulator = start(faults={"answer_delay_ms": [200, 400]})
    one = listener(simulator, queue=shared, settings={"lease": "1s"})
    for part in range(5):
        batch = [entry(n) for n in range(20 * part, 20 * part + 20)]
        assert post(one, batch, content_type=LINES) == (201, {"added": 20, "known": 0})
    one.relay.kill()
    one.start()
    one.relay.wait_done()
    assert {identifier for identifier, *_ in shared.outcomes()} == {f"order-{n}" for n in range(100)}
    assert shared.counts() == {"accepted": 100}


def test_an_urgent_entry_wakes_the_worker(start, listener):
    one = listener(start())
    one.relay.wait_ready()
    begun = time.monotonic()
    assert post(one, [entry(1, lane="urgent")])[0] == 201
    one.relay.wait_done()
    assert time.monotonic() - begun < 5


def test_a_full_queue_adds_nothing(start, listener, server):
    from redis_queue import RedisQueue

    queue = RedisQueue(server)
    one = listener(start(), queue=queue)
    server.kill()
    status, told = post(one, [entry(1)])
    assert (status, told["reason"]) == (503, "ServiceUnavailable")
