"""Campaigns: cancelled ones end exactly, paused ones wait, and the commands agree with the simulator."""

import datetime
import json
import subprocess
import time

import pytest
from relaying import Queue, pushes, relay_program, token, wait_until

SLOW = {"streams_max": 8, "answer_delay_ms": 20}


def ran(one, *words):
    return subprocess.run([relay_program(), *words, "--config", one.file], capture_output=True, text=True)


def told(one, *words, status=0):
    """Returns the JSON that a command prints."""
    done = ran(one, *words, "--json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def many(identifier, first, count, campaign="sale", **more):
    tokens = json.dumps([token(n) for n in range(first, first + count)])
    return {"id": identifier, "tokens": tokens} | ({"campaign": campaign} if campaign else {}) | more


def arrivals(simulator):
    """Returns the numbers of the devices in the order of their arrival."""
    return [int(one["token"], 16) for one in pushes(simulator)]


def arrived(simulator, count):
    simulator.wait("/counters", lambda counters: counters["accepted"] >= count)


def tokens_of(queue, *kinds):
    return {int(one, 16) for _, _, one, kind, _ in queue.outcomes() if kind in kinds}


def state_of(one, campaign="sale"):
    return told(one, "show", "--campaign", campaign)


def test_cancel_in_the_middle(start, relay, shared):
    simulator = start("--seed", "1", faults=SLOW)
    shared.add(*(many(f"sale-{n}", 200 * n, 200) for n in range(15)), many("other", 5000, 200, campaign=None))
    one = relay(simulator, queue=shared, app={"limits": {"window": 500}}).start().wait_ready()
    arrived(simulator, 300)
    said = ran(one, "cancel", "--campaign", "sale")
    assert said.returncode == 0, said.stderr
    seen = [n for n in arrivals(simulator) if n < 5000]
    ends = state_of(one)["outcomes"]
    assert said.stdout == (
        f"sale is cancelled: {len(seen)} had gone out ({len(seen)} accepted), {ends['cancelled']} were cancelled\n")
    assert ends == {"accepted": len(seen), "cancelled": 3000 - len(seen)} and 300 <= len(seen) < 2500
    # Later entries of the campaign are cancelled too, and no others.
    shared.add(many("late", 6000, 10), many("others", 7000, 10, campaign="others"))
    one.wait_done()
    assert state_of(one)["outcomes"] == {"accepted": len(seen), "cancelled": 3010 - len(seen)}
    assert tokens_of(shared, "accepted") == set(arrivals(simulator))
    assert len(arrivals(simulator)) == len(seen) + 210
    assert shared.counts() == {"accepted": len(seen) + 210, "cancelled": 3010 - len(seen)}


def test_what_is_paused_goes_on_in_its_order(start, relay, shared):
    simulator = start("--seed", "1", faults={"streams_max": 1, "answer_delay_ms": 3})
    for first in range(0, 400, 10):
        shared.add(*({"id": f"sale-{n}", "token": token(n), "campaign": "sale"} for n in range(first, first + 10)))
        # Redis keeps no order within a millisecond of what returns to the queue.
        time.sleep(0.002)
    one = relay(simulator, queue=shared, app={"limits": {"window": 100, "connections": 1}}).start().wait_ready()
    arrived(simulator, 50)
    assert told(one, "pause", "--campaign", "sale")["state"] == "paused"
    count = len(arrivals(simulator))
    # It claims the rest, too, and puts it back.
    wait_until(
        lambda: (state := state_of(one))["held"]["devices"] == 0 and state["waiting"]["devices"] == 400 - count, "some are held")
    # Others go out meanwhile, and what is added is paused too.
    shared.add({"id": "sale-400", "token": token(400), "campaign": "sale"}, {"id": "other", "token": token(1000)})
    arrived(simulator, count + 1)
    assert arrivals(simulator)[count:] == [1000]
    assert ran(one, "resume", "--campaign", "sale").returncode == 0
    one.wait_done()
    assert [n for n in arrivals(simulator) if n < 1000] == [*range(401)]
    assert shared.counts() == {"accepted": 402} and state_of(one)["state"] == "done"
    assert {deliveries for *_, deliveries in shared.outcomes()} == {1}


def test_a_paused_app_sends_nothing(start, relay, shared):
    simulator = start("--seed", "1", faults=SLOW)
    shared.add(many("sale", 0, 500), many("plain", 1000, 500, campaign=None))
    one = relay(simulator, queue=shared, app={"limits": {"window": 200}}).start().wait_ready()
    arrived(simulator, 100)
    done = ran(one, "pause")
    assert (done.returncode, done.stdout) == (0, "shop is paused\n")
    count = len(arrivals(simulator))
    shared.add({"id": "more", "token": token(2000)})
    assert ran(one, "list").stdout.startswith("shop is paused\nsale: sending; ")
    # Nothing can be cancelled by a relay that gets nothing.
    noted = ran(one, "cancel", "--campaign", "sale")
    assert noted.returncode == 1 and "shop is paused; the order is noted" in noted.stdout
    time.sleep(1.5)  # Nothing may arrive in this time.
    assert len(arrivals(simulator)) == count
    assert ran(one, "resume").returncode == 0
    one.wait_done()
    assert set(arrivals(simulator)) == tokens_of(shared, "accepted")
    assert sum(shared.counts().values()) == 1001 and shared.counts()["accepted"] >= 501


def test_what_waits_for_a_time_is_cancelled(start, relay, shared):
    simulator = start("--seed", "1", faults={"bad_every": 1, "bad_reason": "TooManyRequests"})
    one = relay(simulator, queue=shared, app={"retry": {"within": "0s"}}).start().wait_ready()
    due = int(1000 * time.time()) + 3_600_000
    shared.add(many("busy", 0, 20))
    wait_until(lambda: one.metric('apns_relay_entries{app="shop",state="deferred"}') == 1, "nothing is deferred")
    shared.add(*(many(f"later-{n}", 100 * n, 10, due=due) for n in range(1, 5)), many("other", 900, 1, campaign="other", due=due))
    assert told(one, "cancel", "--campaign", "sale")["outcomes"] == {"cancelled": 60}
    assert arrivals(simulator) == [] and shared.counts() == {"cancelled": 60}
    assert state_of(one, "other")["waiting"]["devices"] == 1


def test_a_relay_is_killed_while_it_cancels(start, relay, shared):
    simulator = start("--seed", "1", faults=SLOW)
    shared.add(*(many(f"sale-{n}", 100 * n, 100) for n in range(20)))
    one = relay(simulator, queue=shared, app={"limits": {"window": 500}}).start().wait_ready()
    arrived(simulator, 200)
    cancel = subprocess.Popen(
        [relay_program(), "cancel", "--campaign", "sale", "--json", "--config", one.file], stdout=subprocess.PIPE, text=True)
    wait_until(lambda: "cancelled" in (orders_of(shared) or ""), "no order is given")
    one.kill()
    other = relay(simulator, queue=shared, name="other").start().wait_ready()
    ends = json.loads(cancel.communicate()[0])["outcomes"]
    assert cancel.returncode == 0
    assert sum(ends.values()) == 2000 and ends == shared.counts() and set(ends) <= {"accepted", "cancelled", "unknown"}
    assert set(arrivals(simulator)) <= tokens_of(shared, "accepted", "unknown")
    assert len(arrivals(simulator)) == len(set(arrivals(simulator)))
    other.stop()


def test_two_relays_cancel_together(start, relay, shared):
    simulator = start("--seed", "1", faults=SLOW)
    shared.add(*(many(f"sale-{n}", 100 * n, 100) for n in range(20)), many("keep", 9000, 100, campaign="keep"))
    relays = [relay(simulator, queue=shared, name=name, app={"limits": {"window": 300}}).start().wait_ready() for name in ("a", "b")]
    arrived(simulator, 200)
    ends = told(relays[0], "cancel", "--campaign", "sale")["outcomes"]
    assert ends == {"accepted": len([n for n in arrivals(simulator) if n < 9000]), "cancelled": ends["cancelled"]}
    assert sum(ends.values()) == 2000
    relays[1].wait_done()
    assert shared.counts() == ends | {"accepted": ends["accepted"] + 100}


def test_without_a_relay_an_order_is_noted(start, relay, shared):
    simulator = start("--seed", "1")
    due = int(1000 * time.time()) + 3_600_000
    shared.add(many("sale", 0, 50), many("late", 100, 5, due=due), {"id": "single", "token": token(60)}, {"id": "kept", "token": token(70)})
    one = relay(simulator, queue=shared)
    for words in ["--campaign", "sale"], ["--id", "single"]:
        done = ran(one, "cancel", *words)
        assert done.returncode == 1
        assert done.stdout == f"{words[1]}: no relay serves shop now; the order is noted, and carried out when one starts\n"
    one.start().wait_ready().wait_done()
    assert arrivals(simulator) == [70] and shared.counts() == {"accepted": 1, "cancelled": 56}
    # The order of a single entry is forgotten with it.
    wait_until(lambda: '"cancelled_ids":[]' in orders_of(shared), "the ID is not forgotten")


@pytest.mark.parametrize("has_ended", [True, False], ids=["after_cancel", "precedes_its_end"])
def test_what_is_added_after_an_order_is_cancelled(start, relay, shared, has_ended):
    simulator = start("--seed", "1")
    one = relay(simulator, queue=shared).start().wait_ready()
    for n in range(5):
        shared.add({"id": f"first-{n}", "token": token(n), "campaign": f"sale-{n}"})
        arrived(simulator, n + 1)
        if has_ended:
            one.wait_done()
        words = [relay_program(), "cancel", "--campaign", f"sale-{n}", "--config", one.file]
        cancel = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        if has_ended:
            assert cancel.communicate()[0] == f"sale-{n} is cancelled: 1 had gone out (1 accepted), 0 were cancelled\n"
        else:
            wait_until(lambda name=f'"sale-{n}"': name in (orders_of(shared) or ""), "no order is given")
        shared.add({"id": f"second-{n}", "token": token(100 + n), "campaign": f"sale-{n}"})
        assert cancel.wait() == 0
    one.wait_done()
    assert arrivals(simulator) == [*range(5)] and shared.counts() == {"accepted": 5, "cancelled": 5}
    # Entries that wait for their time are cancelled too.
    shared.add(many("late", 200, 5, campaign="sale-0", due=int(1000 * time.time()) + 3_600_000))
    one.wait_done()
    assert arrivals(simulator) == [*range(5)] and shared.counts() == {"accepted": 5, "cancelled": 10}


def test_a_single_entry_is_cancelled(start, relay, shared):
    simulator = start("--seed", "1")
    one = relay(simulator, queue=shared).start().wait_ready()
    due = int(1000 * time.time()) + 3_600_000
    shared.add({"id": "late", "token": token(1), "due": due}, {"id": "kept", "token": token(2), "due": due}, {"id": "now", "token": token(3)})
    wait_until(lambda: len(shared.outcomes()) == 1, "the first one is not sent")
    assert told(one, "show", "--id", "late") == {"id": "late", "state": "waiting", "devices": 1, "due": due}
    done = ran(one, "cancel", "--id", "late")
    assert (done.returncode, done.stdout) == (0, "late is cancelled\n"), done.stderr
    assert told(one, "show", "--id", "late") == {"id": "late", "state": "done", "devices": 0, "outcome": "cancelled", "reason": ""}
    at = datetime.datetime.fromtimestamp(due / 1000, datetime.timezone.utc).isoformat(timespec="milliseconds")
    assert ran(one, "show", "--id", "kept").stdout == f"kept: waiting, 1 device without an outcome, due {at[:-6]}Z\n"
    done = ran(one, "cancel", "--id", "now")
    assert done.returncode == 2 and "now has ended with the outcome accepted" in done.stderr
    assert arrivals(simulator) == [3]


def test_mistakes_are_named(start, relay, shared):
    one = relay(start(), queue=shared)
    shared.add(many("sale", 0, 5))
    for words, said in [
        (["list", "--app", "none"], "the configuration has no app 'none': shop"),
        (["cancel"], "give either --campaign or --id"), (["show"], "give either --campaign or --id"),
        (["cancel", "--campaign", "sale", "--id", "sale"], "give either --campaign or --id"),
        (["cancel", "--campaign", "sail"], "shop has no campaign 'sail'"), (["pause", "--campaign", "sail"], "no campaign 'sail'"),
        (["show", "--campaign", "sail"], "no campaign 'sail'"), (["resume", "--campaign", "sail"], "no campaign 'sail'"),
        (["show", "--id", "none"], "the queue of shop knows no id 'none'"), (["cancel", "--id", "none"], "knows no id 'none'"),
    ]:
        done = ran(one, *words)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)
    assert ran(one, "cancel", "--no-wait", "--campaign", "sale").returncode == 0
    for word in "pause", "resume":
        done = ran(one, word, "--campaign", "sale")
        assert done.returncode == 2 and "sale is cancelled" in done.stderr
    assert ran(one, "list").stdout == "sale: cancelled; 5 devices wait, 0 are held\n"


@pytest.mark.parametrize("words, campaign", [
    (["--tokens", "devices"], "x"), (["--tokens", "devices", "--campaign", "sale"], "sale"), ([token(1), "--campaign", "sale"], "sale"),
    (["--channel", "AQID"], None), (["--campaign-file", "campaign.yaml"], "of the file"),
    (["--campaign-file", "campaign.yaml", "--campaign", "sale"], "sale"),
])
def test_enqueue_names_the_campaign(start, relay, shared, tmp_path, words, campaign):
    one = relay(start(), queue=shared)
    (tmp_path / "devices").write_text(f"{token(1)}\n{token(2)}\n")
    (tmp_path / "campaign.yaml").write_text("campaign: of the file\ntokens: devices\n")
    done = subprocess.run(
        [relay_program(), "enqueue", "--config", one.file, "--id", "x", "--alert", "Hello", *words],
        capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = told(one, "list")
    assert report["app"] == "shop" and [one["campaign"] for one in report["campaigns"]] == ([campaign] if campaign else [])


def orders_of(queue):
    if isinstance(queue, Queue):
        return next((text for text, in queue.rows("SELECT text FROM app_state WHERE name = 'orders'")), None)
    return queue.ask("HGET", "apns:{shop}:app_state", "orders")
