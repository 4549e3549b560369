"""A relay with nothing to do sleeps, and still pushes at once."""

import pathlib
import statistics
import time

from relaying import pushes, token


def wakeups(process):
    """Returns how often the scheduler has switched away from each thread."""
    counts = {}
    for thread in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        lines = (thread / "status").read_text().splitlines()
        counts[thread.name] = sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)
    return counts


def idle_wakeups(relay, seconds=10):
    """Returns the least of a few spans of time, because what happened before has consequences for some seconds. A look at Redis
    counts seven times: the thread waits for six replies."""
    least = None
    for _ in range(4):
        before = wakeups(relay.process)
        time.sleep(seconds)
        count = sum(number - before.get(thread, 0) for thread, number in wakeups(relay.process).items())
        least = count if least is None else min(least, count)
        if least < 2 * seconds:
            break
    return least


def delays(relay, queue, simulator, count=20):
    """Returns the time from each commit to the push, in seconds."""
    times = {}
    for number in range(count):
        # At any time between two looks, if there were any.
        time.sleep(0.1 + 0.01 * number)
        queue.add({"id": f"id {number}", "token": token(number + 1)})
        times[token(number + 1)] = time.time()
        relay.wait_done()
    return [push["time"] - times[push["token"]] for push in pushes(simulator) if push["token"] in times]


def test_an_idle_relay_sleeps_and_pushes_at_once(start, relay, shared):
    simulator = start()
    one = relay(simulator, queue=shared, level="info").start().wait_ready()
    shared.add({"id": "first", "token": token(0)})
    one.wait_done()
    assert idle_wakeups(one) < 20
    found = delays(one, shared, simulator)
    assert len(found) == 20 and statistics.median(found) < 0.05, found


def test_it_wakes_up_for_a_due_time(start, relay, shared):
    simulator = start()
    one = relay(simulator, queue=shared, level="info").start().wait_ready()
    due = int(time.time() * 1000) + 3000
    shared.add({"id": "later", "token": token(1), "due": due})
    one.wait_done()
    (push,) = pushes(simulator)
    # Relays know Redis' clock to half a second.
    assert push["time"] >= due / 1000 - 1
