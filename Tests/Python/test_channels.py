"""The channels of an app, and broadcasts to their subscribers, against the simulator."""

import asyncio
import gc
import logging
import os
import pickle
import signal
import socket
import threading
import weakref

import libapns
import libapns.aio
import pytest
from test_broadcasts import NOBODY, UPDATE
from test_http2 import TOKEN, TOPIC, UUID, needs_http2

pytestmark = needs_http2


@pytest.fixture
def simulator(start):
    return start("--http2-port", 0, "--channels-port", 0, "--channels-max", 3, control=True)


@pytest.fixture
def where(simulator):
    return {"host": "127.0.0.1", "port": simulator.ready["channels_port"], "topic": TOPIC}


@pytest.fixture
def silent():
    """A service that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield {"host": "127.0.0.1", "port": listener.getsockname()[1], "topic": TOPIC}


def test_the_life_of_a_channel(simulator, who, where):
    with libapns.Channels(who, **where) as channels:
        assert channels.response is None
        first = channels.create("latest")
        second = channels.create(storage=libapns.Storage.NONE)
        assert channels.response.http_status == 201
        assert (channels.response.reason, channels.response.reason_text) == (libapns.Reason.NONE, "")
        assert len(channels.response.request_id) == 36
        assert sorted(channels.list()) == sorted([first, second])
        described = channels.describe(first)
        assert described == (libapns.Storage.LATEST, libapns.PushType.LIVEACTIVITY)
        assert isinstance(described.storage, libapns.Storage)
        assert channels.describe(channel_id=second).storage == libapns.Storage.NONE
        assert channels.delete(first) is None
        assert channels.list() == [second]
    assert channels.closed
    with pytest.raises(libapns.ClosedError):
        channels.list()
    channels.close()


def test_a_broadcast_reaches_subscribers(simulator, who, where):
    with libapns.Channels(who, **where) as channels:
        channel = channels.create("none")
    simulator.control("POST", "/subscriptions", f'{{"token": "{TOKEN.hex()}", "channel": "{channel}"}}')
    push = {"protocol": "http2", "host": "127.0.0.1", "port": simulator.ready["http2_port"]}
    with libapns.Session(who, topic=TOPIC, outcomes="each", **push) as session:
        session.send(None, UPDATE, channel_id=channel, priority=5, apns_id=UUID)
    (event,) = session
    assert (event.kind, event.http_status) == (libapns.EventKind.ACCEPTED, 200)
    assert (event.apns_id, event.token, len(event.unique_id)) == (UUID, b"", 36)
    (line,) = simulator.control("GET", "/accepted")[1]["notifications"]
    assert (line["channel"], line["priority"], line["expiration"]) == (channel, "5", "0")
    (activity,) = simulator.control("GET", "/activities")[1]["activities"]
    assert activity["token"] == TOKEN.hex()


def test_a_rejection_has_its_reason(who, where):
    with libapns.Channels(who, **where) as channels:
        with pytest.raises(libapns.RejectedError, match="ChannelNotRegistered") as caught:
            channels.describe(NOBODY)
        assert caught.value.reason == libapns.Reason.CHANNEL_NOT_REGISTERED
        answer = caught.value.response
        assert (answer.http_status, answer.reason_text) == (400, "ChannelNotRegistered")
        assert (len(answer.request_id), answer.retry_after) == (36, 0)
        assert channels.response == answer
        assert pickle.loads(pickle.dumps(caught.value)).reason == caught.value.reason
        for _ in range(3):
            channels.create("none")
        with pytest.raises(libapns.RejectedError) as caught:
            channels.create("none")
        assert caught.value.reason == libapns.Reason.CANNOT_CREATE_CHANNEL_CONFIG
        assert len(channels.list()) == 3


def test_a_provider_token(certificates, where):
    who = libapns.Credentials(
        token_key_file=certificates / "provider-token.p8", key_id="SIMULATOR1", team_id="EXAMPLE123",
        ca_file=certificates / "ca.pem",
    )  # fmt: skip
    with libapns.Channels(who, **where) as channels:
        assert channels.list() == []

    def vault(_):
        raise LookupError("the vault is shut")

    who = libapns.Credentials(token_provider=vault, ca_file=certificates / "ca.pem")
    with libapns.Channels(who, **where) as channels:
        with pytest.raises(LookupError):
            channels.list()


def test_wrong_arguments(who, where):
    with pytest.raises(libapns.ArgumentError, match="environment"):
        libapns.Channels(who, environment=3)
    with pytest.raises(ValueError, match="unknown environment"):
        libapns.Channels(who, environment="staging")
    with pytest.raises(TypeError, match="unexpected keyword"):
        libapns.Channels(who, window_bytes=1)
    for environment in ("sandbox", "production", libapns.Environment.SANDBOX):
        libapns.Channels(who, environment=environment).close()
    with libapns.Channels(who, **where) as channels:
        for kind, call in (
            (TypeError, lambda: channels.create()), (TypeError, lambda: channels.create(None)),
            (ValueError, lambda: channels.create("some")), (libapns.ArgumentError, lambda: channels.create(2)),
            (TypeError, lambda: channels.describe(None)), (TypeError, lambda: channels.delete(b"AA==")),
            (ValueError, lambda: channels.delete("a\0b")), (libapns.ArgumentError, lambda: channels.delete("?")),
            (libapns.ArgumentError, channels.fileno),
        ):  # fmt: skip
            with pytest.raises(kind):
                call()
        assert channels.timeout is None


def test_no_answer(who, silent):
    with libapns.Channels(who, connect_timeout=0.2, **silent) as channels:
        with pytest.raises(libapns.DeadlineError) as caught:
            channels.list()
        assert caught.value.response is None


def test_a_creation_without_an_answer_is_in_doubt(start, who):
    simulator = start("--http2-port", 0, "--channels-port", 0, faults={"stall_after_bytes": 1, "services": "channels"})
    with libapns.Channels(
        who, host="127.0.0.1", port=simulator.ready["channels_port"], topic=TOPIC, answer_timeout=0.5
    ) as channels:  # fmt: skip
        with pytest.raises(libapns.InDoubtError) as caught:
            channels.create("none")
        assert caught.value.status == libapns.Status.ERR_IN_DOUBT


def test_ctrl_c_ends_the_wait(who, silent):
    # A shell makes background jobs ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with libapns.Channels(who, **silent) as channels:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                channels.list()
    finally:
        signal.signal(signal.SIGINT, before)


def test_threads_take_turns(who, where):
    with libapns.Channels(who, **where) as channels:
        made = [channels.create("none") for _ in range(3)]
        lists = []

        def look():
            for _ in range(10):
                lists.append((sorted(channels.list()), channels.describe(made[0]).storage))

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert lists == [(sorted(made), libapns.Storage.NONE)] * 40


def test_the_log(who, where):
    lines = []
    with libapns.Channels(who, log=lines.append, log_level="debug", **where) as channels:
        channels.list()
    assert lines and all(isinstance(line, libapns.LogLine) for line in lines)
    with libapns.Channels(who, log=logging.getLogger("channels"), **where) as channels:
        channels.list()


def test_a_forked_child_cannot_use_channels(who, where):
    channels = libapns.Channels(who, **where)
    channels.list()
    if not (child := os.fork()):
        try:
            channels.list()
        except libapns.ForkedError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert channels.list() == []
    channels.close()


def test_nonblocking(who, where):
    with libapns.Channels(who, nonblocking=True, **where) as channels:
        with pytest.raises(libapns.AgainError):
            channels.list()
        with pytest.raises(libapns.ArgumentError, match="another request is under way"):
            channels.create("none")
        channels.cancel()
        assert channels.fileno() >= 0


def test_in_a_loop(simulator, who, where):
    async def live():
        async with libapns.aio.Channels(who, **where) as channels:
            made = await asyncio.gather(*[channels.create("latest") for _ in range(3)])
            assert (await channels.describe(made[0])).storage is libapns.Storage.LATEST
            with pytest.raises(libapns.RejectedError):
                await channels.create("none")
            assert channels.response.reason == libapns.Reason.CANNOT_CREATE_CHANNEL_CONFIG
            await channels.delete(made[1])
            assert sorted(await channels.list()) == sorted([made[0], made[2]])
        assert channels.closed
        with pytest.raises(libapns.ClosedError):
            await channels.list()

    asyncio.run(live())


def test_a_cancelled_request_is_abandoned(who, where, silent):
    async def abandon():
        async with libapns.aio.Channels(who, **silent) as channels:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(channels.list(), 0.2)
            waiting = asyncio.ensure_future(channels.list())
            await asyncio.sleep(0)
            channels.close()
            with pytest.raises(libapns.ClosedError):
                await waiting
        with pytest.raises(TypeError, match="nonblocking"):
            libapns.aio.Channels(who, nonblocking=False)

    asyncio.run(abandon())


def test_channels_in_a_cycle_are_collected(who, where):
    """Channels and their log may refer to each other."""
    seen = weakref.WeakSet()

    class Log:
        def __call__(self, line):
            pass

    for _ in range(3):
        log = Log()
        seen.add(log)
        log.channels = libapns.Channels(who, log=log, log_level="trace", **where)
        log.channels.list()
    del log
    gc.collect()
    assert not seen


def test_a_log_may_send_requests(who, where):
    asked = []

    def log(line):
        if not asked:
            asked.append(None)
            asked.append(channels.list())

    with libapns.Channels(who, log=log, **where) as channels:
        assert channels.list() == []
    assert asked == [None, []]


def test_a_signal_handler_cannot_send_a_request_during_another(who, silent):
    with libapns.Channels(who, **silent) as channels:
        before = signal.signal(signal.SIGALRM, lambda *_: channels.list())
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGALRM)).start()
        try:
            with pytest.raises(RuntimeError, match="this thread has a request under way"):
                channels.list()
        finally:
            signal.signal(signal.SIGALRM, before)
