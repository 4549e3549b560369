"""Threads, processes and signals."""

import itertools
import multiprocessing
import os
import queue
import signal
import threading
import time

import libapns
import pytest

from simulator import DEADLINE
from waits import until_it_waits

TOKEN = bytes(range(32))
PAYLOAD = b'{"aps":{}}'
STALL = {"stall_after_bytes": 0, "stall_ms": 100000}


# ---- Threads


def together(*functions):
    """Runs each function in its own thread; raises an exception that one of them raised."""
    raised = []

    def run(function):
        try:
            function()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
        assert not thread.is_alive()
    if raised:
        raise raised[0]


def test_one_session_many_threads(start, connect):
    session = connect(start(faults={"bad_every": 300}), outcomes="each")
    seen, done = [], threading.Event()

    def send(first):
        for start in range(first, first + 2000, 250):
            session.send_many((TOKEN, PAYLOAD, number) for number in range(start, start + 250))
        session.send(TOKEN, PAYLOAD, user_data=first + 2000)

    def take():
        while not done.is_set() or session.stats().events:
            seen.extend(event.user_data for event in session.events(0.01))

    def all_of_it():
        try:
            together(*(lambda first=first: send(first) for first in range(0, 12_000, 3000)))
            session.drain()
        finally:
            done.set()

    together(all_of_it, take, take)
    seen += [event.user_data for event in session]
    assert sorted(seen) == [n for first in range(0, 12_000, 3000) for n in range(first, first + 2001)]


def while_it_drains(session, act):
    """Calls `act`, which has to close the session, while another thread waits for outcomes."""
    session.send(TOKEN, PAYLOAD)
    waiting = queue.Queue()

    def wait():
        waiting.put(threading.get_native_id())
        with pytest.raises(libapns.ClosedError):
            session.drain(DEADLINE)

    together(wait, lambda: (until_it_waits(waiting.get()), act()))


def test_closed_by_another_thread(start, connect):
    """Other threads run while one waits: the closing thread has work to do first."""
    session = connect(start(faults=STALL))

    def close():
        counted = 0
        while counted < 1_000_000:
            counted += 1
        session.close(0)

    while_it_drains(session, close)


def test_credentials_closed_while_they_are_used(start, certificates):
    simulator = start(faults={"handshake_delay_ms": 200})
    who = libapns.Credentials(certificate_file=certificates / "provider.pem", ca_file=certificates / "ca.pem")

    def read():
        assert list(libapns.Feedback(who, host="127.0.0.1", port=simulator.feedback[1])) == []

    together(read, who.close)


def test_feedback_in_threads(start, who, tmp_path):
    listed = tmp_path / "feedback"
    listed.write_text("".join(f"{number} {number:064x}\n" for number in range(3000)))
    feedback = libapns.Feedback(who, host="127.0.0.1", port=start("--feedback", listed).feedback[1])
    seen = []

    def read():
        for device in feedback:
            assert int.from_bytes(device.token, "big") == device.timestamp
            seen.append(device.timestamp)

    together(read, read, read)
    assert sorted(seen) == list(range(3000))


# ---- Processes


def in_child(function):
    """What the function returns in a forked child, or the name of the exception it raises."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = repr(function())
        except BaseException as error:
            said = type(error).__name__
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return said


def test_a_forked_child_cannot_use_the_parent_s_objects(start, connect, who):
    simulator = start(control=True)
    session = connect(simulator, outcomes="each")
    session.send(TOKEN, PAYLOAD, user_data="before")
    feedback = libapns.Feedback(who, host="127.0.0.1", port=simulator.feedback[1])
    for use in (
        lambda: session.send(TOKEN, PAYLOAD),
        lambda: session.send_many([(TOKEN, PAYLOAD)]),
        session.drain, session.flush, session.connect, session.close, session.stats,
        session.next_event, lambda: list(session), lambda: next(feedback), feedback.close,
    ):  # fmt: skip
        assert in_child(use) == "ForkedError"

    def leave():
        nonlocal session
        with session:
            pass
        session = None
        return True

    assert in_child(leave) == "True"
    session.send(TOKEN, PAYLOAD, user_data="after")
    session.drain()
    assert [event.user_data for event in session] == ["before", "after"]
    assert session.stats().connects == 1
    assert simulator.control("GET", "/counters")[1]["accepted"] == 2


def test_forked_while_a_thread_is_inside(start, connect):
    session = connect(start(faults=STALL))

    def fork():
        for _ in range(5):
            assert in_child(session.stats) == "ForkedError"
        session.close(0)

    while_it_drains(session, fork)


def child_of_its_own(arguments):
    provider, ca, port, count = arguments
    who = libapns.Credentials(certificate_file=provider, ca_file=ca)
    with libapns.Session(who, protocol="binary", host="127.0.0.1", port=port) as session:
        session.send_many((TOKEN, PAYLOAD, number) for number in range(count))
    return session.stats().accepted


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(start, connect, certificates, method):
    simulator = start(control=True)
    session = connect(simulator)
    session.send(TOKEN, PAYLOAD)
    work = (str(certificates / "provider.pem"), str(certificates / "ca.pem"), simulator.gateway[1], 500)
    with multiprocessing.get_context(method).Pool(3) as pool:
        assert pool.map(child_of_its_own, [work] * 6) == [500] * 6
    session.drain()
    assert simulator.control("GET", "/counters")[1]["accepted"] == 3001


def test_a_forked_child_can_use_credentials(start, who):
    simulator = start()

    def push():
        with libapns.Session(who, protocol="binary", host="127.0.0.1", port=simulator.gateway[1]) as session:
            session.send(TOKEN, PAYLOAD)
        return session.stats().accepted

    assert in_child(push) == "1"
    assert push() == 1


# ---- Signals


class Interrupted(Exception):
    pass


def alarm():
    os.kill(os.getpid(), signal.SIGALRM)


def alarm_in_the_wait():
    """Raises the alarm when the main thread waits for a connection."""
    threading.Thread(target=lambda: (until_it_waits(os.getpid()), alarm()), daemon=True).start()


@pytest.fixture
def handle():
    """Sets the signal's effect on the main thread: it raises Interrupted, as Ctrl-C raises KeyboardInterrupt, or calls
    what the test names."""

    def interrupt(number, frame):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    yield lambda handler: signal.signal(signal.SIGALRM, handler)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "wait",
    [
        lambda session: session.drain(1000),
        lambda session: session.drain(),
        lambda session: session.next_event(1000),
        lambda session: next(session.events(1000)),
        lambda session: session.__exit__(None, None, None),
    ],
)
def test_an_interrupted_wait(start, connect, handle, wait):
    session = connect(start(faults=STALL))
    session.send(TOKEN, PAYLOAD, user_data="kept")
    began = time.monotonic()
    with pytest.raises(Interrupted):
        alarm_in_the_wait()
        wait(session)
    assert time.monotonic() - began < DEADLINE
    assert session.stats().taken == 1
    session.close(0)
    assert [event.user_data for event in session] == ["kept"]


def test_interrupted_send_many_returns_the_count(start, connect, handle):
    def endless():
        for number in itertools.count():
            if number == 1000:
                alarm()
            yield TOKEN, PAYLOAD

    with connect(start()) as session:
        with pytest.raises(Interrupted) as caught:
            session.send_many(endless())
        assert caught.value.taken == session.stats().taken > 0
    assert session.stats().accepted == session.stats().taken


def test_keyboard_interrupt(start, certificates):
    """Ctrl-C in a separate program."""
    import subprocess
    import sys

    simulator = start(faults=STALL)
    # A shell makes background jobs ignore Ctrl-C.
    program = f"""
import libapns, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
who = libapns.Credentials(certificate_file={str(certificates / "provider.pem")!r},
                       ca_file={str(certificates / "ca.pem")!r})
try:
    with libapns.Session(who, protocol="binary", host="127.0.0.1", port={simulator.gateway[1]}) as session:
        session.send(bytes(32), b"{{}}", user_data="kept")
        print("waiting", flush=True)
        session.drain(240)
except KeyboardInterrupt:
    print("interrupted", session.closed, [event.user_data for event in session])
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=240)[0] == "interrupted True ['kept']\n"
    assert process.returncode == 0


def test_a_handler_that_uses_the_session(start, connect, handle):
    session = connect(start(faults=STALL))
    session.send(TOKEN, PAYLOAD)
    said = []

    handle(lambda number, frame: (said.append(session.stats().taken), session.close(0)))
    alarm_in_the_wait()
    with pytest.raises(libapns.ClosedError):
        session.drain(DEADLINE)
    assert said == [1]
