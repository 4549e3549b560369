"""Credential rotation in a running session."""

import asyncio

import libapns
import libapns.aio
import pytest
from test_aio import HELLO, TOKEN, place, protocol  # noqa: F401


@pytest.fixture
def where(protocol, start):  # noqa: F811
    return {**place(start("--http2-port", 0), protocol), "outcomes": "each"}


@pytest.fixture
def another(certificates):
    return libapns.Credentials(
        certificate_file=certificates / "provider.pem", ca_file=certificates / "ca.pem"
    )


def test_nothing_is_lost_or_sent_twice(who, another, where):
    with libapns.Session(who, **where) as session:
        for n in range(100):
            if n == 50:
                session.use_credentials(another)
                assert session.credentials is another
            session.send(TOKEN, HELLO, user_data=n, more=n % 10 != 9)
        session.drain()
        stats = session.stats()
        assert (stats.taken, stats.accepted, stats.unresolved, stats.resent) == (100, 100, 0, 0)
        assert stats.connects >= 2
        assert sorted(event.user_data for event in session) == list(range(100))


def test_wrong_credentials_change_nothing(who, where):
    with libapns.Session(who, **where) as session:
        for wrong in (None, "provider.pem", object()):
            with pytest.raises(TypeError, match="credentials must be libapns.Credentials, not"):
                session.use_credentials(wrong)
        closed = libapns.Credentials(dangerously_accept_any_peer=True)
        closed.close()
        with pytest.raises(libapns.ClosedError):
            session.use_credentials(closed)
        assert session.credentials is who
        session.send(TOKEN, HELLO)
        session.drain()
        assert session.stats().connects == 1 or where["protocol"] == "binary"
    with pytest.raises(libapns.ClosedError):
        session.use_credentials(who)


async def test_asyncio(who, another, where):
    del where["outcomes"]
    async with libapns.aio.Session(who, **where) as session:
        sends = [asyncio.ensure_future(session.send(TOKEN, HELLO)) for _ in range(20)]
        await asyncio.sleep(0)
        session.use_credentials(another)
        assert session.credentials is another
        sends += [asyncio.ensure_future(session.send(TOKEN, HELLO)) for _ in range(20)]
        await asyncio.sleep(0)
        await session.drain()
        outcomes = await asyncio.gather(*sends)
        assert all(one.kind == libapns.EventKind.ACCEPTED for one in outcomes)
        assert session.stats().resent == 0
    with pytest.raises(libapns.ClosedError):
        session.use_credentials(who)
