"""The histogram from when an entry was added, or was due, to APNs' response."""

import time

from relaying import token, wait_until


def of(one, part, lane, limit=""):
    return one.metric(f'apns_relay_commit_to_response_seconds_{part}{{app="shop",lane="{lane}"{limit}}}')


def test_it_counts_from_the_commit_or_the_due_time(start, relay, shared):
    """The simulator takes 300 ms for a response, and the relay starts a second after the commit."""
    one = relay(start(faults={"answer_delay_ms": 300}), queue=shared)
    added = time.time()
    due = added + 3
    shared.add(
        {"id": "list", "tokens": f'["{token(1)}", "{token(2)}"]'}, {"id": "urgent", "token": token(3), "lane": "urgent"},
        {"id": "later", "token": token(4), "lane": "bulk", "due": int(1000 * due)})
    time.sleep(1)  # The time that the responses must include.
    one.start().wait_ready()
    for lane, count, since, least in ("normal", 2, added, 1.3), ("urgent", 1, added, 1.3), ("bulk", 1, due, 0.3):
        wait_until(lambda: of(one, "count", lane) == count, f"{lane}: a response is not counted")
        # The clocks of all of them count milliseconds.
        assert count * (least - 0.01) <= of(one, "sum", lane) <= count * (time.time() - since + 0.01), lane
        assert of(one, "bucket", lane, ',le="0.25"') == 0, lane
        assert of(one, "bucket", lane, ',le="86400.0"') == of(one, "bucket", lane, ',le="+Inf"') == count, lane
        assert of(one, "bucket", lane, ',le="1.0"') == 0 or lane == "bulk", lane


def test_only_responses_are_counted(start, relay, shared):
    one = relay(start(faults={"bad_tokens": [token(1)]}), queue=shared)
    shared.add(
        {"id": "rejected", "token": token(1)}, {"id": "expired", "token": token(2), "deadline": 1},
        {"id": "refused", "token": "no hex"})
    one.start().wait_ready()
    wait_until(lambda: shared.outcomes_so_far() == 3, "an outcome is missing")
    wait_until(lambda: one.metric('apns_relay_outcomes_total{app="shop",outcome="refused"}') == 1, "the metrics stay old")
    assert of(one, "count", "normal") == 1
