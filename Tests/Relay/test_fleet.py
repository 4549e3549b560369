"""Agreement between several relays on one queue: a total number of connections, and the order of a device."""

import collections
import re
import signal
import time

import pytest

from redis_queue import RedisQueue
from relaying import identifier, pushes, token, wait_until


def connections(simulator):
    return len(simulator.control("GET", "/connections")[1]["connections"])


def test_a_fleet_keeps_to_its_connections(start, relay, shared):
    # With few streams on each connection, every relay wants all the connections that it may have.
    simulator = start(faults={"answer_delay_ms": [10, 30], "streams_max": 4})
    limits = {"connections": 2, "total_connections": 3, "window": 100}
    count = 1500
    shared.add(*({"id": identifier(n), "token": token(n)} for n in range(count)))
    relays = [relay(simulator, queue=shared, name=f"relay-{n}", app={"limits": limits}).start() for n in range(4)]
    for one in relays:
        one.wait_ready()
    wait_until(lambda: connections(simulator) == 3, "they do not use what they have")
    # In the end each of three has one connection, and the fourth is idle until another one ends.
    def standing():
        return [one for one in relays if one.metric("apns_relay_connection_quota") == 0]

    wait_until(lambda: shared.outcomes_so_far() >= count // 10, "there are no outcomes")
    fourth, = wait_until(lambda: len(found := standing()) == 1 and found, "they do not share as they should")
    wait_until(fourth.rests, "it works although it has no connection")
    busy = next(one for one in relays if one is not fourth)
    busy.kill()
    shared.add(*({"id": identifier(n), "token": token(n)} for n in range(count, 2 * count)))
    fourth.wait_said("has 1 of the 3 connections")
    wait_until(shared.is_empty, "the queue does not get empty")
    for one in relays:
        if one is not busy:
            one.stop()
    assert simulator.control("GET", "/counters")[1]["connections_most"] == 3
    ends = collections.Counter(one[0] for one in shared.outcomes())
    assert len(ends) == 2 * count and set(ends.values()) == {1} and shared.counts() == {"accepted": 2 * count}


def test_one_of_a_fleet_counts_the_entries(start, relay, shared):
    """So that a sum over the relays is right. The status page of each has them all."""
    simulator = start(faults={"bad_every": 1, "bad_reason": "TooManyRequests"})
    shared.add(*({"id": identifier(n), "token": token(n)} for n in range(30)))
    relays = [
        relay(simulator, queue=shared, name=f"relay-{n}", settings={"lease": "2s"}, app={"retry": {"within": "0s"}}).start().wait_ready()
        for n in range(3)]

    def count(one, path="/metrics"):
        lines = [line for line in one.get(path)[1].splitlines() if line.startswith('apns_relay_entries{app="shop"')]
        return sum(float(line.split()[-1]) for line in lines) if lines else None

    def counting():
        return [one for one in relays if count(one) is not None]

    first, = wait_until(lambda: len(found := counting()) == 1 and found, "not one of them counts")
    for one in [first, *relays]:
        path = "/metrics" if one is first else "/status.metrics"
        wait_until(lambda: count(one, path) == 30, f"{path} counts something else")
    first.kill()
    relays.remove(first)
    second, = wait_until(lambda: len(found := counting()) == 1 and found, "no relay counts now")
    wait_until(lambda: count(second) == 30, "it counts something else")


def test_one_that_cannot_ask_gives_its_connections_up(start, relay, server):
    queue = RedisQueue(server)
    simulator = start()
    queue.add(*({"id": identifier(n), "token": token(n)} for n in range(20)))
    one = relay(simulator, queue=queue, settings={"lease": "2s"}, app={"limits": {"total_connections": 1}}).start().wait_ready().wait_done()
    assert connections(simulator) == 1
    server.kill()
    one.wait_said("the connection quota has expired")
    wait_until(lambda: connections(simulator) == 0, "the connection stays")
    assert one.get("/readyz")[0] == 503
    server.start()
    wait_until(lambda: one.get("/readyz")[0] == 200, "it is not ready again")
    queue.add({"id": "again", "token": token(1)})
    one.wait_said("has 1 of the 1 connections", times=2)
    one.wait_done()
    assert queue.counts() == {"accepted": 21}
    one.stop()


def test_one_that_is_cut_off_writes_no_more(start, relay, server):
    """Other relays may claim its entries soon."""
    queue = RedisQueue(server)
    simulator = start(faults={"answer_delay_ms": [200, 200], "streams_max": 1})
    queue.add(*({"id": identifier(n), "token": token(n)} for n in range(100)))
    one = relay(simulator, queue=queue, settings={"lease": "2s"}).start().wait_ready()
    wait_until(lambda: len(pushes(simulator)) >= 5, "it sends nothing")
    server.kill()
    time.sleep(2.5)  # Longer than its lease.
    count = len(pushes(simulator))
    time.sleep(1)  # Nothing may arrive in this time.
    assert len(pushes(simulator)) == count < 80
    server.start()
    one.wait_done()
    assert queue.counts() == {"accepted": 100}
    one.stop()


def test_one_that_was_stopped_gives_its_connections_up(start, relay, shared):
    """Others take its quota when its lease expires. When it resumes, its quota is 0."""
    simulator = start(faults={"answer_delay_ms": [5, 10]})
    app = {"limits": {"total_connections": 1, "window": 10}}
    first = relay(simulator, queue=shared, name="first", settings={"lease": "1s"}, app=app).start().wait_ready()
    shared.add(*({"id": identifier(n), "token": token(n)} for n in range(100)))
    first.wait_said("has 1 of the 1")
    first.suspend()
    second = relay(simulator, queue=shared, name="second", settings={"lease": "1s"}, app=app).start().wait_ready()
    second.wait_said("has 1 of the 1")
    wait_until(lambda: second.metric("apns_relay_connection_quota") == 1, "it does not take over")
    first.signal(signal.SIGCONT)
    relays = first, second
    wait_until(lambda: any(one.metric("apns_relay_connection_quota") == 0 for one in relays), "both have a share")
    wait_until(lambda: connections(simulator) == 1, "there are two connections")
    shared.add(*({"id": identifier("late", n), "token": token(n)} for n in range(100)))
    wait_until(shared.is_empty, "the queue does not get empty")
    # No relay has a connection while the share moves.
    wait_until(lambda: connections(simulator) == 1, "there is not one connection")
    assert shared.counts() == {"accepted": 200}
    for one in relays:
        one.stop()


def number_of(push):
    return int(re.search(r'"alert":"(\d+)"', push["payload"] if isinstance(push["payload"], str) else str(push["payload"]))[1])


@pytest.mark.parametrize("dies", [False, True], ids=["living", "killed"])
def test_a_device_gets_its_notifications_in_their_order(start, relay, shared, dies):
    """Two relays share the work; responses arrive in any order, and some ask for a retry."""
    devices, each = 12, 25
    simulator = start(faults={"answer_delay_ms": [0, 15], "bad_every": 60, "bad_reason": "ServiceUnavailable"})
    app = {"keep_order": "device", "limits": {"window": 40}, "retry": {"within": "60s"}}
    everything = [(n % devices, n // devices) for n in range(devices * each)]
    shared.add(*({"id": identifier(*one), "token": token(one[0]), "payload": '{"aps":{"alert":"%d"}}' % one[1]} for one in everything))
    relays = [relay(simulator, queue=shared, name=f"relay-{n}", app=app).start().wait_ready() for n in range(2)]
    if dies:
        wait_until(lambda: shared.outcomes_so_far() >= 60, "there are no outcomes")
        relays[0].kill()
    wait_until(shared.is_empty, "the queue does not get empty")
    seen = collections.defaultdict(list)
    for push in pushes(simulator):
        seen[push["token"]].append(number_of(push))
    for numbers in seen.values():
        # The relay repeats what a killed one had sent, at the same place.
        without_repeats = [one for place, one in enumerate(numbers) if place == 0 or numbers[place - 1] != one]
        assert without_repeats == list(range(each))
        assert dies or len(numbers) == each
    assert len(seen) == devices and shared.counts() == {"accepted": devices * each}
    for one in relays[1 if dies else 0:]:
        one.stop()
