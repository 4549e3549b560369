"""Accepted outcomes that nobody takes give way, and what was sent with them is released."""

import asyncio
import weakref

import libapns
import libapns.aio
import pytest

TOKEN = bytes(range(32))
BAD = b"\xff"
HELLO = b'{"aps":{}}'
COUNT = 20000


class Thing:
    pass


def test_nobody_takes_any(start, connect, caplog):
    alive = weakref.WeakSet()
    session = connect(start(faults={"bad_tokens": ["ff"]}), outcomes="all")
    for n in range(COUNT):
        thing = Thing()
        alive.add(thing)
        session.send(BAD if n == 0 else TOKEN, HELLO, user_data=thing, more=True)
    session.drain(240)
    del thing
    stats = session.stats()
    assert (stats.accepted, stats.rejected) == (COUNT - 1, 1)
    assert stats.events + stats.forgotten == COUNT
    assert 1000 < stats.forgotten
    assert len(alive) == stats.events
    assert [record.message for record in caplog.records if "forgotten" in record.message] != []
    events = list(session)
    assert events[0].is_rejected
    assert [event.identifier for event in events[1:]] == list(range(COUNT - len(events) + 2, COUNT + 1))
    del events
    assert len(alive) == 0


def test_rejections_fill_it(start, connect):
    session = connect(start(faults={"bad_tokens": ["ff"]}), outcomes="all", events_max=10, window_bytes=65536)
    with pytest.raises(libapns.FullError):
        for _ in range(COUNT):
            session.send(BAD, HELLO)
    assert session.stats().forgotten == 0


def test_failures_alone_are_kept(start, connect):
    alive = weakref.WeakSet()
    session = connect(start(faults={"bad_tokens": ["ff"]}))
    for token in [TOKEN] * 1000 + [BAD]:
        thing = Thing()
        alive.add(thing)
        session.send(token, HELLO, user_data=thing, more=True)
    del thing
    session.drain(240)
    assert len(alive) == 1
    assert session.stats().forgotten == 0


def test_a_push_gets_its_own(start, connect):
    session = connect(start(), outcomes="all", events_max=5)
    for n in range(20):
        session.send(TOKEN, HELLO, user_data=n)
    assert session.push(TOKEN, HELLO, user_data="pushed").user_data == "pushed"
    assert [event.user_data for event in session] == [15, 16, 17, 18, 19]
    assert session.stats().forgotten == 15


def test_in_asyncio(start, who):
    simulator = start("--http2-port", 0, faults={"bad_tokens": ["ff"]})

    async def main():
        options = {"host": "127.0.0.1", "port": simulator.ready["http2_port"], "topic": "com.example.app"}
        async with libapns.aio.Session(who, events_max=10, **options) as session:
            await session.post(BAD, HELLO)
            await session.drain(240)
            for _ in range(40):
                await session.post(TOKEN, HELLO)
            assert (await session.send(TOKEN, HELLO)).is_accepted
            await session.drain(240)
            assert session.stats().forgotten == 31
        events = [event async for event in session.events()]
        assert [event.kind for event in events] == [libapns.EventKind.REJECTED] + [libapns.EventKind.ACCEPTED] * 9

    asyncio.run(main())
    with pytest.raises(ValueError, match="outcomes is"):
        asyncio.run(wrong(who))


async def wrong(who):
    libapns.aio.Session(who, outcomes="some")
