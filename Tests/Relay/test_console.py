"""The status page over HTTP: what it shows as JSON, its actions, and who may see and use it."""

import base64
import contextlib
import http.client
import json
import time

import pytest
from relaying import DEADLINE, pushes, token, wait_until
from test_campaigns import SLOW, arrivals, arrived, many
from test_webhooks import entries, hook, receive  # noqa: F401

TOKEN = "0123456789abcdef-shop"


def asked(one, method="GET", path="/status.json", body=None, **headers):
    """Returns the status, the headers and the JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", int(one.port_file.read_text()), timeout=DEADLINE)
    with contextlib.closing(connection):
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        body = json.dumps(body) if isinstance(body, dict) else body
        connection.request(method, path, body, names)
        answer = connection.getresponse()
        text = answer.read().decode()
        return answer.status, answer.headers, json.loads(text) if answer.headers["content-type"] == "application/json" else text


def act(one, action, status=200, app="shop", **more):
    code, _, said = asked(one, "POST", "/actions", {"action": action, "app": app} | more, content_type="application/json")
    assert code == status, said
    return said


def state(one, app="shop"):
    return next(shown for shown in asked(one)[2]["apps"] if shown["app"] == app)


def campaign(one, name="sale"):
    return next((shown for shown in state(one)["campaigns"] if shown["campaign"] == name), None)


def paused(one, total):
    """Returns the campaign once its devices are counted exactly, and nothing of it is in flight."""
    shown = campaign(one)
    return shown if shown["left"]["is_exact"] and shown["left"]["devices"] == total - sum(shown["outcomes"].values()) else None


def logged(one):
    return [line for line in one.lines() if line.get("kind") == "action"]


def test_a_campaign_is_paused_resumed_limited_and_cancelled(start, relay, shared):
    simulator = start("--seed", "1", faults=SLOW)
    shared.add(*(many(f"sale-{n}", 200 * n, 200) for n in range(15)), many("other", 5000, 200, campaign=None))
    one = relay(simulator, queue=shared, app={"limits": {"window": 500}}).start().wait_ready()
    arrived(simulator, 300)
    wait_until(lambda: (campaign(one) or {}).get("left"), "nothing is counted")
    before = campaign(one)
    # The last count and the outcomes since add up to the whole campaign.
    assert before["state"] == "sending" and 2900 <= before["left"]["devices"] + sum(before["outcomes"].values()) <= 3000
    assert act(one, "pause", campaign="sale")["text"] == "sale is paused"
    # Notifications in flight end, and then the count is exact.
    shown = wait_until(lambda: paused(one, 3000), "it is not paused")
    count = len([n for n in arrivals(simulator) if n < 5000])
    assert shown["state"] == "paused" and shown["left"]["is_exact"] and shown["outcomes"] == {"accepted": count}
    assert act(one, "limit", campaign="sale", per_second=700)["text"] == "sale has at most 700 a second"
    wait_until(lambda: campaign(one).get("per_second") == 700, "it has no limit")
    act(one, "limit", campaign="sale")
    act(one, "resume", campaign="sale")
    arrived(simulator, count + 300)
    said = act(one, "cancel", campaign="sale")
    one.wait_done()
    sent = len([n for n in arrivals(simulator) if n < 5000])
    wait_until(lambda: sum(campaign(one)["outcomes"].values()) == 3000, "it does not end")
    assert campaign(one)["outcomes"] == {"accepted": sent, "cancelled": 3000 - sent} and sent < 2900
    assert campaign(one)["state"] == "cancelled" and said["devices"] >= 3000 - sent
    assert act(one, "resume", 409, campaign="sale") == {"error": "sale is cancelled"}
    # Every action is in the log, failed ones too.
    lines = logged(one)
    assert [(line["action"], line["campaign"], line["app"]) for line in lines] == [
        (action, "sale", "shop") for action in ("pause", "limit", "limit", "resume", "cancel", "resume")]
    assert {line["client"] for line in lines} == {"127.0.0.1"} and lines[4]["devices"] == said["devices"]
    assert lines[5]["level"] == "warning" and "sale is cancelled" in lines[5]["message"]


def test_a_webhook_that_fails(start, relay, shared, receive, hook):  # noqa: F811
    fails = [True]
    receiver = receive(lambda number: 503 if fails else 204)
    one = relay(start(), queue=shared, app=hook(receiver, only=["accepted"])).start().wait_ready()
    wait_until(lambda: state(one)["webhook"].get("waiting") == 0, "it is not up to date")
    shared.add(*entries(1, 2, 3))
    shown = wait_until(lambda: (said := state(one)["webhook"]).get("problem") and said["waiting"] == 3 and said, "it does not fail")
    place = f"http://127.0.0.1:{receiver.port}"
    assert (shown["receiver"], shown["problem"], shown["is_exact"]) == (place, "HTTP status 503", True)
    assert shown["oldest"] <= shown["since"] <= 1000 * time.time()
    assert [(told["kind"], told["app"], told["text"]) for told in asked(one)[2]["problems"]] == [
        ("webhook", "shop", f"the webhook {place} fails: HTTP status 503")]
    fails.clear()
    wait_until(lambda: state(one)["webhook"] == {"receiver": place, "waiting": 0, "is_exact": True}, "it is not up to date")
    assert asked(one)[2]["problems"] == []


def test_entries_that_wait_for_a_limit(start, relay, shared):
    shared.add(*(many(f"sale-{n}", 200 * n, 200) for n in range(10)))
    one = relay(start("--seed", "1", faults=SLOW), queue=shared, app={"limits": {"window": 500}}).start().wait_ready()
    act(one, "limit", campaign="sale", per_second=10)
    wait_until(lambda: state(one)["paced_entries"] > 0, "no entry waits for the limit")


def test_an_app_is_paused_and_limited(start, relay, shared):
    simulator = start("--seed", "1", faults=SLOW)
    shared.add(*(many(f"plain-{n}", 200 * n, 200, campaign=None) for n in range(10)), {"id": "u", "token": token(9000), "lane": "urgent"})
    one = relay(simulator, queue=shared, app={"limits": {"window": 200}}).start().wait_ready()
    arrived(simulator, 100)
    act(one, "pause")
    shown = wait_until(lambda: shown if (shown := state(one)).get("left", {}).get("devices") == 2001 - len(arrivals(simulator)) else None, "it is not counted")
    assert shown["state"] == "paused"
    assert [lane["lane"] for lane in shown["lanes"]] == ["urgent", "normal", "bulk"] and shown["campaigns"] == []
    assert sum(lane["entries"] for lane in shown["lanes"]) + shown["deferred_entries"] > 5 and shown["relays"][0]["is_this"]
    act(one, "limit", per_second=900)
    wait_until(lambda: state(one).get("per_second") == 900, "it has no limit")
    act(one, "limit")
    act(one, "resume")
    one.wait_done()
    counts = shared.counts()
    assert len(arrivals(simulator)) == 2001 and counts == {"accepted": 2001}, (len(arrivals(simulator)), counts)
    shown = wait_until(lambda: shown if (shown := state(one))["outcomes"] == {"accepted": 2001} else None, "it does not count them")
    assert shown["connections"] >= 1
    buckets = shown["responses"]["buckets"]
    assert sum(bucket["count"] for bucket in buckets) == 2001 and "at_most_s" not in buckets[-1] and buckets[0]["at_most_s"] < 0.02


def test_rejections_of_a_campaign_have_reasons(start, relay, shared):
    simulator = start(faults={"bad_tokens": [token(3), token(4)]})
    for number in (5, 6, 7):
        simulator.control("POST", "/unregistered", {"token": token(number)})
    shared.add(many("sale-1", 0, 10))
    one = relay(simulator, queue=shared).start().wait_ready().wait_done()
    shown = wait_until(lambda: campaign(one) if (campaign(one) or {}).get("state") == "done" else None, "it is not done")
    assert shown["outcomes"] == {"accepted": 5, "rejected": 5} and shown["gone"] == 3
    assert shown["rejected"] == {"BadDeviceToken": 2, "Unregistered": 3} and shown["left"] == {
        "devices": 0, "is_exact": True, "counted": shown["left"]["counted"]}


def test_dead_letters_are_given_back_and_discarded(start, relay, shared):
    simulator = start(faults={"bad_every": 1, "bad_reason": "TooManyRequests"})
    shared.add(*(many(f"sale-{n}", 10 * n, 10) for n in range(4)))
    one = relay(simulator, queue=shared, app={"retry": {"within": "0s", "max_deferrals": 0}}).start().wait_ready()
    wait_until(lambda: state(one)["dead_letters"] == 4 and len(state(one)["first_dead_letters"]) == 4, "they do not die")
    letters = state(one)["first_dead_letters"]
    assert [letter["devices"] for letter in letters] == [10] * 4 and all(letter["history"] for letter in letters)
    simulator.control("DELETE", "/faults")
    assert act(one, "retry", ids=["sale-0", "sale-2"]) == {"devices": 20, "text": "2 dead letters given back"}
    assert act(one, "discard", ids=["sale-1"]) == {"devices": 10, "text": "1 dead letter discarded"}
    wait_until(lambda: state(one)["dead_letters"] == 1 and len(pushes(simulator)) == 20, "they are not pushed")
    assert act(one, "retry", 409, ids=["sale-0"])["error"].startswith("none of them")
    assert [(line["action"], line["ids"]) for line in logged(one)][:2] == [("retry", "sale-0 sale-2"), ("discard", "sale-1")]


def test_what_is_wrong_and_since_when(start, relay, shared):
    simulator = start(faults={"bad_every": 1, "bad_reason": "InvalidProviderToken"})
    shared.add({"id": "a", "token": token(1)})
    one = relay(simulator, queue=shared).start().wait_ready()
    before = int(1000 * time.time())
    problem = wait_until(lambda: next(iter(asked(one)[2]["problems"]), None), "nothing is wrong")
    assert problem["app"] == "shop" and problem["kind"] in ("failing", "stopped") and problem["since"] <= before + 60_000
    later = asked(one)[2]["problems"][0]
    assert later["since"] == problem["since"] and state(one)["state"] == "failing"


def test_relays_of_the_fleet_and_one_that_was_killed(start, relay, shared):
    simulator = start()
    one = relay(simulator, queue=shared).start().wait_ready()
    wait_until(lambda: state(one)["relays"], "it does not see itself")
    assert asked(one)[2]["problems"] == []
    other = relay(simulator, queue=shared, name="other", app={"limits": {"total_connections": 4}})
    other.start().wait_ready()
    both = wait_until(lambda: state(one)["relays"] if len(state(one)["relays"]) == 2 else None, "it has no other relay")
    assert [shown["is_this"] for shown in both] == [True, False] and "connections" in both[0]
    other.kill()
    wait_until(lambda: len(state(one)["relays"]) == 1, "the other is not reclaimed")


def test_foreign_pages_and_malformed_actions_are_refused(start, relay, queue):
    queue.add(many("sale-1", 0, 10, due=int(1000 * time.time()) + 3_600_000))
    one = relay(start(), queue=queue).start().wait_ready()
    port = one.port_file.read_text().strip()
    own, body = {"content_type": "application/json"}, {"action": "pause", "app": "shop", "campaign": "sale"}
    for headers, wanted in (
        ({"origin": "http://evil.example"} | own, 403), ({"origin": "null"} | own, 403), ({"sec_fetch_site": "cross-site"} | own, 403),
        ({"sec_fetch_site": "same-site"} | own, 403), ({"origin": f"http://127.0.0.1:{int(port) + 1}"} | own, 403),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"} | own, 403),
        ({"host": "evil.example"} | own, 421), ({"host": f"localhost.evil.example:{port}"} | own, 421),
        # A form of a foreign page can have these types, and browsers send no question before it.
        ({"content_type": "text/plain"}, 415), ({"content_type": "application/x-www-form-urlencoded"}, 415), ({}, 415),
    ):
        assert asked(one, "POST", "/actions", body, **headers)[0] == wanted, headers
    for text, wanted in (
        ("{}", 400), ("[1", 400), ("", 400), (json.dumps(body | {"action": "delete"}), 400), (json.dumps(body | {"app": "none"}), 404),
        (json.dumps(body | {"campaign": "none"}), 404), (json.dumps({"action": "cancel", "app": "shop"}), 400),
        (json.dumps({"action": "limit", "app": "shop", "per_second": 0}), 400), (json.dumps({"action": "retry", "app": "shop"}), 400),
        (json.dumps({"action": "retry", "app": "shop", "ids": []}), 400), ("x" * 70_000, 413),
    ):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            assert asked(one, "POST", "/actions", text, **own)[0] == wanted, text[:80]
    assert asked(one, "GET", "/actions")[0] == 405 and asked(one, "POST", "/status.json", "{}", **own)[0] == 405
    for headers in {"sec_fetch_site": "cross-site"}, {"origin": "http://evil.example"}:
        assert asked(one, **headers)[0] == 403
    # A link to the page is allowed, and a program without a browser too.
    assert asked(one, path="/", sec_fetch_site="cross-site", sec_fetch_mode="navigate")[0] == 200
    assert queue.rows("SELECT * FROM app_state WHERE name = 'orders'") == [] and logged(one)[0]["level"] == "warning"
    for headers in {"origin": f"http://127.0.0.1:{port}", "sec_fetch_site": "same-origin"}, {}:
        assert asked(one, "POST", "/actions", body, **own, **headers)[0] == 200


def test_other_machines_need_a_token(start, relay, queue, tmp_path):
    one = relay(start(), queue=queue)
    one.write({"shop": {}, "chess": {}})
    text = json.loads(one.file.read_text())
    text["status"]["host"] = "0.0.0.0"
    one.file.write_text(json.dumps(text))
    one.start().wait_ready()
    # The metrics stay open, as before.
    assert [asked(one, path=path)[0] for path in ("/metrics", "/healthz", "/readyz")] == [200] * 3
    assert [asked(one, path=path)[0] for path in ("/", "/status.js", "/status.json")] == [403] * 3
    body, own = {"action": "pause", "app": "shop"}, {"content_type": "application/json"}
    assert asked(one, "POST", "/actions", body, **own)[0] == 403
    assert one.said("the page needs authorization_file")
    one.stop()
    tokens = tmp_path / "tokens"
    tokens.write_text(f"# Those who may use the page.\n{TOKEN} shop\n{TOKEN}-2 *\n")
    text["status"]["authorization_file"] = str(tokens)
    one.file.write_text(json.dumps(text))
    one.start().wait_ready()

    def basic(word, name="anna"):
        return "Basic " + base64.b64encode(f"{name}:{word}".encode()).decode()

    for said in None, "Bearer wrong-wrong-wrong-wrong", basic("wrong"), "Basic !", "Basic", basic(TOKEN[:-1]), TOKEN:
        headers = {} if said is None else {"authorization": said}
        code, got, _ = asked(one, **headers)
        assert code == 401 and got["www-authenticate"].startswith('Basic realm="apns relay"')
        assert asked(one, "POST", "/actions", body, **own, **headers)[0] == 401
    # A token sees only its apps, by any name of this machine.
    for said in f"Bearer {TOKEN}", basic(TOKEN), basic(TOKEN, ""):
        code, _, shown = asked(one, authorization=said, host="relay.example")
        assert code == 200 and [app["app"] for app in shown["apps"]] == ["shop"]
    assert [app["app"] for app in asked(one, authorization=f"Bearer {TOKEN}-2")[2]["apps"]] == ["shop", "chess"]
    # A browser sends the password by itself, so foreign pages are refused here too.
    for foreign in {"origin": "http://evil.example"}, {"sec_fetch_site": "cross-site"}:
        assert asked(one, "POST", "/actions", body, **own, **foreign, authorization=basic(TOKEN))[0] == 403
    assert asked(one, "POST", "/actions", body | {"app": "chess"}, **own, authorization=basic(TOKEN))[0] == 404
    proxied = {"host": "relay.example", "origin": "https://relay.example"}
    assert asked(one, "POST", "/actions", body, **own, **proxied, authorization=basic(TOKEN))[0] == 200
    assert [(line["action"], line["app"], line["token_line"]) for line in logged(one)] == [("pause", "shop", 2)]
    assert TOKEN not in one.log.read_text()


def test_the_authorization_file_is_checked(start, relay, queue, tmp_path):
    one = relay(start(), queue=queue)
    text = json.loads(one.file.read_text())
    tokens = tmp_path / "tokens"
    tokens.write_text("short shop\n")
    text["status"]["authorization_file"] = str(tokens)
    one.file.write_text(json.dumps(text))
    assert one.start().process.wait(DEADLINE) == 2
    assert "status.authorization_file: " in one.log.read_text() and "at least 16" in one.log.read_text()


@pytest.mark.parametrize("count", (3000,))
def test_a_long_queue_is_counted_seldom(start, relay, queue, count):
    """However often the page asks, the queue is read by one query at a time, which rests for longer than it takes."""
    due = int(1000 * time.time()) + 3_600_000
    queue.add(*({"id": f"{n}", "token": token(n), "campaign": "sale", "due": due} for n in range(count)))
    one = relay(start(), queue=queue).start().wait_ready()
    wait_until(lambda: (campaign(one) or {}).get("left"), "nothing is counted")
    began = time.monotonic()
    counted = {campaign(one)["left"]["counted"] for _ in range(100)}
    assert len(counted) <= 2 + (time.monotonic() - began) and campaign(one)["left"]["devices"] == count
