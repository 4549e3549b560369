"""Broadcasts: notifications to a channel instead of a device, against the simulator."""

import asyncio
import pickle

import libapns
import libapns.aio
import pytest
from test_http2 import HELLO, TOKEN, TOPIC, UUID, needs_http2

UPDATE = {"aps": {"timestamp": 1800000000, "event": "update", "content-state": {"score": 1}}}
NOBODY = "AAAAAAAAAAAAAAAAAAAAAA=="


@pytest.fixture
def where(start):
    simulator = start("--http2-port", 0, "--channels-port", 0, control=True)
    return {
        "protocol": "http2", "host": "127.0.0.1", "port": simulator.ready["http2_port"], "topic": TOPIC,
        "outcomes": "each",
    }  # fmt: skip


@needs_http2
def test_an_unknown_channel(who, where):
    with libapns.Session(who, **where) as session:
        session.send(None, UPDATE, channel_id=NOBODY, apns_id=UUID, user_data=7)
    (event,) = session
    assert (event.kind, event.reason) == (
        libapns.EventKind.REJECTED,
        libapns.Reason.CHANNEL_NOT_REGISTERED,
    )
    assert (event.http_status, event.reason_text) == (400, "ChannelNotRegistered")
    assert (event.apns_id, event.token, event.user_data) == (UUID, b"", 7)
    assert event.why == (
        "rejected: ChannelNotRegistered (HTTP 400): there is no such channel of this app in this "
        "environment"
    )
    assert "token" not in repr(event)


@needs_http2
def test_many_at_once(who, where):
    payload = libapns.Payload(timestamp=1800000000, event="update", content_state={"score": 2})
    with libapns.Session(who, **where) as session:
        session.send_many([
            libapns.Notification(None, UPDATE, user_data=0, channel_id=NOBODY),
            libapns.Notification(None, payload, user_data=1, expiry=0, priority=5, topic=TOPIC + ".push-type.liveactivity",
                                 push_type="liveactivity", apns_id=UUID, channel_id=NOBODY),
            libapns.Notification(TOKEN, HELLO, user_data=2, priority=0, push_type=0),
        ])  # fmt: skip
    ended = {event.user_data: event for event in session}
    assert [ended[number].reason.name for number in range(3)] == [
        "CHANNEL_NOT_REGISTERED", "CHANNEL_NOT_REGISTERED", "NONE",
    ]  # fmt: skip
    assert (ended[1].apns_id, ended[2].token) == (UUID, TOKEN)


@needs_http2
def test_unique_id_only_in_the_sandbox(start, who):
    for environment in ("sandbox", "production"):
        simulator = start("--http2-port", 0, "--environment", environment, control=True)
        where = {"protocol": "http2", "host": "127.0.0.1", "port": simulator.ready["http2_port"]}
        with libapns.Session(who, outcomes="each", **where) as session:
            session.send(TOKEN, HELLO)
        (event,) = session
        (line,) = simulator.control("GET", "/accepted")[1]["notifications"]
        assert event.unique_id == (line["unique_id"] or "")
        assert bool(event.unique_id) == (environment == "sandbox")
        assert pickle.loads(pickle.dumps(event)).unique_id == event.unique_id


@needs_http2
def test_in_a_loop(who, where):
    async def push():
        async with libapns.aio.Session(who, **where) as session:
            event = await session.send(None, UPDATE, channel_id=NOBODY)
            await session.post(None, UPDATE, channel_id=NOBODY, user_data=1)
            session.post_nowait(None, UPDATE, channel_id=NOBODY, user_data=2)
            await session.drain()
        return event, [event async for event in session.events()]

    event, posted = asyncio.run(push())
    assert event.reason == libapns.Reason.CHANNEL_NOT_REGISTERED
    assert [one.reason for one in posted] == [libapns.Reason.CHANNEL_NOT_REGISTERED] * 2


@needs_http2
def test_refused_arguments(who, where):
    session = libapns.Session(who, **where)
    start = {"aps": {**UPDATE["aps"], "event": "start"}}
    for token, payload, odd, message in (
        (TOKEN, UPDATE, {}, "a token or a channel_id, not both"),
        (None, UPDATE, {"collapse_id": "x"}, "no collapse_id"),
        (None, UPDATE, {"push_type": "alert"}, "a broadcast is for Live Activities"),
        (None, UPDATE, {"channel_id": "?"}, "channel_id is not base64"),
        (None, UPDATE, {"channel_id": "A" * 256}, "channel_id has more than 255"),
        (None, "x" * 5121, {}, "more than 5120"),
        (None, UPDATE, {"topic": "a/b"}, "bundle id"),
        (None, start, {}, "cannot start a Live Activity"),
    ):
        with pytest.raises(libapns.ArgumentError, match=message):
            session.send(token, payload, **{"channel_id": NOBODY, **odd})
    for odd in ({}, {"channel_id": None}, {"channel_id": 7}, {"channel_id": NOBODY.encode()}):
        with pytest.raises(TypeError):
            session.send(None, UPDATE, **odd)
    with pytest.raises(ValueError):
        session.send(None, UPDATE, channel_id="a\0b")
    with pytest.raises(libapns.ArgumentError):
        session.send(None, UPDATE, channel_id="")
    with pytest.raises(TypeError):
        session.send_many([libapns.Notification(None, UPDATE)])
    assert session.stats().taken == 0
    session.close(0)
    with libapns.Session(who, protocol="binary", host="127.0.0.1") as binary:
        with pytest.raises(libapns.ArgumentError, match="broadcasts need HTTP/2"):
            binary.send(None, UPDATE, channel_id=NOBODY)


@needs_http2
def test_a_match(start, who):
    """Ten seconds of a match with 200 updates each, and a GOAWAY each second."""
    simulator = start(
        "--http2-port", 0, "--channels-port", 0, control=True,
        faults={"services": "pushes", "goaway_after": 200},
    )  # fmt: skip
    port = simulator.ready["channels_port"]
    with libapns.Channels(who, host="127.0.0.1", port=port, topic=TOPIC) as channels:
        channel = channels.create(libapns.Storage.LATEST)
    spectators = [bytes([number]) * 32 for number in range(1, 6)]
    for token in spectators:
        subscription = {"token": token.hex(), "channel": channel}
        assert simulator.control("POST", "/subscriptions", subscription)[0] == 200
    update = libapns.Payload(event="update")
    with libapns.Session(
        who, protocol="http2", host="127.0.0.1", port=simulator.ready["http2_port"], topic=TOPIC,
        device_order=True, outcomes="each",
    ) as session:  # fmt: skip
        for number in range(2000):
            update.set(timestamp=1800000000 + number // 200, content_state={"minute": number})
            session.send(None, update, channel_id=channel, user_data=number)
    assert [event.user_data for event in session if event.kind == libapns.EventKind.ACCEPTED] == list(range(2000))
    shown = simulator.control("GET", "/activities")[1]["activities"]
    assert sorted(one["token"] for one in shown) == [token.hex() for token in spectators]
    for one in shown:
        assert (one["content_state"], one["updates"], one["outdated"]) == ({"minute": 1999}, 2000, 0)
    totals = simulator.stop()
    assert (totals["broadcasts"], totals["duplicates"]) == (2000, 0)
    assert totals["shutdowns"] >= 10
