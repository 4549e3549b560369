"""A quota of the binary listener for each client: an app with many connections does not lock out others."""

import contextlib
import socket
import threading

import pytest
from legacy import answer, connect, context, enhanced, feedback, push
from relaying import DEADLINE, token, wait_until
from simulator import CLEAN, error
from test_binary_listener import Listener, people, raw  # noqa: F401


@pytest.fixture
def open_listener(start, relay, tmp_path, people):  # noqa: F811
    """A binary listener for two apps, each with its own certificate."""

    def make(*, apps=2, **options):
        prints = {"shop": people.listed_print, "news": people.expired_print}
        prints = dict(list(prints.items())[:apps])
        listener = Listener.__new__(Listener)
        listener.__init__(lambda simulator, **arguments: two_apps(relay(simulator, **arguments)), start(), tmp_path, people,
                      listener={"fingerprints": prints} | options, level="info")
        return listener

    def two_apps(one):
        one.write({"shop": one.app, "news": one.app | {"topic": "com.example.news"}})
        return one

    return make


def other(people):  # noqa: F811
    return context(people.expired, ciphers="ALL:@SECLEVEL=0")


def limited(listener, limit):
    return listener.relay.metric(f'apns_relay_listener_limited_total{{listener="gateway",limit="{limit}"}}')


def idle(stack, listener, tls, count):
    """Opens `count` connections that stay silent."""
    open = []
    for number in range(count):
        sock = stack.enter_context(connect(listener.port, tls))
        open.append(sock)
    return open


def is_in(sock):
    """Returns true if the client is accepted: then its notification gets an error packet."""
    sock.sendall(enhanced(7, b""))
    return answer(sock)[0] == error(2, 7)


def test_one_apps_idle_connections_leave_the_others_their_own(open_listener, people):  # noqa: F811
    listener = open_listener(connections=20)
    mine, others = context(people.listed), other(people)
    with contextlib.ExitStack() as stack:
        # 5 for each app, and 10 for the first to come; one address may have three quarters of those 15.
        idle(stack, listener, mine, 12)
        for _ in range(3):
            assert answer(stack.enter_context(connect(listener.port, mine))) == (error(10, 0), CLEAN)
        assert limited(listener, "address") == 3 and limited(listener, "app") == 0
        (said,) = listener.relay.said("are refused")
        assert said["message"] == "clients of shop at 127.0.0.1 are refused: 12 are connected" and said["level"] == "warning"
        # The others can push, and both apps can read their feedback.
        idle(stack, listener, others, 7)
        push(listener.port, others, enhanced(1, raw(1)))
        assert listener.queue.entries_so_far() == 1
        for tls in mine, others:
            assert feedback(listener.feedback_port, tls) == ([], CLEAN)
    # New clients take the places of those that left.
    wait_until(lambda: listener.relay.metric("apns_relay_listener_connections") == 0, "they are not gone")
    for _ in range(30):
        push(listener.port, mine, enhanced(1, raw(2)))
    assert listener.queue.entries_so_far() == 31


def test_one_app_alone_has_nearly_all(open_listener, people):  # noqa: F811
    listener = open_listener(apps=1, connections=8, address_connections=8)
    with contextlib.ExitStack() as stack:
        open = idle(stack, listener, context(people.listed), 8)
        assert answer(stack.enter_context(connect(listener.port, context(people.listed)))) == (error(10, 0), CLEAN)
        assert limited(listener, "app") == 1
        assert all(is_in(sock) for sock in open)


def test_limits_of_ones_own(open_listener, people):  # noqa: F811
    listener = open_listener(app_connections=3, address_connections=2)
    here, there = context(people.listed), context(people.listed)
    with contextlib.ExitStack() as stack:
        idle(stack, listener, here, 2)
        assert answer(stack.enter_context(connect(listener.port, here))) == (error(10, 0), CLEAN)
        elsewhere = stack.enter_context(connect(listener.port, there, source="127.0.0.2"))
        assert answer(stack.enter_context(connect(listener.port, there, source="127.0.0.3"))) == (error(10, 0), CLEAN)
        assert is_in(elsewhere)
        assert (limited(listener, "address"), limited(listener, "app")) == (1, 1)


def test_feedback_has_its_own_reserve(open_listener, people):  # noqa: F811
    """Clients that request feedback and do not read it use up only their own app's turns; providers do not use them up."""
    listener = open_listener(connections=4, feedback_connections=4)
    mine, others = context(people.listed), other(people)
    with listener.queue.open() as database:
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT INTO feedback VALUES ('shop', ?, ?)", ((token(n), n) for n in range(1, 100_001)))
        database.execute("INSERT INTO feedback VALUES ('news', ?, 5)", (token(5),))
        database.execute("COMMIT")
    with contextlib.ExitStack() as stack:
        idle(stack, listener, mine, 3)
        for _ in range(3):
            stack.enter_context(connect(listener.feedback_port, mine, buffer=4096))
        wait_until(lambda: listener.relay.said("tuples sent: 100000"), "it is not logged")
        assert answer(stack.enter_context(connect(listener.feedback_port, mine, buffer=4096))) == (b"", CLEAN)
        assert limited(listener, "feedback") == 1
        assert feedback(listener.feedback_port, others) == ([(5, token(5))], CLEAN)


def test_those_without_a_handshake_lock_out_nobody(open_listener, people):  # noqa: F811
    """Silent clients, and clients that send a little, twice as many as the limit allows; newcomers get in."""
    listener = open_listener(connections=10, handshakes=20)
    tls = context(people.listed)
    with contextlib.ExitStack() as stack:
        open = idle(stack, listener, tls, 3)
        silent = []
        for port in [listener.port] * 40 + [listener.feedback_port] * 40 + [listener.port] * 20:
            silent.append(stack.enter_context(socket.create_connection(("127.0.0.1", port))))
            if len(silent) > 80:
                # The beginning of a handshake only.
                silent[-1].sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        for number in range(5):
            push(listener.port, tls, enhanced(1, raw(number + 1)))
        assert feedback(listener.feedback_port, tls) == ([], CLEAN)
        assert listener.queue.entries_so_far() == 5
        wait_until(lambda: limited(listener, "handshakes") >= 60, "they stay")
        assert listener.relay.metric("apns_relay_listener_handshakes") <= 40
        (said,) = listener.relay.said("handshakes are pending")
        assert said["level"] == "warning"
        # Established connections stay.
        assert all(is_in(sock) for sock in open)


def test_many_at_once_all_get_in(open_listener, people):  # noqa: F811
    """More clients than handshakes may be in progress, all of them genuine: none is dropped."""
    listener = open_listener(handshakes=30)
    tls = context(people.listed)
    failed = []

    def provide(number):
        try:
            for turn in range(3):
                push(listener.port, tls, enhanced(1, raw(100 * number + turn + 1)))
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=provide, args=[number]) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert not failed and listener.queue.entries_so_far() == 150
