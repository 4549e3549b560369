"""A problem that stops all work of an app is logged once, not with each attempt."""

import pytest
from legacy import Certificates
from relaying import token, wait_until

CASES = {
    "key": ({"bad_every": 1, "bad_reason": "InvalidProviderToken"}, {}, "APNs rejects the provider: InvalidProviderToken", "NONE"),
    "topic": (None, {"topic": "com.example.wrong"}, "APNs rejects the topic: TopicDisallowed", "NONE"),
    "tokens": ({"bad_every": 1, "bad_reason": "DeviceTokenNotForTopic"}, {}, "APNs has accepted nothing and calls every token bad", "NONE"),
    "certificate": (None, "certificate", "APNs rejects the certificate: ", "CERTIFICATE_REFUSED"),
    "authority": (None, "ca", "127.0.0.1 is not verified: ", "PEER_NOT_TRUSTED"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_says_what_stops_all_work(start, relay, tmp_path, case):
    faults, app, words, cause = CASES[case]
    simulator = start(faults=faults)
    if isinstance(app, str):
        others = Certificates(tmp_path / "others")
        wrong = {"certificate": str(others.make("own", signed=False)[0])} if app == "certificate" else {"ca": str(others.ca)}
        app = {"credentials": {"certificate": simulator.ready["provider"], "ca": simulator.ready["ca"]} | wrong}
    one = relay(simulator, app=app)
    one.queue.add(*({"id": f"id {number}", "token": token(number + 1)} for number in range(300)))
    one.start().wait_ready()
    one.wait_said("nothing is pushed until an operator acts: " + words)
    # Each attempt is one failure, or there are many connections.
    if case in ("certificate", "authority"):
        wait_until(lambda: any(line.get("connection", 0) > 3 for line in one.lines()), "it is not tried again")
    else:
        wait_until(lambda: not one.queue.held(), "they have no response")
    wait_until(lambda: one.metric("apns_relay_stopped") == 1, "it is not visible")
    status, said = one.get("/readyz")
    assert status == 503 and said.startswith("shop: " + words)
    (line,) = [line for line in one.lines() if line["level"] in ("warning", "error", "critical")]
    assert line["level"] == "error" and line["app"] == "shop" and line["kind"] == "stopped" and line["cause"] == f"APNS_CAUSE_{cause}"
    assert isinstance(line["count"], int) and line["count"] >= 1
    if not faults:
        return
    # The operator fixes it.
    assert simulator.control("DELETE", "/faults")[0] == 200
    one.queue.add({"id": "new", "token": token(1000)})
    one.wait_said("pushes succeed again after ")
    (line,) = one.said("pushes succeed again after ")
    assert line["level"] == "notice" and line["count"] > 100
    wait_until(lambda: one.metric("apns_relay_stopped") == 0 and one.get("/readyz")[0] == 200, "its end is not visible")


def test_a_topic_of_its_own_is_its_producers_fault(start, relay):
    one = relay(start(), level="info")
    one.queue.add({"id": "wrong", "token": token(1), "topic": "com.example.wrong"}, {"id": "right", "token": token(2)})
    one.start().wait_ready()
    one.wait_done()
    assert one.queue.counts() == {"accepted": 1, "rejected": 1}
    assert not one.said("nothing is pushed")


def test_lines_of_a_session_have_its_fields(start, relay):
    """In JSON, numbers stay numbers."""
    simulator = start(faults={"goaway_after": 20})
    one = relay(simulator)
    one.queue.add(*({"id": f"id {number}", "token": token(number + 1)} for number in range(50)))
    one.start().wait_ready()
    one.wait_done()
    one.stop()
    lines = [line for line in one.lines() if "connection" in line]
    assert {"connecting", "connected", "goaway"} <= {line["kind"] for line in lines}
    for line in lines:
        assert line["app"] == "shop" and line["cause"].startswith("APNS_CAUSE_") and line["peer"].startswith("127.0.0.1:")
        assert all(type(line[name]) is int for name in ("connection", "count", "milliseconds", "left_out")) and type(line["resumed"]) is bool
        if line["message"].startswith("connection "):
            assert line["connection"] == int(line["message"].split()[1].rstrip(":"))
