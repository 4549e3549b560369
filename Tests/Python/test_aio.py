"""Sessions in an event loop: libapns.aio with asyncio and uvloop, and the nonblocking sessions below it."""

import asyncio
import contextlib
import gc
import logging
import multiprocessing
import os
import resource
import selectors
import socket
import threading
import time

import libapns
import libapns.aio
import pytest
from swallowing import Swallowing
from test_client import nowhere  # noqa: F401
from test_http2 import HAS_HTTP2, needs_http2

TOKEN = bytes(range(32))
HELLO = {"aps": {"alert": "Hello"}}
REJECTED, ACCEPTED, UNKNOWN = (
    libapns.EventKind.REJECTED, libapns.EventKind.ACCEPTED, libapns.EventKind.UNKNOWN,
)  # fmt: skip
DEADLINE = 600
TOPIC = "com.example.app"


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request):
    """Runs a coroutine in a loop of that kind."""
    if request.param == "uvloop":
        make = pytest.importorskip("uvloop").new_event_loop
    else:
        make = asyncio.new_event_loop

    def run(main):
        loop = make()
        errors = []
        loop.set_exception_handler(lambda loop, context: errors.append(context))
        try:
            return loop.run_until_complete(asyncio.wait_for(main, DEADLINE))
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
            assert errors == []

    return run


@pytest.fixture(params=["binary", pytest.param("http2", marks=needs_http2)])
def protocol(request):
    return request.param


def place(simulator, protocol):
    if protocol == "http2":
        options = {"port": simulator.ready["http2_port"], "topic": TOPIC}
    else:
        options = {"port": simulator.gateway[1]}
    return {"host": "127.0.0.1", "protocol": protocol, **options}


class Silent:
    """Accepts connections and sends nothing."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def close(self):
        self.listener.close()


@pytest.mark.parametrize("network", [Silent, Swallowing])
@pytest.mark.parametrize("of_session, own", [(0.2, None), (1, None), (None, 0.2)])
def test_a_network_that_swallows_all(run, protocol, who, network, of_session, own):
    with contextlib.closing(network()) as there:

        async def play():
            async with libapns.aio.Session(
                who, host="127.0.0.1", port=there.port, protocol=protocol,
                topic=TOPIC, deadline=of_session,
            ) as session:  # fmt: skip
                sent = [session.send(TOKEN, HELLO, deadline=own) for _ in range(3)]
                return await asyncio.gather(*sent), session.stats()

        events, stats = run(play())
    assert [event.kind for event in events] == [libapns.EventKind.EXPIRED] * 3
    assert (stats.expired, stats.unresolved) == (3, 0)
    assert all(event.why.startswith("expired: ") for event in events)


def test_a_deadline_is_a_time(who):
    for wrong in (0, -2, float("nan"), "1"):
        with pytest.raises((TypeError, ValueError)):
            libapns.Session(who, deadline=wrong)
    for fine in (None, -1, 0.001, 1e9, 10**400):
        libapns.Session(who, deadline=fine).close()


class Calm:
    """Counts the session's calls that make the thread wait: voluntary context switches."""

    def __init__(self, session):
        self.core, self.waits = session, 0

    def __getattr__(self, name):
        found = getattr(self.core, name)
        if name not in ("process", "send", "drain", "close", "connect", "next_event"):
            return found

        def call(*arguments, **keywords):
            before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
            try:
                return found(*arguments, **keywords)
            finally:
                self.waits += resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before

        return call


# ---- Sending ----------------------------------------------------------------------------


async def test_outcomes(start, who, run, protocol):
    simulator = start("--http2-port", 0, faults={"bad_tokens": ["ff" * 32]})
    async with libapns.aio.Session(who, **place(simulator, protocol)) as session:
        things = [object() for _ in range(20)]
        tokens = [bytes([0xFF]) * 32 if n % 10 == 9 else TOKEN for n in range(20)]
        sends = [
            session.send(token, HELLO, user_data=thing) for token, thing in zip(tokens, things)
        ]
        *outcomes, _ = await asyncio.gather(*sends, drained(session))
        assert [one.user_data for one in outcomes] == things
        assert [one.token for one in outcomes] == tokens
        kinds = [REJECTED if n % 10 == 9 else ACCEPTED for n in range(20)]
        assert [one.kind for one in outcomes] == kinds
        assert "Bad" in outcomes[9].why or "not a device" in outcomes[9].why
    assert [event async for event in session.events()] == []
    assert session.closed and session.stats().unresolved == 0


async def drained(session):
    """Drains after the tasks that are already scheduled."""
    await asyncio.sleep(0)
    await session.drain(DEADLINE)


async def test_posted_notifications_become_events(start, who, run, protocol):
    simulator = start("--http2-port", 0, faults={"bad_tokens": ["ff" * 32]})
    taken = []

    async def take(session):
        async for event in session.events():
            taken.append(event)

    options = place(simulator, protocol)
    async with libapns.aio.Session(who, outcomes="each", **options) as session:
        taker = asyncio.ensure_future(take(session))
        posted = [await session.post(TOKEN, HELLO, user_data=n) for n in range(300)]
        posted.append(session.post_nowait(b"\xff" * 32, HELLO, user_data=300))
        await session.drain()
    await taker
    assert sorted(event.identifier for event in taken) == sorted(posted)
    assert sorted(event.user_data for event in taken) == list(range(301))
    assert [event.user_data for event in taken if event.kind is REJECTED] == [300]


async def test_acceptances_of_posted_notifications_are_events_only_if_requested(start, who, run, protocol):
    simulator = start("--http2-port", 0, faults={"bad_tokens": ["ff" * 32]})
    async with libapns.aio.Session(who, outcomes="failures", **place(simulator, protocol)) as session:
        for token in (TOKEN, b"\xff" * 32, TOKEN):
            await session.post(token, HELLO)
    assert [event.kind async for event in session.events()] == [REJECTED]


async def test_an_invalid_argument_raises_and_has_no_outcome(start, who, run, protocol):
    simulator = start("--http2-port", 0)
    async with libapns.aio.Session(who, **place(simulator, protocol)) as session:
        for mistake in ({"payload": b"x" * 9000}, {"token": b""}):
            with pytest.raises(libapns.ArgumentError):
                await session.send(**{"token": TOKEN, "payload": HELLO, **mistake})
        with pytest.raises(TypeError):
            await session.send(TOKEN, 7)
        assert session.stats().taken == 0
    with pytest.raises(libapns.ClosedError):
        await session.send(TOKEN, HELLO)


# The rota sends 100,000.
MANY = int(os.environ.get("APNS_AWAITS", "20000"))


def test_very_many_sends(start, who, run, protocol):
    simulator = start("--http2-port", 0, faults={"bad_tokens": ["ff" * 32]})

    async def main():
        chunk, count = 2500, MANY
        async with libapns.aio.Session(who, **place(simulator, protocol)) as session:
            await session.connect()
            session._core = calm = Calm(session._core)
            rejected = 0
            for first in range(0, count, chunk):
                sends = []
                for n in range(first, first + chunk):
                    token = b"\xff" * 32 if n % 5000 == 7 else TOKEN
                    sends.append(asyncio.ensure_future(session.send(token, HELLO)))
                    if n % 50 == 49:
                        await asyncio.sleep(0)
                # The binary interface proves acceptance only on request.
                if protocol == "binary":
                    sends.append(asyncio.ensure_future(drained(session)))
                outcomes = (await asyncio.gather(*sends))[:chunk]
                rejected += sum(one.kind is REJECTED for one in outcomes)
                assert all(one.kind is not UNKNOWN for one in outcomes)
        assert rejected == count // 5000
        assert session.stats().accepted == count - rejected
        # A call may wait once for a lock in the kernel; waiting for the peer would show in every round.
        assert calm.waits <= 3

    # Keep the collector from scanning pytest's own objects.
    gc.collect()
    gc.freeze()
    try:
        run(main())
    finally:
        gc.unfreeze()


# ---- Back-pressure, cancellation ------------------------------------------------------------


async def test_a_full_window_makes_callers_wait(start, who, run, protocol):
    simulator = start("--http2-port", 0)
    options = place(simulator, protocol)
    async with libapns.aio.Session(who, window_bytes=16384, payload_max=200, **options) as session:
        with pytest.raises(libapns.AgainError) as full:
            while True:
                session.post_nowait(TOKEN, HELLO)
        assert isinstance(full.value, BlockingIOError) and full.value.status == -13
        # All are awaited together and get room one by one.
        sends = [asyncio.ensure_future(session.send(TOKEN, HELLO)) for _ in range(2000)]
        await asyncio.sleep(0)
        assert session.queued > 1000
        await session.drain(DEADLINE)
        assert session.queued == 0
        outcomes = await asyncio.gather(*sends)
        identifiers = [one.identifier for one in outcomes]
        assert identifiers == sorted(identifiers)
        assert {one.kind for one in outcomes} == {ACCEPTED}


@pytest.mark.parametrize("keeps", [True, False])
async def test_cancelled_sends_are_taken_back(start, who, run, protocol, keeps):
    simulator = start("--http2-port", 0, control=True)
    options = place(simulator, protocol)
    session = libapns.aio.Session(
        who, window_bytes=16384, payload_max=200, keep_cancelled=keeps, **options
    )
    sends = [
        asyncio.ensure_future(session.send(TOKEN, HELLO, user_data=n)) for n in range(2000)
    ]
    await asyncio.sleep(0)
    taken, queued = session.stats().taken, session.queued
    assert taken > 0 and taken + queued == 2000
    for task in sends:
        task.cancel()
    results = await asyncio.gather(*sends, return_exceptions=True)
    assert all(isinstance(one, asyncio.CancelledError) for one in results)
    assert session.queued == 0
    await session.drain(DEADLINE)
    await session.close()
    stats = session.stats()
    assert stats.cancelled > 0
    assert stats.accepted + stats.cancelled == stats.taken == taken
    assert simulator.control("GET", "/counters")[1]["accepted"] == stats.accepted
    events = [event async for event in session.events()]
    assert sorted(event.user_data for event in events) == (list(range(taken)) if keeps else [])


async def test_a_send_that_timed_out_is_not_sent_later(start, who, run, protocol):
    simulator = start("--http2-port", 0, control=True)
    async with libapns.aio.Session(who, **place(simulator, protocol)) as session:
        await session.connect()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(session.send(TOKEN, HELLO, user_data="late"), 0.000001)
        posted = [await session.post(TOKEN, HELLO) for _ in range(3)]
        assert session.cancel(posted[1]) == 1
    events = [event async for event in session.events()]
    cancelled = [one for one in events if one.kind is libapns.EventKind.CANCELLED]
    assert posted[1] in {one.identifier for one in cancelled}
    stats = session.stats()
    assert len(cancelled) == stats.cancelled
    assert stats.accepted + stats.cancelled == stats.taken
    assert simulator.control("GET", "/counters")[1]["accepted"] == stats.accepted


async def test_a_cancelled_reader_of_events_loses_none(start, who, run, protocol):
    simulator = start(
        "--http2-port",
        0,
        faults={"bad_every": 1} if protocol == "http2" else {"bad_tokens": ["ff" * 32]},
    )
    async with libapns.aio.Session(who, **place(simulator, protocol)) as session:
        taken = []

        async def take():
            async for event in session.events():
                taken.append(event)

        first = asyncio.ensure_future(take())
        await asyncio.sleep(0)
        second = asyncio.ensure_future(take())
        await asyncio.sleep(0)
        await session.post(b"\xff" * 32, HELLO)
        while not session._events:
            await asyncio.sleep(0)
        first.cancel()
        while not taken:
            await asyncio.sleep(0)
    await second
    assert len(taken) == 1


async def test_unread_events_are_bounded(start, who, run, protocol):
    simulator = start("--http2-port", 0)
    options = place(simulator, protocol)
    session = libapns.aio.Session(who, outcomes="each", events_max=10, **options)
    for _ in range(10):
        await session.post(TOKEN, HELLO)
    await session.drain(DEADLINE)
    with pytest.raises(libapns.FullError):
        session.post_nowait(TOKEN, HELLO)
    waiting = asyncio.ensure_future(session.post(TOKEN, HELLO))
    outcome = asyncio.ensure_future(session.send(TOKEN, HELLO))
    await asyncio.sleep(0)
    assert session.queued == 2
    events = session.events()
    await events.__anext__()
    await waiting
    await session.drain(DEADLINE)
    assert (await outcome).kind is ACCEPTED
    await session.close()
    assert len([event async for event in events]) == 10


# ---- Connections ------------------------------------------------------------------------------


async def test_a_lost_connection_in_the_middle(start, who, run, protocol, caplog):
    fault = {"goaway_after": 500} if protocol == "http2" else {"shutdown_after": 500}
    simulator = start("--http2-port", 0, faults=fault, control=True)
    async with libapns.aio.Session(who, **place(simulator, protocol)) as session:
        sends = [session.send(TOKEN, HELLO) for _ in range(5000)]
        outcomes = await asyncio.gather(*sends, drained(session))
        assert [one.kind for one in outcomes[:-1]] == [ACCEPTED] * 5000
        assert session.stats().connects > 5


def test_on_news_reports_a_closed_port(who, run, protocol, caplog, nowhere):
    async def main():
        news = asyncio.Queue()
        options = {"host": "127.0.0.1", "port": nowhere, "protocol": protocol}
        session = libapns.aio.Session(who, on_error=news.put_nowait, **options)
        with pytest.raises(libapns.NetworkError):
            await session.connect()
        waiting = asyncio.ensure_future(session.send(TOKEN, HELLO))
        while not news.empty():
            news.get_nowait()
        for _ in range(2):
            await news.get()
        assert isinstance(session.last_error, libapns.NetworkError) and not waiting.done()
        with pytest.raises(libapns.DeadlineError) as late:
            await session.drain(0.01)
        assert late.value.unresolved == 1
        await session.close(0)
        assert (await waiting).kind is UNKNOWN

    with caplog.at_level(logging.WARNING, "libapns.aio"):
        run(main())
    assert any(record.name == "libapns.aio" for record in caplog.records)


async def test_close_with_notifications_in_flight(start, who, run, protocol):
    # The simulator stops reading, so there are no outcomes.
    simulator = start("--http2-port", 0, faults={"stall_after_bytes": 1})
    session = libapns.aio.Session(
        who, window_bytes=16384, payload_max=200, **place(simulator, protocol)
    )
    sends = [asyncio.ensure_future(session.send(TOKEN, HELLO)) for _ in range(2000)]
    await asyncio.sleep(0)
    closing = [asyncio.ensure_future(session.close(0.05)) for _ in range(2)]
    results = await asyncio.gather(*sends, return_exceptions=True)
    await asyncio.gather(*closing)
    taken = session.stats().taken
    assert 0 < taken < 2000
    assert [one.kind for one in results[:taken]] == [UNKNOWN] * taken
    assert all(isinstance(one, libapns.ClosedError) for one in results[taken:])
    await session.close()
    assert session.closed and "closed" in repr(session)


async def test_an_exception_closes_immediately(start, who, run, protocol):
    simulator = start("--http2-port", 0)
    with pytest.raises(ZeroDivisionError):
        async with libapns.aio.Session(who, **place(simulator, protocol)) as session:
            await session.post(TOKEN, HELLO)
            1 / 0
    assert session.closed and session.stats().unresolved == 0


def test_another_loop_is_refused_before_anything_is_queued(start, who, protocol):
    simulator = start("--http2-port", 0)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def make():
        return libapns.aio.Session(who, **place(simulator, protocol), outcomes="each")

    there = lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop).result(DEADLINE)
    session = there(make())

    async def first_event():
        async for event in session.events():
            return event

    async def block():
        async with session:
            pass

    async def use():
        with pytest.raises(libapns.ArgumentError, match="event loop that it was made in"):
            session.post_nowait(TOKEN, HELLO)
        with pytest.raises(libapns.ArgumentError, match="event loop that it was made in"):
            session.use_credentials(who)

    calls = [
        lambda: session.send(TOKEN, HELLO), lambda: session.post(TOKEN, HELLO), session.connect, session.drain,
        session.close, first_event, block,
    ]  # fmt: skip
    try:
        asyncio.run(use())
        for call in calls:
            with pytest.raises(libapns.ArgumentError, match="127.0.0.1, port .* event loop that it was made in"):
                asyncio.run(asyncio.wait_for(call(), DEADLINE))
        # The same from a thread without a loop.
        with pytest.raises(libapns.ArgumentError, match="run_coroutine_threadsafe"):
            session.post_nowait(TOKEN, HELLO)
        assert session.stats().taken == 0 and not session.closed
        assert there(session.send(TOKEN, HELLO)).kind is ACCEPTED
        there(session.close())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    assert simulator.stop()["accepted"] == 1


def test_another_loop_cannot_use_feedback_and_channels(start, who, run):
    simulator = start("--http2-port", 0)

    async def make():
        options = {"host": "127.0.0.1", "topic": TOPIC}
        made = [libapns.aio.Feedback(who, host="127.0.0.1", port=simulator.feedback[1])]
        if HAS_HTTP2:
            made.append(libapns.aio.Channels(who, port=1, **options))
        return made

    async def refused(things):
        for thing in things:
            with pytest.raises(libapns.ArgumentError, match="event loop that it was made in"):
                await (thing.list() if isinstance(thing, libapns.aio.Channels) else thing.__anext__())
            with pytest.raises(libapns.ArgumentError, match="event loop that it was made in"):
                thing.close()

    asyncio.run(refused(run(make())))


async def test_leaving_the_block_has_a_bound(start, who, run):
    """The gateway never proves acceptance."""
    simulator = start(faults={"stall_after_bytes": 0, "stall_ms": 1000000})
    options = {**place(simulator, "binary"), "connect_timeout": 30, "write_timeout": 0.5}
    with pytest.raises(libapns.DeadlineError) as caught:
        async with libapns.aio.Session(who, **options) as session:
            session._patience = 0.5
            await session.post(TOKEN, HELLO)
    assert caught.value.unresolved == 1
    assert [event.kind async for event in session.events()] == [UNKNOWN]


def test_an_exception_of_the_token_provider_fails_no_queued_notification(start, certificates):
    if not HAS_HTTP2:
        pytest.skip("without HTTP/2")
    simulator = start("--http2-port", 0)
    asked, errors = [], []

    def provider(need):
        asked.append(need)
        if len(asked) == 1:
            raise ZeroDivisionError("not today")
        return None

    who = libapns.Credentials(token_provider=provider, ca_file=certificates / "ca.pem")

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context["exception"]))
        session = libapns.aio.Session(who, **place(simulator, "http2"))
        await asyncio.gather(*(session.post(TOKEN, HELLO) for _ in range(500)))
        while len(asked) < 2:
            await asyncio.sleep(0.01)
        assert session.stats().taken == 500
        await session.close(0)

    asyncio.run(main())
    assert all(isinstance(one, ZeroDivisionError) for one in errors) and errors


def test_a_forgotten_session_leaves_the_loop(start, who, run):
    simulator = start()

    async def main():
        session = libapns.aio.Session(who, **place(simulator, "binary"))
        await session.connect()
        await session.post(TOKEN, HELLO)
        descriptor = session._descriptor
        del session
        gc.collect()
        while libapns.aio._Unclosed.all:
            await asyncio.sleep(0.01)
        assert not asyncio.get_running_loop().remove_reader(descriptor)

    run(main())
    assert simulator.stop()["accepted"] == 1


# ---- Feedback -----------------------------------------------------------------------------------


async def test_feedback(start, who, run, tmp_path):
    gone = tmp_path / "gone"
    gone.write_text("".join(f"{1290000000 + n} {n:064x}\n" for n in range(1000)))
    simulator = start("--feedback", gone)
    options = {"host": "127.0.0.1", "port": simulator.feedback[1]}
    async with libapns.aio.Feedback(who, **options) as feedback:
        devices = [device async for device in feedback]
    assert [int(device.token.hex(), 16) for device in devices] == list(range(1000))
    assert devices[3].timestamp == 1290000003 and feedback.closed
    with pytest.raises(libapns.ClosedError):
        await feedback.__anext__()


async def test_feedback_closed_or_cancelled_while_it_waits(who, run):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        options = {"host": "127.0.0.1", "port": silent.getsockname()[1]}
        feedback = libapns.aio.Feedback(who, **options)
        taker = asyncio.ensure_future(feedback.__anext__())
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError):
            await feedback.__anext__()
        taker.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taker
        taker = asyncio.ensure_future(feedback.__anext__())
        await asyncio.sleep(0)
        feedback.close()
        with pytest.raises(libapns.ClosedError):
            await taker


# ---- Below it: nonblocking=True


def test_a_selector(start, who, protocol):
    simulator = start("--http2-port", 0)
    options = place(simulator, protocol)
    session = libapns.Session(who, nonblocking=True, outcomes="each", **options)
    with selectors.DefaultSelector() as selector:
        selector.register(session, selectors.EVENT_READ)
        identifiers, events = [], []
        with contextlib.suppress(libapns.AgainError):
            session.connect()
        for _ in range(100):
            identifiers.append(session.send(TOKEN, HELLO))
        assert session.timeout is None or session.timeout >= 0
        events += session
        deadline = time.monotonic() + DEADLINE
        while len(events) < 100:
            assert time.monotonic() < deadline
            try:
                session.drain()
            except libapns.AgainError as again:
                assert again.unresolved <= 100
                assert selector.select(DEADLINE)
                assert session.process() is True
            events += session
        assert sorted(event.identifier for event in events) == identifiers
        # Any thread can wake it, until it processes the wake-up.
        while selector.select(0):
            session.process()
        threading.Thread(target=session.wake).start()
        assert selector.select(DEADLINE)
        while selector.select(0):
            session.process()
        while not session.closed:
            try:
                session.close()
            except libapns.AgainError:
                selector.select(DEADLINE)
                session.process()
        assert session.process() is False


def test_the_end_of_a_block_closes_immediately(start, who, protocol):
    simulator = start("--http2-port", 0)
    with libapns.Session(who, nonblocking=True, **place(simulator, protocol)) as session:
        session.send(TOKEN, HELLO)
    assert session.closed and session.stats().unresolved == 0


def test_a_blocking_session_refuses_loop_calls(who):
    session = libapns.Session(who)
    assert session.timeout is None
    for use in (session.fileno, session.process, session.wake):
        with pytest.raises(libapns.ArgumentError, match="nonblocking"):
            use()
    session.close(0)


def in_child(session, answers):
    for use in (session.fileno, session.process, session.wake):
        try:
            use()
            answers.put("nothing")
        except libapns.ForkedError:
            answers.put("forked")


def test_a_child_process(who):
    session = libapns.Session(who, nonblocking=True)
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=in_child, args=(session, answers))
    child.start()
    assert [answers.get() for _ in range(3)] == ["forked"] * 3
    child.join()
    session.close(0)


def test_a_feedback_in_a_selector(start, who, tmp_path):
    gone = tmp_path / "gone"
    gone.write_text("1290000000 00ff\n")
    simulator = start("--feedback", gone)
    options = {"host": "127.0.0.1", "port": simulator.feedback[1]}
    with libapns.Feedback(who, nonblocking=True, **options) as feedback:
        devices = []
        with selectors.DefaultSelector() as selector:
            selector.register(feedback, selectors.EVENT_READ)
            while True:
                try:
                    devices.append(next(feedback))
                except StopIteration:
                    break
                except libapns.AgainError:
                    assert selector.select(DEADLINE)
        assert devices == [(1290000000, b"\x00\xff")]
    with pytest.raises(libapns.ClosedError):
        feedback.fileno()
    with libapns.Feedback(who, **options) as feedback, pytest.raises(libapns.ArgumentError):
        feedback.fileno()
