"""Servers that are not Redis, hostile ones, and replies altered in transit: the relay neither crashes nor hangs, stays
within its memory, and loses nothing."""

import collections
import concurrent.futures
import contextlib
import os
import random
import re
import ssl
import subprocess

import pytest

from redis_peer import Peer, between, closing, flooding, saying, trickling
from redis_queue import Authority, RedisQueue
from relaying import DEADLINE, identifier, pushes, relay_program, token, wait_until

# A relay's own memory, with a margin, in KB.
ENOUGH = 160_000


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def check(one, **environment):
    """Returns the status and output of `--check`, and its peak memory. Kills a relay that hangs."""
    process = subprocess.Popen(
        [relay_program(), "--check", "--config", one.file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=os.environ | environment)
    with concurrent.futures.ThreadPoolExecutor(1) as readers:
        said = readers.submit(process.stdout.read)
        try:
            text = said.result(DEADLINE)
        except concurrent.futures.TimeoutError:
            process.kill()
            raise AssertionError("the relay hangs")
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, text, used.ru_maxrss


def nested(depth):
    return b"*1\r\n" * depth + b":1\r\n"


BIG = b"9223372036854775807"
NUMBER = b"$%d\r\n%s\r\n" % (len(BIG), BIG)
# TIME is a relay's first command.
STRANGE = {
    "many elements": (saying(b"*2147483647\r\n"), "invalid Redis reply: it has more than 4194304 elements"),
    "many lists of many": (saying(b"*7\r\n" + b"*4000000\r\n*0\r\n" * 7), "invalid Redis reply|no reply within"),
    "a list of negative length": (saying(b"*-2147483648\r\n"), "invalid Redis reply|invalid reply to TIME"),
    "an invalid length": (saying(b"$-9\r\n"), "invalid Redis reply|invalid reply to TIME"),
    "more than any length": (saying(b"$99999999999999999999999\r\n"), "invalid Redis reply"),
    "a text without end": (flooding(b"$999999999999\r\n", bytes(1 << 16)), "invalid Redis reply: it is longer than"),
    "a line without end": (flooding(b"+", b"x" * (1 << 16)), "invalid Redis reply: it is longer than"),
    "elements without end": (flooding(b"*2000000\r\n", b":1\r\n" * (1 << 14)), "invalid Redis reply: it is longer than"),
    "deep lists": (saying(nested(7)), "invalid Redis reply|invalid reply to TIME"),
    "lists without end": (saying(nested(100_000)), "invalid Redis reply"),
    "the end of time": (saying(b"*2\r\n" + NUMBER * 2), "invalid reply to TIME"),
    "before all time": (saying(b"*2\r\n:-9223372036854775808\r\n:-9223372036854775808\r\n"), "invalid reply to TIME"),
    "a word": (saying(b"+OK\r\n"), "invalid reply to TIME"),
    "nothing": (saying(b"$-1\r\n"), "invalid reply to TIME"),
    "no list": (saying(b"*-1\r\n"), "invalid reply to TIME"),
    "an empty list": (saying(b"*0\r\n"), "invalid reply to TIME"),
    "an error": (saying(b"-ERR go away\r\n"), "ERR go away"),
    "the third protocol": (saying(b"%1\r\n+a\r\n+b\r\n"), "invalid Redis reply|invalid reply to TIME"),
    "web": (saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "invalid Redis reply"),
    "noise": (saying(random.Random(1).randbytes(4000)), "invalid Redis reply|no reply within"),
    "an end in a text": (closing(b"*2\r\n$10\r\n170"), "the connection is lost: it closed the connection"),
    "an end in a list": (closing(b"*2\r\n$1\r\n1\r\n"), "the connection is lost: it closed the connection"),
    "an end in a line": (closing(b"*2"), "the connection is lost: it closed the connection"),
    "an end": (closing(b""), "the connection is lost"),
}


def test_who_is_no_redis(start, relay, server):
    """All at the same time, because some take as long as a reply may."""
    simulator, queue = start(), RedisQueue(server)
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(8) as threads:
        running = {}
        for name, (act, wanted) in STRANGE.items():
            peer = stack.enter_context(Peer(act))
            queue.setting = {"redis": {"url": f"redis://127.0.0.1:{peer.port}"}}
            running[name] = peer, wanted, threads.submit(check, relay(simulator, queue=queue, name=name.replace(" ", "-")))
        for name, (peer, wanted, checked) in running.items():
            status, text, used = checked.result()
            assert status == 1 and re.search(f"^queue: redis://127.0.0.1:{peer.port}: .*({wanted})", text), (name, status, text)
            assert used < ENOUGH, (name, used)


def test_who_trickles_costs_no_more_than_its_time(start, relay, server, authority):
    """A reply, plain or over TLS, or a TLS handshake that trickles in byte by byte times out: all at the same time."""
    simulator, queue = start(), RedisQueue(server)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(authority.directory / "redis.pem", authority.directory / "redis.key")
    rows = [
        (False, None, b"$1000\r\n", b"x", "no reply within 10 s"),
        (True, tls, b"$1000\r\n", b"x", "no reply within 10 s"),
        # A handshake record with a valid length.
        (True, None, b"\x16\x03\x03\x3f\xff\x02\x00\x3f\xfb", b"\x00", "no connection: no reply within 3 s"),
        # Complete records, which never finish the handshake.
        (True, None, None, b"\x15\x03\x03\x00\x02\x01\x5a", "no connection: (no reply within 3 s|TLS: )"),
    ]
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(len(rows)) as threads:
        running, peers = [], []
        for number, (is_secure, context, first, then, words) in enumerate(rows):
            trickle = lambda one, number=number, first=first, then=then: trickling(lambda: peers[number], first, then)(one)  # noqa: E731
            peers.append(stack.enter_context(Peer(trickle, context)))
            queue.setting = {"redis": {"url": f"redis{'s' if is_secure else ''}://127.0.0.1:{peers[number].port}"}}
            if is_secure:
                queue.setting["redis"]["tls"] = {"ca": str(authority.ca)}
            running.append((words, threads.submit(check, relay(simulator, queue=queue, name=f"trickled-{number}"))))
        for words, checked in running:
            status, text, _ = checked.result()
            assert status == 1 and re.search(f": {words}", text), text


def test_sentinels_that_lie(start, relay, server):
    """An impossible address, and a server that is not a primary."""
    simulator, queue = start(), RedisQueue(server)
    for said, wanted in (
        (b"*2\r\n$9\r\n127.0.0.1\r\n$5\r\n99999\r\n", "does not know shop"), (b"*2\r\n$9\r\n127.0.0.1\r\n$2\r\n-1\r\n", "does not know shop"),
        (b"*2\r\n$9\r\n127.0.0.1\r\n$19\r\n" + BIG + b"\r\n", "does not know shop"), (b"*-1\r\n", "does not know shop"), (b":5\r\n", "does not know shop"),
        (b"*2\r\n$9\r\n127.0.0.1\r\n$1\r\n1\r\n", "no connection: "), (b"*2\r\n$5\r\na\x00b\r\n\r\n$1\r\n1\r\n", "no connection|cannot be resolved"),
        (b"*2147483647\r\n", "invalid Redis reply"),
    ):
        with Peer(saying(said)) as peer:
            queue.setting = {"redis": {"url": f"redis+sentinel://127.0.0.1:{peer.port}/shop"}}
            status, text, used = check(relay(simulator, queue=queue))
            assert status == 1 and re.search(wanted, text) and used < ENOUGH, (said, text)


ANSWERS = [
    b"+OK\r\n", b":1\r\n", b":0\r\n", b":" + BIG + b"\r\n", b":-9223372036854775808\r\n", NUMBER, b"$-1\r\n", b"*-1\r\n", b"*0\r\n", b"$0\r\n\r\n",
    b"-ERR unknown\r\n", b"-NOSCRIPT No matching script\r\n", b"-READONLY You can't write\r\n", b"-LOADING\r\n", b"-MOVED 1 127.0.0.1:1\r\n",
    b"*2\r\n:-9223372036854775808\r\n+x\r\n", b"*2\r\n:1\r\n$1\r\n.\r\n", b"*5\r\n" + (b":" + BIG + b"\r\n") * 5, b"*3\r\n$3\r\na b\r\n:5\r\n*0\r\n",
    nested(6), b"*2147483647\r\n", b"$5\r\n\xdd\xff\xff\xff\xff\r\n", b"$3\r\n\x91\x97\xa1\r\n", b"$-7\r\n", b"!\r\n",
]


# Valid replies of the wrong type for a claim or a record, after which the connection stays open.
QUIET = [b"+OK\r\n", b":1\r\n", b":0\r\n", b"$-1\r\n", b"*-1\r\n", b"$0\r\n\r\n", b"*2\r\n:1\r\n:2\r\n", b"*1\r\n$1\r\n1\r\n"]
APPS = ["shop", "b", "c", "d", "e", "f"]


class Changes:
    """Changes replies, but never two in a row, because a relay without any valid reply would do nothing."""

    def __init__(self, seed):
        self.chance, self.is_on, self.was_on, self.only = random.Random(seed), False, False, None
        self.kinds, self.scripts = collections.Counter(), {}

    def __call__(self, words, ask):
        name = words[0].decode()
        kind = self.scripts.get(words[1]) if name == "EVALSHA" else name
        if not self.is_on or self.was_on or (self.only and kind != self.only):
            self.was_on = False
            reply = ask()
            # Recognize the scripts by their replies: a claim returns a list that begins with a string, a record an
            # empty list.
            if name == "EVALSHA":
                if reply.startswith(b"*1\r\n$"):
                    self.scripts[words[1]] = "claim"
                elif reply == b"*0\r\n":
                    self.scripts[words[1]] = "record"
            return reply
        self.was_on = True
        self.kinds[kind] += 1
        if self.only:
            # Execute a record only every other time.
            if kind == "claim" or self.kinds[kind] % 2:
                ask()
            return self.chance.choice(QUIET)
        reply = ask()
        if self.kinds[kind] % 3 == 0:
            return reply[: self.chance.randrange(len(reply))], None
        return self.chance.choice(ANSWERS)


def test_strange_answers_lose_nothing(start, relay, server):
    """Redis executes the command, but its reply is replaced, truncated or dropped."""
    simulator, queue, change = start(), RedisQueue(server), Changes(21)
    with Peer(between(server.path, change)) as peer:
        queue.setting = {"redis": {"url": f"redis://127.0.0.1:{peer.port}"}}
        # A long lease, so that lost entries are not reclaimed.
        one = relay(simulator, queue=queue, settings={"lease": "3600s", "max_deliveries": 100}, level="warning")
        one.write({name: {} for name in APPS})
        one.start().wait_ready()
        count = 0

        def go_on():
            """Adds some more entries, until more replies have been changed."""
            nonlocal count
            enough = sum(change.kinds.values()) + (10 if change.only is None else 2)
            for app in APPS:
                queue.add(*({"id": identifier(app, count + k), "token": token(count + k)} for k in range(5)), app=app)
            count += 5
            wait_until(lambda: not change.is_on or sum(change.kinds.values()) >= enough or one.process.poll() is not None, "it sends no command")
            assert one.process.poll() is None, one.log.read_text()[-3000:]

        def finish():
            change.is_on = False
            wait_until(
                lambda: all(queue.ask("XLEN", f"apns:{{{app}}}:in") == 0 for app in APPS) or one.process.poll() is not None, "entries are left")
            assert one.process.poll() is None, one.log.read_text()[-3000:]

        go_on()
        finish()
        assert set(change.scripts.values()) == {"claim", "record"}
        # After a lost reply to either, a worker checks what it holds, so test each kind alone too.
        for change.only in None, "claim", "record":
            change.kinds.clear()
            change.is_on = True
            while sum(change.kinds.values()) < (10 if change.only else 80):
                go_on()
            finish()
        told = collections.Counter()
        for app in APPS:
            for record in queue.stream("out", app):
                told.update((app, match) for match in re.findall(r'"id":"([^"]*)"', record["outcomes"]))
        assert told == {(app, identifier(app, number)): 1 for app in APPS for number in range(count)}
        pushed = {push["apns_id"] for push in pushes(simulator)}
        assert pushed == {identifier(app, number) for app in APPS for number in range(count)}
        assert one.memory(most=True) < ENOUGH
        one.stop()


def test_nothing_is_claimed_before_all_is_recorded(start, relay, server):
    """An entry that a record returned to the queue may be claimed again. If the record is then repeated because its reply
    was lost, it would return the entry once more."""
    simulator, queue, change, calls = start(), RedisQueue(server), Changes(1), []
    is_refusing = False

    def refuse(words, ask):
        kind = change.scripts.get(words[1]) if words[0] == b"EVALSHA" else None
        if is_refusing and kind:
            calls.append(kind)
            if kind == "record" and calls.count("record") < 3:
                return b"-ERR refused\r\n"
        return change(words, ask)

    with Peer(between(server.path, refuse)) as peer:
        queue.setting = {"redis": {"url": f"redis://127.0.0.1:{peer.port}"}}
        one = relay(simulator, queue=queue).start().wait_ready()
        # The first call of a script is an EVAL with its text.
        for number in 1, 2:
            queue.add({"id": identifier(number), "token": token(number)})
            one.wait_done()
        wait_until(lambda: set(change.scripts.values()) == {"claim", "record"}, "it claims or records nothing")
        is_refusing = True
        queue.add({"id": identifier(3), "token": token(3)})
        wait_until(lambda: calls.count("record") >= 3, "it records nothing")
        one.wait_done()
        one.stop()
    first = calls.index("record")
    assert calls[first : first + 3] == ["record"] * 3
    assert queue.counts() == {"accepted": 3}
