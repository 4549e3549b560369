"""`limits.per_second`: all relays on a queue together send this many notifications a second."""

import json
import signal
import statistics
import time

import pytest
from arrivals import arrivals, each_second
from redis_queue import RedisQueue
from relaying import pushes, token, wait_until

# An idle app may send what the rate has for this time at once.
KEPT_S = 0.04
URGENT = token(1 << 40)


def limits(per_second):
    return {"limits": {"per_second": per_second}}


def singles(count):
    return [{"id": f"id-{n}", "token": token(n)} for n in range(count)]


def many(count, **more):
    return {"id": "list", "tokens": json.dumps([token(n) for n in range(count)])} | more


def accepted(simulator):
    return simulator.control("GET", "/counters")[1]["accepted"]


def wait_accepted(simulator, count):
    simulator.wait("/counters", lambda counters: counters["accepted"] >= count)


def check(file, began, per_second, count):
    """Judges by when the simulator has read each notification. A stalled machine delays these times, and never advances them."""
    wait_until(lambda: len(arrivals(file)) >= count, "they are not in the ledger")
    times = arrivals(file)
    for place, at in enumerate(times):
        assert place <= per_second * (at - began + KEPT_S), f"{place + 1} after {at - began:.3f} s"
    seconds = each_second(times)
    assert statistics.median(seconds) >= 0.95 * per_second, seconds


@pytest.mark.parametrize("shared, count, per_second", [("Redis", 3, 500), ("SQLite", 2, 200)], indirect=["shared"])
def test_relays_share_a_rate(start, relay, shared, tmp_path, count, per_second):
    """One of them is killed."""
    ledger = tmp_path / "accepted"
    simulator = start("--accepted", ledger)
    relays = [relay(simulator, queue=shared, name=f"relay-{n}", app=limits(per_second)).start() for n in range(count)]
    for one in relays:
        one.wait_ready()
    total = 20 * per_second
    began = time.time()
    shared.add(*singles(total))
    wait_accepted(simulator, total // 2)
    relays[-1].kill()
    relays[0].wait_done()
    check(ledger, began, per_second, total)
    assert shared.counts() == {"accepted": total}


def test_the_urgent_come_first_within_the_rate(start, relay, shared):
    """Also before a list that the relay has begun, and before entries that it has claimed."""
    simulator = start()
    shared.add(many(200), *singles(50))
    one = relay(simulator, queue=shared, app=limits(10)).start().wait_ready()
    wait_accepted(simulator, 5)
    shared.add({"id": "urgent", "token": URGENT, "lane": "urgent"})
    before = accepted(simulator)
    wait_accepted(simulator, before + 3)
    assert URGENT in [push["token"] for push in pushes(simulator)][:before + 3]
    one.kill()


def test_no_more_is_claimed_than_is_sent_soon(start, relay, shared):
    """Another relay gets the rest, and at a low rate too."""
    simulator = start()
    shared.add(*singles(100))
    one = relay(simulator, queue=shared, app=limits(2)).start().wait_ready()
    wait_accepted(simulator, 3)
    assert one.metric("apns_relay_claimed_notifications") <= 4 + 2
    assert one.metric("apns_relay_rate_limit") == 2
    wait_until(lambda: one.metric("apns_relay_rate_waiting") >= 1, "none waits")
    assert len(shared.held()) <= 4 + 2
    one.stop()


def test_a_reload_changes_the_rate(start, relay, shared):
    """In the middle of a list."""
    simulator = start()
    shared.add(many(300), *singles(100))
    one = relay(simulator, queue=shared, app=limits(5)).start().wait_ready()
    wait_accepted(simulator, 5)
    one.app = limits(1000)
    one.write()
    one.signal(signal.SIGHUP)
    one.wait_done()
    assert shared.counts() == {"accepted": 400}
    tokens = [push["token"] for push in pushes(simulator)]
    assert len(tokens) == 400
    one.stop()


def test_a_low_rate_reads_little(start, relay, server):
    """Neither for tokens nor for entries that it could not send."""
    queue = RedisQueue(server)
    simulator = start()
    queue.add(many(100))
    one = relay(simulator, queue=queue, app=limits(2)).start().wait_ready()
    wait_accepted(simulator, 2)

    def calls():
        return sum(int(line.split("calls=")[1].split(",")[0]) for line in queue.ask("INFO", "commandstats").splitlines()
                   if line.startswith(("cmdstat_evalsha:", "cmdstat_hget:")))

    before, began, sent = calls(), time.monotonic(), accepted(simulator)
    wait_accepted(simulator, sent + 10)
    # For each token a few, others with each heartbeat; a look every 10 ms would be thousands. Commands of scripts count too.
    took = time.monotonic() - began
    assert (calls() - before) / took < 100, (calls() - before, took)
    one.kill()


def test_without_its_queue_it_sends_nothing(start, relay, server):
    """It holds a list, and has no tokens for it."""
    queue = RedisQueue(server)
    simulator = start()
    queue.add(many(1000))
    one = relay(simulator, queue=queue, app=limits(50)).start().wait_ready()
    wait_accepted(simulator, 20)
    server.signal(signal.SIGSTOP)
    # Notifications with a token arrive.
    time.sleep(0.5)
    before = accepted(simulator)
    time.sleep(1)
    assert accepted(simulator) == before
    server.signal(signal.SIGCONT)
    wait_accepted(simulator, before + 50)
    one.kill()


def test_the_rest_of_a_list_expires_while_it_waits(start, relay, shared):
    simulator = start()
    one = relay(simulator, queue=shared, app=limits(10)).start().wait_ready()
    shared.add(many(1000, expiry=int(time.time()) + 5))
    one.wait_done()
    counts = shared.counts()
    assert counts["accepted"] + counts["expired"] == 1000 and counts["accepted"] == accepted(simulator), counts
    assert 1 <= counts["accepted"] <= 100
    one.stop()
