"""Client and AsyncClient: pushes and their outcomes, from threads and tasks, to the end of the process."""

import asyncio
import concurrent.futures
import contextlib
import copy
import datetime
import gc
import itertools
import os
import pickle
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import weakref

import libapns
import pytest

from simulator import DEADLINE, until
from swallowing import Swallowing
from test_http2 import HELLO, KEY_ID, TEAM_ID, TOKEN, TOPIC, needs_http2
from test_threads import together
from waits import ANY, until_it_waits

BAD = b"\xff" * 32
UNHEARD = {"no_answer": 1}

pytestmark = needs_http2


def token_of(number):
    return number.to_bytes(32, "big")


@pytest.fixture
def given(certificates):
    """The arguments of a client to a simulator."""

    def given(simulator, **more):
        who = {"certificate": certificates / "provider.pem", "ca_file": certificates / "ca.pem"}
        port = simulator if isinstance(simulator, int) else simulator.ready["http2_port"]
        return {**who, "host": "127.0.0.1", "port": port, **more}

    return given


@pytest.fixture
def make(given):
    """Makes clients to a simulator and closes them after the test."""
    clients = []

    def make(simulator, **options):
        clients.append(libapns.Client(**given(simulator, **options)))
        return clients[-1]

    yield make
    for client in clients:
        try:
            client.close(0)
        except libapns.DeadlineError:
            pass


@pytest.fixture
def nowhere():
    """A port without a listener, reserved while the test runs."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def silent():
    """A port that accepts connections and sends nothing, so no notification is written to it."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield listening.getsockname()[1]


# ---- Construction


def test_a_key_and_a_certificate_as_file_and_as_text(start, certificates):
    simulator = start()
    there = {"host": "127.0.0.1", "port": simulator.ready["http2_port"], "ca_file": str(certificates / "ca.pem")}
    key, certificate = certificates / "provider-token.p8", certificates / "provider.pem"
    base64 = "".join(line for line in key.read_text().splitlines() if "-----" not in line)
    for one in (key, str(key), key.read_text(), key.read_bytes(), key.read_text().replace("\n", "\\n"), base64):
        with libapns.Client(key=one, key_id=KEY_ID, team_id=TEAM_ID, topic=TOPIC, **there) as client:
            assert client.push(TOKEN, HELLO, timeout=DEADLINE).is_accepted
    for one in (certificate, str(certificate), certificate.read_text(), bytearray(certificate.read_bytes())):
        with libapns.Client(certificate=one, certificate_key=one, **there) as client:
            assert client.push(TOKEN, HELLO, timeout=DEADLINE).is_accepted
    assert simulator.stop()["accepted"] == 10


def test_methods_name_and_list_their_options(given, nowhere):
    where = given(nowhere)
    who = libapns.Credentials(certificate_file=where["certificate"], ca_file=where["ca_file"])

    async def use(make, method):
        await getattr(make(), method)(TOKEN, HELLO, exipry=0)

    for make, methods in (
        (lambda: libapns.Client(**where), ("push", "submit")),
        (lambda: libapns.AsyncClient(**where), ("push", "submit")),
        (lambda: libapns.aio.Session(who, host="127.0.0.1", port=nowhere), ("send", "post", "post_nowait")),
    ):
        for method in methods:
            with pytest.raises(TypeError) as caught:
                asyncio.run(use(make, method))
            said = f"{method}() got an unexpected keyword argument 'exipry'; did you mean 'expiry'?"
            assert str(caught.value) == said
    for method in (
        libapns.Client.push, libapns.Client.submit, libapns.AsyncClient.push, libapns.AsyncClient.submit,
        libapns.aio.Session.send, libapns.aio.Session.post, libapns.aio.Session.post_nowait,
    ):  # fmt: skip
        words = set(re.findall(r"\w+", method.__doc__))
        assert words >= {"expiry", "priority", "topic", "push_type", "collapse_id", "apns_id", "channel_id", "deadline"}
    with pytest.raises(TypeError, match=r"^push\(\) got an unexpected keyword argument 'more'$"):
        libapns.Client(**where).push(TOKEN, HELLO, more=True)


@pytest.mark.parametrize("kind", [libapns.Client, libapns.AsyncClient])
def test_wrong_arguments(who, kind):
    with pytest.raises(TypeError, match="a key with key_id and team_id, or a certificate, or credentials"):
        kind()
    with pytest.raises(TypeError, match="take the place of"):
        kind(credentials=who, key="AuthKey.p8")
    for option in ("nonblocking", "outcomes", "events_max"):
        with pytest.raises(TypeError, match=f"a client takes no {option}"):
            kind(credentials=who, **{option: True})
    with pytest.raises(TypeError, match="did you mean 'topic'"):
        kind(credentials=who, topik="a")
    with pytest.raises(libapns.CredentialsError):
        kind(key="no/such/AuthKey.p8", key_id=KEY_ID, team_id=TEAM_ID)
    secret = "-----BEGIN PRIVATE KEY-----\nMIGTAgEAMBMGByqGSM49\n-----END PRIVATE KEY-----\n"
    for text in (secret, secret.replace("\n", "\\n"), "MIGTAgEAMBMGByqGSM49" * 10):
        with pytest.raises(libapns.CredentialsError) as raised:
            kind(key=text, key_id=KEY_ID, team_id=TEAM_ID)
        assert "MIGTAgEA" not in str(raised.value)


def test_default_address(who):
    with libapns.Client(credentials=who) as client:
        assert (client.host, client.port, client.credentials) == ("api.push.apple.com", 443, who)
        assert repr(client) == "<libapns.Client to api.push.apple.com, port 443>"
    assert client.closed and repr(client).endswith(", closed>")
    assert libapns.AsyncClient(credentials=who, environment="sandbox").host == "api.sandbox.push.apple.com"


# ---- One push


def test_every_field_reaches_the_service(start, make):
    simulator = start(control=True)
    client = make(simulator)
    soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    for expiry in (soon, 0, None):
        assert client.push(TOKEN, HELLO, expiry=expiry, priority=5, push_type="alert", collapse_id="score",
                           timeout=DEADLINE).is_accepted  # fmt: skip
    lines = simulator.control("GET", "/accepted")[1]["notifications"]
    assert [line["expiration"] for line in lines] == [str(int(soon.timestamp())), "0", None]
    assert {(line["priority"], line["push_type"], line["collapse_id"]) for line in lines} == {("5", "alert", "score")}


def test_refused_arguments(shared, make):
    client = make(shared())
    kept = threading.Event()
    reference = weakref.ref(kept)
    for call in (client.push, client.submit):
        with pytest.raises(libapns.ArgumentError, match="payload"):
            call(TOKEN, b"", user_data=kept)
        with pytest.raises(TypeError):
            call(TOKEN, HELLO, more=True)
    del kept
    gc.collect()
    assert reference() is None
    client.close()
    for call in (client.push, client.submit):
        with pytest.raises(libapns.ClosedError):
            call(TOKEN, HELLO)
    with pytest.raises(libapns.ClosedError):
        client.push_many([])
    client.close()
    assert client.stats().taken == 0


def test_an_untrusted_service_raises_immediately(start, certificates):
    simulator = start()
    with libapns.Client(certificate=certificates / "provider.pem", host="127.0.0.1", port=simulator.ready["http2_port"]) as client:
        with pytest.raises(libapns.TLSError):
            client.push(TOKEN, HELLO, timeout=DEADLINE)


def test_timeouts(start, make, silent):
    """Written notifications end as unknown, others as cancelled."""
    client = make(start(faults=UNHEARD))
    mark = object()
    client.connect(DEADLINE)
    unknown = client.push(TOKEN.hex(), HELLO, user_data=mark, timeout=1)
    assert str(unknown) == "unknown: no answer came: its time is over"
    assert unknown.user_data is mark and unknown.token == TOKEN and unknown.identifier == 1
    client = make(silent)
    cancelled = client.push(TOKEN, HELLO, user_data=mark, timeout=0.1)
    assert str(cancelled) == "cancelled: taken back, and it did not arrive: its time is over"
    assert cancelled.user_data is mark
    with pytest.raises(libapns.NotAcceptedError, match="cancelled"):
        cancelled.raise_unless_accepted()
    with pytest.raises(libapns.DeadlineError, match="not done within 0.1 seconds"):
        client.connect(0.1)


def test_control_c(make, silent, request):
    # A shell makes background jobs ignore it.
    request.addfinalizer(lambda before=signal.signal(signal.SIGINT, signal.default_int_handler): signal.signal(signal.SIGINT, before))
    client = make(silent)

    def interrupt():
        until(lambda: client.stats().taken == 1)
        until_it_waits(os.getpid(), ANY)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        client.push(TOKEN, HELLO, timeout=DEADLINE)
    thread.join()
    assert client.stats().cancelled == client.stats().taken == 1


# ---- Threads


def test_push_push_many_and_submit_together(shared, make):
    client = make(shared({"bad_prefixes": ["ff"]}))
    tokens = [b"\xff" + token_of(n)[1:] if n % 10 == 0 else token_of(n) for n in range(300)]

    def check(event):
        assert event.token == tokens[event.user_data] and event.is_rejected is (event.user_data % 10 == 0)

    def push():
        for n, token in enumerate(tokens[:50]):
            check(client.push(token, HELLO, user_data=n, timeout=DEADLINE))

    def submit():
        futures = [client.submit(token, HELLO, user_data=n) for n, token in enumerate(tokens)]
        for n, future in enumerate(futures):
            check(future.result(DEADLINE))
            assert future.result().user_data == n

    def push_many():
        events = list(client.push_many(((token, HELLO, n) for n, token in enumerate(tokens)), timeout=DEADLINE))
        for event in events:
            check(event)
        assert sorted(event.user_data for event in events) == list(range(300))

    together(push, submit, push_many, push, submit, push_many)
    client.drain(DEADLINE)
    stats = client.stats()
    assert (stats.taken, stats.unresolved, stats.events) == (1300, 0, 0)


def test_it_retries_between_calls(start, make):
    """A deferred notification is retried without a call of the program."""
    client = make(start(faults={"bad_every": 2, "bad_reason": "TooManyRequests"}), retry_schedule="1")
    both, done = [], threading.Event()

    def count(future):
        both.append(future.result())
        if len(both) == 2:
            done.set()

    for _ in range(2):
        client.submit(TOKEN, HELLO).add_done_callback(count)
    assert done.wait(DEADLINE) and all(event.is_accepted for event in both)
    assert client.stats().resent == 1


@pytest.mark.parametrize("swallows", [False, True])
def test_a_deadline_of_its_own(silent, make, given, swallows):
    with contextlib.closing(Swallowing()) as there:
        play_deadlines(there.port if swallows else silent, make, given)


def play_deadlines(port, make, given):
    client = make(port)
    late = {"deadline": 0.2}
    assert client.push(TOKEN, HELLO, timeout=DEADLINE, **late).is_expired
    futures = [client.submit(TOKEN, HELLO, **late), client.submit(TOKEN, HELLO)]
    assert futures[0].result(DEADLINE).is_expired and not futures[1].done()
    ((event),) = client.push_many([libapns.Notification(TOKEN, HELLO, **late)], timeout=DEADLINE)
    assert event.is_expired

    async def main():
        async with libapns.AsyncClient(**given(port)) as client:
            assert (await client.push(TOKEN, HELLO, timeout=DEADLINE, **late)).is_expired
            assert (await (await client.submit(TOKEN, HELLO, **late))).is_expired
            many = client.push_many([libapns.Notification(TOKEN, HELLO, **late)], timeout=DEADLINE)
            assert [event.is_expired async for event in many] == [True]

    run_loop(main())


# ---- submit()


def test_a_future(shared, make):
    client = make(shared({"bad_tokens": [BAD.hex()]}))
    payload, seen = {"aps": {"badge": 1}}, queue.SimpleQueue()
    futures = [client.submit(TOKEN, payload, user_data=n) for n in range(10)]
    futures.append(client.submit(BAD, payload, user_data=10))
    payload["aps"]["badge"] = "too late to be wrong"
    for future in futures:
        future.add_done_callback(seen.put)
    assert {seen.get(timeout=DEADLINE) for _ in futures} == set(futures)
    assert all(isinstance(future, concurrent.futures.Future) for future in futures)
    done, waiting = concurrent.futures.wait(futures, timeout=DEADLINE)
    assert len(done) == 11 and not waiting
    assert [future.result().user_data for future in futures] == list(range(11))
    assert [future.result().is_rejected for future in futures] == [False] * 10 + [True]
    # A finished one cannot be cancelled.
    assert not futures[0].cancel() and not futures[0].cancelled()


def test_a_cancelled_future(start, make, silent):
    client = make(silent)
    future = client.submit(TOKEN, HELLO)
    called = []
    future.add_done_callback(called.append)
    assert future.cancel() and future.cancelled() and future.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result(DEADLINE)
    assert called == [future] and client.stats().cancelled == 1
    # Here it is in flight.
    client = make(start(faults=UNHEARD))
    future = client.submit(TOKEN, HELLO)
    until(lambda: client.stats().in_flight == 1)
    assert not future.cancel() and not future.done()
    with pytest.raises(libapns.DeadlineError, match="1 notifications have no outcome") as raised:
        client.close(0)
    assert raised.value.unresolved == 1
    assert future.result(DEADLINE).is_unknown


def test_submit_keeps_trying(nowhere, make):
    client = make(nowhere, reconnect_pause_max=0.05)
    future = client.submit(TOKEN, HELLO)
    with pytest.raises(libapns.NetworkError):
        client.push(TOKEN, HELLO, timeout=DEADLINE)
    assert not future.done()
    assert future.cancel()


def test_submit_waits_for_room(start, make):
    """A producer does not run ahead of the service."""
    client = make(start(faults={"answer_delay_ms": 50}), window_bytes=16384, payload_max=256)
    ahead, lock, answered = 0, threading.Lock(), itertools.count()
    done = 0

    def count(_):
        nonlocal done
        with lock:
            done += 1

    for number in range(1, 1001):
        client.submit(token_of(number), HELLO).add_done_callback(count)
        ahead = max(ahead, number - done)
    client.drain(DEADLINE)
    assert 16 < ahead < 400 and client.stats().accepted == 1000


def test_submit_without_room(start, make):
    client = make(start(faults=UNHEARD), window_bytes=16384, payload_max=256, connect_timeout=0.1, write_timeout=0.1)
    client.connect(DEADLINE)
    with pytest.raises(libapns.FullError, match="no room"):
        while True:
            client.submit(TOKEN, HELLO)
    with pytest.raises(libapns.FullError, match="no room"):
        client.push(TOKEN, HELLO, timeout=0.05)


def test_callbacks_may_submit(shared, make):
    """Submits more than there is room for, from the thread that makes room."""
    client = make(shared(), window_bytes=16384, payload_max=256)
    outcomes, count = queue.SimpleQueue(), 3000
    left = iter(range(count))

    def go_on(future=None):
        payload = {"aps": {"badge": 1}}
        for number in itertools.islice(left, 2):
            what = libapns.Payload(alert="Hello") if number % 3 == 0 else '{"aps":{}}' if number % 3 == 1 else payload
            client.submit(token_of(number), what, user_data=number).add_done_callback(go_on)
        payload["aps"] = "changed"
        if future is not None:
            outcomes.put(future.result())

    client.submit(TOKEN, HELLO, user_data=-1).add_done_callback(go_on)
    events = [outcomes.get(timeout=DEADLINE) for _ in range(count + 1)]
    assert sorted(event.user_data for event in events) == list(range(-1, count))
    assert all(event.is_accepted for event in events)


def test_callbacks_may_not_wait(shared, make):
    client = make(shared())
    said = queue.SimpleQueue()

    def wait(_):
        for call in (client.push, client.push_many, client.drain, client.connect):
            arguments = {client.push: (TOKEN, HELLO), client.push_many: ([],)}.get(call, ())
            try:
                call(*arguments)
            except libapns.ArgumentError as error:
                said.put(str(error))
        client.close()
        said.put("closed")

    client.submit(TOKEN, HELLO).add_done_callback(lambda _: sys.exit())
    client.submit(TOKEN, HELLO).add_done_callback(wait)
    words = [said.get(timeout=DEADLINE) for _ in range(5)]
    assert all("would wait for itself" in each for each in words[:4]) and words[4] == "closed"
    client.close(DEADLINE)
    assert client.stats().accepted == 2


# ---- Many


# ---- The end


BEGINNING = """
import os, signal, sys, threading, time
import libapns
port, certificates = int(sys.argv[1]), sys.argv[2]
def make(**options):
    options = {"close_timeout": 200, **options}
    return libapns.Client(certificate=certificates + "/provider.pem", ca_file=certificates + "/ca.pem", host="127.0.0.1",
                          port=port, **options)
def submit(client, count=300):
    for n in range(count):
        client.submit(bytes(range(32)), {"aps": {"alert": str(n)}})
"""

ENDS = {
    "end": "client = make(); submit(client)",
    "exit": "client = make(); submit(client); sys.exit(0)",
    "local": "def main(): submit(make())\nmain()",
    "forgotten": "submit(make()); time.sleep(0.1)",
    "with": "with make() as client: submit(client)",
    "closed": "client = make(); submit(client); client.close(200)",
    "cycle": "class Thing: pass\nthing = Thing(); thing.me = thing; thing.client = make(); submit(thing.client)\ndel thing",
    "thread": "thread = threading.Thread(target=lambda: submit(make())); thread.start()",
    "daemon": "client = make()\nthread = threading.Thread(target=submit, args=[client], daemon=True); thread.start(); thread.join()",
    "callback": "client = make(); submit(client, 299)\nclient.submit(bytes(range(31)), {'aps': {}}).add_done_callback("
    "lambda future: print(future.result(), flush=True))",
    "two": "clients = [make(), make()]; submit(clients[0], 150); submit(clients[1], 150)",
    "fork": "client = make(); submit(client)\nif os.fork() == 0: sys.exit(0)\nassert os.wait()[1] == 0",
    "fork, within": "with make() as client:\n    submit(client)\n    if os.fork() == 0: sys.exit(0)\n    assert os.wait()[1] == 0",
    "child": "if os.fork() == 0:\n    client = make(); submit(client); sys.exit(0)\nassert os.wait()[1] == 0",
    "multiprocessing": "import multiprocessing\ndef work():\n    global client\n    client = make(); submit(client)\n"
    "parent = make(); parent.connect(200)\n"
    "one = multiprocessing.get_context('fork').Process(target=work); one.start(); one.join()",
    "sigterm": "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\nclient = make(); submit(client)\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(200)",
}  # fmt: skip


def run(simulator, certificates, program):
    port = simulator if isinstance(simulator, int) else simulator.ready["http2_port"]
    # Newer Pythons warn about fork in a process with threads.
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", BEGINNING + program, str(port), certificates],
        capture_output=True, text=True, timeout=DEADLINE,
    )  # fmt: skip


@pytest.mark.parametrize("how", ENDS)
def test_all_is_delivered(start, certificates, how):
    simulator = start()
    ended = run(simulator, certificates, ENDS[how])
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == ("accepted\n" if how == "callback" else "")
    assert simulator.stop()["accepted"] == 300


LOSSES = {
    "end": "client = make(close_timeout=0.2); submit(client, 10)",
    "forgotten": "submit(make(close_timeout=0.2), 10)",
    "none": "client = make(close_timeout=0); submit(client, 10)",
}


@pytest.mark.parametrize("how", LOSSES)
def test_unresolved_notifications_are_counted(start, certificates, how):
    simulator = start(faults=UNHEARD)
    ended = run(simulator, certificates, LOSSES[how])
    said = f"libapns: 127.0.0.1:{simulator.ready['http2_port']}: the session ended, and 10 notifications have no outcome\n"
    assert (ended.returncode, ended.stderr) == (0, said)


def test_unresolved_notifications_are_counted_without_a_connection(nowhere, certificates):
    ended = run(nowhere, certificates, "client = make(close_timeout=0.2); submit(client, 10)")
    assert ended.returncode == 0
    assert f"libapns: 127.0.0.1:{nowhere}: the session ended, and 10 notifications have no outcome\n" in ended.stderr


def test_ctrl_c_ends_the_wait_at_the_end(start, certificates):
    program = """
import atexit
signal.signal(signal.SIGINT, signal.default_int_handler)
client = make(close_timeout=600); submit(client, 10)
# Registered later, so it is called before.
atexit.register(lambda: threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start())
"""
    ended = run(start(faults=UNHEARD), certificates, program)
    assert "KeyboardInterrupt" in ended.stderr and "10 notifications have no outcome" in ended.stderr


def test_a_block_that_raises_keeps_its_exception(start, given):
    # The session abandons the stream once, which does not resolve the push.
    hasty = {"connect_timeout": 0.1, "write_timeout": 0.1, "answer_timeout": 1}
    with pytest.raises(LookupError, match="mine"):
        with libapns.Client(**given(start(faults=UNHEARD), **hasty)) as client:
            client.submit(TOKEN, HELLO)
            raise LookupError("mine")
    assert client.closed and client.stats().unknown + client.stats().cancelled == 1


def test_nothing_is_left_behind(shared, given):
    before = set(threading.enumerate())
    client = libapns.Client(**given(shared()))
    marks = [threading.Event() for _ in range(200)]
    references = [weakref.ref(mark) for mark in marks] + [weakref.ref(client)]
    for event in client.push_many((TOKEN, HELLO, marks.pop()) for _ in range(200)):
        assert event.is_accepted
    (thread,) = set(threading.enumerate()) - before
    assert thread.name == "libapns" and thread.daemon
    del client, event
    gc.collect()
    thread.join(DEADLINE)
    assert not thread.is_alive()
    assert [reference() for reference in references] == [None] * 201


# ---- The binary interface


def test_the_binary_interface_proves_in_time(start, given):
    """The gateway answers only rejections: without a proof an acceptance would take a minute."""
    async def main():
        async with libapns.AsyncClient(**there) as client:
            assert (await client.push(TOKEN, HELLO, timeout=DEADLINE)).is_accepted
            events = [event async for event in client.push_many(many(), timeout=DEADLINE)]
            assert sorted(event.user_data for event in events) == list(range(100))

    def many():
        return ((token_of(n), HELLO, n) for n in range(100))

    simulator = start(faults={"bad_tokens": [BAD.hex()]})
    there = {**given(simulator), "port": simulator.gateway[1], "protocol": "binary", "prove_after": -1}
    with libapns.Client(**there) as client:
        assert client.push(TOKEN, HELLO, timeout=DEADLINE).is_accepted
        assert str(client.push(BAD, HELLO, timeout=DEADLINE)) == "rejected: invalid token (status 8)"
        events = list(client.push_many(many(), timeout=DEADLINE))
        assert sorted(event.user_data for event in events) == list(range(100))
        future = client.submit(TOKEN, HELLO)
        client.drain(DEADLINE)
        assert future.result(0).is_accepted
    run_loop(main())


# ---- Forks


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_gets_an_error(shared, make):
    client = make(shared())
    assert client.push(TOKEN, HELLO, timeout=DEADLINE).is_accepted
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = []
        for call in (client.push, client.submit, lambda *_: client.push_many([]), lambda *_: client.drain(), lambda *_: client.connect()):
            try:
                call(TOKEN, HELLO)
            except libapns.ForkedError as error:
                said.append(str(error))
        client.close()
        os.write(writing, "\n".join(said).encode())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    os.close(writing)
    with open(reading) as pipe:
        words = pipe.read().split("\n")
    assert len(words) == 5
    assert set(words) == {"the client was made by the parent process: make one in each process, after the fork, as in "
                          "Celery's worker_process_init"}  # fmt: skip
    assert client.push(TOKEN, HELLO, timeout=DEADLINE).is_accepted


# ---- asyncio


def run_loop(main):
    return asyncio.run(asyncio.wait_for(main, DEADLINE))


def test_asyncio(shared, given):
    async def main():
        async with client:
            outcomes = await asyncio.gather(*(client.push(token_of(n), HELLO, user_data=n) for n in range(100)))
            assert [event.user_data for event in outcomes] == list(range(100))
            rejected = await client.push(BAD, {"aps": {}})
            assert rejected.reason is libapns.Reason.BAD_DEVICE_TOKEN
            future = await client.submit(TOKEN, HELLO, user_data="mine")
            assert (await future).user_data == "mine"
            seen = [event async for event in client.push_many((token_of(n), HELLO, n) for n in range(1500))]
            assert sorted(event.user_data for event in seen) == list(range(1500))

            async def pushes():
                for n in range(200):
                    await asyncio.sleep(0)
                    yield libapns.Notification(token_of(n), HELLO, user_data=n)

            seen = [event.user_data async for event in client.push_many(pushes())]
            assert sorted(seen) == list(range(200))
            with pytest.raises(libapns.ArgumentError, match="payload"):
                await client.push(TOKEN, b"")
            with pytest.raises(libapns.ArgumentError, match="payload"):
                await client.submit(TOKEN, b"")
        assert client.closed
        with pytest.raises(libapns.ClosedError):
            await client.push(TOKEN, HELLO)
        await client.close()

    # Made before there is a loop, as in a server's module.
    client = libapns.AsyncClient(**given(shared({"bad_tokens": [BAD.hex()]})))
    run_loop(main())


async def test_asyncio_timeouts(start, given, silent):
    simulator = start(faults=UNHEARD)
    client = libapns.AsyncClient(**given(simulator))
    await client.connect(DEADLINE)
    unknown = await client.push(TOKEN.hex(), HELLO, user_data="mine", timeout=1)
    assert str(unknown) == "unknown: no answer came: its time is over"
    assert (unknown.user_data, unknown.token) == ("mine", TOKEN)
    with pytest.raises(libapns.DeadlineError, match="1 notifications still wait") as raised:
        async for _ in client.push_many([(TOKEN, HELLO)], timeout=0.1):
            pass
    assert (raised.value.taken, raised.value.unresolved) == (1, 1)
    with pytest.raises(libapns.DeadlineError):
        await client.close(0.1)
    client = libapns.AsyncClient(**given(silent))
    cancelled = await client.push(TOKEN, HELLO, user_data="mine", timeout=0.1)
    assert str(cancelled) == "cancelled: taken back, and it did not arrive: its time is over"
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(client.push(TOKEN, HELLO), 0.1)
    future = await client.submit(TOKEN, HELLO)
    future.cancel()
    await asyncio.sleep(0)
    assert client.stats().cancelled == client.stats().taken == 3
    with pytest.raises(libapns.DeadlineError, match="not done within 0.1 seconds"):
        await client.connect(0.1)
    await client.close()


async def test_asyncio_waits_for_room(start, given):
    simulator = start(faults={"answer_delay_ms": 20})
    async with libapns.AsyncClient(**given(simulator, window_bytes=16384, payload_max=256)) as client:
        done = ahead = 0

        def count(_):
            nonlocal done
            done += 1

        for number in range(1, 501):
            (await client.submit(token_of(number), HELLO)).add_done_callback(count)
            ahead = max(ahead, number - done)
        await client.drain(DEADLINE)
        assert 16 < ahead < 400 and done == 500
        read = itertools.count(1)
        ahead = seen = 0
        many = client.push_many((token_of(n), HELLO, next(read)) for n in itertools.count())
        async for _ in many:
            seen += 1
            ahead = max(ahead, client.stats().taken - 500 - seen)
            if seen == 1000:
                break
        await many.aclose()
        assert ahead < 2000


# ---- Outcomes made by a program


def test_a_program_can_make_events_for_its_tests():
    rejected = libapns.Event(kind="rejected", reason="BadDeviceToken", token="ff" * 32, user_data=7)
    assert rejected.is_rejected and rejected.reason is libapns.Reason.BAD_DEVICE_TOKEN
    assert (rejected.http_status, rejected.token, rejected.user_data) == (400, BAD, 7)
    assert rejected.why.startswith("rejected: BadDeviceToken (HTTP 400): ")
    accepted = libapns.Event(kind=libapns.EventKind.ACCEPTED)
    assert accepted.is_accepted and accepted.http_status == 200 and accepted.token == b""
    assert rejected.has_invalid_token and not accepted.has_invalid_token
    invalid = [reason.text for reason in libapns.Reason if libapns.Event(kind="rejected", reason=reason).has_invalid_token]
    assert invalid == ["BadDeviceToken", "DeviceTokenNotForTopic", "Unregistered", "ExpiredToken"]
    assert libapns.Event(kind="rejected", reject=libapns.Reject.INVALID_TOKEN).has_invalid_token
    with pytest.raises(libapns.NotAcceptedError) as raised:
        rejected.raise_unless_accepted()
    # Task queues copy and pickle them.
    for one in (copy.copy(rejected), pickle.loads(pickle.dumps(rejected)), pickle.loads(pickle.dumps(raised.value)).event):
        assert repr(one) == repr(rejected) and one.why == rejected.why
    for mistake in ({}, {"kind": "wrong"}, {"kind": "accepted", "reason": "Nonsense"}, {"kind": "accepted", "nothing": 1}, {"kind": 99}):
        with pytest.raises((TypeError, ValueError)):
            libapns.Event(**mistake)
    with pytest.raises(AttributeError):
        rejected.kind = libapns.EventKind.ACCEPTED


def test_the_repr_of_a_notification():
    one = libapns.Notification(TOKEN, HELLO, user_data=1, expiry=0)
    assert one == libapns.Notification(TOKEN, HELLO, user_data=1, expiry=0) != libapns.Notification(TOKEN, HELLO)
    assert re.match(r"Notification\(token=b.*expiry=0", repr(one))
    with pytest.raises(TypeError):
        libapns.Notification(TOKEN, HELLO, 1)


def test_no_name_shadows_a_builtin():
    import builtins

    import libapns.aio

    assert not (set(libapns.__all__) | set(libapns.aio.__all__)) & set(dir(builtins))
