"""Entries with arbitrary fields: each has an outcome, blocks no other, and is sent as written or not at all."""

import json
import random

import pytest

from relaying import pushes, token

LIST = [token(1), 5, None, {}, [], {"token": token(2)}, {"token": token(3), "name": "x", "n": 5}, {"token": 5}, ""]
TEXTS = [
    "", "\0", "a", "a\0b", "ü", "\u2028", "😀" * 20, "x" * 64, "x" * 65, "x" * 5000, '"', "\\", "\r\n", " a", "a ", "9" * 400, "-1", "1e9",
    "null", "[]", "{}", "[[]]", "[" * 500 + "]" * 500, "[1e400]", "\ufeff[]", '["\\u00\\u00"]', '[{"token":"a"},]',
    "{{token}}", "{{}}", "{{a.b}}", '{"aps":{"alert":"{{name}}"}}', '{"aps":{"badge":{{n}}}}', '{"aps":{"alert":"{{token}}"}}', '{"aps":{}}',
    "com.example.app", "alert", "background", "voip",
    token(4), token(5).upper(), token(6) + "00", "0x" + token(7), token(8)[:-1], f"<{token(9)}>", "f" * 200, "f" * 202,
    json.dumps(LIST), json.dumps([{"token": token(10), "name": "\ud800\\\"\n\0", "n": {"a": [1, {}]}}]), json.dumps([token(n) for n in range(1001)]),
    f'[{{"token":"{token(11)}","token":"zz"}}]', f'[{{"to\\u006ben":"{token(12)}"}}]',
    # More values than the relay keeps at a time.
    json.dumps([{"token": token(13)} | {str(n): n for n in range(40)}] * 900),
]
NUMBERS = [0, 1, 5, 10, -1, 255, 256, 1 << 32, (1 << 63) - 1, -(1 << 63), 1700000000, 3000000000, 1795600000000]


def entry(chance, number):
    fields = {"id": f"entry {number}" if chance.random() < 0.9 else chance.choice(TEXTS), "payload": chance.choice(TEXTS)}
    kind = chance.choice(["token", "token", "tokens", "tokens", "channel"])
    good = json.dumps([token(number), {"token": token(number), "name": "q", "n": 3}]) if kind == "tokens" else token(number)
    fields[kind] = good if chance.random() < 0.4 else chance.choice(TEXTS)
    for name in "topic", "push_type", "collapse_id":
        if chance.random() < 0.25:
            fields[name] = chance.choice(TEXTS)
    for name in "priority", "expiry", "deadline":
        if chance.random() < 0.3:
            fields[name] = chance.choice(NUMBERS)
    return fields


@pytest.mark.parametrize("order", ["none", "device"])
def test_each_has_its_end_and_hinders_no_other(start, relay, shared, order):
    simulator, chance = start(), random.Random(order)
    one = relay(simulator, queue=shared, app={"collapse_by_id": True, "keep_order": order}).start().wait_ready()
    entries = [entry(chance, number) for number in range(600)]
    good = [{"id": f"good {number}", "token": token(1_000_000 + number), "payload": "{}"} for number in range(20)]
    for number, fine in enumerate(good):
        shared.add(*entries[30 * number : 30 * number + 30], fine)
    one.wait_done()
    ends = shared.ends()
    # SQLite's length() ends at a NUL, so the table rejects an ID that begins with one.
    ids = {fields["id"] for fields in entries if 1 <= len(fields["id"]) <= 64 and fields["id"][0] != "\0"}
    assert ids <= set(ends) and [ends[fine["id"]] for fine in good] == len(good) * [[(0, "accepted", "")]]
    sent, written = pushes(simulator), [*entries, *good]
    # Broadcasts have no collapse ID. If Redis has no usable ID, the entry's own ID is used.
    collapsed = {fields.get("collapse_id") or fields["id"] for fields in written}
    assert {push["collapse_id"] for push in sent} <= collapsed | {None} | set(ends)
    topics = {fields.get("topic") or "com.example.app" for fields in written}
    assert {push["topic"].removesuffix(".voip") for push in sent} <= topics
    payloads = {fields["payload"] for fields in written}
    # A payload with filled placeholders is JSON.
    assert all(push["payload"] in payloads or json.loads(push["payload"]) for push in sent)
    one.stop()
