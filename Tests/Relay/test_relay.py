"""A relay against the simulator: every entry gets its outcome, and the relay reports what it does."""

import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import time

import pytest

from test_broadcasts import create, state
from relaying import DEADLINE, identifier, pushes, relay_program, token, wait_until
from simulator import ROOT


def test_each_kind_of_end(start, relay, shared):
    simulator = start("--channels-port", "0")
    channel = create(simulator)
    simulator.control("POST", "/unregistered", {"token": token(2)})
    simulator.control("PUT", "/faults", {"bad_tokens": [token(3)]})
    hour = int(time.time()) + 3600
    shared.add(
        {"id": identifier("one"), "token": token(1), "collapse_id": "c", "priority": 5, "push_type": "alert", "expiry": hour},
        {"id": "gone", "token": token(2)},
        {"id": "bad", "token": token(3)},
        {"id": "no hex", "token": "zz"},
        {"id": "no json", "tokens": "[", },
        {"id": identifier("goal"), "channel": channel, "payload": state().decode()},
        {"id": "no type", "token": token(4), "push_type": "postcard"},
        {"id": "long topic", "token": token(4), "topic": "x" * 5000, "collapse_id": "y" * 64},
        {"id": "too large", "token": token(5), "payload": json.dumps({"aps": {"alert": "x" * 5000}})},
        {"id": "too late", "token": token(6), "deadline": 1700000000},
        {"id": "expired", "token": token(7), "expiry": 1700000000},
        {"id": "many", "payload": '{"aps":{"alert":"Hello {{name}}"}}',
         "tokens": json.dumps([{"token": token(8), "name": "Zoë"}, token(9), {"token": token(3), "name": "x"}])},
    )
    one = relay(simulator, queue=shared).start().wait_ready().wait_done()
    ends = {name: [(outcome, reason) for _, outcome, reason in all] for name, all in shared.ends().items()}
    assert ends.pop(identifier("one")) == ends.pop(identifier("goal")) == [("accepted", "")]
    assert ends.pop("gone") == [("rejected", "Unregistered")]
    assert ends.pop("bad") == [("rejected", "BadDeviceToken")]
    assert ends.pop("too late") == ends.pop("expired") == [("expired", "its expiry or deadline had passed")]
    assert ends.pop("long topic") == [("refused", "topic has more than 255 bytes")]
    assert ends.pop("many") == [("accepted", ""), ("refused", "{{name}} is missing"), ("rejected", "BadDeviceToken")]
    assert {name: [outcome for outcome, _ in all] for name, all in ends.items()} == {
        name: ["refused"] for name in ("no hex", "no json", "no type", "too large")}
    assert shared.gone() == [token(2)]
    arrived = {push["token"]: push for push in pushes(simulator)}
    assert set(arrived) == {token(1), token(8), ""}
    first = arrived[token(1)]
    assert (first["apns_id"], first["collapse_id"], first["priority"]) == (identifier("one"), "c", "5")
    assert json.loads(arrived[token(8)]["payload"])["aps"]["alert"] == "Hello Zoë"
    # An entry's fields do not carry over to another entry.
    second = arrived[token(8)]
    assert [second[name] for name in ("topic", "collapse_id", "priority", "expiration")] == ["com.example.app", None, None, None]
    assert second["apns_id"] != identifier("one")
    one.stop()


def test_no_text_ends_at_a_nul(start, relay, shared):
    """A C string would end at the NUL, and name another topic or another collapse ID."""
    simulator, where = start(), "cannot have character 0x00 at"
    ends = {
        "a": ("accepted", ""),
        "a\0b": ("refused", f"id {where} 1"),
        "topic": ("refused", f"topic {where} 15"),
        "collapse": ("refused", f"collapse_id {where} 0"),
        "type": ("refused", "there is no push type 'alert\0'"),
        "token": ("refused", "character 0x00 at 64 is not hex"),
        "channel": ("refused", f"channel {where} 4"),
        "list": ("refused", "character 0x00 at 64 is not hex"),
        "z": ("accepted", ""),
    }
    said = {
        "topic": {"topic": "com.example.app\0.voip"}, "collapse": {"collapse_id": "\0"}, "type": {"push_type": "alert\0"},
        "token": {"token": token(6) + "\0"}, "list": {"tokens": json.dumps([token(7) + "\0"])}, "channel": {"channel": "AAAA\0AAA"},
    }
    shared.add(*({"id": name} | ({} if name in ("channel", "list") else {"token": token(n)}) | said.get(name, {}) for n, name in enumerate(ends)))
    one = relay(simulator, queue=shared, app={"collapse_by_id": True}).start().wait_ready().wait_done()
    assert shared.ends() == {name: [(0, *end)] for name, end in ends.items()}
    assert [push["collapse_id"] for push in pushes(simulator)] == ["a", "z"]
    one.stop()


def test_bytes_that_are_no_text(start, relay, queue):
    """Some languages bind any bytes as text: the relay sends nothing that was not written, and confuses no IDs."""
    simulator, fields = start(), ("the id", "token", "tokens", "channel", "payload", "topic", "push_type", "collapse_id")
    with queue.open() as database:
        for n, field in enumerate(fields):
            row = {"app": "shop", "id": field, "token": token(n), "payload": '{"aps":{"alert":"Zoe"}}'}
            if field in ("tokens", "channel"):
                del row["token"]
            # Latin-1.
            row[field.removeprefix("the ")] = b'{"aps":{"alert":"Zo\xeb"}}'
            places = ", ".join("CAST(? AS TEXT)" for _ in row)
            database.execute(f"INSERT INTO entries ({', '.join(row)}) VALUES ({places})", list(row.values()))
        # After replacement of the invalid bytes both IDs are equal.
        database.execute("INSERT INTO entries (app, id, token, payload) SELECT app, CAST(CAST(id AS BLOB) || x'FF' AS TEXT), token, payload FROM entries LIMIT 1")
        database.execute("INSERT INTO entries (app, id, token, payload) SELECT app, CAST(CAST(id AS BLOB) || x'FE' AS TEXT), token, payload FROM entries LIMIT 1")
    one = relay(simulator, queue=queue).start().wait_ready().wait_done()
    ends = queue.ends()
    bad = [name for name in ends if name not in fields]
    assert len(bad) == 3 and all(re.fullmatch(r'.*Zo\ufffd"}}\ufffd? \(entry \d+\)', name) for name in bad)
    assert [ends.pop(name) for name in bad] == 3 * [[(0, "refused", "the id is not UTF-8")]]
    assert ends == {field: [(0, "refused", f"{field} is not UTF-8")] for field in fields[1:]}
    assert pushes(simulator) == []
    one.stop()


def test_numbers_that_mean_nothing(start, relay, shared):
    simulator, said = start(), {}
    for field, words, values in ("priority", "1, 5 or 10", (-(1 << 63), -1, 0, 7, 255, 256, 266, (1 << 63) - 1)), ("expiry", "0 or UNIX seconds", (-(1 << 63), -1)):
        said |= {f"{field} is {value}, not {words}": {field: value} for value in values}
    fine = [{"expiry": 0}, {"expiry": (1 << 63) - 1}, {"deadline": (1 << 63) - 1}, {"priority": 1}]
    entries = [*said.values(), *fine, {"deadline": -(1 << 63)}]
    shared.add(*({"id": str(n), "token": token(n)} | fields for n, fields in enumerate(entries)))
    one = relay(simulator, queue=shared).start().wait_ready().wait_done()
    ends = [shared.ends()[str(n)] for n in range(len(entries))]
    assert ends == [[(0, "refused", words)] for words in said] + len(fine) * [[(0, "accepted", "")]] + [[(0, "expired", "its expiry or deadline had passed")]]
    assert len(pushes(simulator)) == len(fine)
    one.stop()


def test_the_relays_own_columns_keep_their_ranges(start, relay, queue):
    """A number outside the range would stop the whole queue, and an entry with an unknown worker would never be sent."""
    least, most = -(1 << 63), (1 << 63) - 1
    for fields in (
        {"deliveries": most}, {"deliveries": -1}, {"deferrals": most}, {"deferrals": least}, {"made": least}, {"made": "x"},
        {"due": -1}, {"due": least}, {"worker": 7}, {"worker": "x"}, {"deliveries": 1.5},
    ):
        with pytest.raises(sqlite3.IntegrityError), queue.open() as database:
            row = {"app": "shop", "id": "a", "token": token(1), "payload": "{}"} | fields
            database.execute(f"INSERT INTO entries ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    simulator = start()
    queue.add({"id": "made later", "token": token(1), "made": most}, {"id": "due now", "token": token(2), "due": 1})
    one = relay(simulator, queue=queue).start().wait_ready().wait_done()
    assert queue.counts() == {"accepted": 2} and one.metric("apns_relay_oldest_entry_age_seconds") == 0
    one.stop()


def test_an_answer_that_asks_for_later(start, relay, queue):
    """The entry waits in the queue, does not become dead after any number of deliveries, and arrives once."""
    simulator = start(faults={"bad_every": 1, "bad_reason": "TooManyRequests"})
    queue.add({"id": "a", "token": token(1)})
    one = relay(simulator, queue=queue, app={"retry": {"within": "0s"}}).start().wait_ready()
    wait_until(lambda: queue.value("SELECT due FROM entries") > 0, "the entry is not deferred")
    (due, deliveries, deferrals, worker, history), = queue.rows("SELECT due, deliveries, deferrals, worker, history FROM entries")
    assert (deliveries, deferrals, worker) == (1, 1, None) and "TooManyRequests" in history
    assert 50 < due / 1000 - time.time() < 70
    assert one.metric('apns_relay_entries{app="shop",state="deferred"}') == 1
    simulator.control("DELETE", "/faults")
    queue.rows("UPDATE entries SET due = 1")
    one.wait_done()
    assert queue.ends()["a"] == [(0, "accepted", "")] and len(pushes(simulator)) == 1


def test_so_often_later_is_a_dead_letter(start, relay, queue):
    simulator = start(faults={"bad_every": 1, "bad_reason": "ServiceUnavailable"})
    queue.add({"id": "a", "token": token(1)}, {"id": "b", "tokens": json.dumps([token(2), token(3)])})
    relay(simulator, queue=queue, app={"retry": {"within": "0s", "max_deferrals": 2}}).start().wait_ready()

    def is_done():
        queue.rows("UPDATE entries SET due = 1 WHERE worker IS NULL AND due > 1")
        return queue.is_empty()

    wait_until(is_done, "they do not die")
    assert queue.ends() == {
        "a": [(0, "dead", "ServiceUnavailable")], "b": [(0, "dead", "ServiceUnavailable"), (1, "dead", "ServiceUnavailable")]}
    histories = queue.rows("SELECT history FROM dead ORDER BY id")
    assert [history.count("ServiceUnavailable") for history, in histories] == [3, 3]


def test_what_kills_its_relays_is_a_dead_letter(start, relay, queue):
    """Delivered five times without a response, with a kill of the relay each time; there is no sixth time."""
    simulator = start(faults={"no_answer": 1})
    queue.add({"id": "poison", "token": token(1)})
    one = relay(simulator, queue=queue)
    for delivery in range(1, 6):
        one.start().wait_ready()
        simulator.wait("/counters", lambda counters: counters["received"] >= delivery)
        assert queue.value("SELECT deliveries FROM held") == delivery
        one.kill()
    simulator.control("DELETE", "/faults")
    queue.add({"id": "good", "token": token(2)})
    one.start().wait_ready().wait_done()
    assert queue.ends() == {"good": [(0, "accepted", "")], "poison": [(0, "dead", "delivered 5 times without a response")]}
    (history,), = queue.rows("SELECT history FROM dead")
    assert history.count("died with it") == 5 and history.endswith("delivered 5 times without a response")


def test_unknown_is_delivered_again_or_recorded(start, relay, queue):
    for option, end in ("at_least_once", "accepted"), ("at_most_once", "unknown"):
        simulator = start(faults={"cut_after": 1, "cut": "reset", "times": 1})
        queue.add({"id": option, "token": token(1)})
        one = relay(simulator, queue=queue, name=option, app={"delivery": option}).start().wait_ready()
        one.wait_done()
        assert queue.ends()[option][0][1] == end
        one.kill()


def test_replace_makes_the_id_the_collapse_id(start, relay, queue):
    simulator = start()
    queue.add({"id": "a", "token": token(1)}, {"id": "b", "token": token(2), "collapse_id": "own"})
    relay(simulator, queue=queue, app={"collapse_by_id": True}).start().wait_ready().wait_done()
    assert {push["token"]: push["collapse_id"] for push in pushes(simulator)} == {token(1): "a", token(2): "own"}


def test_broadcasts(start, relay, queue):
    """A channel instead of devices: the same outcomes, and an ID that is a UUID is the request's ID."""
    simulator = start("--channels-port", "0")
    channel = create(simulator)
    queue.add(
        {"id": identifier("goal"), "channel": channel, "payload": state(score=1).decode(), "priority": 5},
        {"id": "unknown", "channel": "AAAAAAAAAAAAAAAAAAAAAA==", "payload": state().decode()},
        {"id": "no channel", "channel": "what?", "payload": state().decode()},
        {"id": "collapses", "channel": channel, "payload": state().decode(), "collapse_id": "c"},
        {"id": "too late", "channel": channel, "payload": state().decode(), "deadline": 1700000000},
    )
    relay(simulator, queue=queue, app={"collapse_by_id": True}).start().wait_ready().wait_done()
    ends = {name: [(outcome, reason) for _, outcome, reason in all] for name, all in queue.ends().items()}
    assert ends.pop(identifier("goal")) == [("accepted", "")]
    assert ends.pop("unknown") == [("rejected", "ChannelNotRegistered")]
    assert ends.pop("too late") == [("expired", "its expiry or deadline had passed")]
    assert {name: outcome for name, ((outcome, _),) in ends.items()} == {"no channel": "refused", "collapses": "refused"}
    assert queue.rows("SELECT DISTINCT token FROM outcomes") == [("",)] and queue.rows("SELECT * FROM gone") == []
    (one,) = pushes(simulator)
    assert (one["channel"], one["apns_id"], one["priority"]) == (channel, identifier("goal"), "5")
    assert json.loads(one["payload"])["aps"]["content-state"] == {"score": 1}


def test_broadcasts_are_enqueued_once(start, relay, queue, tmp_path):
    simulator = start("--channels-port", "0")
    channel = create(simulator)
    one = relay(simulator, queue=queue)
    (tmp_path / "update.json").write_bytes(state())
    (tmp_path / "campaign.yaml").write_text(f"app: shop\nid: goal\npayload: update.json\nchannel: {channel}\n")

    def enqueue(*words):
        return subprocess.run([relay_program(), "enqueue", "--config", one.file, *words], capture_output=True, text=True)

    plain = "--app", "shop", "--payload", tmp_path / "update.json", "--channel", channel
    for words, name in (("--campaign-file", tmp_path / "campaign.yaml"), "goal"), ((*plain, "--id", "x"), "x"):
        for added in 1, 0:
            ran = enqueue(*words)
            what = "broadcast" if added == 1 else "broadcasts"
            assert ran.stdout == f"{added} {what} enqueued, {1 - added} known already; id {name}\n", ran
    # Devices on the command line replace those of the campaign.
    ran = enqueue("--campaign-file", tmp_path / "campaign.yaml", "--id", "y", "--alert", "x", token(1))
    assert ran.stdout == "1 entry enqueued, 0 known already; 1 device; id y\n", ran
    ran = enqueue(*plain, token(1))
    assert ran.returncode == 2 and "either --channel or devices" in ran.stderr
    one.start().wait_ready().wait_done()
    assert queue.counts() == {"accepted": 3}
    assert sorted((push.get("channel", ""), push["token"]) for push in pushes(simulator)) == sorted(
        [("", token(1)), (channel, ""), (channel, "")])


def test_no_more_is_claimed_than_the_window_holds(start, relay, queue):
    simulator = start(faults={"no_answer": 1})
    queue.add(*({"id": f"{n}", "token": token(n)} for n in range(100)))
    one = relay(simulator, queue=queue, app={"limits": {"window": 10}}).start().wait_ready()
    simulator.wait("/counters", lambda counters: counters["received"] >= 10)
    # Long enough for it to look for work, without room in its window.
    wait_until(lambda: one.metric("apns_relay_claimed_entries_total"), "it claims nothing")
    assert one.metric("apns_relay_claimed_entries_total") == 10 and queue.value("SELECT count(*) FROM held") == 10
    simulator.control("DELETE", "/faults")
    one.kill()
    one.start().wait_ready().wait_done()
    assert queue.counts() == {"accepted": 100}


def test_one_provider_token_for_all_relays(start, relay, queue):
    """Three relays and a restart use one token, from the queue."""
    simulator = start("--topic", "com.example.app")
    ready = simulator.ready
    who = {"p8": ready["token_key"], "key_id": ready["token_key_id"], "team_id": ready["token_team_id"], "ca": ready["ca"]}
    several = [relay(simulator, queue=queue, name=f"relay-{n}", app={"credentials": who}) for n in range(3)]
    for round in range(2):
        for one in several:
            one.start().wait_ready()
        queue.add(*({"id": f"{round} {n}", "token": token(n)} for n in range(300)))
        wait_until(queue.is_empty, "the queue does not get empty")
        for one in several:
            one.stop()
    assert queue.counts() == {"accepted": 600}
    assert queue.value("SELECT count(*) FROM provider_tokens") == 1
    made = queue.value("SELECT made FROM provider_tokens")
    assert sum(len(one.said("provider token")) for one in several) >= 1
    # A new token would have been stored with its time.
    several[0].start().wait_ready().stop()
    assert queue.value("SELECT made FROM provider_tokens") == made


def test_a_silent_relay_loses_its_entries_and_nothing_is_lost(start, relay, queue):
    """A relay is stopped past its lease: another finishes its work, and its later outcomes are ignored."""
    simulator = start(faults={"no_answer": 1})
    queue.add(*({"id": identifier(n), "token": token(n)} for n in range(20)))
    settings = {"settings": {"lease": "1s"}, "drain_s": 0.2}
    silent = relay(simulator, queue=queue, name="silent", **settings).start().wait_ready()
    simulator.wait("/counters", lambda counters: counters["received"] >= 20)
    silent.suspend()
    simulator.control("DELETE", "/faults")
    living = relay(simulator, queue=queue, name="living", **settings).start().wait_ready()
    living.wait_done()
    assert living.said("20 entries reclaimed from workers")
    silent.signal(signal.SIGCONT)
    silent.wait_said("lease expired")
    queue.add({"id": "after", "token": token(99)})
    living.wait_done()
    silent.stop()
    living.stop()
    assert queue.counts() == {"accepted": 21}
    assert queue.value("SELECT count(*) FROM workers") == 0


def test_a_relay_that_wakes_up_sends_nothing_of_others(start, relay, queue):
    """When its lease expires, its session holds notifications that wait for a retry."""
    simulator = start(faults={"bad_every": 1, "bad_reason": "ServiceUnavailable"})
    queue.add(*({"id": identifier(n), "token": token(n)} for n in range(20)))
    settings = {"settings": {"lease": "1s"}}
    silent = relay(simulator, queue=queue, name="silent", **settings).start().wait_ready()
    simulator.wait("/counters", lambda counters: sum(counters["reasons"].values()) >= 20)
    silent.suspend()
    simulator.control("DELETE", "/faults")
    living = relay(simulator, queue=queue, name="living", **settings).start().wait_ready()
    living.wait_done()
    silent.signal(signal.SIGCONT)
    silent.wait_said("lease expired")
    wait_until(lambda: silent.metric("apns_relay_claimed_notifications") == 0, "it still has what others took")
    silent.stop()
    assert queue.counts() == {"accepted": 20}
    assert len(pushes(simulator)) == 20


def test_who_was_away_itself_does_not_judge(start, relay, queue):
    """The queue was unreachable for longer than the lease, so no worker could renew: the first to renew does not
    reclaim the others' entries."""
    # The service reads nothing until the fault ends.
    simulator, lease = start(faults={"stall_after_bytes": 0}), 5
    relays = [relay(simulator, queue=queue, name=f"relay-{n}", settings={"lease": f"{lease}s"}, app={"limits": {"window": 20}}) for n in range(3)]
    queue.add(*({"id": identifier("away", n), "token": token(n)} for n in range(60)))
    for one in relays:
        one.start().wait_ready()
    wait_until(lambda: queue.value("SELECT count(DISTINCT worker) FROM held") == 3, "not all have entries")
    with queue.open() as database:
        database.execute("BEGIN IMMEDIATE")
        heard, = database.execute("SELECT max(heard) FROM workers").fetchone()
        # By then every lease has expired, and all workers renew together.
        wait_until(lambda: time.time() * 1000 > heard + 1000 * lease, "the time does not pass")
        database.execute("COMMIT")
    wait_until(lambda: queue.value("SELECT min(heard) FROM workers") > heard, "not all workers renew")
    simulator.control("DELETE", "/faults")
    wait_until(queue.is_empty, "the queue does not get empty")
    assert [one.said("reclaimed from workers") for one in relays] == [[], [], []]
    assert len(pushes(simulator)) == 60 and queue.value("SELECT max(deliveries) FROM outcomes") == 1


def test_sigterm_waits_for_answers(start, relay, queue):
    simulator = start(faults={"answer_delay_ms": 1500})
    queue.add(*({"id": identifier(n), "token": token(n)} for n in range(50)))
    one = relay(simulator, queue=queue).start().wait_ready()
    simulator.wait("/counters", lambda counters: counters["received"] >= 50)
    one.signal(signal.SIGTERM)
    one.wait_said("stops")
    queue.add({"id": "too late for this relay", "token": token(77)})
    assert one.process.wait(DEADLINE) == 0
    assert queue.counts() == {"accepted": 50} and not queue.is_empty()
    assert len(pushes(simulator)) == 50
    assert queue.rows("SELECT deliveries FROM entries") == [(0,)]


def test_sigterm_waits_no_longer_than_it_may(start, relay, queue):
    simulator = start(faults={"no_answer": 1})
    queue.add(*({"id": identifier(n), "token": token(n)} for n in range(5)))
    one = relay(simulator, queue=queue, drain_s=0.2).start().wait_ready()
    simulator.wait("/counters", lambda counters: counters["received"] >= 5)
    one.stop()
    rows = queue.rows("SELECT worker, deliveries, history FROM entries")
    assert len(rows) == 5 and all(row[:2] == (None, 1) and row[2] for row in rows), rows
    simulator.control("DELETE", "/faults")
    queue.rows("UPDATE entries SET due = 0")
    one.start().wait_ready().wait_done()
    assert queue.counts() == {"accepted": 5}


def test_sighup_keeps_the_connections_of_what_did_not_change(start, relay, queue, tmp_path):
    simulator = start()
    one = relay(simulator, queue=queue)
    one.write({"shop": {}, "news": {}})
    one.start().wait_ready()

    def push(*apps):
        for app in apps:
            queue.add({"id": f"{time.monotonic_ns()}", "token": token(1)}, app=app)
        one.wait_done()

    push("shop", "news")
    assert simulator.control("GET", "/counters")[1]["connections"] == 2
    one.write({"shop": {}, "extra": {}})
    one.signal(signal.SIGHUP)
    one.wait_said("reloaded")
    push("shop", "extra")
    assert simulator.control("GET", "/counters")[1]["connections"] == 3
    wait_until(lambda: any(line.get("app") == "news" for line in one.said("ended")), "the app does not end")
    # An invalid file changes nothing.
    one.file.write_text("apps: [")
    one.signal(signal.SIGHUP)
    one.wait_said("not reloaded")
    push("shop")
    # New credentials: the session continues, with a new connection.
    copied = tmp_path / "renewed.pem"
    copied.write_bytes(open(simulator.ready["provider"], "rb").read())
    who = {"certificate": str(copied), "ca": simulator.ready["ca"]}
    one.write({"shop": {"credentials": who}, "extra": {}})
    one.signal(signal.SIGHUP)
    one.wait_said("new credentials")
    push("shop", "extra")
    assert simulator.control("GET", "/counters")[1]["connections"] == 4
    one.stop()
    assert queue.counts() == {"accepted": 7}


def test_what_one_sees_of_it(start, relay, queue, tmp_path):
    simulator, before = start(), time.time()
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(DEADLINE)
        one = relay(simulator, queue=queue).start(NOTIFY_SOCKET=address, WATCHDOG_USEC="200000").wait_ready()
        assert manager.recv(999).startswith(b"READY=1")
        assert manager.recv(999) == b"WATCHDOG=1"
        assert one.get("/healthz") == (200, "ok\n")
        assert one.get("/readyz") == (200, "ready\n")
        assert one.get("/other")[0] == 404
        queue.add({"id": "a", "token": token(1)})
        one.wait_done()
        wait_until(lambda: one.metric('apns_relay_outcomes_total{app="shop",outcome="accepted"}') == 1, "no count")
        text = one.get("/metrics")[1]
        assert before <= float(re.search(r"^process_start_time_seconds (\d+\.\d+)$", text, re.M)[1]) <= time.time()
        assert re.search(r'^apns_response_duration_seconds_count\{app="shop"\} 1$', text, re.M), text
        assert re.search(r'^apns_relay_certificate_expiry_timestamp_seconds\{app="shop"\} \d{10}$', text, re.M)
        families = re.findall(r"^# TYPE (\S+)", text, re.M)
        assert len(families) == len(set(families))
        page = (ROOT / "Documentation/METRICS.md").read_text()
        assert [one for one in families if f"| `{one}` |" not in page] == []
        # An incomplete request does not delay others.
        with socket.create_connection(("127.0.0.1", int(one.port_file.read_text()))) as slow:
            slow.sendall(b"GET /metr")
            assert one.get("/healthz")[0] == 200
        # Unread messages did not block the relay.
        manager.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                manager.recv(999)
        manager.settimeout(DEADLINE)
        one.signal(signal.SIGTERM)
        said = b""
        while said != b"STOPPING=1":
            said = manager.recv(999)
        assert one.process.wait(DEADLINE) == 0
    for line in one.lines():
        assert {"time", "level", "message"} <= set(line)


def test_a_service_that_is_not_there_is_not_ready(start, relay, queue):
    simulator = start()
    one = relay(simulator, queue=queue, app={"port": 1}, drain_s=0.2)
    one.start().wait_ready()
    queue.add({"id": "a", "token": token(1)})
    wait_until(lambda: one.get("/readyz")[0] == 503, "it reports that it is ready")
    assert "shop:" in one.get("/readyz")[1] and one.get("/healthz")[0] == 200
    one.stop()
    assert not queue.is_empty() and queue.counts() == {}


def test_check(start, relay, queue, tmp_path):
    simulator = start()
    one = relay(simulator, queue=queue)

    def check(*words):
        return subprocess.run([relay_program(), "--config", one.file, *words], capture_output=True, text=True)

    ran = check("--check", "--offline")
    assert (ran.returncode, ran.stdout) == (
        0, "ok: the queue can be written, and the credentials of shop can be used\n"
        "not tried: the services, because of --offline\n")
    assert simulator.control("GET", "/counters")[1]["connections"] == 0
    ran = check("--check")
    assert (ran.returncode, ran.stdout) == (
        0, "ok: the queue can be written, the credentials of shop can be used, and the services respond over HTTP/2\n"
        "not tried: a push, which alone shows whether token and topic are accepted (--try-push)\n")
    assert simulator.control("GET", "/counters")[1]["received"] == 0
    ran = check("--check", "--try-push")
    assert (ran.returncode, ran.stdout) == (
        0, "ok: the queue can be written, the credentials of shop can be used, and the services respond to their pushes\n")
    assert simulator.control("PUT", "/faults", {"bad_every": 1, "bad_reason": "TopicDisallowed"})[0] == 200
    ran = check("--check", "--try-push")
    assert (ran.returncode, ran.stdout) == (1, "apps.shop: 127.0.0.1: a push was rejected: TopicDisallowed\nnot tried: everything after an error\n"), ran
    for words, said in (["--offline"], "--offline is for --check"), (["--check", "--offline", "--try-push"], "cannot be used with --offline"):
        assert check(*words).returncode == 2 and said in check(*words).stderr
    with socket.socket() as nobody:  # and no other program can listen there
        nobody.bind(("127.0.0.1", 0))
        one.write({"shop": {"port": nobody.getsockname()[1]}})
        ran = check("--check")
        assert ran.returncode == 1 and ran.stdout.startswith("apps.shop: ") and "Connection refused" in ran.stdout, ran
        assert check("--check", "--offline").returncode == 0
    one.write({"shop": {"credentials": {"certificate": simulator.ready["ca"]}}})
    ran = check("--check")
    assert ran.returncode == 1 and ran.stdout.startswith("apps.shop: "), ran
    assert check().returncode == 2
    one.file.write_text("apps:\n  shop:\n    topc: x\n")
    ran = check("--check")
    assert ran.returncode == 2 and ran.stderr == f"Error: {one.file}:2: apps.shop.credentials: is missing: give a certificate, or p8, key_id and team_id, or a program\n"
    # The relay reads what it prints.
    printed = subprocess.run([relay_program(), "--print-config"], capture_output=True, text=True, check=True).stdout
    (tmp_path / "printed.yaml").write_text(printed.replace("AuthKey_ABC123DEFG.p8", simulator.ready["token_key"]))
    again = subprocess.run([relay_program(), "--config", tmp_path / "printed.yaml", "--print-config"], capture_output=True, text=True)
    assert again.returncode == 0 and len(again.stdout.splitlines()) == len(printed.splitlines()), again.stderr


def test_enqueue(start, relay, queue, tmp_path):
    simulator = start()
    one = relay(simulator, queue=queue)

    def enqueue(*words, stdin=None):
        return subprocess.run(
            [relay_program(), "enqueue", "--config", one.file, *words], capture_output=True, text=True, input=stdin)

    for added, known in ("1 entry", 0), ("0 entries", 1):
        ran = enqueue("--app", "shop", "--id", "x", "--alert", 'He said "Hello"', token(1), token(2))
        assert ran.stdout == f"{added} enqueued, {known} known already; 2 devices; id x\n", ran
    lines = [json.dumps({"token": token(10 + n), "name": f"N{n}"}) for n in range(25)]
    (tmp_path / "list").write_text("\n".join(lines) + "\n")
    (tmp_path / "payload.json").write_text('{"aps":{"alert":"Hello {{name}}"}}')
    (tmp_path / "campaign.yaml").write_text("app: shop\nid: sale\npayload: payload.json\ntokens: list\npriority: 5\n")
    for added in 3, 0:
        ran = enqueue("--campaign-file", tmp_path / "campaign.yaml", "--entry", "10")
        assert ran.stdout == f"{added} entries enqueued, {3 - added} known already; 25 devices; id sale\n", ran
    ran = enqueue("--app", "shop", "--alert", "x", "--tokens", "-", stdin=f"{token(90)}\n\n{token(91)}\n")
    assert re.match(r"1 entry enqueued, 0 known already; 2 devices; id [0-9a-f-]{36}$", ran.stdout), ran
    # The payload options of apns send, and of the only app.
    ran = enqueue("--id", "rich", "--title", "Chess", "--alert", "Your move", "--badge", "9", "--custom", "game=7", "--json", token(92))
    assert json.loads(ran.stdout) == {"enqueued": 1, "known": 0, "devices": 1, "id": "rich"}, ran
    ran = enqueue("--id", "piped", "--payload", "-", token(93), stdin='{"aps":{"alert":"piped"}}')
    assert ran.stdout == "1 entry enqueued, 0 known already; 1 device; id piped\n", ran
    for words, said in [
        (["--title", "x", "--payload", tmp_path / "payload.json", token(1)], "--payload is the whole payload"),
        (["--payload", "-", "--tokens", "-"], "standard input cannot be both"),
        (["--app", "other", "--alert", "x", token(1)], "the configuration has no app 'other': shop"),
        (["--app", "shop", token(1)], "there is no payload"),
        (["--app", "shop", "--alert", "x"], "there is no device"),
        (["--app", "shop", "--alert", "x", "--tokens", "/dev/null"], "the list has no device"),
        (["--app", "shop", "--alert", "x", "zz"], "the command line:1: neither a token in hex"),
        (["--app", "shop", "--alert", "x", "--tokens", tmp_path / "none"], "No such file"),
        (["--app", "shop", "--alert", "x", "--id", "y" * 65, token(1)], "1 to 64"),
        (["--campaign-file", tmp_path / "payload.json"], "payload.json:1: aps: unknown key; expected one of"),
    ]:
        ran = enqueue(*words)
        assert ran.returncode in (2, 64) and said in ran.stderr, (words, ran)
    one.start().wait_ready().wait_done()
    assert queue.counts() == {"accepted": 31}
    payloads = {push["token"]: json.loads(push["payload"]) for push in pushes(simulator)}
    assert payloads[token(92)] == {"aps": {"alert": {"title": "Chess", "body": "Your move"}, "badge": 9}, "game": 7}
    assert payloads[token(93)] == {"aps": {"alert": "piped"}}
    assert sorted(json.loads(push["payload"])["aps"]["alert"] for push in pushes(simulator) if push["token"] == token(12)) == ["Hello N2"]
    # Finished IDs are not enqueued again.
    assert enqueue("--campaign-file", tmp_path / "campaign.yaml", "--entry", "10").stdout.startswith("0 entries")


def test_enqueue_with_what_is_configured(relay, start, queue, tmp_path):
    """The environment names the configuration, and the app is its only one."""
    one = relay(start(), queue=queue)

    def enqueue(*words, config=one.file):
        return subprocess.run([relay_program(), "enqueue", *words], capture_output=True, text=True, timeout=DEADLINE, cwd=tmp_path,
                              env=os.environ | {"APNS_RELAY_CONFIG": str(config)})

    before = int(time.time())
    assert enqueue("-a", "Hello", "-t", "com.example.shop", "--expires-in", "60", token(1)).returncode == 0
    app, topic, expiry = queue.rows("SELECT app, topic, expiry FROM entries")[0]
    assert (app, topic) == ("shop", "com.example.shop") and before + 60 <= expiry <= time.time() + 60
    assert enqueue("-a", "Hello", "--expires-in", "0", token(2)).returncode == 0
    assert queue.rows("SELECT expiry FROM entries ORDER BY number DESC LIMIT 1") == [(0,)]
    ran = enqueue("-a", "Hello", token(3), config="none.yaml")
    assert ran.returncode == 2 and "none.yaml" in ran.stderr
    one.write({"shop": one.app, "second": one.app})
    ran = enqueue("-a", "Hello", token(3))
    assert ran.returncode == 2 and "--app is missing: the configuration has " in ran.stderr, ran
    # A producer with only the queue's path must name the app.
    assert "--app is missing" in enqueue("--queue", queue.path, "-a", "Hello", token(3), config="none.yaml").stderr
    assert enqueue("--queue", queue.path, "--app", "shop", "-a", "Hello", token(3), config="none.yaml").returncode == 0


def test_enqueue_from_csv(start, relay, queue, tmp_path):
    simulator = start()
    one = relay(simulator, queue=queue)
    payload, devices = tmp_path / "payload.json", tmp_path / "devices.csv"

    def enqueue(name, text, alert='{"aps":{"alert":"Hello {{name}}","badge":{{count}}}}'):
        payload.write_text(alert)
        devices.write_bytes(text if isinstance(text, bytes) else text.encode())
        return subprocess.run(
            [relay_program(), "enqueue", "--config", one.file, "--app", "shop", "--id", name, "--payload", payload, "--tokens", devices],
            capture_output=True, text=True, timeout=DEADLINE)

    ran = enqueue("names", f'\ufeffname;Token;count\r\n"Zo\u00eb ""Z"";\nof two lines";{token(1)};7\r\n\r\nJos\u00e9;{token(2)};"{{""a"":[1]}}"\r\n')
    assert ran.stdout == "1 entry enqueued, 0 known already; 2 devices; id names\n", ran
    ran = enqueue("numbers", f"{token(3)},Ann\n{token(4)},Bob\n", '{"aps":{"alert":"Hello {{2}}"}}')
    assert ran.stdout == "1 entry enqueued, 0 known already; 2 devices; id numbers\n", ran
    one.start().wait_ready().wait_done()
    arrived = {push["token"]: json.loads(push["payload"])["aps"] for push in pushes(simulator)}
    assert arrived == {
        token(1): {"alert": 'Hello Zo\u00eb "Z";\nof two lines', "badge": 7}, token(2): {"alert": "Hello Jos\u00e9", "badge": {"a": [1]}},
        token(3): {"alert": "Hello Ann"}, token(4): {"alert": "Hello Bob"}}
    for text, said in [
        (f"token,name,count\n{token(5)},x,seven\n", "devices.csv:2: count is not a JSON value"),
        (f"token,name\n{token(5)},x,7\n", "devices.csv:2: 3 fields, but there are 2 columns"),
        (f"token,name,count\nzz,x,7\n", "devices.csv:2: the token is not hex"),
        (f'token,name,count\n{token(5)},"x,7\n', "devices.csv:2: a quoted field is not closed"),
        # The list is read once, however many lines it has.
        (f'token,name,count\n{token(5)},"x,7\n' + "\n" * 900_000, "devices.csv:2: a quoted field is not closed"),
        (f"name,token,count\nx\n", "devices.csv:2: there is no token"),
        (b"token,name,count\n" + token(5).encode() + b",\xff,7\n", "devices.csv:2: is not UTF-8"),
        (f"device,name\n{token(5)},x\n", "devices.csv:1: neither a token in hex"),
        (f"{token(5)}\n{token(6)},x\n", "devices.csv:2: neither a token in hex"),
    ]:
        ran = enqueue("bad", text)
        assert ran.returncode == 2 and said in ran.stderr, (text, ran)


def test_enqueue_refuses_what_no_device_can_get(relay, start, queue, tmp_path):
    """Each message names file and line, and nothing of that list is queued."""
    one, devices, payload, campaign = relay(start(), queue=queue), tmp_path / "devices", tmp_path / "payload.json", tmp_path / "campaign.yaml"

    def enqueue(text, *words, content='{"aps":{"alert":"x"}}', plan=None):
        devices.write_bytes(text if isinstance(text, bytes) else text.encode())
        payload.write_bytes(content if isinstance(content, bytes) else content.encode())
        start = ["--app", "shop", "--tokens", devices, "--payload", payload]
        if plan is not None:
            campaign.write_bytes(plan)
            start = ["--campaign-file", campaign]
        return subprocess.run([relay_program(), "enqueue", "--config", one.file, *start, *words], capture_output=True, text=True)

    good, named = f"{token(1)}\n", '{"aps":{"alert":"Hello {{name}}"}}'
    for text, said in [
        (good + token(2)[:-1], "devices:2: an odd number of hex digits: 63"), (good + "ab" * 101, "devices:2: the token has 101 bytes, more than 100"),
        (good + '{"token":"zz"}\n', "devices:2: character 'z' at 0 is not hex"), (good + '{"token":7}\n', "devices:2: \"token\" is not a string"),
        (good + f'{{"token":"{token(2)}","token":"{token(3)}"}}', "devices:2: \"token\" appears twice"),
        (good + f'{{"token":"{token(2)}","name":"Zo', "devices:2: the JSON ends too early"),
        (good.encode() + b'{"token":"00","name":"\xff"}\n', "devices:2: is not UTF-8"), (good + "0\0", "devices:2: contains a NUL"),
        (f"token,name\n{token(2)},a\0b\n", "devices:2: contains a NUL"), (good.encode("utf-16-le"), "devices:1: contains a NUL"),
        (good + f"{token(2)} {token(3)}\n", "devices:2: 2 tokens in one line: give each its own"),
        (f"{token(2)};{token(3)}\t{token(4)}\n", "devices:1: 3 tokens in one line"),
        (good + f'{{"token":"{token(2)}, {token(3)}"}}', "devices:2: 2 tokens in one line"),
        (good + "a" * 1_100_000, "devices:2: is longer than 1048576 bytes"),
    ]:
        ran = enqueue(text)
        assert ran.returncode == 2 and f"{tmp_path}/{said}" in ran.stderr, (text[-80:], ran)
    for text, content, said in [
        (f'{{"token":"{token(1)}","name":"A"}}\n\n{{"token":"{token(2)}"}}\n', named, "devices:3: {{name}} is missing"),
        (good, named, "devices:1: {{name}} is missing"), (f"token,Name\n{token(1)},A\n", named, "devices:2: {{name}} is missing"),
        (f'{{"token":"{token(1)}","name":[1]}}\n', named, "devices:1: {{name}} is within a string"),
        (f'{{"token":"{token(1)}","name":"{"x" * 5200}"}}\n', named, "devices:1: the payload has 5226 bytes; the limit is 5120"),
        (good, b'{"aps":\n{"alert":"\xff"}}', "payload.json:2: is not UTF-8"),
    ]:
        ran = enqueue(text, content=content)
        assert ran.returncode == 2 and f"{tmp_path}/{said}" in ran.stderr, (text, ran)
    for plan, said in [
        (b"app: shop\nid: [a\n", "campaign.yaml:3: did not find"), (b"app: shop\nid: a\0b\n", "campaign.yaml:2: control characters"),
        (b"app: shop\nid: \xff\n", "campaign.yaml:2: is not UTF-8"), (b"app: shop\nid: a\nid: b\n", "campaign.yaml:2: id: appears twice"),
        (b"alert: x\npayload: payload.json\n", "campaign.yaml:2: payload: alert is set too"),
        (b"payload: none.json\n", "campaign.yaml:1: payload: "), (b"tokens: none\n", "campaign.yaml:1: tokens: "),
    ]:
        ran = enqueue(good, plan=plan)
        assert ran.returncode == 2 and f"{tmp_path}/{said}" in ran.stderr, (plan, ran)
    for words, said in [
        (["--id", "a\x1b[31m"], 'id contains a control character: "a\\u001b[31m"'), (["--id", ""], "id is empty"), (["--topic", "a\n"], "topic contains a control"),
        (["--priority", "7"], "priority is 10, 5 or 1, not 7"), (["--push-type", "none"], "there is no push type 'none'"),
        (["--collapse-id", "x" * 65], "collapse_id has 65 bytes; the limit is 64"),
        (["--app", "shoop"], "the configuration has no app 'shoop': shop"),
    ]:
        ran = enqueue(good, *words)
        assert ran.returncode == 2 and said in ran.stderr, (words, ran)
    assert queue.value("SELECT count(*) FROM entries") == 0
    # Upper-case hex is accepted, and an ID may have spaces.
    ran = enqueue(token(171).upper(), "--id", "sale of May")
    assert ran.stdout == "1 entry enqueued, 0 known already; 1 device; id sale of May\n", ran


def test_enqueue_goes_on_where_it_ended(relay, start, queue, tmp_path):
    """An error far down in a list: the lines before it are queued, and the next run adds the rest."""
    one, devices = relay(start(), queue=queue), tmp_path / "devices"

    def enqueue(*words):
        return subprocess.run(
            [relay_program(), "enqueue", "--config", one.file, "--app", "shop", "--alert", "x", "--tokens", devices, "--entry", "2", *words],
            capture_output=True, text=True)

    lines = [token(number) for number in range(1200)]
    devices.write_text("\n".join([*lines[:1100], "zz", *lines[1100:]]))
    ran = enqueue()
    said = re.search(r"devices:1101: .*\nThe 512 entries before that are in the queue. Run it again with --id (\S+) for the rest", ran.stderr)
    assert ran.returncode == 2 and said and queue.value("SELECT count(*) FROM entries") == 512, ran
    devices.write_text("\n".join(lines))
    for added in 88, 0:
        ran = enqueue("--id", said[1])
        assert ran.stdout == f"{added} entries enqueued, {600 - added} known already; 1200 devices; id {said[1]}\n", ran
    enqueued = [one for tokens, in queue.rows("SELECT tokens FROM entries") for one in json.loads(tokens)]
    assert sorted(enqueued) == lines
    # A single entry has a different ID from the first of several, so a list that has grown would be pushed a second time.
    devices.write_text(token(1))
    assert enqueue("--id", "grows").stdout.startswith("1 entry enqueued")
    devices.write_text("\n".join(lines[1:10]))
    ran = enqueue("--id", "grows")
    assert ran.returncode == 2 and "the queue knows the id grows with fewer entries" in ran.stderr, ran
    devices.write_text(token(1))
    ran = enqueue("--id", said[1])
    assert ran.returncode == 2 and f"the queue knows the id {said[1]} with more entries" in ran.stderr, ran
    assert queue.value("SELECT count(*) FROM entries") == 601


def test_memory_stays_flat(start, relay, queue):
    """Responses take 200 ms; the list is twenty times the window."""
    simulator = start(faults={"answer_delay_ms": 200})
    one = relay(simulator, queue=queue, app={"limits": {"window": 250}})
    queue.add(*({"id": identifier(n), "token": token(n)} for n in range(2000)))
    one.start().wait_ready().wait_done()
    before = one.memory()
    queue.add(*({"id": identifier(n), "token": token(n)} for n in range(2000, 5000)))
    one.wait_done()
    after = one.memory()
    print(f"memory: {before} KB after 2,000, {after} KB after 5,000")
    assert after < 1.2 * before, (before, after)
    assert queue.counts() == {"accepted": 5000}


def test_a_full_disk_loses_nothing(start, relay, queue):
    """Unrecorded outcomes are kept, nothing more is claimed, and the problem is logged once."""
    simulator = start()
    queue.add(*({"id": identifier(n), "token": token(n)} for n in range(100)))
    one = relay(simulator, queue=queue, app={"limits": {"window": 20}})
    # SQLite reports a failed trigger like a full disk.
    queue.rows("CREATE TRIGGER full BEFORE INSERT ON outcomes BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
    one.start().wait_ready()
    one.wait_said("outcomes cannot be recorded")
    wait_until(lambda: one.get("/readyz")[0] == 503, "it reports that it is ready")
    assert "the disk is full" in one.get("/readyz")[1]
    assert queue.value("SELECT count(*) FROM held") == 20
    queue.rows("DROP TRIGGER full")
    one.wait_done()
    assert queue.counts() == {"accepted": 100} and len(pushes(simulator)) == 100
    assert len(one.said("outcomes cannot be recorded")) == 1
