"""Webhooks: the relay posts outcomes to a receiver that fails, is slow, goes away, or does not count as the right one."""

import base64
import contextlib
import email.utils
import hashlib
import hmac
import http.server
import json
import random
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest
from redis_queue import Authority
from relaying import DEADLINE, relay_program, token, wait_until
from simulator import ROOT

KEY, OTHER_KEY = bytes(range(32)), bytes(range(40, 72))


def whsec(key):
    return "whsec_" + base64.b64encode(key).decode()


class Receiver:
    """Keeps all requests. `answer` returns a status, with headers or without; None sends no response."""

    def __init__(self, answer=lambda number: 204, port=0, tls=None):
        self.requests, self.times, self.answer, self.tls = [], [], answer, tls
        self.lock = threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                with receiver.lock:
                    number = len(receiver.requests)
                    receiver.requests.append((self.path, dict(self.headers), body))
                    receiver.times.append(time.monotonic())
                said = receiver.answer(number)
                if said is None:
                    return
                status, headers = said if isinstance(said, tuple) else (said, {})
                # The receiver has read it, but may not get as far as this.
                with receiver.lock:
                    receiver.accepted += [body] if 200 <= status < 300 else []
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *words):
                pass

        self.accepted = []
        http.server.ThreadingHTTPServer.daemon_threads = True
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.handle_error = lambda *_: None
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}/outcomes/secret-path?key=secret-query"

    def told(self, key=KEY):
        """Returns the outcomes of all accepted requests, in the order of their arrival. Checks each request."""
        with self.lock:
            requests, accepted = list(self.requests), list(self.accepted)
        for path, headers, body in requests:
            assert path == "/outcomes/secret-path?key=secret-query" and headers["content-type"] == "application/json"
            check(headers, body, key)
        return [row for body in accepted for row in json.loads(body)["data"]["outcomes"]]

    def ids(self):
        with self.lock:
            return [headers["webhook-id"] for _, headers, _ in self.requests]

    def go_away(self):
        """Refuses connections. Returns a socket that keeps its port, which other programs would get."""
        self.close()
        kept = socket.socket()
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", self.port))
        return kept

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def check(headers, body, key):
    at = headers["webhook-timestamp"]
    assert abs(time.time() - int(at)) < DEADLINE + 60
    signed = f"{headers['webhook-id']}.{at}.".encode() + body
    signature = "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    assert signature in headers["webhook-signature"].split(" "), "it is signed by another key"


@pytest.fixture
def receive():
    running = []

    def make(*arguments, **named):
        running.append(Receiver(*arguments, **named))
        return running[-1]

    yield make
    for one in running:
        one.close()


@pytest.fixture
def hook(tmp_path):
    """Returns the webhook of an app."""

    def make(receiver, keys=(KEY,), **settings):
        file = tmp_path / "webhook.secret"
        file.write_text("".join(whsec(key) + "\n" for key in keys) + "# of shop\n")
        return {"webhook": {"url": receiver.url, "secret_file": str(file)} | settings}

    return make


def entries(*numbers):
    return [{"id": f"n-{n}", "token": token(n)} for n in numbers]


def printed(relay, *words):
    """Returns what `apns relay outcomes` prints."""
    ran = subprocess.run(
        [relay_program(), "outcomes", "--json", "--config", relay.file, *words], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def without_repeats(rows):
    """A receiver that remembers what it has got."""
    seen, unique = set(), []
    for row in rows:
        if (name := (row["id"], row["position"])) not in seen:
            seen.add(name)
            unique.append(row)
    return unique


def wait_told(receiver, count, **arguments):
    wait_until(lambda: len(without_repeats(receiver.told(**arguments))) >= count, "the receiver does not get all outcomes")


def test_each_outcome_is_told_once_and_signed(start, relay, shared, receive, hook):
    simulator = start(faults={"bad_tokens": [token(3)]})
    simulator.control("POST", "/unregistered", {"token": token(2)})
    receiver = receive()
    one = relay(simulator, queue=shared, app=hook(receiver, keys=(KEY, OTHER_KEY), batch=4)).start().wait_ready()
    many = {"id": "many", "tokens": json.dumps([token(n) for n in range(10, 30)])}
    shared.add(*entries(1, 2, 3), many)
    wait_told(receiver, 23)
    assert receiver.told(OTHER_KEY) == printed(one)
    status = {row["id"]: (row["outcome"], row["http_status"]) for row in receiver.told()}
    assert status == {"n-1": ("accepted", 200), "n-2": ("rejected", 410), "n-3": ("rejected", 400), "many": ("accepted", 200)}
    assert len(set(receiver.ids())) == len(receiver.ids())
    for _, headers, body in receiver.requests:
        told = json.loads(body)
        assert (told["type"], told["data"]["app"]) == ("outcomes", "shop") and re.fullmatch(r"\d{4}-.*T.*Z", told["timestamp"])
        assert headers["user-agent"].startswith("apns-relay/")
    assert one.metric('apns_relay_webhook_delivered_total{app="shop"}') == 23
    assert one.metric('apns_relay_webhook_failed_total{app="shop"}') == 0
    wait_until(lambda: one.metric('apns_relay_webhook_lag_seconds{app="shop"}') == 0, "the lag stays")
    one.stop()
    text = one.log.read_text()
    assert not [word for word in ("secret-path", "secret-query", whsec(KEY)[6:], "whsec_") if word in text]


def test_only_what_is_wanted(start, relay, shared, receive, hook):
    simulator = start(faults={"bad_tokens": [token(n) for n in range(5)]})
    simulator.control("POST", "/unregistered", {"token": token(10)})
    gone, rejected = receive(), receive()
    one = relay(simulator, queue=shared, app=hook(gone, only="gone")).start().wait_ready()
    shared.add(*entries(*range(20)))
    wait_told(gone, 1)
    wait_until(shared.is_empty, "the queue does not get empty")
    # The reader is behind all outcomes, also those that it does not tell.
    last = str(printed(one)[-1]["number"])
    wait_until(lambda: place(shared) == last, "the reader stays behind")
    assert [row["id"] for row in gone.told()] == ["n-10"] and len(gone.requests) == 1
    one.app = hook(rejected, only=["rejected", "gone", "dead"])
    one.write()
    one.signal(signal.SIGHUP)
    one.wait_said("reloaded")
    shared.add(*({"id": f"again-{n}", "token": token(n)} for n in range(20)))
    wait_told(rejected, 6)
    # It continues where the other one was.
    assert {row["id"] for row in rejected.told()} == {f"again-{n}" for n in [0, 1, 2, 3, 4, 10]}
    assert len(gone.requests) == 1


def place(queue):
    """Returns the webhook's number in `readers`; nothing without one."""
    if hasattr(queue, "server"):
        return queue.ask("HGET", "apns:{shop}:readers", "webhook shop")
    rows = queue.rows("SELECT number FROM readers WHERE name = 'webhook shop'")
    return str(rows[0][0]) if rows else None


def test_it_begins_with_the_webhook(start, relay, shared, receive, hook):
    simulator, receiver = start(), receive()
    one = relay(simulator, queue=shared).start().wait_ready()
    shared.add(*entries(1))
    wait_until(shared.is_empty, "the queue does not get empty")
    one.stop()
    assert place(shared) is None
    one.app = hook(receiver)
    one.write()
    one.start().wait_ready()
    shared.add(*entries(2))
    wait_told(receiver, 1)
    assert [row["id"] for row in receiver.told()] == ["n-2"]


def test_a_failing_receiver_gets_all_in_order(start, relay, shared, receive, hook):
    """It fails, closes without a response, and takes too long; each batch comes again with its ID."""
    waits = threading.Event()
    failures = {1: (503, {"Retry-After": "4"}), 2: None, 4: (302, {"Location": "/"})}

    def answer(number):
        if number == 0:
            return 429, {"Retry-After": email.utils.formatdate(time.time() + 5, usegmt=True)}
        if number == 5:
            waits.wait(DEADLINE)
        return failures.get(number, 200)

    receiver = receive(answer)
    one = relay(start(), queue=shared, app=hook(receiver, batch=10, timeout="1s")).start().wait_ready()
    for part in range(5):
        shared.add(*entries(*range(10 * part, 10 * part + 10)))
        wait_until(shared.is_empty, "the worker waits for the receiver")
    wait_until(lambda: one.metric('apns_relay_webhook_failing{app="shop"}') == 1, "no problem is shown")
    assert one.get("/readyz")[0] == 200
    wait_told(receiver, 50)
    waits.set()
    times = receiver.times
    assert times[1] - times[0] >= 3.9 and times[2] - times[1] >= 3.9, "Retry-After is ignored"
    assert without_repeats(receiver.told()) == printed(one)
    ids = receiver.ids()
    assert ids[0] == ids[1] == ids[2] == ids[3] and ids[4] == ids[5] == ids[6] and ids[3] != ids[4]
    assert len({body for _, headers, body in receiver.requests if headers["webhook-id"] == ids[0]}) == 1
    assert one.metric('apns_relay_webhook_failed_total{app="shop"}') == 5
    wait_until(lambda: one.metric('apns_relay_webhook_failing{app="shop"}') == 0, "the problem stays")
    place = f"http://127.0.0.1:{receiver.port}"
    for words in f"the webhook {place} fails: HTTP status 429", "fails: no response within 1s", "accepts outcomes again":
        one.wait_said(words)


def test_a_receiver_that_is_away_loses_nothing(start, relay, shared, receive, hook):
    receiver = receive()
    kept = receiver.go_away()
    app = hook(receiver)
    one = relay(start(), queue=shared, app=app, settings={"outcome_retention": "1ms"}).start().wait_ready()
    shared.add(*entries(*range(30)))
    wait_until(shared.is_empty, "the queue does not get empty")
    one.wait_said("fails: Connection refused")
    # A relay trims as it starts.
    for _ in range(2):
        one.stop()
        one.start().wait_ready()
    assert shared.outcomes_so_far() == 30
    # Read before the webhook delivers them, because the relay may trim them then.
    rows = printed(one)
    back = receive(port=receiver.port)
    kept.close()
    wait_told(back, 30)
    assert [row["id"] for row in back.told()] == [row["id"] for row in rows]
    wait_until(lambda: place(shared) == str(rows[-1]["number"]), "the reader does not move")
    one.stop()
    one.start().wait_ready()
    wait_until(lambda: shared.outcomes_so_far() <= 1, "delivered outcomes are not trimmed")


def test_killed_relays_tell_everything(start, relay, shared, receive, hook):
    """Two relays, one killed after another, while the receiver fails now and then. Each outcome arrives, in order, and each batch
    keeps its ID and its contents."""
    chance = random.Random(41)

    def answer(number):
        time.sleep(chance.choice([0, 0.01, 0.05]))
        return chance.choice([200, 200, 200, 500, None])

    receiver = receive(answer)
    app = hook(receiver, batch=7, timeout="500ms")
    simulator = start()
    relays = [relay(simulator, queue=shared, name=f"relay-{n}", app=app, settings={"lease": "1s"}).start() for n in range(2)]
    for one in relays:
        one.wait_ready()
    count = 0
    for round in range(6):
        seen = len(receiver.requests)
        # In Redis, outcomes of one record are sent together.
        while len(receiver.requests) < seen + 3 or count % 50 != 0:
            shared.add(*entries(*range(count, count + 5)))
            count += 5
            time.sleep(0.02)
        killed = relays[round % 2]
        killed.kill()
        killed.start().wait_ready()
    wait_until(shared.is_empty, "the queue does not get empty")
    receiver.answer = lambda number: 200
    wait_told(receiver, count)
    rows = without_repeats(receiver.told())
    assert rows == printed(relays[0]) and len(rows) == count
    contents = {}
    with receiver.lock:
        for _, headers, body in receiver.requests:
            assert contents.setdefault(headers["webhook-id"], body) == body, "a batch has changed"
    # A repeated batch only follows itself.
    order = [one for n, one in enumerate(receiver.ids()) if n == 0 or one != receiver.ids()[n - 1]]
    assert len(order) == len(set(order))


def test_one_relay_tells_and_another_takes_over(start, relay, shared, receive, hook):
    receiver = receive()
    app = hook(receiver, batch=1, timeout="10s")
    simulator = start()
    relays = [relay(simulator, queue=shared, name=f"relay-{n}", app=app).start().wait_ready() for n in range(3)]
    shared.add(*entries(*range(20)))
    wait_told(receiver, 20)

    def delivered():
        return [one.metric('apns_relay_webhook_delivered_total{app="shop"}') for one in relays]

    wait_until(lambda: sorted(delivered()) == [0, 0, 20], "several relays tell")
    assert len(receiver.told()) == 20
    teller = relays[delivered().index(20)]
    relays.remove(teller)
    # A relay that stops hands over without waiting for its lease, which is 30 s.
    begun = time.monotonic()
    teller.stop()
    shared.add(*entries(*range(20, 40)))
    wait_told(receiver, 40)
    assert time.monotonic() - begun < 20
    assert len(receiver.told()) == 40
    # A webhook that waits hands over too.
    known = len(receiver.requests)
    receiver.answer = lambda number: 500
    shared.add(*entries(40))
    second, = [one for one in relays if one.metric('apns_relay_webhook_delivered_total{app="shop"}')]
    wait_until(lambda: second.metric('apns_relay_webhook_failed_total{app="shop"}') >= 3, "it does not try")
    second.stop()
    receiver.answer = lambda number: 200
    begun = time.monotonic()
    wait_told(receiver, 41)
    assert time.monotonic() - begun < 20
    assert len(set(receiver.ids()[known:])) == 1


def test_a_stopped_relay_does_not_move_back(start, relay, queue, receive, hook):
    """A relay is suspended while it tells, longer than its lease, and continues when another one has told more."""
    held = threading.Event()
    receiver = receive(lambda number: held.wait(DEADLINE) and 200 if number == 0 else 200)
    app = hook(receiver, batch=5, timeout="500ms")
    simulator = start()
    first = relay(simulator, queue=queue, name="first", app=app, settings={"lease": "1s"}).start().wait_ready()
    queue.add(*entries(*range(20)))
    first.wait_done()
    wait_until(lambda: len(receiver.requests) == 1, "it does not tell")
    first.suspend()
    second = relay(simulator, queue=queue, name="second", app=app, settings={"lease": "1s"}).start().wait_ready()
    wait_told(receiver, 20)
    held.set()
    first.signal(signal.SIGCONT)
    queue.add(*entries(*range(20, 40)))
    wait_told(receiver, 40)
    assert without_repeats(receiver.told()) == printed(second)
    wait_until(lambda: place(queue) == "40", "the reader does not move")


def test_tls_is_verified(start, relay, queue, receive, hook, tmp_path):
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "redis.pem", tmp_path / "redis.key")
    other = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    other.load_cert_chain(tmp_path / "relay.pem", tmp_path / "relay.key")
    receiver, foreign = receive(tls=context), receive(tls=other)
    one = relay(start(), queue=queue, app=hook(receiver)).start().wait_ready()
    queue.add(*entries(1))
    one.wait_said(f"the webhook https://127.0.0.1:{receiver.port} fails: its certificate is not trusted")

    def reload(receiver):
        before = len(one.said("reloaded"))
        one.app = hook(receiver, ca=str(authority.ca))
        one.write()
        one.signal(signal.SIGHUP)
        one.wait_said("reloaded", before + 1)

    # A certificate of the CA for another name.
    reload(foreign)
    one.wait_said(f"https://127.0.0.1:{foreign.port} fails: its certificate is not trusted: IP address mismatch")
    assert not receiver.requests and not foreign.requests
    reload(receiver)
    wait_told(receiver, 1)


def test_a_receiver_that_closes_during_a_request(start, relay, queue, receive, hook, tmp_path):
    """The kernel answers a write then with SIGPIPE, which would end the relay."""
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "redis.pem", tmp_path / "redis.key")
    simulator = start()
    one = relay(simulator, queue=queue).start().wait_ready()
    queue.add(*entries(*range(1000)))
    wait_until(queue.is_empty, "the queue does not get empty")
    one.stop()
    with queue.open() as database:
        database.execute("INSERT INTO readers (name, number) VALUES ('webhook shop', 0)")

    listener = socket.socket()
    # The request does not fit into it.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    closed = threading.Semaphore(0)

    def close_early():
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
                connection.recv(1)
                # The end of its data first, and then a reset for what it has not read.
                connection.shutdown(socket.SHUT_WR)
            closed.release()

    threading.Thread(target=close_early, daemon=True).start()
    url = f"https://127.0.0.1:{listener.getsockname()[1]}/outcomes/secret-path?key=secret-query"
    one.app = hook(receive(), ca=str(authority.ca), batch=1000, url=url)
    one.write()
    one.start().wait_ready()
    for _ in range(3):
        assert closed.acquire(timeout=DEADLINE), "the relay does not connect again"
    listener.close()
    queue.add(*entries(1000))
    wait_until(queue.is_empty, "the relay does not work any more")


def test_a_new_secret_needs_no_restart(start, relay, queue, receive, hook):
    receiver = receive()
    one = relay(start(), queue=queue, app=hook(receiver)).start().wait_ready()
    queue.add(*entries(1))
    wait_told(receiver, 1)
    hook(receiver, keys=(OTHER_KEY,))
    one.signal(signal.SIGHUP)
    one.wait_said("reloaded")
    del receiver.requests[:]
    queue.add(*entries(2))
    wait_until(lambda: [row["id"] for row in receiver.told(OTHER_KEY)] == ["n-1", "n-2"], "the webhook does not deliver it")
    # An unusable one changes nothing.
    hook(receiver, keys=(b"short",))
    one.signal(signal.SIGHUP)
    one.wait_said("not reloaded: ")
    assert base64.b64encode(b"short").decode() not in one.log.read_text()
    queue.add(*entries(3))
    wait_until(lambda: len(receiver.told(OTHER_KEY)) == 3, "the webhook does not deliver it")


@pytest.mark.parametrize("settings, words", [
    ({"url": "http://example.com/"}, "url: is http:// beyond this machine"),
    ({"url": "ftp://example.com/"}, "url: must be https://HOST"),
    ({"url": "https://user:pass-word@example.com/"}, "url: must be https://HOST"),
    ({"url": "https://example.com/\r\nx: y"}, "url: "),
    ({"url": None}, "url: is missing"),
    ({"secret_file": None}, "secret_file: is missing"),
    ({"only": ["rejected", "lost"]}, "only: has accepted, rejected, unknown, expired, refused, dead, cancelled or gone, not 'lost'"),
    ({"batch": 0}, "batch: must be 1 to 1000"),
])
def test_what_the_configuration_refuses(start, relay, queue, receive, hook, settings, words):
    one = relay(start(), queue=queue, app=hook(receive(), **settings))
    ran = subprocess.run([relay_program(), "--config", one.file, "--check"], capture_output=True, text=True)
    assert ran.returncode == 2 and f"apps.shop.webhook.{words}" in ran.stderr, ran.stderr
    assert "pass-word" not in ran.stderr


def test_http_beyond_this_machine_on_request(start, relay, queue, receive, hook):
    receiver = receive()
    one = relay(start(), queue=queue, app=hook(receiver, url="http://example.com/", allow_http=True))
    ran = subprocess.run([relay_program(), "--config", one.file, "--check"], capture_output=True, text=True)
    assert ran.returncode == 0 and "cross the network to http://example.com without TLS" in ran.stdout + ran.stderr, ran


def test_the_example(start, relay, queue, hook, tmp_path):
    class Place:
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listening:
            port = listening.getsockname()[1]
        url = f"http://127.0.0.1:{port}/"

    app = hook(Place)
    program = ROOT / "Examples/relay/webhook.py"
    page = (ROOT / "Documentation/RELAY-WEBHOOKS.md").read_text()
    assert re.search(r"```python\n(.*?)```", page, re.S)[1] in program.read_text()
    with subprocess.Popen(
            [sys.executable, program, app["webhook"]["secret_file"], str(Place.port)], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL) as receiver:
        try:
            one = relay(start(faults={"bad_tokens": [token(1)]}), queue=queue, app=app).start().wait_ready()
            queue.add(*entries(1))
            assert receiver.stdout.readline() == f"n-1 rejected BadDeviceToken {token(1)}\n"
            wait_until(lambda: one.metric('apns_relay_webhook_delivered_total{app="shop"}') == 1, "it is not accepted")
        finally:
            receiver.kill()
