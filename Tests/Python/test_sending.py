import itertools
import json

import libapns
import pytest

TOKEN = bytes(range(32))
HELLO = {"aps": {"alert": "Héllo"}}
JSON = '{"aps":{"alert":"Héllo"}}'


def accepted(simulator):
    """The notifications that the gateway accepted, in its order."""
    found = simulator.control("GET", "/accepted?from=0&limit=1000")[1]
    return [(entry["token"], entry["payload"]) for entry in found["notifications"]]


@pytest.mark.parametrize(
    "token", [TOKEN, bytearray(TOKEN), memoryview(TOKEN), TOKEN.hex(), f"<{TOKEN.hex(' ', 4).upper()}>"]
)
def test_tokens(start, connect, token):
    simulator = start(control=True)
    with connect(simulator) as session:
        session.send(token, JSON)
    assert accepted(simulator) == [(TOKEN.hex(), JSON)]


@pytest.mark.parametrize(
    "payload",
    [
        JSON, JSON.encode(), bytearray(JSON.encode()), memoryview(JSON.encode()), HELLO,
        libapns.Payload(alert="Héllo"),
    ],
)  # fmt: skip
def test_payloads(start, connect, payload):
    simulator = start(control=True)
    with connect(simulator) as session:
        session.send(TOKEN, payload)
        assert session.send_many([(TOKEN, payload)]) == 1
    assert accepted(simulator) == [(TOKEN.hex(), JSON)] * 2


def test_identifier_and_event(start, connect):
    simulator = start(faults={"bad_tokens": ["ff"]})
    things = [object() for _ in range(3)]
    with connect(simulator, outcomes="each") as session:
        identifiers = [
            session.send(token, HELLO, user_data=thing, more=True)
            for token, thing in zip((TOKEN, b"\xff", TOKEN), things)
        ]
    events = list(session)
    assert [event.identifier for event in events] == identifiers
    assert all(event.user_data is thing for event, thing in zip(events, things))
    accepted, rejected = libapns.EventKind.ACCEPTED, libapns.EventKind.REJECTED
    assert [event.kind for event in events] == [accepted, rejected, accepted]
    assert [event.reject for event in events] == [0, libapns.Reject.INVALID_TOKEN, 0]
    assert events[1].reject.text == "invalid token"
    assert session.next_event() is None


def test_only_failures_are_events(start, connect):
    simulator = start(faults={"bad_every": 100})
    with connect(simulator) as session:
        sent = session.send_many((TOKEN, HELLO, number) for number in range(1, 1001))
    events = list(session)
    stats = session.stats()
    assert sent == stats.taken == stats.accepted + stats.rejected == 1000
    assert stats.rejected == len(events) > 0
    assert all(event.kind is libapns.EventKind.REJECTED for event in events)
    numbers = [event.user_data for event in events]
    assert numbers == sorted(numbers)


def test_an_unlisted_reject(start, connect):
    simulator = start(faults={"bad_tokens": ["ff"], "bad_status": 9})
    with connect(simulator) as session:
        session.send(b"\xff", HELLO)
    (event,) = session
    assert event.reject == 9 and event.reject.name == "UNLISTED_9"
    assert event.reject.text == "unlisted status"


def test_expiry_and_priority_reach_the_gateway(start, connect, tmp_path):
    ledger = tmp_path / "ledger"
    simulator = start("--ledger", ledger)
    many = [
        libapns.Notification(TOKEN, HELLO),
        libapns.Notification(TOKEN, HELLO, expiry=4000000000, priority=5),
        libapns.Notification(TOKEN, HELLO, expiry=0, priority=10),
    ]
    with connect(simulator) as session:
        session.send(TOKEN, HELLO, expiry=4000000001, priority=10)
        session.send_many(many)
    simulator.stop()
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    lines = [line for line in lines if line.get("token") == TOKEN.hex()]
    assert [(line.get("expiry"), line.get("priority")) for line in lines] == [
        (4000000001, 10), (None, None), (4000000000, 5), (0, 10),
    ]  # fmt: skip


def test_more_waits_for_flush(start, connect):
    session = connect(start())
    session.connect()
    session.send(TOKEN, HELLO, more=True)
    assert session.stats().records == 0
    session.flush()
    assert session.stats().records == 1


def test_many_from_a_generator_and_more_than_a_batch(start, connect):
    simulator = start(control=True)
    with connect(simulator, connections=3) as session:
        assert session.send_many(zip(itertools.repeat(TOKEN, 5000), itertools.repeat(HELLO))) == 5000
    assert session.stats().accepted == 5000
    assert simulator.control("GET", "/counters")[1]["accepted"] == 5000


def test_an_invalid_item_among_many(start, connect):
    with connect(start()) as session:
        good = [(TOKEN, HELLO)] * 700
        for bad, kind in (
            ((b"", HELLO), libapns.ArgumentError),
            (("5z", HELLO), libapns.ArgumentError),
            ((TOKEN, b"x" * 3000), libapns.ArgumentError),
            ((TOKEN, 3), TypeError),
            ((TOKEN,), TypeError),
            (None, TypeError),
            (libapns.Notification(TOKEN, HELLO, priority=7), libapns.ArgumentError),
            ((TOKEN, HELLO, None, 0), TypeError),
        ):
            before = session.stats().taken
            with pytest.raises(kind) as caught:
                session.send_many([*good, bad, *good])
            assert caught.value.taken == 700
            assert session.stats().taken - before == 700


def test_an_iterable_that_raises(start, connect):
    def source():
        yield from [(TOKEN, HELLO)] * 600
        raise KeyError("the end")

    with connect(start()) as session:
        with pytest.raises(KeyError) as caught:
            session.send_many(source())
        assert caught.value.taken == session.stats().taken == 600
    assert session.stats().accepted == 600


def test_an_iterable_that_uses_the_session(start, connect):
    with connect(start()) as session:

        def source():
            for number in range(20):
                session.send(TOKEN, HELLO)
                yield TOKEN, HELLO
            session.drain()

        assert session.send_many(source()) == 20
    assert session.stats().accepted == 40


def test_send_many_without_items(start, connect):
    session = connect(start())
    assert session.send_many([]) == session.send_many(iter(())) == 0
    assert session.stats().connects == 0


def test_continuing_after_a_full_window(start, connect):
    simulator = start()
    session = connect(simulator, outcomes="each", window_bytes=65536, events_max=10)
    left = [(TOKEN, HELLO, number) for number in range(3000)]
    seen = []
    for _ in range(3000):
        try:
            session.send_many(left)
            break
        except libapns.FullError as full:
            assert full.status is libapns.Status.ERR_FULL
            left = left[full.taken :]
            # Outcomes wait in the session: at most the limit and what the window holds.
            waiting = session.stats().events
            assert waiting > 10
            seen += [event.user_data for event in session]
    session.drain()
    seen += [event.user_data for event in session]
    assert seen == list(range(3000))


def test_unlimited_events(start, connect):
    """Far more outcomes than the window holds."""
    with connect(start(), outcomes="each") as session:
        session.send_many((TOKEN, HELLO, number) for number in range(60_000))
    assert [event.user_data for event in session] == list(range(60_000))


def test_connection_lost(start, connect):
    simulator = start(faults={"cut_after": 50, "cut": "reset", "times": 1})
    options = {"delivery": libapns.Delivery.AT_MOST_ONCE}
    with connect(simulator, **options) as session:
        session.send_many([(TOKEN, HELLO, number) for number in range(200)])
    stats = session.stats()
    events = list(session)
    assert stats.unknown == len(events) > 0
    assert all(event.kind is libapns.EventKind.UNKNOWN for event in events)
    assert stats.accepted + stats.unknown == 200


def test_close_returns_unresolved_notifications(start, connect):
    simulator = start(faults={"stall_after_bytes": 0, "stall_ms": 100000})
    session = connect(simulator)
    things = [object() for _ in range(5)]
    for thing in things:
        session.send(TOKEN, HELLO, user_data=thing)
    with pytest.raises(libapns.DeadlineError) as caught:
        session.drain(0.15)
    assert caught.value.unresolved == 5
    session.close(0)
    assert session.closed
    assert [event.user_data for event in session] == things
    with pytest.raises(libapns.ClosedError):
        session.send(TOKEN, HELLO)
    session.close()


def test_the_block_raises_if_it_cannot_finish(start, connect):
    simulator = start(faults={"stall_after_bytes": 0, "stall_ms": 100000})
    with pytest.raises(libapns.DeadlineError) as caught:
        with connect(simulator, write_timeout=0.2) as session:
            session.send(TOKEN, HELLO)
    assert caught.value.unresolved == 1
    assert session.closed
    assert [event.kind for event in session] == [libapns.EventKind.UNKNOWN]


def test_an_exception_leaves_the_block_immediately(start, connect):
    simulator = start(faults={"stall_after_bytes": 0, "stall_ms": 100000})
    with pytest.raises(ZeroDivisionError):
        with connect(simulator) as session:
            session.send(TOKEN, HELLO)
            1 / 0
    assert session.closed


def test_waiting_for_an_event(start, connect):
    simulator = start(faults={"bad_tokens": ["ff"], "error_delay_ms": 300})
    session = connect(simulator)
    session.send(b"\xff", HELLO, user_data="late")
    assert session.next_event() is None
    # Waits longer than a slice.
    assert session.next_event(240).user_data == "late"
    assert session.next_event(240) is None
    session.send(b"\xff", HELLO)
    assert len(list(session.events(timeout=240))) == 1


def test_logging(start, connect, caplog):
    simulator = start(faults={"bad_tokens": ["ff"], "cut_after": 5, "times": 1})
    with caplog.at_level("INFO", logger="libapns"):
        with connect(simulator, delivery=libapns.Delivery.AT_MOST_ONCE, standby=False) as session:
            session.send_many([(TOKEN, HELLO)] * 10)
            session.drain()
            session.send(b"\xff", HELLO)
    levels = {record.levelname for record in caplog.records}
    assert levels == {"INFO", "WARNING"}
    text = caplog.text
    assert "connections made" in text and "1 notifications rejected" in text
    assert "notifications is unknown" in text
    stats = session.stats()
    made = [record.args[2] for record in caplog.records if "made" in record.msg]
    assert sum(made) == stats.connects


def test_a_log_handler_that_raises_changes_nothing(start, connect, monkeypatch):
    import logging

    unraisable = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)

    def refuse(record):
        raise ZeroDivisionError

    logger = logging.getLogger("libapns")
    logger.addFilter(refuse)
    monkeypatch.setattr(logger, "level", logging.INFO)
    try:
        session = connect(start())
        assert session.send(TOKEN, HELLO) > 0
    finally:
        logger.removeFilter(refuse)
    assert [each.exc_type for each in unraisable] == [ZeroDivisionError]


def test_unwritten_notifications_can_be_cancelled(start, connect):
    simulator = start(control=True)
    with connect(simulator, outcomes="each") as session:
        identifiers = [session.send(TOKEN, HELLO, user_data=n, more=True) for n in range(6)]
        assert session.cancel(identifiers[2]) == 1
        assert session.cancel(identifiers[2]) == 0
        session.drain(240)
        assert session.stats().accepted == 5
        for n in range(6, 9):
            session.send(TOKEN, HELLO, user_data=n, more=True)
        assert session.cancel() == 3
        with pytest.raises(ValueError, match="identifier is 0, not what send"):
            session.cancel(0)
    events = list(session)
    cancelled = [event for event in events if event.kind is libapns.EventKind.CANCELLED]
    assert sorted(event.user_data for event in cancelled) == [2, 6, 7, 8]
    assert cancelled[0].why == "cancelled: taken back, and it did not arrive"
    assert session.stats().cancelled == 4
    assert len(accepted(simulator)) == 5
