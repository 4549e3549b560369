"""Relays with HTTP listeners, for hosts that push through them."""

import collections
import concurrent.futures
import http.client
import json
import pathlib
import socket
import sys
import threading
import uuid

import pytest
from apns import COUNT, GOOD, token
from simulator import DEADLINE, until

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Relay"))

from relaying import Relay  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "Examples/integrations"
PAYLOAD = b'{"aps":{"alert":"Hello"}}'
TOPIC = "com.example.app"
BEARER = "cR4u1m9XqYt0Zb7L"


@pytest.fixture
def relays(apns, tmp_path, keep):
    """Starts relays, which share a queue, with these options of a listener."""
    running = []

    def start(**listener):
        queue = running[0].queue if running else None
        relay = keep(Relay(
            tmp_path, apns, name=f"relay-{len(running) + 1}", queue=queue, listeners={"web": {"type": "http"} | listener},
            # A tenth of the tokens is bad, and the guard would wait for more responses first.
            app={"guard": {"share": 0.5}}))
        running.append(relay)
        return serve(relay)

    return start


def serve(relay, times=1):
    """Starts a relay, and waits until its listener is open for the first or a later time."""
    relay.start().wait_ready()
    relay.wait_said("the listener web is open", times)
    return relay


def for_this_test(apns):
    """Returns the replacements that direct a relay.yaml for APNs to this simulator."""
    ready = apns.ready
    return {
        "com.example.shop": TOPIC, "ABC123DEFG": ready["token_key_id"], "DEF123GHIJ": ready["token_team_id"],
        "    credentials:\n": f"    host: 127.0.0.1\n    port: {ready['http2_port']}\n    guard: {{share: 0.5}}\n"
                            f"    credentials:\n      ca: {ready['ca']}\n"}


def push_while_away(relay, apns, push, is_told):
    """The host pushes to these numbers of devices; in the middle APNs is killed, and then the relay too, until `is_told`. Returns
    the tokens with an outcome from before."""
    push(range(60))
    until(lambda: relay.queue.outcomes_so_far() >= 40)
    before = {to for to, in relay.queue.rows("SELECT token FROM outcomes")}
    apns.kill()
    # Without APNs the relay has all these pushes.
    push(range(60, 100))
    until(lambda: relay.queue.entries_so_far() >= 100, lambda: relay.queue.entries_so_far())
    relay.kill()
    push(range(100, 140))
    until(is_told)
    apns.start()
    relay.start().wait_ready()
    push(range(140, COUNT))
    return before


def except_for(before):
    """How often pushes may be there again that had no recorded response when APNs, and then the relay, were killed."""
    return dict.fromkeys(GOOD - set(before), COUNT)


class Bearing(http.client.HTTPConnection):
    """A connection to a port or a UNIX socket, whose requests have the bearer token and wait a second at most."""

    def __init__(self, place):
        super().__init__("127.0.0.1", place if isinstance(place, int) else None, timeout=DEADLINE)
        self.place = place

    def connect(self):
        if isinstance(self.place, int):
            return super().connect()
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(str(self.place))

    def request(self, method, path, body=None, headers=None):
        super().request(method, path, body, headers | {"authorization": f"Bearer {BEARER}", "prefer": "wait=1"})


def copy(example, to, places):
    """Copies a file of an example, with the paths, ports and names of this test. Each must occur in it."""
    text = (EXAMPLES / example).read_text()
    for old, new in places.items():
        assert old in text, (example, old)
        text = text.replace(old, str(new))
    to.write_text(text)
    return to


def ask(connection, to, payload=PAYLOAD, path="/3/device/", **headers):
    """Pushes over this connection, and returns the status, the reason and the apns-id of the response."""
    headers = {"apns-topic": TOPIC} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("POST", path + to, payload, headers)
    answer = connection.getresponse()
    text = answer.read()
    return answer.status, json.loads(text)["reason"] if text else None, answer.headers["apns-id"]


class Crowd:
    """Clients that push to every device, each push with one ID until its outcome is there."""

    def __init__(self, connect):
        """`connect(part)` returns a connection as a context manager."""
        self.connect, self.told, self.statuses = connect, {}, collections.Counter()
        self.gate = threading.Semaphore(0)
        self.executor = concurrent.futures.ThreadPoolExecutor(8)
        self.parts = [self.executor.submit(self.push, part) for part in range(8)]

    def push(self, part):
        with self.connect(part) as connection:
            for n in range(part, COUNT, 8):
                self.gate.acquire()
                id = str(uuid.uuid4())
                while token(n) not in self.told:
                    status, reason, said = ask(connection, token(n), apns_id=id)
                    self.statuses[status] += 1
                    assert status in (200, 202, 400, 503), (status, reason)
                    if status in (200, 400):
                        assert said == id
                        self.told[token(n)] = reason

    def allow(self, count):
        for _ in range(count):
            self.gate.release()

    def check(self):
        for part in self.parts:
            if part.done():
                part.result()
        return True

    def wait(self, holds):
        until(lambda: self.check() and holds(), lambda: (self.statuses, len(self.told)))

    def until_apns_dies(self, apns, more, waiting):
        """Pushes to half of the devices, and kills APNs meanwhile. Then `more` pushes begin, and `waiting` responses say that a
        push waits. Returns the tokens whose outcome was known before."""
        self.allow(COUNT // 2)
        self.wait(lambda: len(self.told) >= 60)
        apns.kill()
        before, waited = set(self.told), self.statuses[202]
        self.allow(more)
        self.wait(lambda: self.statuses[202] >= waited + waiting)
        return before

    def finish(self, apns, before):
        """Every client knows what APNs decided. Only pushes without a response when APNs was killed may be there twice."""
        self.wait(lambda: all(part.done() for part in self.parts))
        told = {reason: {to for to, said in self.told.items() if said == reason} for reason in set(self.told.values())}
        assert told.keys() == {None, "BadDeviceToken"}
        apns.judge(told[None], told["BadDeviceToken"], again=except_for(before))
