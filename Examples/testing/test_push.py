"""Tests of a program that pushes, here curl."""

import json
import subprocess

import pytest

TOKEN = "5f79cfda" * 8


def push(apns, payload, *headers, token=TOKEN):
    """The status and the response's body."""
    fields = [argument for header in headers for argument in ("--header", header)]
    command = ["curl", "--silent", "--http2", "--cacert", apns.ca, "--cert", apns.certificate, "--key", apns.key]
    command += [*fields, "--write-out", "\n%{http_code}", "--data-binary", json.dumps(payload)]
    told = subprocess.run([*command, f"https://{apns.host}:{apns.port}/3/device/{token}"], capture_output=True, text=True)
    body, _, status = told.stdout.rpartition("\n")
    return int(status), json.loads(body) if body else None


def test_the_alert_arrives(apns_simulator):
    assert push(apns_simulator, {"aps": {"alert": "Hello"}}, "apns-priority: 5", "apns-collapse-id: news") == (200, None)
    (arrived,) = apns_simulator.pushes
    assert (arrived.token, arrived.payload["aps"]["alert"]) == (TOKEN, "Hello")
    assert (arrived.topic, arrived.priority, arrived.collapse_id) == ("com.example.app", 5, "news")


def test_a_bad_token(apns_simulator):
    apns_simulator.reject(TOKEN, "BadDeviceToken")
    assert push(apns_simulator, {"aps": {"alert": "Hello"}}) == (400, {"reason": "BadDeviceToken"})
    assert push(apns_simulator, {"aps": {"alert": "Hello"}}, token="ab" * 32) == (200, None)
    assert [one.token for one in apns_simulator.pushes] == ["ab" * 32]


def test_too_many_requests_once(apns_simulator):
    apns_simulator.reject(TOKEN, "TooManyRequests", times=1)
    assert [push(apns_simulator, {"aps": {"badge": 1}})[0] for _ in range(2)] == [429, 200]


def test_a_gone_device(apns_simulator):
    apns_simulator.unregister(TOKEN)
    status, body = push(apns_simulator, {"aps": {"alert": "Hello"}})
    assert (status, body["reason"]) == (410, "Unregistered") and body["timestamp"] > 0


def test_the_connection_breaks(apns_simulator):
    apns_simulator.drop_after(1)
    assert push(apns_simulator, {"aps": {"alert": "Hello"}})[0] == 0
    # The push arrived, which the program cannot know.
    assert len(apns_simulator.wait(1)) == 1


@pytest.mark.apns_simulator(topics=["com.example.other"])
def test_another_app(apns_simulator):
    assert push(apns_simulator, {"aps": {"alert": "Hello"}}) == (400, {"reason": "DeviceTokenNotForTopic"})


def test_other_faults(apns_simulator):
    apns_simulator.fault(bad_every=2, bad_reason="InternalServerError")
    assert [push(apns_simulator, {"aps": {"badge": 1}})[0] for _ in range(4)] == [200, 500, 200, 500]
    assert apns_simulator.counters["reasons"] == {"InternalServerError": 2}
