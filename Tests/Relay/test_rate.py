"""`limits.per_second`, and `apns-relay limit`: all relays on a queue together send this many notifications of an app or of a campaign
in a second."""

import json
import signal
import statistics
import time

import pytest
from arrivals import arrivals, each_second
from redis_queue import RedisQueue
from relaying import Queue, pushes, token, wait_until
from test_campaigns import ran, told

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


def check(file, began, per_second, count, tokens=None):
    """Judges by when the simulator has read each notification. A busy machine delays these times, and never advances them, so a
    quarter of the seconds must reach the limit."""
    wait_until(lambda: len(arrivals(file, tokens)) >= count, "they are not in the ledger")
    times = arrivals(file, tokens)
    for place, at in enumerate(times):
        assert place <= per_second * (at - began + KEPT_S), f"{place + 1} after {at - began:.3f} s"
    seconds = each_second(times)
    assert statistics.quantiles(seconds, n=4)[2] >= 0.95 * per_second, seconds


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
    time.sleep(1)  # Nothing may arrive in this time.
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


# Campaigns


def limit(one, per_second, *words):
    done = ran(one, "limit", "--per-second", str(per_second), *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def of(campaign, first, count):
    return [{"id": f"{campaign}-{n}", "token": token(n), "campaign": campaign} for n in range(first, first + count)]


def has_bucket(queue, campaign):
    if isinstance(queue, Queue):
        return queue.value("SELECT count(*) FROM app_state WHERE name = ?", f"rate of {campaign}") > 0
    return queue.ask("HGET", "apns:{shop}:app_state", f"rate of {campaign}") is not None


@pytest.mark.parametrize("shared, count, per_second", [("Redis", 3, 500), ("SQLite", 2, 200)], indirect=["shared"])
@pytest.mark.parametrize("campaign", [False, True], ids=["rate_of_an_app", "rate_of_a_campaign"])
def test_relays_share_a_rate(start, relay, shared, tmp_path, count, per_second, campaign):
    """A relay is killed. Another campaign takes nothing of a campaign's limit."""
    ledger = tmp_path / "accepted"
    simulator = start("--accepted", ledger)
    app = {} if campaign else limits(per_second)
    relays = [relay(simulator, queue=shared, name=f"relay-{n}", app=app).start() for n in range(count)]
    if campaign:
        assert limit(relays[0], per_second, "--campaign", "sale") == (
            f"sale: done, at most {per_second} a second; 0 devices wait, 0 are held\nthe queue has nothing of sale yet\n")
    for one in relays:
        one.wait_ready()
    total, others = 15 * per_second, 3000 * campaign
    began = time.time()
    shared.add(*of("sale", 0, total), *of("quick", 1 << 20, others))
    wait_accepted(simulator, others + total // 2)
    relays[-1].kill()
    relays[0].wait_done()
    check(ledger, began, per_second, total, {token(n) for n in range(total)})
    quick = arrivals(ledger, {token((1 << 20) + n) for n in range(others)})
    assert len(quick) == others and (not quick or quick[-1] < began + 10)
    assert shared.counts() == {"accepted": total + others}


def test_a_slow_campaign_slows_no_other(start, relay, shared):
    """It is far longer than the window, and comes first in the queue."""
    simulator = start()
    one = relay(simulator, queue=shared, app={"limits": {"window": 100}})
    limit(one, 5, "--campaign", "slow")
    plain = [{"id": f"n-{n}", "token": token(6000 + n)} for n in range(500)]
    shared.add(*of("slow", 0, 1000), many(500, campaign="slow"), *of("other", 5000, 500), *plain)
    began = time.monotonic()
    one.start().wait_ready()
    others = {token(n) for n in range(5000, 7000)}
    wait_until(lambda: len([push for push in pushes(simulator) if push["token"] in others]) == 1000, "others do not get through")
    took = time.monotonic() - began
    slow = len(pushes(simulator)) - 1000
    assert slow <= 5 * (took + KEPT_S) + 1 and took < 60, (slow, took)
    # The relay gives back what it cannot send soon.
    wait_until(lambda: one.metric('apns_relay_entries{app="shop",state="paced"}') >= 900, "nothing is given back")
    wait_until(lambda: one.metric("apns_relay_claimed_notifications") <= 5 * 2 + 1, "it holds too many")
    state = told(one, "show", "--campaign", "slow")
    assert state["per_second"] == 5 and state["state"] == "sending" and state["waiting"]["devices"] + state["held"]["devices"] > 1300
    assert ran(one, "list").stdout.splitlines()[-1].startswith("slow: sending, at most 5 a second; ")
    # Faster while it runs, and then without a limit.
    limit(one, 400, "--campaign", "slow")
    before = accepted(simulator)
    wait_accepted(simulator, before + 200)
    assert has_bucket(shared, "slow")
    assert ", at most" not in limit(one, "none", "--campaign", "slow")
    one.wait_done()
    assert len(pushes(simulator)) == 2500 and {deliveries for *_, deliveries in shared.outcomes()} == {1}
    wait_until(lambda: not has_bucket(shared, "slow"), "its bucket is not forgotten")
    assert "per_second" not in told(one, "show", "--campaign", "slow")
    one.stop()


def test_a_limited_campaign_keeps_its_order(start, relay, shared):
    """Also over a relay that ends: the next one finds all of it waiting for the limit."""
    simulator = start(faults={"streams_max": 1})
    one = relay(simulator, queue=shared, app={"limits": {"window": 20, "connections": 1}})
    limit(one, 20, "--campaign", "sale")
    for first in range(0, 200, 10):
        shared.add(*of("sale", first, 10))
        # Redis keeps no order within a millisecond of what returns to the queue.
        time.sleep(0.002)
    one.start().wait_ready()
    wait_accepted(simulator, 30)
    wait_until(lambda: one.metric('apns_relay_entries{app="shop",state="paced"}') > 0, "nothing waits for the limit")
    one.stop()
    one.start().wait_ready()
    wait_accepted(simulator, 60)
    limit(one, 100, "--campaign", "sale")
    one.wait_done()
    assert [int(push["token"], 16) for push in pushes(simulator)] == [*range(200)]
    assert shared.counts() == {"accepted": 200}


def test_a_limited_campaign_is_paused_and_cancelled(start, relay, shared):
    simulator = start()
    one = relay(simulator, queue=shared)
    limit(one, 20, "--campaign", "sale")
    shared.add(*of("sale", 0, 300))
    one.start().wait_ready()
    wait_accepted(simulator, 10)
    state = told(one, "pause", "--campaign", "sale")
    assert (state["state"], state["per_second"], state["held"]["devices"]) == ("paused", 20, 0)
    before = accepted(simulator)
    assert state["waiting"]["devices"] == 300 - before
    time.sleep(1)  # Nothing may arrive in this time.
    assert accepted(simulator) == before
    deferred, paused, paced = (
        one.metric(f'apns_relay_entries{{app="shop",state="{state}"}}') for state in ("deferred", "paused", "paced"))
    assert deferred == 0 and paused + paced == 300 - before
    assert told(one, "resume", "--campaign", "sale")["per_second"] == 20
    wait_accepted(simulator, before + 20)
    ends = told(one, "cancel", "--campaign", "sale")["outcomes"]
    assert ends == {"accepted": accepted(simulator), "cancelled": 300 - accepted(simulator)} and ends["accepted"] < 200
    done = ran(one, "limit", "--campaign", "sale", "--per-second", "7")
    assert done.returncode == 2 and "sale is cancelled" in done.stderr


def test_an_order_changes_the_rate_of_an_app(start, relay, shared):
    simulator = start()
    one = relay(simulator, queue=shared, app=limits(1000))
    assert limit(one, 5) == "shop sends at most 5 a second\n"
    shared.add(many(300), *singles(100))
    one.start().wait_ready()
    wait_accepted(simulator, 5)
    assert one.metric("apns_relay_rate_limit") == 5
    assert ran(one, "list").stdout == "shop sends at most 5 a second\nshop has no campaigns\n"
    assert told(one, "list") == {"app": "shop", "paused": False, "per_second": 5, "campaigns": []}
    assert limit(one, "none") == "shop has the limit of its configuration, if there is one\n"
    one.wait_done()
    wait_until(lambda: one.metric("apns_relay_rate_limit") == 1000, "the configuration's limit does not return")
    assert shared.counts() == {"accepted": 400}
    assert told(one, "pause") == {"app": "shop", "paused": True} and told(one, "resume") == {"app": "shop", "paused": False}
    one.stop()


def test_wrong_limits_are_named(start, relay, shared):
    one = relay(start(), queue=shared)
    for words, said in [
        (["--per-second", "0"], "'0' is invalid for '--per-second <n>'"), (["--per-second", "fast"], "'fast' is invalid"),
        (["--per-second", "100001"], "is invalid"), ([], "Missing expected argument '--per-second <n>'"),
        (["--per-second", "none", "--campaign", "sail"], "shop has no campaign 'sail'"),
        (["--per-second", "5", "--campaign", "s" * 65], "does not have 1 to 64 characters"),
    ]:
        done = ran(one, "limit", *words)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)
