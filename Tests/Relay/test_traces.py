"""A W3C traceparent of an entry reaches its outcomes, and the webhook."""

import json
import subprocess

import pytest
from relaying import relay_program, token
from test_http_entries import entry, post
from test_http_listener import listener  # noqa: F401
from test_webhooks import hook, printed, receive, wait_told  # noqa: F401


def trace(number):
    return f"00-{number:032x}-00f067aa0ba902b7-01"


def enqueue(one, *words):
    return subprocess.run(
        [relay_program(), "enqueue", "--config", one.file, "--alert", "Hello", *words], capture_output=True, text=True)


def test_from_each_producer_to_the_webhook(start, listener, shared, receive, hook):  # noqa: F811
    """An invalid one of a producer without the relay's checks is ignored, and its notification is sent."""
    receiver = receive()
    one = listener(start(), queue=shared, app=hook(receiver))
    shared.add(
        {"id": "row", "token": token(1), "traceparent": trace(1)},
        {"id": "list", "tokens": json.dumps([token(2), token(3)]), "traceparent": trace(2)},
        {"id": "none", "token": token(4)}, {"id": "empty", "token": token(5), "traceparent": ""},
        {"id": "capitals", "token": token(6), "traceparent": trace(0xabc).upper()},
        {"id": "bytes", "token": token(7), "traceparent": b"\xff" * 55}, {"id": "zero", "token": token(8), "traceparent": trace(0)})
    assert post(one, [entry(9, traceparent=trace(9)), entry(10)]) == (201, {"added": 2, "known": 0})
    pushed = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
    assert one.push(token(11), apns_id=pushed, traceparent=trace(11))[0] == 200
    assert enqueue(one.relay, "--id", "tool", "--traceparent", trace(12), token(12)).returncode == 0
    wait_told(receiver, 12)
    told = receiver.told()
    assert told == printed(one.relay) and {row["outcome"] for row in told} == {"accepted"}
    traces = {"row": 1, "list": 2, "order-9": 9, pushed: 11, "tool": 12}
    assert {row["id"]: row["traceparent"] for row in told if "traceparent" in row} == {
        name: trace(number) for name, number in traces.items()}


@pytest.mark.parametrize("wrong", ["", "00-0", trace(0), trace(1) + "0"])
def test_an_invalid_one_is_refused(start, listener, queue, wrong):  # noqa: F811
    one = listener(start())
    status, told, _ = one.push(token(1), traceparent=wrong)
    assert (status, told["reason"]) == (400, "BadRequest") and told["message"].startswith("traceparent is not a traceparent such as")
    status, told = post(one, [entry(1, traceparent=wrong)])
    assert (status, told["field"], told["index"]) == (400, "traceparent", 0), told
    ran = enqueue(one.relay, "--id", "x", "--traceparent", wrong, token(1))
    assert ran.returncode != 0 and "--traceparent is not a traceparent" in ran.stderr, ran.stderr
    assert queue.entries_so_far() == 0
