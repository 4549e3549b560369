"""Dead letters and outcomes as an operator sees and changes them, through the programs."""

import contextlib
import json
import os
import signal
import subprocess
import time

import pytest

from redis_queue import RedisQueue
from relaying import DEADLINE, processor_seconds, pushes, relay_program, token, wait_until

DIES = {"retry": {"within": "0s", "max_deferrals": 0}}


def operate(one, *words, status=0):
    """Runs a command of the relay's program on a relay's configuration, and returns its standard output."""
    done = subprocess.run(
        [relay_program(), *words, "--config", one.file], capture_output=True, text=True, timeout=DEADLINE, stdin=subprocess.DEVNULL)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def told(one, *words):
    return [json.loads(line) for line in operate(one, *words, "--json").splitlines()]


def dead(one):
    return {letter["id"]: letter for letter in told(one, "dead")}


def killed_by(simulator, relay, queue, *entries):
    """Starts a relay whose entries die."""
    queue.add(*entries)
    one = relay(simulator, queue=queue, app=DIES).start().wait_ready().wait_done()
    return one


@pytest.fixture
def many():
    return {"id": "many", "tokens": json.dumps([token(n) for n in range(10, 20)]), "lane": "bulk"}


def test_a_dead_letter_is_given_back_and_arrives(start, relay, shared, many):
    simulator = start(faults={"bad_every": 2, "bad_reason": "TooManyRequests"})
    one = killed_by(simulator, relay, shared, many)
    counts = shared.counts()
    assert counts["dead"] + counts["accepted"] == 10 and counts["accepted"] > 0 and counts["dead"] > 0
    letter = dead(one)["many"]
    assert (letter["devices"], letter["lane"], letter["deliveries"]) == (counts["dead"], "bulk", 1)
    assert "TooManyRequests" in letter["history"][-1]
    wait_until(lambda: one.metric("apns_relay_dead_letters") == 1, "the metric does not count it")
    text = operate(one, "dead")
    assert text.count("many") == 1 and "\n    " in text and "TooManyRequests" in text

    simulator.control("DELETE", "/faults")
    assert operate(one, "retry", "--id", "many", "none") == (
        f"none: not a dead letter\n1 entries given back, {counts['dead']} devices\n")
    wait_until(lambda: shared.counts() == {"accepted": 10}, "it does not arrive")
    # No device got it twice.
    assert sorted(push["token"] for push in pushes(simulator)) == [token(n) for n in range(10, 20)]
    assert dead(one) == {}
    assert operate(one, "dead") == ""
    wait_until(lambda: one.metric("apns_relay_dead_letters") == 0, "the metric still counts it")
    assert told(one, "retry", "--id", "many") == [
        {"entries": 0, "devices": 0, "skipped": [{"id": "many", "reason": "not a dead letter"}]}]
    one.stop()


def test_all_are_given_back_while_no_relay_runs(start, relay, shared):
    simulator = start(faults={"bad_every": 1, "bad_reason": "TooManyRequests"})
    late = {"id": "late", "token": token(500), "deadline": int(time.time()) + 3}
    one = killed_by(simulator, relay, shared, late, *({"id": f"n-{n}", "token": token(n)} for n in range(250)))
    one.stop()
    assert shared.counts() == {"dead": 251}
    operate(one, "retry", status=2)
    operate(one, "retry", "--all", "--id", "n-1", status=2)
    wait_until(lambda: time.time() > late["deadline"] + 1, "time does not pass")
    assert told(one, "retry", "--all") == [{"entries": 251, "devices": 251, "skipped": []}]
    assert told(one, "retry", "--all") == [{"entries": 0, "devices": 0, "skipped": []}]
    assert shared.counts() == {}
    # It becomes a dead letter again, and keeps its history.
    one.start().wait_ready().wait_done()
    assert shared.counts() == {"dead": 250, "expired": 1}
    lines = dead(one)["n-7"]["history"]
    assert len(lines) == 3 and lines[1].endswith("given back by the operator")
    simulator.control("DELETE", "/faults")
    told(one, "retry", "--all")
    wait_until(lambda: shared.counts() == {"accepted": 250, "expired": 1}, "they do not arrive")
    one.stop()


def test_discarded_letters_stay_ended(start, relay, shared):
    simulator = start(faults={"bad_every": 1, "bad_reason": "TooManyRequests"})
    one = killed_by(simulator, relay, shared, *({"id": f"n-{n}", "token": token(n)} for n in range(5)))
    operate(one, "discard", status=2)
    operate(one, "discard", "--older-than", "soon", status=2)
    assert told(one, "discard", "--older-than", "30d") == [{"entries": 0, "skipped": []}]
    assert operate(one, "discard", "--id", "n-1", "n-2") == "2 dead letters discarded\n"
    assert set(dead(one)) == {"n-0", "n-3", "n-4"}
    wait_until(lambda: one.metric("apns_relay_dead_letters") == 3, "the metric still counts them")
    assert told(one, "retry", "--id", "n-1")[0]["entries"] == 0
    assert told(one, "discard", "--all")[0]["entries"] == 3
    assert shared.counts() == {"dead": 5}
    one.stop()


def test_retention(start, relay, shared):
    """A relay removes old ones when it starts."""
    simulator = start()
    simulator.control("POST", "/unregistered", {"token": token(2)})
    one = killed_by(simulator, relay, shared, {"id": "gone", "token": token(2)})
    simulator.control("PUT", "/faults", {"bad_every": 1, "bad_reason": "TooManyRequests"})
    shared.add({"id": "dead", "token": token(1)})
    one.wait_done()
    one.stop()
    one.settings = {"dead_retention": "1h", "gone_retention": "1h", "outcome_retention": "1s"}
    one.write()
    time.sleep(1.1)  # Outcomes are kept for 1 s.
    one.start().wait_ready().wait_said("1 old outcomes removed")
    # The outcome of a dead letter stays.
    assert set(dead(one)) == {"dead"} and shared.gone() == [token(2)] and shared.counts() == {"dead": 1}
    one.stop()
    one.settings |= {"dead_retention": "1s", "gone_retention": "1s"}
    one.write()
    one.start().wait_ready()
    for what in "dead letters", "gone devices":
        one.wait_said(f"1 old {what} removed")
    assert dead(one) == {} and shared.gone() == []
    one.wait_said("1 old outcomes removed", 2)
    assert shared.counts() == {}
    one.stop()


@contextlib.contextmanager
def following(one, *words):
    process = subprocess.Popen(
        [relay_program(), "outcomes", "--follow", "--json", "--config", one.file, *words], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def test_outcomes_are_printed(start, relay, shared, many):
    simulator = start()
    simulator.control("POST", "/unregistered", {"token": token(2)})
    simulator.control("PUT", "/faults", {"bad_tokens": [token(3)]})
    shared.add(many, *({"id": f"n-{n}", "token": token(n)} for n in range(1, 5)))
    one = relay(simulator, queue=shared).start().wait_ready().wait_done()
    one.stop()
    all = told(one, "outcomes")
    assert len(all) == 14 and {row["app"] for row in all} == {"shop"}
    by_id = {(row["id"], row["position"]): row for row in all}
    assert {by_id["many", n]["token"] for n in range(10)} == {token(n) for n in range(10, 20)}
    assert [by_id[f"n-{n}", 0]["outcome"] for n in range(1, 5)] == ["accepted", "rejected", "rejected", "accepted"]
    assert (by_id["n-2", 0]["reason"], by_id["n-2", 0]["http_status"]) == ("Unregistered", 410)
    assert by_id["n-1", 0]["apns_id"] and by_id["n-1", 0]["deliveries"] == 1
    assert abs(by_id["n-1", 0]["at"] / 1000 - time.time()) < DEADLINE
    assert {row["id"] for row in told(one, "outcomes", "--only", "rejected")} == {"n-2", "n-3"}
    assert {row["id"] for row in told(one, "outcomes", "--only", "gone,dead")} == {"n-2"}
    assert len(told(one, "outcomes", "--id", "many", "n-1")) == 11
    assert told(one, "outcomes", "--from", str(all[-1]["number"])) == []
    last = all[6]["number"]
    assert told(one, "outcomes", "--from", str(last)) == all[max(n for n, row in enumerate(all) if row["number"] == last) + 1:]
    assert "'gon'" in operate(one, "outcomes", "--only", "gon", status=2)
    lines = operate(one, "outcomes").splitlines()
    assert len(lines) == 14 and any("n-2/0  rejected  410 Unregistered  " in line for line in lines)
    # Nothing in the queue obeys the terminal.
    shared.add({"id": "a\x1b[2Jb", "token": token(4)})
    one.start().wait_ready().wait_done()
    assert "\x1b" not in operate(one, "outcomes")


def test_a_reader_follows(start, relay, shared):
    simulator = start()
    one = relay(simulator, queue=shared, settings={"outcome_retention": "1s"}).start().wait_ready()
    shared.add({"id": "first", "token": token(1)})
    one.wait_done()
    with following(one) as reader:
        assert json.loads(reader.stdout.readline())["id"] == "first"
        # The relay removes what has been read, and starts again.
        one.stop()
        time.sleep(1.1)  # Outcomes are kept for 1 s.
        one.start().wait_ready().wait_said("old outcomes removed")
        shared.add({"id": "second", "token": token(2)})
        assert json.loads(reader.stdout.readline())["id"] == "second"
        # It waits without work.
        before = processor_seconds(reader)
        time.sleep(1)  # The time of the measurement.
        assert processor_seconds(reader) - before < 0.2
        reader.send_signal(signal.SIGTERM)
        assert reader.wait(DEADLINE) == 0 and reader.stderr.read() == ""
    with following(one) as reader:
        reader.stdout.readline()
        reader.send_signal(signal.SIGINT)
        assert reader.wait(DEADLINE) == 0
    # Nothing comes, and the pipe's end is noticed nevertheless.
    with following(one) as reader:
        reader.stdout.readline()
        reader.stdout.close()
        assert reader.wait(DEADLINE) == 0
    one.stop()


def test_a_reader_outlives_redis(start, relay, server):
    queue = RedisQueue(server)
    one = relay(start(), queue=queue).start().wait_ready()
    queue.add({"id": "first", "token": token(1)})
    with following(one) as reader:
        assert json.loads(reader.stdout.readline())["id"] == "first"
        server.kill()
        assert "it tries again" in reader.stderr.readline()
        server.start()
        queue.add({"id": "second", "token": token(2)})
        assert json.loads(reader.stdout.readline())["id"] == "second"
    one.stop()


def test_a_reader_blocks_nobody(start, relay, queue):
    """It reads while another program writes, needs no permission to write, and notices another file."""
    one = relay(start(), queue=queue).start().wait_ready()
    queue.add({"id": "first", "token": token(1)})
    one.wait_done()
    one.stop()
    with queue.open() as database, following(one) as reader:
        reader.stdout.readline()
        database.execute("BEGIN IMMEDIATE")
        assert len(told(one, "outcomes")) == 1 and dead(one) == {}
        database.execute("ROLLBACK")
        before = queue.path.stat().st_mtime_ns
        told(one, "outcomes")
        assert queue.path.stat().st_mtime_ns == before
        os.rename(queue.path, queue.path.with_suffix(".old"))
        assert reader.wait(DEADLINE) == 2
        assert "removed or replaced" in reader.stderr.read()
    operate(one, "outcomes", status=2)
    assert not queue.path.exists()
