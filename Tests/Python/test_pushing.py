"""push() and push_many(): notifications that come back with their outcomes, from sessions and clients."""

import asyncio
import contextlib
import gc
import itertools
import os
import signal
import threading
import time
import weakref

import libapns
import pytest

from simulator import DEADLINE, until
from test_client import BAD, UNHEARD, nowhere, token_of  # noqa: F401
from test_http2 import HELLO, TOKEN, TOPIC, needs_http2, push  # noqa: F401
from test_threads import together
from waits import until_it_waits


class Awaited:
    """An AsyncClient whose calls run a loop until they return."""

    def __init__(self, **options):
        self.client, self.loop = libapns.AsyncClient(**options), asyncio.new_event_loop()

    def __getattr__(self, name):
        found = getattr(self.client, name)
        if not asyncio.iscoroutinefunction(found):
            return found
        return lambda *arguments, **named: self.loop.run_until_complete(found(*arguments, **named))

    def push_many(self, *arguments, **named):
        outcomes = self.client.push_many(*arguments, **named)
        while True:
            try:
                yield self.loop.run_until_complete(outcomes.__anext__())
            except StopAsyncIteration:
                return


KINDS = {"session": libapns.Session, "client": libapns.Client, "async client": Awaited}
in_threads = pytest.mark.parametrize("sender", ["session", "client"], indirect=True)


@pytest.fixture(params=KINDS)
def sender(request, who):
    """Makes sessions or clients to a simulator or a port, and closes them after the test."""
    made = []

    def sender(there, **options):
        port = there if isinstance(there, int) else there.ready["http2_port"]
        options |= {"outcomes": "failures"} if request.param == "session" else {}
        made.append(KINDS[request.param](credentials=who, host="127.0.0.1", port=port, **options))
        return made[-1]

    yield sender
    for one in made:
        with contextlib.suppress(libapns.DeadlineError):
            one.close(0)


def of(simulator, push, **options):
    return push(simulator, outcomes="failures", **options)


# ---- One


@needs_http2
def test_push_returns_its_outcome(shared, sender):
    one = sender(shared({"bad_tokens": [BAD.hex()]}))
    mark = object()
    accepted = one.push(TOKEN, HELLO, user_data=mark, collapse_id="one", timeout=DEADLINE)
    assert accepted.is_accepted and accepted.user_data is mark and accepted.token == TOKEN
    assert (str(accepted), accepted.why) == ("accepted", "accepted (HTTP 200)")
    assert accepted.raise_unless_accepted() is accepted
    rejected = one.push(BAD.hex(), {"aps": {}}, timeout=DEADLINE)
    assert rejected.reason is libapns.Reason.BAD_DEVICE_TOKEN and rejected.token == BAD
    assert str(rejected) == "rejected: BadDeviceToken (HTTP 400)" and rejected.why.startswith(f"{rejected}: ")
    with pytest.raises(libapns.NotAcceptedError, match="rejected: BadDeviceToken") as raised:
        rejected.raise_unless_accepted()
    assert raised.value.event is rejected
    assert (one.stats().taken, one.stats().events, one.gone(), one.metrics()["responses"]) == (2, 0, [], 2)


@needs_http2
def test_an_unreachable_service_raises_immediately(nowhere, sender):  # noqa: F811
    """A session takes nothing; a client takes the notification back."""
    one = sender(nowhere)
    with pytest.raises(libapns.NetworkError, match="cannot connect"):
        one.push(TOKEN, HELLO, timeout=DEADLINE)
    with pytest.raises(libapns.NetworkError, match="cannot connect"):
        one.connect()
    if isinstance(one, libapns.Session):
        with pytest.raises(libapns.NetworkError) as raised:
            list(one.push_many([(TOKEN, HELLO)]))
        assert raised.value.taken == 0 and one.stats().taken == 0
    else:
        assert one.stats().cancelled == one.stats().taken == 1


@needs_http2
def test_a_timeout_of_minus_one_never_ends(shared, push, who):
    session = of(shared(), push)
    assert session.push(TOKEN, HELLO, timeout=-1).is_accepted
    assert [event.is_accepted for event in session.push_many([(TOKEN, HELLO)], timeout=-1)] == [True]
    session.send(b"\xff" * 32, HELLO)
    session.drain(-1)
    session.close(-1)
    with libapns.Client(credentials=who, host="127.0.0.1", port=session.port, topic=TOPIC) as client:
        client.connect(-1)
        assert client.push(TOKEN, HELLO, timeout=-1).is_accepted
        assert [event.is_accepted for event in client.push_many([(TOKEN, HELLO)], timeout=-1)] == [True]
        client.drain(float("inf"))
        for call in (lambda: client.push(TOKEN, HELLO, timeout=-2), lambda: client.push_many([], timeout=-2), lambda: client.drain(float("nan"))):
            with pytest.raises(ValueError, match="timeout"):
                call()
        client.close(-1)

    async def main():
        async with libapns.AsyncClient(credentials=who, host="127.0.0.1", port=session.port, topic=TOPIC) as client:
            await client.connect(-1)
            assert (await client.push(TOKEN, HELLO, timeout=-1)).is_accepted
            assert [event.is_accepted async for event in client.push_many([(TOKEN, HELLO)], timeout=-1)] == [True]
            await client.drain(-1)
            await client.close(-1)

    asyncio.run(main())


@needs_http2
def test_push_leaves_other_outcomes(shared, push):
    session = push(shared({"bad_tokens": [BAD.hex()]}))
    session.send_many([(BAD, HELLO, 0), (TOKEN, HELLO, 1)])
    assert session.push(TOKEN, HELLO, user_data=2).user_data == 2
    session.drain(DEADLINE)
    assert sorted(event.user_data for event in session) == [0, 1]


def test_over_the_binary_interface(start, connect):
    session = connect(start(faults={"bad_tokens": [BAD.hex()]}))
    assert session.push(TOKEN, HELLO, timeout=DEADLINE).is_accepted
    assert str(session.push(BAD, HELLO, timeout=DEADLINE)) == "rejected: invalid token (status 8)"
    assert list(session) == []


@needs_http2
def test_a_long_token_has_its_outcome(shared, push):
    session = of(shared(), push)
    token = bytes(range(100))
    assert session.push(token, HELLO).token == token
    ((event),) = session.push_many([(token, HELLO)])
    assert event.token == token


@needs_http2
def test_refused_arguments(shared, push):
    session = of(shared(), push)
    kept = threading.Event()
    reference = weakref.ref(kept)
    with pytest.raises(libapns.ArgumentError, match="payload"):
        session.push(TOKEN, b"", user_data=kept)
    del kept
    assert reference() is None
    with pytest.raises(TypeError):
        session.push(TOKEN, HELLO, more=True)
    with pytest.raises((TypeError, ValueError), match="timeout"):
        session.push(TOKEN, HELLO, timeout=-2)
    session.close()
    with pytest.raises(libapns.ClosedError):
        session.push(TOKEN, HELLO)
    assert session.stats().taken == 0


@needs_http2
def test_a_nonblocking_session_refuses(shared, push):
    session = of(shared(), push, nonblocking=True)
    for refused in (lambda: session.push(TOKEN, HELLO), lambda: session.push_many([])):
        with pytest.raises(libapns.ArgumentError, match="nonblocking"):
            refused()


@needs_http2
def test_timeouts(start, push):
    """A written notification ends as unknown and its later outcome is not an event; others end as cancelled."""
    simulator = start("--http2-port", "0", faults=UNHEARD)
    session = push(simulator)
    mark = threading.Event()
    reference = weakref.ref(mark)
    unknown = session.push(TOKEN, HELLO, user_data=mark, timeout=0.1)
    assert unknown.is_unknown and unknown.user_data is mark and unknown.token == TOKEN
    assert str(unknown) == "unknown: no answer came: its time is over"
    assert session.stats().unresolved == 1
    del mark, unknown
    assert reference() is None
    session.close(0)
    assert list(session) == [] and session.stats().unknown == 1


@needs_http2
def test_unwritten_notifications_are_cancelled_by_the_timeout(start, push):
    session = push(start("--http2-port", "0", faults={"streams_max": 1, **UNHEARD}))
    session.connect()
    session.send(TOKEN, HELLO, user_data="first")  # takes the only stream
    event = session.push(TOKEN, HELLO, timeout=0.05)
    assert str(event) == "cancelled: taken back, and it did not arrive: its time is over"
    assert session.stats().cancelled == 1
    session.close(0)
    assert [event.user_data for event in session] == ["first"]


@needs_http2
def test_a_deadline_of_its_own(start, push):
    """At its deadline a notification without a stream is expired, a written one unknown."""
    simulator = start("--http2-port", "0", faults={"streams_max": 1, **UNHEARD})
    session = push(simulator)
    session.connect()
    session.send(TOKEN, HELLO, user_data="first", deadline=-1)  # takes the only stream

    def one(mark):
        return libapns.Notification(TOKEN, HELLO, user_data=mark, deadline=0.05)

    for event in session.push(TOKEN, HELLO, deadline=0.05, timeout=DEADLINE), *session.push_many([one("")], timeout=DEADLINE):
        assert event.is_expired and not event.is_cancelled and event.kind is libapns.EventKind.EXPIRED, event.why
    session.send(TOKEN, HELLO, user_data="second", deadline=0.05)
    session.send_many([one("third")])
    events = [session.next_event(DEADLINE) for _ in range(2)]
    assert [(str(event.kind), event.user_data) for event in events] == [("expired", "second"), ("expired", "third")]
    assert session.stats().expired == 4
    other = push(simulator)
    other.connect()
    assert other.push(TOKEN, HELLO, deadline=0.2, timeout=DEADLINE).is_unknown
    for wrong in (0, -2, float("nan"), "1"):
        bad = libapns.Notification(TOKEN, HELLO, deadline=wrong)
        for call in (lambda: session.send(TOKEN, HELLO, deadline=wrong), lambda: session.send_many([bad])):
            with pytest.raises((TypeError, ValueError), match="deadline"):
                call()
    session.close(0)
    assert [event.user_data for event in session] == ["first"]


# ---- Threads and signals


@needs_http2
@in_threads
def test_threads_push_at_the_same_time(start, sender):
    """Each push gets its own outcome, and the threads wait in parallel."""
    one = sender(start(faults={"answer_delay_ms": 200, "bad_tokens": [token_of(7).hex()]}))
    one.connect()
    began = time.monotonic()

    def work(number):
        for turn in range(5):
            event = one.push(token_of(number), HELLO, user_data=(number, turn), timeout=DEADLINE)
            assert event.user_data == (number, turn) and event.token == token_of(number)
            assert event.is_rejected is (number == 7)

    together(*(lambda number=number: work(number) for number in range(16)))
    # One after the other would take 16 seconds.
    assert time.monotonic() - began < 8
    assert (one.stats().taken, one.stats().events) == (80, 0)


@needs_http2
def test_push_while_another_thread_reads_events(shared, push):
    session = push(shared())
    done, seen = threading.Event(), []

    def take():
        while not done.is_set() or session.stats().events or session.stats().unresolved:
            seen.extend(event.user_data for event in session.events(0.01))

    def send():
        try:
            for number in range(200):
                session.send(TOKEN, HELLO, user_data=number)
                assert session.push(TOKEN, HELLO, user_data=-1, timeout=DEADLINE).user_data == -1
        finally:
            done.set()

    together(take, send)
    assert sorted(seen) == list(range(200))


@needs_http2
@pytest.mark.parametrize("many", [False, True])
def test_control_c(start, push, many, request):
    # A shell makes background jobs ignore it.
    request.addfinalizer(lambda before=signal.signal(signal.SIGINT, signal.default_int_handler): signal.signal(signal.SIGINT, before))
    session = push(start("--http2-port", "0", faults=UNHEARD))
    session.connect()

    def interrupt():
        until_it_waits(os.getpid())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt) as raised:
        if many:
            list(session.push_many([(TOKEN, HELLO, "mine")], timeout=DEADLINE))
        else:
            session.push(TOKEN, HELLO, user_data="mine", timeout=DEADLINE)
    if not many:
        assert raised.value.taken == 1 and raised.value.identifier == 1
    raised = None
    gc.collect()
    session.close(0)
    (event,) = session
    assert event.user_data == "mine" and event.is_unknown


# ---- Many


@needs_http2
def test_push_many_returns_every_outcome(shared, sender):
    one = sender(shared({"bad_prefixes": ["ff"]}))
    count = 5000

    def pushes():
        for n in range(count):
            token = b"\xff" + token_of(n)[1:] if n % 50 == 0 else token_of(n)
            yield (token, HELLO, n) if n % 2 else libapns.Notification(token, HELLO, user_data=n, collapse_id="one")

    outcomes = one.push_many(pushes(), timeout=DEADLINE)
    assert iter(outcomes) is outcomes and one.stats().taken == 0
    events = list(outcomes)
    assert sorted(event.user_data for event in events) == list(range(count))
    assert all(event.is_rejected is (event.user_data % 50 == 0) for event in events)
    assert one.stats().events == 0 and next(outcomes, None) is None


def test_push_many_returns_every_outcome_over_the_binary_interface(start, connect):
    session = connect(start(faults={"bad_every": 100}))
    events = list(session.push_many(((token_of(n), HELLO, n) for n in range(1000)), timeout=DEADLINE))
    assert sorted(event.user_data for event in events) == list(range(1000))
    assert any(event.is_rejected for event in events) and list(session) == []


@needs_http2
def test_the_iterable_is_read_while_there_is_room(shared, sender):
    """The window bounds how far it reads ahead."""
    one = sender(shared(), window_bytes=65536)
    ahead, read = 0, itertools.count(1)
    outcomes = one.push_many(((token_of(n), HELLO, next(read)) for n in itertools.count()), timeout=DEADLINE)
    for returned, _ in enumerate(itertools.islice(outcomes, 3000), 1):
        ahead = max(ahead, one.stats().taken - returned)
        if returned % 500 == 0 and isinstance(one, libapns.Client):
            # The program is slow for a while, too.
            until(lambda: one.stats().unresolved == 0)
    assert 64 <= ahead < 4000
    if isinstance(one, libapns.Session):
        left = one.stats().taken - 3000
        del outcomes
        one.drain(DEADLINE)
        assert list(one) == [] and left < 4000


@needs_http2
def test_notifications_are_sent_while_outcomes_are_taken(start, push):
    """Hundreds are under way while a program takes one outcome."""
    session = push(start("--http2-port", "0", faults={"answer_delay_ms": 20}))
    outcomes = session.push_many((token_of(n), HELLO) for n in itertools.count())
    ahead = [session.stats().taken - returned for returned, _ in zip(range(1, 2001), outcomes)]
    assert min(ahead[300:]) > 100


@needs_http2
def test_outcomes_left_by_an_iterator_become_events(shared, push):
    session = push(shared())
    outcomes = session.push_many((token_of(n), HELLO, n) for n in range(100))
    first = next(outcomes)
    taken = session.stats().taken
    del outcomes
    session.drain(DEADLINE)
    assert sorted([first.user_data, *(event.user_data for event in session)]) == list(range(taken))
    assert session.push(TOKEN, HELLO, timeout=DEADLINE).is_accepted


@needs_http2
@pytest.mark.parametrize("fault", ["payload", "iterable", "tuple"])
def test_an_invalid_item_raises_after_the_outcomes(shared, sender, fault):
    one = sender(shared())

    def pushes():
        for number in range(150):
            yield token_of(number), HELLO, number
        if fault == "iterable":
            raise LookupError("mine")
        yield (TOKEN, b"") if fault == "payload" else (TOKEN,)
        yield TOKEN, HELLO, "never"

    outcomes = one.push_many(pushes(), timeout=DEADLINE)
    seen = []
    with pytest.raises({"payload": libapns.ArgumentError, "iterable": LookupError, "tuple": TypeError}[fault]) as raised:
        for event in outcomes:
            seen.append(event.user_data)
    assert sorted(seen) == list(range(150)) and raised.value.taken == 150
    assert next(outcomes, None) is None


@needs_http2
@in_threads
def test_push_many_times_out(start, sender):
    one = sender(start(faults=UNHEARD))
    one.connect()
    outcomes = one.push_many([(token_of(n), HELLO, n) for n in range(10)], timeout=0.1)
    for _ in range(2):
        with pytest.raises(libapns.DeadlineError, match="10 notifications still wait") as raised:
            next(outcomes)
        assert raised.value.unresolved == 10
    with contextlib.suppress(libapns.DeadlineError) if isinstance(one, libapns.Session) else pytest.raises(libapns.DeadlineError):
        one.close(0)
    assert sorted(event.user_data for event in outcomes) == list(range(10))


@needs_http2
def test_two_iterators_in_turn(shared, push):
    session = push(shared())
    ours, theirs = (session.push_many([(token_of(n), HELLO, (name, n)) for n in range(300)]) for name in "ab")
    mixed = list(itertools.chain.from_iterable(zip(ours, theirs)))
    assert sorted(event.user_data for event in mixed[::2]) == [("a", n) for n in range(300)]
    assert sorted(event.user_data for event in mixed[1::2]) == [("b", n) for n in range(300)]


@needs_http2
def test_the_iterable_may_use_the_session(shared, push):
    session = push(shared())

    def pushes():
        for number in range(3):
            yield token_of(number), HELLO, session.push(TOKEN, HELLO, timeout=DEADLINE).kind
        with pytest.raises(ValueError, match="in use"):
            next(outcomes)

    outcomes = session.push_many(pushes())
    assert [str(event.user_data) for event in outcomes] == ["accepted"] * 3


@needs_http2
def test_nothing_is_left_behind(shared, push):
    session = of(shared(), push)
    marks = [threading.Event() for _ in range(200)]
    references = [weakref.ref(mark) for mark in marks]
    outcomes = session.push_many((TOKEN, HELLO, marks.pop()) for _ in range(200))
    next(outcomes)
    del outcomes
    session.drain(DEADLINE)
    list(session)
    session.flush()
    gc.collect()
    assert sum(reference() is not None for reference in references) == len(marks)
