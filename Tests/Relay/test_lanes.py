"""Lanes: urgent notifications overtake the others wherever they wait, and none of them starves."""

import json
import subprocess
import time

from relaying import Queue, pushes, relay_program, token, wait_until

URGENT = token(1 << 40)


def arrivals(simulator):
    """Returns the tokens in the order of their arrival."""
    return [one["token"] for one in pushes(simulator)]


def many(lane, first, count):
    return {"id": f"list-{lane}", "tokens": json.dumps([token(n) for n in range(first, first + count)]), "lane": lane}


def arrived(simulator, count):
    simulator.wait("/counters", lambda counters: counters["accepted"] >= count)


def test_an_urgent_push_goes_out_over_a_full_connection(start, relay, shared):
    """Nothing is answered meanwhile, so it needs a stream that was kept for it."""
    simulator = start("--seed", "1", faults={"streams_max": 64, "answer_delay_ms": 20_000})
    shared.add(many("bulk", 0, 400))
    one = relay(simulator, queue=shared).start().wait_ready()
    arrived(simulator, 62)
    shared.add({"id": "urgent", "token": URGENT, "lane": "urgent"})
    arrived(simulator, 63)
    assert arrivals(simulator)[62:63] == [URGENT]
    one.kill()


def test_a_full_window_holds_no_other_lane_up(start, relay, shared):
    """A worker holds a whole list, far more than its window, and writes eight at a time."""
    simulator = start("--seed", "1", faults={"streams_max": 8, "answer_delay_ms": 100})
    shared.add(many("bulk", 0, 500))
    one = relay(simulator, queue=shared, app={"limits": {"window": 32}}).start().wait_ready()
    arrived(simulator, 8)
    shared.add({"id": "normal", "token": token(1000), "lane": "normal"}, {"id": "urgent", "token": URGENT, "lane": "urgent"})
    before = len(arrivals(simulator))
    simulator.wait("/counters", lambda counters: counters["accepted"] >= before + 64)
    order = arrivals(simulator)
    assert URGENT in order[:before + 40] and token(1000) in order[:before + 40]
    one.wait_done()
    assert shared.counts() == {"accepted": 502}


def test_bulk_does_not_starve(start, relay, shared):
    """Bulk gets one of sixteen notifications, while others wait all the time."""
    simulator = start("--seed", "1", faults={"streams_max": 8, "answer_delay_ms": 10})
    shared.add(many("bulk", 0, 100), *({"id": f"normal-{n}", "token": token(1000 + n)} for n in range(1200)))
    one = relay(simulator, queue=shared, app={"limits": {"window": 512}}).start().wait_ready().wait_done()
    order = arrivals(simulator)
    assert len(order) == 1300
    bulk = [at for at, one in enumerate(order) if one < token(1000)]
    # Those in flight together may arrive in another order.
    assert all(bulk[n] < 16 * (n + 3) for n in range(70)), bulk
    # And no more than their share, while others wait.
    assert bulk[60] > 600, bulk


def test_enqueue_chooses_a_lane(start, relay, shared, tmp_path):
    one = relay(start(), queue=shared)
    devices = tmp_path / "devices"
    devices.write_text(f"{token(1)}\n")
    campaign = tmp_path / "campaign.yaml"
    campaign.write_text("app: shop\nid: from-file\nalert: Hello\nlane: urgent\ntokens: devices\n")

    def enqueue(*words):
        return subprocess.run([relay_program(), "enqueue", "--config", one.file, *words], capture_output=True, text=True)

    for name, lane, words in [
        ("one", "normal", [token(1)]), ("list", "bulk", ["--tokens", devices]), ("channel", "normal", ["--channel", "AQID"]),
        ("now", "urgent", [token(1), "--lane", "urgent"]), ("slow", "normal", ["--tokens", devices, "--lane", "normal"]),
    ]:
        assert enqueue("--id", name, "--alert", "Hello", *words).returncode == 0
        assert lane_of(shared, name) == lane
    assert enqueue("--campaign-file", campaign).returncode == 0
    assert lane_of(shared, "from-file") == "urgent"
    ran = enqueue("--id", "x", "--alert", "Hello", token(1), "--lane", "fast")
    assert ran.returncode != 0 and "'fast' is invalid for '--lane <lane>'" in ran.stderr, ran.stderr
    campaign.write_text("app: shop\nalert: Hello\nlane: fast\ntokens: devices\n")
    ran = enqueue("--campaign-file", campaign)
    assert ran.returncode == 2 and "lane is urgent, normal or bulk, not 'fast'" in ran.stderr, ran.stderr


def test_enqueue_for_later(start, relay, shared, tmp_path):
    simulator = start()
    one = relay(simulator, queue=shared)

    def enqueue(*words):
        return subprocess.run([relay_program(), "enqueue", "--config", one.file, "--alert", "Hello", *words], capture_output=True, text=True)

    def at(seconds):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))

    began = time.time()
    assert enqueue("--id", "soon", token(1), "--in", "3s").returncode == 0
    assert enqueue("--id", "hours", token(2), "--at", at(7200)).returncode == 0
    assert enqueue("--id", "past", token(3), "--at", at(-5)).returncode == 0
    campaign = tmp_path / "campaign.yaml"
    campaign.write_text(f"app: shop\nid: from-file\nalert: Hello\nchannel: AQID\nat: {at(3600)}\n")
    assert enqueue("--campaign-file", campaign).returncode == 0
    one.start().wait_ready()
    wait_until(lambda: len(shared.outcomes()) == 2, "what is due does not arrive")
    assert time.time() >= began + 3
    assert {end[0] for end in shared.outcomes()} == {"soon", "past"} and len(pushes(simulator)) == 2
    assert one.metric('apns_relay_entries{app="shop",state="deferred"}') == 2
    for words, said in [
        (["--at", "tomorrow"], "--at must be a time with its zone"), (["--in", "soon"], "--in must be a time such as 90m"),
        (["--in", "1h", "--at", at(9)], "give either --at or --in"), (["--in", "400d"], "at most a year ahead"),
    ]:
        ran = enqueue("--id", "x", token(4), *words)
        assert ran.returncode != 0 and said in ran.stderr, ran.stderr


def lane_of(queue, identifier):
    if isinstance(queue, Queue):
        return queue.value("SELECT lane FROM entries WHERE id = ?", identifier)
    found = [lane for lane, stream in {"normal": "in", "urgent": "urgent", "bulk": "bulk"}.items()
             if any(entry["id"] == identifier for entry in queue.stream(stream))]
    assert len(found) == 1, found
    return found[0]
