"""The binary listener: programs of 2010 push to today's service, and get the responses of their time."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import select
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

import pytest
from legacy import Certificates, answer, connect, context, enhanced, feedback, framed, pieces, push, simple, talk
from redis_queue import Client, RedisQueue, Server
from relaying import DEADLINE, pushes, relay_program, token, wait_until
from simulator import CLEAN, ROOT, error, tcp

TLS10 = (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1)
# The guard counts early, because a test has few responses.
SOON = {"guard": {"min_responses": 1, "responses": 1000, "share": 0.9, "wait": "0s"}}


@pytest.fixture(scope="session")
def people(tmp_path_factory):
    """The providers' certificates."""
    made = Certificates(tmp_path_factory.mktemp("providers"))
    made.listed, made.listed_print = made.make("listed", signed=False)
    made.expired, made.expired_print = made.make("expired", years=(2010, 2012), digest="sha1")
    made.signed, _ = made.make("signed")
    made.old, _ = made.make("old", years=(2010, 2012))
    made.nobody, _ = made.make("nobody", subject="/UID=com.example.other/CN=x")
    made.stranger, _ = made.make("stranger", signed=False)
    return made


class Listener:
    """A relay with a binary listener."""

    def __init__(self, relay, simulator, tmp_path, people, *, listener=None, app=None, accepted=True, **arguments):
        self.files = {name: tmp_path / f"{name}.port" for name in ("port", "feedback_port")}
        options = {"type": "binary", "port": 0, "feedback_port": 0} | {f"{name}_file": str(file) for name, file in self.files.items()}
        known = {"fingerprints": {"shop": f"{people.listed_print} {people.expired_print}"}, "client_ca": str(people.ca)}
        options |= listener if listener and ("app" in listener or "fingerprints" in listener or "client_ca" in listener) else known | (listener or {})
        self.relay = relay(simulator, listeners={"gateway": options}, app=SOON | (app or {}), **arguments)
        self.queue = self.relay.queue
        if accepted:
            # As if APNs had accepted a push of the app before: responses arrive in any order.
            self.queue.rows("INSERT OR REPLACE INTO app_state VALUES ('shop', 'guard.accepted', '1')")
        self.start()

    def start(self):
        for file in self.files.values():
            file.unlink(missing_ok=True)
        self.relay.start().wait_ready()
        wait_until(lambda: all(file.exists() and file.read_text() for file in self.files.values()), "the listener does not open")

    @property
    def port(self):
        return int(self.files["port"].read_text())

    @property
    def feedback_port(self):
        return int(self.files["feedback_port"].read_text())

    def knows(self, *numbers):
        """Waits until these tokens are recorded as bad and the listener refuses them."""
        wanted = {token(number) for number in numbers}
        wait_until(lambda: wanted <= {one for one, in self.queue.rows("SELECT token FROM bad_tokens")}, "they are not remembered")

    def done(self, count):
        wait_until(lambda: self.queue.outcomes_so_far() >= count, "they do not arrive")
        self.relay.wait_done()


@pytest.fixture
def open_listener(start, relay, tmp_path, people):
    def make(simulator=None, **arguments):
        return Listener(relay, simulator or start(), tmp_path, people, **arguments)

    return make


def raw(number):
    return bytes.fromhex(token(number))


def frames(numbers, chance):
    """Returns notifications for these tokens, with all commands."""
    makers = [lambda n: simple(raw(n)), lambda n: enhanced(n, raw(n)), lambda n: framed(n, raw(n), priority=chance.choice([5, 10]))]
    return [chance.choice(makers)(number) for number in numbers]


def test_all_commands_in_any_pieces_arrive_once(start, open_listener, people):
    simulator = start()
    listener = open_listener(simulator)
    chance = random.Random(7)
    tls, sent = context(people.listed), 0
    for _ in range(6):
        data = b"".join(frames(range(sent + 1, sent + 101), chance))
        with connect(listener.port, tls) as sock:
            for piece in pieces(data, chance):
                sock.sendall(piece)
            sock.unwrap().close()
        sent += 100
        # Silence means accepted: every notification is queued, or finished already.
        assert listener.queue.entries_so_far() == sent
    listener.done(sent)
    assert sorted(one["token"] for one in pushes(simulator)) == sorted(token(n) for n in range(1, sent + 1))
    assert listener.queue.counts() == {"accepted": sent}
    listener.relay.stop()


def test_expiry_and_priority_are_the_frames(start, open_listener, people):
    simulator = start()
    listener = open_listener(simulator)
    later = int(time.time()) + 86400
    data = enhanced(0, raw(1), expiry=later) + framed(0, raw(2), expiry=0, priority=5) + framed(0, raw(3)) + enhanced(0, raw(4), expiry=864000)
    push(listener.port, context(people.listed), data + simple(raw(5)))
    listener.done(5)
    by_token = {one["token"]: one for one in pushes(simulator)}
    assert by_token[token(1)]["expiration"] == str(later)
    assert by_token[token(2)]["expiration"] == "0" and by_token[token(2)]["priority"] == "5"
    # The expiry is a duration, as some programs sent it: Apple tried these once.
    assert by_token[token(4)]["expiration"] == "0"
    assert listener.queue.counts() == {"accepted": 5}


def unread(sock, port):
    """Returns the bytes of this client that are still in kernel buffers: the receiver's, which reads no more, and the
    sender's. The network is private, so no foreign connections change the table while it is read."""
    # Bytes in transit count at both ends until they are acknowledged.
    wait_until(lambda: tcp(sock).unacked == 0, "it stays pending")
    queued = {}
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, state, queues = line.split()[:5]
        if state == "01":
            queued[local, remote] = [int(part, 16) for part in queues.split(":")]
    near, far = f":{sock.getsockname()[1]:04X}", f":{port:04X}"
    return sum(sent if local.endswith(near) else received for (local, remote), (sent, received) in queued.items()
               if {local[-5:], remote[-5:]} == {near, far})


# The most that one read takes off the socket, including an incomplete frame.
ONE_READ = 256 << 10


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_what_a_kill_costs_to_the_byte(open_listener, people, version):
    """Stops the relay at some moment, reads from the kernel what it had read by then, and kills it. All of that must be in
    the queue, without a gap, except for at most one read."""
    listener = open_listener(level="info")
    tls, chance, costs = context(people.listed, versions=(version, version)), random.Random(7), []
    for life in range(6):
        first, written, enough = life * 1_000_000, 0, 200 + chance.randrange(20_000)
        with connect(listener.port, tls) as sock:
            wait_until(lambda: unread(sock, listener.port) == 0, "the handshake is not read")
            sock.setblocking(False)
            is_stopped = False
            # The first bytes identify it. Each one is a TLS record of constant size.
            while written < 60_000:
                if written >= enough and not is_stopped:
                    listener.relay.signal(signal.SIGSTOP)
                    wait_until(lambda: pathlib.Path(f"/proc/{listener.relay.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "it is not suspended")
                    is_stopped = True
                try:
                    sock.send(frame := enhanced(0, raw(first + written + 1)))
                    written += 1
                except ssl.SSLWantWriteError:
                    # The relay reads no more, and both buffers are full.
                    if is_stopped and tcp(sock).unacked == 0 and not select.select([], [sock], [], 0)[1]:
                        break
                    select.select([], [sock], [], 0.01 if is_stopped else None)
            left = unread(sock, listener.port)
            listener.relay.kill()
        record = len(frame) + (29 if version == ssl.TLSVersion.TLSv1_2 else 22)
        # The relay may be in the middle of the next one.
        read = written * record - left
        assert read > -record
        numbers = sorted(int(token, 16) - first for token, in listener.queue.rows("SELECT token FROM entries UNION ALL SELECT token FROM outcomes") if int(token, 16) > first)
        taken = len(numbers)
        # The queue has the first ones, each of them once.
        assert numbers == list(range(1, taken + 1))
        costs.append(read - taken * record)
        assert -record <= costs[-1] <= ONE_READ + record, f"{costs[-1]} bytes were read and are not in the queue"
        listener.start()
    assert max(costs) > 0


VECTORS = json.loads((ROOT / "Tests/Vectors/frames.json").read_text())["tests"]
TWO = {"framed-then-framed", "simple-then-enhanced", "enhanced-then-simple"}
BEHIND = {"framed-then-noise": error(128, 0), "simple-then-sentinel": error(2, 9)}


@pytest.mark.parametrize("cut", ["whole", "bytes", "random"])
def test_vectors_are_answered_as_by_the_simulator(open_listener, people, cut):
    listener = open_listener(listener={"token_bytes": "any"}, level="info")
    tls, chance, accepted = context(people.listed), random.Random(20261121), 0
    for vector in VECTORS:
        if "limits" in vector:
            continue
        frame, packet = bytes.fromhex(vector["hex"]), None
        if vector["result"] == "invalid":
            fault = vector["error"]
            packet = b"" if frame[0] == 0 else error(fault["status"], fault.get("identifier", 0))
        elif vector["result"] == "valid":
            packet = BEHIND.get(vector["name"])
            accepted += 2 if vector["name"] in TWO else 1
        with connect(listener.port, tls) as sock:
            for piece in {"whole": [frame], "bytes": [frame[at : at + 1] for at in range(len(frame))], "random": pieces(frame, chance)}[cut]:
                sock.sendall(piece)
            if packet is None:
                sock.unwrap().close()
            else:
                assert answer(sock) == (packet, CLEAN), vector["name"]
    assert listener.queue.entries_so_far() == accepted


def test_vectors_are_answered_the_same_in_every_split(open_listener, people):
    """Cuts each frame in two at each byte; the responses must be those to the whole frame. LEGACY_SPLITS=all tries all
    places, otherwise some are drawn."""
    listener = open_listener(listener={"token_bytes": "any"}, level="info")
    tls, chance, accepted, alone = context(people.listed), random.Random(20261124), 0, []
    for vector in VECTORS:
        frame = bytes.fromhex(vector["hex"])
        if "limits" in vector or len(frame) < 2 or vector["result"] == "incomplete":
            continue
        places = range(1, len(frame))
        if os.environ.get("LEGACY_SPLITS") != "all":
            places = chance.sample(places, min(len(places), 12))
        if vector["result"] == "invalid":
            fault = vector["error"]
            packet = b"" if frame[0] == 0 else error(fault["status"], fault.get("identifier", 0))
            alone += [(vector, frame, place, packet) for place in places]
            continue
        if vector["frame"]["length"] < len(frame) and vector["name"] not in TWO:
            # An incomplete frame follows it.
            alone += [(vector, frame, place, BEHIND.get(vector["name"])) for place in places]
            accepted += len(places)
            continue
        # One after another; the response to the last one proves them all.
        with connect(listener.port, tls) as sock:
            for place in places:
                sock.sendall(frame[:place])
                sock.sendall(frame[place:])
            sock.sendall(enhanced(777, b""))
            assert answer(sock) == (error(2, 777), CLEAN), vector["name"]
        accepted += len(places) * (2 if vector["name"] in TWO else 1)

    def check(vector, frame, place, packet):
        with connect(listener.port, tls) as sock:
            sock.sendall(frame[:place])
            # The listener may have replied and closed by now.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLError):
                sock.sendall(frame[place:])
            if packet is None:
                sock.unwrap().close()
            else:
                assert answer(sock) == (packet, CLEAN), f"{vector['name']}, cut at {place}"

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for done in [pool.submit(check, *one) for one in alone]:
            done.result()
    assert len(alone) > 500 and listener.queue.entries_so_far() == accepted


def test_a_refused_token_is_answered_at_the_listener(start, open_listener, people):
    simulator = start(faults={"bad_tokens": [token(2)]})
    listener = open_listener(simulator)
    tls = context(people.listed)
    push(listener.port, tls, b"".join(enhanced(n, raw(n)) for n in (1, 2, 3)))
    listener.done(3)
    assert listener.queue.counts() == {"accepted": 2, "rejected": 1}
    listener.knows(2)
    # Notifications before it are queued, later ones are not.
    data = enhanced(11, raw(4)) + framed(12, raw(2)) + enhanced(13, raw(5))
    assert talk(listener.port, tls, data) == (error(8, 12), CLEAN)
    assert talk(listener.port, tls, enhanced(14, raw(2))) == (error(8, 14), CLEAN)
    listener.done(4)
    assert sorted(one["token"] for one in pushes(simulator)) == [token(1), token(3), token(4)]
    # A notification without an identifier cannot be named in a packet, so the client is not cut off.
    push(listener.port, tls, simple(raw(2)) + simple(raw(6)))
    listener.done(6)
    assert token(6) in {one["token"] for one in pushes(simulator)}
    # Bad tokens survive a restart.
    listener.relay.stop()
    listener.start()
    assert talk(listener.port, tls, enhanced(15, raw(2))) == (error(8, 15), CLEAN)
    assert listener.relay.metric('apns_relay_listener_responses_total{listener="gateway",status="8"}') == 1


def test_another_relays_refusals_count_too(start, open_listener, relay, people):
    simulator = start(faults={"bad_tokens": [token(2)]})
    listener = open_listener(simulator)
    listener.queue.rows("INSERT INTO bad_tokens (app, token, at) VALUES ('shop', ?, ?)", token(9), int(time.time() * 1000))
    listener.queue.rows("INSERT INTO bad_tokens (app, token, at) VALUES ('shop', ?, ?)", token(8), int((time.time() - 90000) * 1000))
    tls = context(people.listed)
    # A notification that is always refused follows each.
    wait_until(lambda: talk(listener.port, tls, enhanced(1, raw(9)) + enhanced(2, b"")) == (error(8, 1), CLEAN), "it is not found")
    # After a day the token is tried again.
    assert talk(listener.port, tls, enhanced(1, raw(8)) + enhanced(2, b"")) == (error(2, 2), CLEAN)


SILENT = b'{"aps":{"content-available":1},"job":7}'


def test_silent_pushes_are_what_todays_service_takes(start, open_listener, people):
    """Libraries of that time sent priority 10, or none, with any payload."""
    simulator = start("--check-payload")
    listener = open_listener(simulator, level="info")
    escaped = b'{"aps":{"content\\u002davailable":1,"category":"c"}}'
    shown = b'{"aps":{"content-available":1,"sound":""}}'
    data = [framed(1, raw(1), SILENT, priority=10), framed(2, raw(2), SILENT), framed(3, raw(3), SILENT, priority=5), enhanced(4, raw(4), SILENT),
            simple(raw(5), SILENT), framed(6, raw(6), escaped, priority=10), framed(7, raw(7), shown, priority=10),
            framed(8, raw(8), b'{"aps":{"badge":0}}', priority=10), framed(9, raw(9), b'{"aps":{}}', priority=10)]
    push(listener.port, context(people.listed), b"".join(data))
    listener.done(9)
    assert listener.queue.counts() == {"accepted": 9}, listener.queue.rows("SELECT token, outcome, reason FROM outcomes")
    by_token = {one["token"]: (one["push_type"], one.get("priority")) for one in pushes(simulator)}
    assert [by_token[token(n)] for n in range(1, 7)] == [("background", "5")] * 6
    assert [by_token[token(n)] for n in range(7, 10)] == [("alert", "10")] * 3
    assert listener.relay.metric('apns_relay_listener_silent_total{listener="gateway"}') == 5
    (said,) = listener.relay.said("silent pushes")
    assert said["level"] == "notice" and said["app"] == "shop" and said["listener"] == "gateway"


def test_a_topic_that_says_what_its_pushes_are_keeps_its_priority(start, open_listener, people):
    simulator = start()
    listener = open_listener(simulator, app={"topic": "com.example.app.voip"}, listener={"app": "shop"})
    push(listener.port, context(), framed(1, raw(1), SILENT, priority=10))
    listener.done(1)
    assert [one["push_type"] for one in pushes(simulator)] == ["voip"] and listener.relay.metric("apns_relay_listener_silent_total") == 0


def test_tokens_of_another_length_than_devices_have(start, open_listener, people):
    simulator = start()
    listener = open_listener(simulator)
    tls = context(people.listed)
    hexed = token(2).encode()
    for wrong in raw(1)[1:], hexed, raw(1) + b"\n":
        assert talk(listener.port, tls, enhanced(6, raw(1)) + framed(7, wrong, priority=10) + enhanced(8, raw(1))) == (error(5, 7), CLEAN)
        assert talk(listener.port, tls, enhanced(9, wrong)) == (error(5, 9), CLEAN)
    # Command 0 has no error packet, so the client is not cut off: APNs judges the token. Hexadecimal text is refused before.
    long = bytes(range(64))
    push(listener.port, tls, simple(hexed) + simple(long) + simple(raw(3)))
    listener.done(6)
    assert {token(3), long.hex()} < (pushed := {one["token"] for one in pushes(simulator)}) and hexed.hex() not in pushed
    assert "hexadecimal" in listener.queue.value(f"SELECT reason FROM outcomes WHERE token = '{hexed.hex()}'")
    # APNs accepted it, so some devices have such tokens. Another relay learns that, and this one after a restart.
    for _ in range(2):
        wait_until(lambda: talk(listener.port, tls, enhanced(9, long) + enhanced(10, b"")) == (error(2, 10), CLEAN), "it is not learned")
        assert talk(listener.port, tls, enhanced(9, raw(1)[1:])) == (error(5, 9), CLEAN)
        wait_until(lambda: listener.queue.rows("SELECT text FROM app_state WHERE name = 'token.sizes'") == [("32 64",)], "it is not noted")
        listener.relay.stop()
        listener.start()
    listener.relay.stop()
    listener = open_listener(simulator, listener={"token_bytes": "31"}, name="given")
    assert talk(listener.port, tls, enhanced(9, raw(1)[1:]) + enhanced(10, b"")) == (error(2, 10), CLEAN)


def test_one_who_reads_no_answers_loses_nothing_by_option(start, open_listener, people):
    simulator = start(faults={"bad_tokens": [token(2)]})
    listener = open_listener(simulator, listener={"token_errors": False})
    tls = context(people.listed)
    push(listener.port, tls, enhanced(1, raw(1)) + enhanced(2, raw(2)))
    listener.done(2)
    listener.knows(2)
    # Later notifications follow both.
    assert talk(listener.port, tls, enhanced(3, raw(2)) + enhanced(4, raw(3)[1:]) + enhanced(5, raw(5)) + enhanced(6, b"")) == (error(2, 6), CLEAN)
    listener.done(5)
    assert token(5) in {one["token"] for one in pushes(simulator)}


def test_what_is_no_text_is_a_processing_error(open_listener, people):
    listener = open_listener()
    assert talk(listener.port, context(people.listed), enhanced(7, raw(1), b'{"aps":{"alert":"\xff"}}')) == (error(1, 7), CLEAN)
    assert listener.queue.is_empty()


def test_what_is_no_json_has_an_invalid_size_by_option(open_listener, people):
    tls = context(people.listed)
    wrong = [b'{"aps":{"alert":"\xff"}}', b"Hello", b"{'aps':{}}", b'{"aps":{}', b'{"aps":{}}\0', b'{"aps":{"alert":"a\nb"}}', b'{"aps":{},}']
    listener = open_listener(listener={"json": True})
    for payload in wrong:
        assert talk(listener.port, tls, enhanced(7, raw(1), payload)) == (error(7, 7), CLEAN), payload
    assert talk(listener.port, tls, enhanced(7, raw(1), b' {"aps" : {"alert":"\xc3\xa9"}}\n') + enhanced(8, b"")) == (error(2, 8), CLEAN)
    listener.relay.stop()
    listener = open_listener(name="lax")
    for payload in wrong[1:]:
        assert talk(listener.port, tls, enhanced(7, raw(1), payload) + enhanced(8, b"")) == (error(2, 8), CLEAN), payload


def test_shutdown_names_the_last_one(open_listener, people):
    listener = open_listener()
    tls = context(people.listed)
    with connect(listener.port, tls) as numbered, connect(listener.port, tls) as plain, connect(listener.port, tls) as idle:
        numbered.sendall(enhanced(41, raw(1)) + framed(42, raw(2)))
        plain.sendall(simple(raw(3)))
        wait_until(lambda: listener.queue.entries_so_far() == 3, "they are not queued")
        listener.relay.signal(signal.SIGTERM)
        assert answer(numbered) == (error(10, 42), CLEAN)
        assert answer(plain) == (error(10, 0), CLEAN)
        assert answer(idle) == (error(10, 0), CLEAN)
    assert listener.relay.process.wait(DEADLINE) == 0, listener.relay.log.read_text()


def test_who_gets_in(open_listener, people):
    listener = open_listener()
    for certificate in people.listed, people.expired, people.signed:
        versions = None
        ciphers = "ALL:@SECLEVEL=0" if certificate == people.expired else None
        push(listener.port, context(certificate, versions=versions, ciphers=ciphers), enhanced(1, raw(1)))
    assert listener.queue.entries_so_far() == 3
    # Expired certificates need a fingerprint; another topic, another CA and a missing certificate are not accepted.
    for certificate, why in [
        (people.old, "expired"), (people.nobody, "no app has the topic 'com.example.other'"),
        (people.stranger, "is not trusted"), (None, "no certificate"),
    ]:
        turned = len(listener.relay.said("a client is refused"))
        assert talk(listener.port, context(certificate), enhanced(1, raw(2))) == (b"", CLEAN)
        listener.relay.wait_said("a client is refused", turned + 1)
        assert why in listener.relay.said("a client is refused")[-1]["message"]
    assert listener.queue.entries_so_far() == 3


def test_a_port_of_one_app(open_listener, people):
    listener = open_listener(listener={"app": "shop"})
    for certificate in None, people.stranger:
        push(listener.port, context(certificate), simple(raw(1)))
    assert listener.queue.entries_so_far() == 2
    assert listener.relay.said("anyone who can connect to this port pushes as shop")


def test_old_tls_by_option_only(open_listener, people, tmp_path):
    rsa = context(people.listed, versions=TLS10, ciphers="AES128-SHA:@SECLEVEL=0")
    forward = context(people.listed, versions=TLS10, ciphers="ECDHE-RSA-AES128-SHA:@SECLEVEL=0")
    safe = {"fingerprints": {"shop": people.listed_print}}
    listener = open_listener(listener=safe)
    for tls in rsa, forward:
        with pytest.raises(ssl.SSLError):
            push(listener.port, tls, simple(raw(1)))
    listener.relay.stop()
    # Each option has its own effect.
    listener = open_listener(listener=safe | {"min_tls": "1.0"}, name="old")
    push(listener.port, forward, simple(raw(1)))
    with pytest.raises(ssl.SSLError):
        push(listener.port, rsa, simple(raw(2)))
    assert listener.relay.said("min_tls 1.0") and not listener.relay.said("rsa_key_exchange")
    listener.relay.stop()
    listener = open_listener(listener=safe | {"min_tls": "1.0", "rsa_key_exchange": True, "sha1": True}, name="oldest")
    push(listener.port, rsa, simple(raw(3)))
    assert listener.relay.said("rsa_key_exchange") and listener.relay.said("sha1")
    assert listener.queue.entries_so_far() == 2
    listener.relay.stop()
    # RSA key exchange does not enable old versions.
    new = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)
    plain = context(people.listed, versions=new, ciphers="AES128-SHA:@SECLEVEL=0")
    listener = open_listener(listener=safe | {"rsa_key_exchange": True}, name="rsa")
    push(listener.port, plain, simple(raw(4)))
    for tls in rsa, forward:
        with pytest.raises(ssl.SSLError):
            push(listener.port, tls, simple(raw(5)))
    listener.relay.stop()
    # Neither does Diffie-Hellman without curves.
    finite = context(people.listed, versions=new, ciphers="DHE-RSA-AES128-SHA:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError):
        listener = open_listener(listener=safe | {"rsa_key_exchange": True}, name="no-dhe")
        push(listener.port, finite, simple(raw(6)))
    listener.relay.stop()
    listener = open_listener(listener=safe | {"dhe_key_exchange": True}, name="dhe")
    push(listener.port, finite, simple(raw(6)))
    assert listener.relay.said("dhe_key_exchange")
    listener.relay.stop()
    # SHA-1 signatures need the option `sha1`.
    by_hash, _ = people.make("by-sha1", digest="sha1")
    weak = context(by_hash, ciphers="ALL:@SECLEVEL=0")
    for option, packets in ({}, b""), ({"sha1": True}, error(2, 7)):
        listener = open_listener(listener={"client_ca": str(people.ca)} | option, name="sha1" if option else "no-sha1")
        assert talk(listener.port, weak, enhanced(7, b"")) == (packets, CLEAN)
        with pytest.raises(ssl.SSLError):
            push(listener.port, plain, simple(raw(6)))
        if not option:
            assert "too weak" in listener.relay.said("a client is refused")[0]["message"]
        listener.relay.stop()
    assert listener.queue.entries_so_far() == 4


def test_a_certificate_is_made_once_and_can_be_verified(open_listener, people, tmp_path):
    listener = open_listener()
    names = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.glob("gateway-listener*")}
    assert names == {name: 0o600 for name in ("gateway-listener.pem", "gateway-listener.key", "gateway-listener-ca.pem")}
    tls = context(people.listed, ca=tmp_path / "gateway-listener-ca.pem")
    push(listener.port, tls, simple(raw(1)))
    made = (tmp_path / "gateway-listener.pem").read_bytes()
    listener.relay.stop()
    listener.start()
    push(listener.port, tls, simple(raw(2)))
    assert (tmp_path / "gateway-listener.pem").read_bytes() == made
    # The operator's own certificate.
    listener.relay.stop()
    own, _ = people.make("server", subject="/CN=own")
    listener = open_listener(listener={"app": "shop", "certificate": str(own)}, name="other")
    push(listener.port, context(ca=people.ca), simple(raw(3)))

    def check():
        ran = subprocess.run([relay_program(), "--config", listener.relay.file, "--check"], capture_output=True, text=True)
        return ran.returncode, ran.stdout

    code, said = check()
    assert code == 0 and "warning: listeners.gateway: app: anyone who can connect to this port pushes as shop" in said
    own.write_text(own.with_suffix(".crt").read_text())
    code, said = check()
    assert code == 1 and said.startswith(f"listeners.gateway: {own}: "), said


def test_feedback_is_told_until_it_was_read(start, open_listener, people):
    simulator = start(faults={"bad_tokens": [token(2)]})
    for number in 3, 4:
        simulator.control("POST", "/unregistered", {"token": token(number), "timestamp": 1_700_000_000 + number})
    listener = open_listener(simulator)
    tls = context(people.listed)
    push(listener.port, tls, b"".join(simple(raw(n)) for n in (1, 2, 3, 4)))
    listener.done(4)
    listener.knows(2, 3, 4)
    wanted = dict(listener.queue.rows("SELECT token, since FROM feedback"))
    assert set(wanted) == {token(2), token(3), token(4)}
    gone = dict(listener.queue.rows("SELECT token, since FROM gone"))
    assert {token: wanted[token] for token in gone} == gone
    tuples, end = feedback(listener.feedback_port, tls)
    assert ({token: since for since, token in tuples}, end) == (wanted, CLEAN)
    wait_until(lambda: not listener.queue.rows("SELECT * FROM feedback"), "it is not forgotten")
    assert feedback(listener.feedback_port, tls) == ([], CLEAN)
    # The table `gone` keeps its devices, because others read it.
    assert dict(listener.queue.rows("SELECT token, since FROM gone")) == gone
    # An unknown client gets an empty list.
    assert feedback(listener.feedback_port, context(people.stranger)) == ([], CLEAN)


def test_a_list_that_was_cut_off_is_told_again(open_listener, people):
    listener = open_listener()
    tls = context(people.listed)
    count = 60_000
    with listener.queue.open() as database:
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT INTO feedback VALUES ('shop', ?, ?)", ((token(n), n) for n in range(1, count + 1)))
        database.execute("COMMIT")
    for end_early in range(3):
        told = len(listener.relay.said("did not read the whole list"))
        with connect(listener.feedback_port, tls, buffer=8192) as sock:
            assert len(sock.recv(4096)) > 0
            if end_early == 1:
                sock.setsockopt(1, 13, struct.pack("ii", 1, 0))
        listener.relay.wait_said("did not read the whole list", told + 1)
        assert listener.queue.value("SELECT count(*) FROM feedback") == count
    tuples, end = feedback(listener.feedback_port, tls)
    assert ([since for since, _ in tuples], end) == (list(range(1, count + 1)), CLEAN)
    wait_until(lambda: not listener.queue.rows("SELECT 1 FROM feedback LIMIT 1"), "it is not forgotten")


def test_a_long_list_is_told_in_parts(open_listener, people):
    listener = open_listener()
    tls, count = context(people.listed), 100_003
    with listener.queue.open() as database:
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT INTO feedback VALUES ('shop', ?, ?)", ((token(n), n) for n in range(1, count + 1)))
        database.execute("COMMIT")
    told = []
    for left in 3, 0:
        tuples, end = feedback(listener.feedback_port, tls)
        assert end == CLEAN
        told += [since for since, _ in tuples]
        wait_until(lambda: listener.queue.value("SELECT count(*) FROM feedback") == left, "it is not forgotten")
    assert told == list(range(1, count + 1))


def test_those_who_mean_harm_cost_the_others_nothing(open_listener, people):
    listener = open_listener()
    tls, stranger = context(people.listed), context(people.stranger)

    def others_go_on():
        before = listener.queue.entries_so_far()
        push(listener.port, tls, simple(raw(1)))
        assert listener.queue.entries_so_far() == before + 1

    others_go_on()
    with contextlib.ExitStack() as stack:
        # Silent connections, and one with a handshake that arrives byte by byte: each has 10 s.
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", listener.port))) for _ in range(300)]
        slow = stack.enter_context(socket.create_connection(("127.0.0.1", listener.port)))
        others_go_on()
        # Bytes that are not TLS, and a version older than any.
        for noise in b"GET / HTTP/1.0\r\n\r\n", random.Random(1).randbytes(70_000), b"\x80\x2e\x01\x00\x02" + bytes(40):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", listener.port)))
            sock.settimeout(DEADLINE)
            with contextlib.suppress(ConnectionError):
                sock.sendall(noise)
                while sock.recv(4096):
                    pass
        # Unknown clients that send without end: their data is neither parsed nor kept.
        most = listener.relay.memory()
        for _ in range(20):
            sock = stack.enter_context(connect(listener.port, stranger))
            with contextlib.suppress(OSError, ssl.SSLError):
                for _ in range(20):
                    sock.sendall(b"\x02\x00\x04\xff\xff" + bytes(300_000))
        assert listener.relay.memory() < most + 20_000
        others_go_on()
        # Impossible lengths, and frames that never end.
        for frame in b"\x02\xff\xff\xff\xff", b"\x02" + struct.pack("!I", 327_691):
            assert talk(listener.port, tls, frame + bytes(1000)) == (error(128, 0), CLEAN)
        unfinished = stack.enter_context(connect(listener.port, tls))
        unfinished.sendall(b"\x02" + struct.pack("!I", 300_000) + bytes(200_000))
        # A client that gets an error packet, does not read it, and continues: the relay does not wait for it.
        deaf = stack.enter_context(connect(listener.port, tls, buffer=4096))
        with pytest.raises((OSError, ssl.SSLError)):
            deaf.sendall(enhanced(1, b""))
            while True:
                deaf.sendall(simple(raw(5)) * 500)
        others_go_on()
        with contextlib.suppress(ConnectionError):
            for byte in b"\x16\x03\x01\x02\x00" + bytes(512):
                slow.sendall(bytes([byte]))
                # A byte now and then, until the relay closes the connection.
                if select.select([slow], [], [], 0.05)[0]:
                    break
        for sock in silent:
            sock.settimeout(DEADLINE)
            assert sock.recv(1) == b""
        others_go_on()
    wait_until(lambda: listener.relay.metric("apns_relay_listener_connections") == 0, "connections stay open")
    assert {one for one, in listener.queue.rows("SELECT DISTINCT token FROM entries UNION SELECT DISTINCT token FROM outcomes")} == {token(1)}


def test_no_handshake_is_made_twice(open_listener, people):
    """A renegotiation would cost the listener a signature each time, and no client needs one."""
    listener = open_listener()
    ran = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{listener.port}", "-cert", people.listed, "-key", people.listed, "-tls1_2"],
        input=b"R\n", capture_output=True, timeout=DEADLINE)
    assert b"RENEGOTIATING" in ran.stdout + ran.stderr and b"no renegotiation" in ran.stderr, ran.stderr


def test_a_wrong_environment_purges_nothing(start, open_listener, people):
    """30 of 100 tokens are bad: none is recorded or reported, and there is an alarm."""
    simulator = start(faults={"bad_share": 0.3})
    listener = open_listener(simulator, app={"guard": {"min_responses": 50, "wait": "2s"}}, accepted=False)
    tls = context(people.listed)
    count = 600
    push(listener.port, tls, b"".join(enhanced(n, raw(n)) for n in range(1, count + 1)))
    listener.done(count)
    assert listener.queue.counts()["rejected"] > 60
    wait_until(lambda: listener.relay.metric('apns_relay_guard_withheld_total{app="shop"}') == listener.queue.counts()["rejected"], "they wait")
    assert listener.queue.rows("SELECT * FROM bad_tokens") == [] and listener.queue.rows("SELECT * FROM feedback") == []
    assert listener.relay.said("guard: ")[0]["level"] == "warning"
    wait_until(lambda: listener.relay.metric('apns_relay_guard_alarm{app="shop"}') == 1, "no alarm")

    def guard(*words):
        ran = subprocess.run([relay_program(), "guard", "--config", listener.relay.file, *words], capture_output=True, text=True)
        return ran.returncode, ran.stdout

    wait_until(lambda: guard()[0] == 1, "it is not logged")
    assert "called a token bad" in guard()[1]
    # A gone device counts nevertheless.
    simulator.control("DELETE", "/faults")
    simulator.control("POST", "/unregistered", {"token": token(7)})
    push(listener.port, tls, enhanced(1, raw(7)))
    listener.done(count + 1)
    assert listener.queue.rows("SELECT token FROM feedback") == [(token(7),)]
    # The operator overrides the guard.
    assert guard("--override", "shop")[0] == 0
    listener.relay.wait_said("an operator overrides")
    simulator.control("PUT", "/faults", {"bad_every": 1})
    push(listener.port, tls, enhanced(1, raw(8)))
    listener.done(count + 2)
    wait_until(lambda: sorted(listener.queue.rows("SELECT token FROM feedback")) == [(token(7),), (token(8),)], "it does not count")
    assert guard("--no-override", "shop")[0] == 0 and guard("--override", "none")[0] == 2


@pytest.mark.skipif(not Server.is_here(), reason="redis-server is not here (Debian: redis-server)")
def test_the_queue_may_be_in_redis(start, open_listener, people, tmp_path):
    simulator = start(faults={"bad_tokens": [token(2)]})
    simulator.control("POST", "/unregistered", {"token": token(3), "timestamp": 1_700_000_003})
    server = Server(tmp_path)
    try:
        client = Client(server.path)
        client.ask("HSET", "apns:{shop}:app_state", "guard.accepted", "1")
        listener = open_listener(simulator, queue=RedisQueue(server), accepted=False)
        tls = context(people.listed)
        push(listener.port, tls, b"".join(enhanced(n, raw(n)) for n in (1, 2, 3)))
        listener.done(3)
        wait_until(lambda: client.ask("ZCARD", "apns:{shop}:bad_tokens") == 2, "they are not remembered")
        for number in 2, 3:
            assert talk(listener.port, tls, enhanced(9, raw(4)) + enhanced(7, raw(number))) == (error(8, 7), CLEAN)
        # The same token twice: the queue's IDs do not come from the client.
        listener.done(5)
        tuples, end = feedback(listener.feedback_port, tls)
        assert {token for _, token in tuples} == {token(2), token(3)} and (1_700_000_003, token(3)) in tuples and end == CLEAN
        wait_until(lambda: client.ask("ZCARD", "apns:{shop}:feedback") == 0, "it is not forgotten")
        # Redis is killed: written notifications wait in the listener, and are queued when Redis is back.
        server.kill()
        with connect(listener.port, tls) as sock:
            sock.sendall(enhanced(1, raw(5)))
            listener.relay.wait_said("cannot be queued")
            server.start()
            sock.unwrap().close()
        listener.done(6)
        assert [one["token"] for one in pushes(simulator)].count(token(5)) == 1
    finally:
        server.kill()


def test_a_slow_queue_holds_the_client_and_not_the_others(start, open_listener, people):
    """Another process has locked the queue's file: written notifications wait, and nothing is lost or reported."""
    simulator = start()
    listener = open_listener(simulator)
    tls = context(people.listed)
    with connect(listener.port, tls) as sock, connect(listener.port, tls) as other:
        with listener.queue.open() as database:
            database.execute("BEGIN IMMEDIATE")
            sock.sendall(b"".join(enhanced(n, raw(n)) for n in range(1, 51)))
            # Meanwhile another connection on the same event loops is served, if it does not need the queue.
            assert talk(listener.port, tls, b"\x09")[0] == error(128, 0)
            assert listener.queue.entries_so_far() == 0
            # The relay reads no more from this one, so it is full once the kernel's buffers are, while the relay rests.
            # Few, long notifications fill them quickly.
            other.setblocking(False)
            long = b'{"aps":{"alert":"%s"}}' % (b"x" * 2000)
            left = memoryview(b"".join(enhanced(n, raw(n), long) for n in range(100, 12_000)))
            while left and (select.select([], [other], [], 0.2)[1] or not listener.relay.rests()):
                with contextlib.suppress(ssl.SSLWantWriteError):
                    left = left[other.send(left[:16_384]):]
            assert left
            database.execute("COMMIT")
        sock.unwrap().close()
    wait_until(lambda: {token(n) for n in range(1, 51)} <= {one["token"] for one in pushes(simulator)}, "they do not arrive")


def test_a_killed_relay_keeps_its_word(start, open_listener, people):
    """Everything that the listener's machine took off the socket arrives, however often the relay is killed."""
    simulator = start()
    listener = open_listener(simulator, drain_s=1)
    chance = random.Random(3)
    tls = context(people.listed)
    runs, enough = [], threading.Event()

    def provide():
        """Pushes without reading. Notifications on a broken connection are what a kill may cost."""
        number = 1
        while not enough.is_set():
            try:
                with connect(listener.port, tls) as sock:
                    runs.append(run := [number, number])
                    while not enough.is_set():
                        batch = range(number, number + chance.randrange(1, 60))
                        number = run[1] = batch[-1] + 1
                        sock.sendall(b"".join(enhanced(n, raw(n)) for n in batch))
                        # Slowly, so that the queue is nearly empty at the end.
                        enough.wait(0.01)
                    # A graceful close: all notifications of this connection are queued.
                    sock.unwrap().close()
                    run.append("whole")
            except OSError:
                enough.wait(0.05)

    provider = threading.Thread(target=provide)
    provider.start()
    for is_last in False, False, False, True:
        wanted = listener.queue.entries_so_far() + chance.randrange(200, 600)
        wait_until(lambda: listener.queue.entries_so_far() > wanted, "nothing comes")
        if not is_last:
            listener.relay.kill()
            listener.start()
    enough.set()
    provider.join(DEADLINE)
    wait_until(lambda: listener.queue.is_empty(), "the queue does not get empty")
    arrived = sorted(int(one, 16) for _, _, one, *_ in listener.queue.outcomes())
    assert len(arrived) == len(set(arrived))
    pushed = {int(one["token"], 16) for one in pushes(simulator)}
    assert set(arrived) <= pushed
    # A prefix of each connection's notifications arrived, up to the kill, without gaps.
    for first, behind, *whole in runs:
        there = [n for n in arrived if first <= n < behind]
        assert there == list(range(first, first + len(there))), (first, behind)
        assert not whole or len(there) == behind - first
    assert [len(run) for run in runs].count(3) == 1 and runs[-1][2:] == ["whole"]
    assert len(arrived) > 800 and listener.queue.counts() == {"accepted": len(arrived)}


@pytest.mark.parametrize("setting", ["listeners.gateway.port", "listeners.gateway.feedback_port", "listeners.web.port", "status.port"])
def test_a_port_that_another_has(start, relay, people, setting):
    """The message is the same as the simulator's."""
    listeners = {"gateway": {"type": "binary", "port": 0, "feedback_port": 0, "fingerprints": {"shop": people.listed_print}},
             "web": {"type": "http", "port": 0}}
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        *rooms, name = setting.split(".")
        if rooms[0] == "listeners":
            listeners[rooms[1]][name] = port
        one = relay(start(), listeners=listeners)
        if rooms == ["status"]:
            one.file.write_text(json.dumps(json.loads(one.file.read_text()) | {"status": {"port": port}}))
        one.start()
        assert one.process.wait(DEADLINE) != 0
    assert (f"port {port} of 127.0.0.1 is in use already: give another one with {setting}, or end the program that listens there "
            "('ss -ltnp' names it)") in one.log.read_text()
