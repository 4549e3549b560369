"""An event loop that processes the session only when it is woken: each feature with a timer must wake it."""

import asyncio
import contextlib
import select

import libapns
import pytest
from simulator import DEADLINE

TOKEN = bytes(range(32))
TOPIC = "com.example.app"


def sends(session):
    session.send(TOKEN, {"aps": {}})


def drains(session):
    sends(session)
    with contextlib.suppress(libapns.AgainError):
        session.drain()


def closes(session):
    sends(session)
    in_poll(session, lambda session: session.stats().in_flight == 1)
    # The simulator may have closed before this returns.
    with contextlib.suppress(libapns.AgainError):
        session.close(0.3)


def connects(session):
    with contextlib.suppress(libapns.AgainError):
        session.connect()


def accepted(session):
    return session.stats().accepted == 1


def unknown(session):
    return session.stats().unknown == 1


BINARY, HTTP2 = "binary", "http2"
# Name, protocol, options, faults of the simulator, the call, and the condition that ends the test.
ROWS = [
    ("proof", BINARY, {"prove_after": 1}, {}, sends, accepted),
    ("silence", BINARY, {"quiet_period": 0.1}, {"sentinel": "none"}, drains, accepted),
    ("drain", BINARY, {}, {}, drains, accepted),
    (
        "answer",
        BINARY,
        {"answer_timeout": 0.2, "delivery": libapns.Delivery.AT_MOST_ONCE},
        {"sentinel": "none"},
        drains,
        unknown,
    ),
    ("reconnect", BINARY, {"prove_after": 1}, {"refuse_ms": 300}, sends, accepted),
    ("close", BINARY, {}, {"sentinel": "none"}, closes, lambda session: session.closed),
    ("PING", HTTP2, {"ping_after": 1}, {}, connects, lambda session: pings(session) >= 3),
    (
        "no PONG",
        HTTP2,
        {"ping_after": 1, "connect_timeout": 2},
        {"no_pong": True},
        connects,
        lambda session: pings(session) > 0 and session.metrics()["open"] == 0,
    ),
    (
        "answer",
        HTTP2,
        {"answer_timeout": 0.2, "delivery": libapns.Delivery.AT_MOST_ONCE},
        {"no_answer": 1},
        sends,
        unknown,
    ),
    (
        "retry",
        HTTP2,
        {"retry_schedule": "1", "retry_timeout": 3},
        {"bad_every": 1, "bad_reason": "TooManyRequests"},
        sends,
        lambda session: session.stats().rejected == 1,
    ),
    ("reconnect", HTTP2, {}, {"refuse_ms": 300}, sends, accepted),
    ("close", HTTP2, {}, {"no_answer": 1}, closes, lambda session: session.closed),
]


def pings(session):
    return session.metrics()["pings"]


def in_poll(session, ends):
    """Woken by the descriptor or the timeout."""
    poll = select.poll()
    poll.register(session, select.POLLIN)
    while not ends(session):
        timeout = session.timeout
        ready = poll.poll(1000 * (DEADLINE if timeout is None else timeout))
        assert ready or timeout is not None, "the session does not wake the loop"
        with contextlib.suppress(libapns.NetworkError, libapns.DeadlineError):
            session.process()


def in_asyncio(session, ends):
    """Woken by the descriptor alone."""

    async def main():
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        if ends(session):
            return

        def ready():
            with contextlib.suppress(libapns.NetworkError, libapns.DeadlineError):
                session.process()
            if ends(session):
                done.set()

        loop.add_reader(session, ready)
        try:
            await asyncio.wait_for(done.wait(), DEADLINE)
        finally:
            loop.remove_reader(session)

    asyncio.run(main())


@pytest.mark.parametrize("host", [in_poll, in_asyncio])
@pytest.mark.parametrize("row", ROWS, ids=[f"{row[1]}-{row[0]}" for row in ROWS])
def test_each_timer_wakes_the_loop(start, who, host, row):
    _, protocol, options, faults, call, ends = row
    simulator = start("--http2-port", 0, faults=faults)
    if protocol == HTTP2:
        options = {"topic": TOPIC, "port": simulator.ready["http2_port"], **options}
    else:
        options = {"port": simulator.gateway[1], **options}
    session = libapns.Session(who, protocol=protocol, host="127.0.0.1", nonblocking=True, **options)
    call(session)
    host(session, ends)
