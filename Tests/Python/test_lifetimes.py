"""How long the extension keeps objects, and that it leaks none."""

import gc
import itertools
import warnings
import weakref

import libapns
import pytest

from traces import Thing, alive, grows, watched

TOKEN = bytes(range(32))
PAYLOAD = b'{"aps":{}}'
STALL = {"stall_after_bytes": 0, "stall_ms": 100000}


def test_user_data_lives_until_its_event(start, connect):
    simulator = start(faults={"bad_tokens": ["ff"]})
    session = connect(simulator)
    things, references = watched(3)
    session.send_many([(token, PAYLOAD, thing) for token, thing in zip((TOKEN, b"\xff", TOKEN), things)])
    del things
    # On a busy machine send_many() may already have read responses and released what was accepted.
    assert references[1]() is not None
    session.drain()
    # The accepted ones have no event and are released; the rejected one has an event.
    assert alive(references) == 1
    event = session.next_event()
    assert event.user_data is references[1]() and alive(references) == 1
    del event
    assert alive(references) == 0


def test_user_data_lives_without_an_answer(start, connect):
    session = connect(start(faults=STALL))
    things, references = watched(3)
    session.send_many([(TOKEN, PAYLOAD, thing) for thing in things])
    things.clear()
    assert alive(references) == 3
    session.close(0)


def test_user_data_of_accepted_events(start, connect):
    session = connect(start(), outcomes="each")
    things, references = watched(2000)
    session.send_many((TOKEN, PAYLOAD, thing) for thing in things)
    del things
    session.drain()
    assert alive(references) == 2000
    for index, event in enumerate(session):
        assert event.user_data.number == index
    del event
    assert alive(references) == 0


def test_user_data_of_refused_notifications(start, connect):
    session = connect(start())
    things, references = watched(4)
    for attempt in (
        lambda: session.send(b"", PAYLOAD, user_data=things[0]),
        lambda: session.send_many([(TOKEN, b"", things[1])]),
        lambda: session.send_many([(TOKEN, 3, things[2])]),
        lambda: session.send("zz", PAYLOAD, user_data=things[3]),
    ):
        with pytest.raises((libapns.ArgumentError, TypeError)) as caught:
            attempt()
        del caught
    things.clear()
    assert alive(references) == 0


def test_a_session_without_outcomes_frees_all(start, who, caplog):
    session = libapns.Session(who, protocol="binary", host="127.0.0.1", port=start(faults=STALL).gateway[1], close_timeout=0)
    things, references = watched(100)
    session.send_many([(TOKEN, PAYLOAD, thing) for thing in things])
    things.clear()
    assert alive(references) == 100
    del session
    gc.collect()
    assert alive(references) == 0 and "100 notifications have no outcome" in caplog.text


def test_unread_events_are_freed(start, who):
    simulator = start()
    things, references = watched(100)
    session = libapns.Session(who, protocol="binary", host="127.0.0.1", port=simulator.gateway[1], outcomes="each")
    with session:
        session.send_many([(TOKEN, PAYLOAD, thing) for thing in things])
    things.clear()
    assert session.stats().events == 100 and alive(references) == 100
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del session
    assert alive(references) == 0


def test_a_cycle_through_user_data(start, who, caplog):
    session = libapns.Session(who, protocol="binary", host="127.0.0.1", port=start(faults=STALL).gateway[1], close_timeout=0)
    thing = Thing()
    thing.peer = session
    session.send(TOKEN, PAYLOAD, user_data=thing)
    references = [weakref.ref(thing), weakref.ref(session)]
    del thing, session
    assert alive(references) == 0 and "1 notifications have no outcome" in caplog.text


class Late:
    """Uses the session when the collector finalizes it."""

    def __init__(self, session, said):
        self.session, self.said = session, said

    def __del__(self):
        try:
            self.said.append((self.session.stats().taken, len(list(self.session))))
            self.session.send(TOKEN, PAYLOAD, user_data=object())
            self.session.close(0)
        except libapns.Error as error:
            self.said.append(error)


def test_destructors_that_use_the_session(start, who):
    simulator = start(faults=STALL)
    said = []
    for _ in range(3):
        session = libapns.Session(who, protocol="binary", host="127.0.0.1", port=simulator.gateway[1], close_timeout=0)
        session.send_many([(TOKEN, PAYLOAD, Late(session, said)) for _ in range(10)])
        del session
        gc.collect()
    assert len(said) >= 30


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_objects_freed_in_any_order(start, certificates, order, session_simulator):
    things = [libapns.Credentials(certificate_file=certificates / "provider.pem", ca_file=certificates / "ca.pem")]
    port = session_simulator.gateway[1]
    things.append(libapns.Session(things[0], protocol="binary", host="127.0.0.1", port=port))
    things.append(things[1].events(0.1))
    things[1].send(b"\xff", PAYLOAD)
    things.append(libapns.Feedback(things[0], host="127.0.0.1", port=session_simulator.feedback[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index in order:
            things[index] = None
            gc.collect()


@pytest.fixture(scope="module")
def session_simulator(certificates):
    from simulator import Simulator

    simulator = Simulator(certificates)
    yield simulator
    simulator.kill()


def test_a_session_keeps_its_credentials(start, certificates):
    simulator = start()
    session = libapns.Session(
        libapns.Credentials(certificate_file=certificates / "provider.pem", ca_file=certificates / "ca.pem"),
        protocol="binary",
        host="127.0.0.1",
        port=simulator.gateway[1],
    )
    gc.collect()
    with session:
        session.send(TOKEN, PAYLOAD)
    assert session.credentials.describe().topics and session.stats().accepted == 1


def test_sending_leaks_nothing(start, connect):
    session = connect(start(faults={"bad_every": 500}), standby=False)
    items = [(TOKEN.hex(), {"aps": {"alert": "x" * 50}}, object()) for _ in range(2000)]

    def work():
        session.send_many(items)
        session.send(TOKEN, PAYLOAD, user_data=object())
        session.drain()
        assert [event for event in session]

    # If each of 40,000 notifications leaked one small object, this would be at least 1,280,000.
    assert grows(work, 20) < 100_000


def test_objects_leak_nothing(start, certificates, who):
    def work():
        libapns.Credentials(
            certificate_file=certificates / "provider.pem", ca_file=certificates / "ca.pem",
            passphrase=lambda file: "x",
        ).describe()  # fmt: skip
        libapns.Session(who, host="127.0.0.1", proxy="h:1").stats()
        payload = libapns.Payload(title="x", loc_args=["a", "b"], suffix="y", limit=5000)
        payload.add("json", {"a": [1, 2]})
        payload.fit()
        libapns.check_payload('{"aps":{"alret":1}}')
        strings = libapns.Strings(b'"a" = "%@";')
        strings.format("a", "b"), strings.get("b"), "a" in strings
        libapns.token_to_hex(libapns.token_from_hex(TOKEN.hex()))
        for wrong in (
            lambda: libapns.Session(who, window_bytes=1),
            lambda: libapns.Credentials(certificate_file="/absent", ca_file=certificates / "ca.pem"),
            lambda: libapns.Payload(title=3),
            lambda: libapns.Strings(b'"a'),
            lambda: strings.format("a"),
            lambda: libapns.token_from_hex("x"),
        ):
            try:
                wrong()
            except (libapns.Error, TypeError):
                pass

    # Less than two small objects per round.
    assert grows(work, 400) < 400 * 64
