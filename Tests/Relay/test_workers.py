"""Deliveries, deferred entries and their return, and relays that disagree."""

import contextlib
import signal
import socket
import time

from redis_queue import RedisQueue
from relaying import DEADLINE, identifier, pushes, token, wait_until


@contextlib.contextmanager
def away():
    """A reserved port without a listener."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        yield place.getsockname()[1]


def test_what_was_never_sent_was_not_delivered(start, relay, shared):
    """Seven kills while the service is unreachable: nothing is claimed before it responds."""
    simulator = start()
    shared.add(*({"id": identifier(n), "token": token(n)} for n in range(50)))
    with away() as port:
        one = relay(simulator, queue=shared, app={"port": port})
        for life in range(1, 8):
            one.start().wait_ready()
            one.wait_said("Connection refused", life)
            assert not shared.held()
            one.kill()
    one.app = {}
    one.write()
    one.start().wait_ready().wait_done()
    assert shared.counts() == {"accepted": 50} and {deliveries for *_, deliveries in shared.outcomes()} == {1}


def test_crashes_do_not_count_the_innocent_out(start, relay, shared):
    """No notification gets a response in nine runs of a relay, and none was alone in any of them."""
    simulator = start(faults={"no_answer": 1})
    shared.add(*({"id": identifier(n), "token": token(n)} for n in range(300)))
    one = relay(simulator, queue=shared)
    for _ in range(9):
        received = simulator.control("GET", "/counters")[1]["received"]
        one.start().wait_ready()
        simulator.wait("/counters", lambda counters: counters["received"] > received)
        one.kill()
    simulator.control("DELETE", "/faults")
    one.start().wait_ready().wait_done()
    assert shared.counts() == {"accepted": 300}


def test_a_service_in_trouble_is_tried_again_in_seconds(start, relay, queue):
    simulator = start(faults={"bad_every": 1, "bad_reason": "ServiceUnavailable"})
    queue.add({"id": "a", "token": token(1)})
    one = relay(simulator, queue=queue, app={"retry": {"within": "0s"}}).start().wait_ready()
    wait_until(lambda: queue.value("SELECT due FROM entries") > 0, "the entry is not deferred")
    assert 0 < queue.value("SELECT due FROM entries") / 1000 - time.time() < 7
    # An entry that is deferred for long returns with the first 200.
    queue.rows("UPDATE entries SET due = due + 900000")
    simulator.control("DELETE", "/faults")
    later = iter(range(2, 10000))

    def is_back():
        queue.add({"id": f"later {next(later)}", "token": token(2)})
        return queue.rows("SELECT 1 FROM outcomes WHERE id = 'a'")

    wait_until(is_back, "it does not come back")
    assert queue.ends()["a"] == [(0, "accepted", "")] and one.said("is healthy again")


def test_time_for_another_try_begins_with_the_first_answer(start, relay, queue):
    """The response comes after the session's time for retries."""
    simulator = start(faults={"bad_every": 1, "bad_reason": "TooManyRequests", "answer_delay_ms": 3000})
    queue.add({"id": "a", "token": token(1)})
    relay(simulator, queue=queue, app={"retry": {"within": "2s"}}).start().wait_ready()
    simulator.wait("/counters", lambda counters: counters["received"] >= 2)
    assert queue.rows("SELECT held.deliveries, due FROM held JOIN entries USING (number)") == [(1, 0)]


def test_sigterm_within_a_retry_puts_off_by_seconds(start, relay, queue):
    for reason in "ServiceUnavailable", "TooManyRequests":
        simulator, begun = start(faults={"bad_every": 1, "bad_reason": reason}), time.time()
        queue.add({"id": reason, "token": token(1)})
        one = relay(simulator, queue=queue, name=reason, app={"retry": {"within": "600s"}}, drain_s=0.1).start().wait_ready()
        simulator.wait("/counters", lambda counters: counters["received"] >= 1)
        one.wait_said("again in")
        one.stop()
        due, history = queue.rows("SELECT due, history FROM entries WHERE id = ?", reason)[0]
        assert begun + 4 < due / 1000 < time.time() + 12, (due, history)
        queue.rows("DELETE FROM entries")


def test_relays_that_disagree_say_so(start, relay, shared):
    simulator = start()
    first = relay(simulator, queue=shared, name="first").start().wait_ready()
    first.wait_said("ready")
    shared.add({"id": "before", "token": token(1)})
    wait_until(lambda: len(shared.outcomes()) == 1, "it is not pushed")
    second = relay(simulator, queue=shared, name="second", app={"topic": "com.example.other"}).start().wait_ready()
    second.wait_said("this one pushes nothing until they agree")
    wait_until(lambda: second.get("/readyz")[0] == 503, "it is ready")
    _, words = second.get("/readyz")
    assert "com.example.app" in words and "com.example.other" in words
    assert first.get("/readyz")[0] == 200
    shared.add(*({"id": identifier(n), "token": token(n)} for n in range(500)))
    wait_until(shared.is_empty, "the queue does not get empty")
    assert {push["topic"] for push in pushes(simulator)} == {"com.example.app"}
    # Without the first one, there is no disagreement.
    first.stop()
    second.wait_said("the relays agree again")
    shared.add({"id": "after", "token": token(1)})
    wait_until(shared.is_empty, "the queue does not get empty")
    # It pushes, but the service knows the certificate's topics.
    wait_until(lambda: "TopicDisallowed" in second.get("/readyz")[1], "it pushes nothing")
    second.stop()


def test_an_emptied_redis_is_joined_at_once(start, relay, server):
    queue = RedisQueue(server)
    simulator = start()
    # With this lease it would renew only after a quarter of an hour.
    one = relay(simulator, queue=queue, settings={"lease": "3600s"}).start().wait_ready()
    queue.add({"id": "a", "token": token(1)})
    one.wait_done()
    queue.ask("FLUSHALL")
    queue.add({"id": "b", "token": token(2)})
    wait_until(lambda: [push["token"] for push in pushes(simulator)] == [token(1), token(2)], "it does not join again")


def test_answers_that_are_not_recorded_are_said_as_such(start, relay, queue):
    simulator = start()
    one = relay(simulator, queue=queue, drain_s=0.1).start().wait_ready()
    queue.rows("CREATE TRIGGER full BEFORE INSERT ON outcomes BEGIN SELECT RAISE(ABORT, 'no room'); END")
    queue.add({"id": "a", "token": token(1)})
    one.wait_said("outcomes cannot be recorded")
    one.signal(signal.SIGTERM)
    assert one.process.wait(DEADLINE) not in (0, -signal.SIGTERM)
    assert one.said("1 outcomes are not recorded") and not one.said("no response yet")


def test_an_end_in_doubt_is_one_whatever_was_answered_before(start, relay, queue):
    """The service asks for a retry, gets it, and ends without a response."""
    simulator = start(faults={"bad_every": 1, "bad_reason": "TooManyRequests"})
    queue.add({"id": "a", "token": token(1)})
    one = relay(simulator, queue=queue, app={"delivery": "at_most_once"}).start().wait_ready()
    simulator.wait("/counters", lambda counters: counters["reasons"])
    assert simulator.control("PUT", "/faults", {"cut_after": 1, "cut": "reset"})[0] == 200
    one.wait_done()
    assert queue.counts() == {"unknown": 1}
    assert len(pushes(simulator)) == 1
    one.stop()
