"""What a row's provider measured and its peer saw, judged; and the judge, judged."""

import dataclasses
import unicodedata

from rows import Row, planned

LATE_MAX = 100
DELIVERIES_MAX = 5


def is_clean(message):
    try:
        text = message.decode("utf-8")
    except UnicodeDecodeError:
        return False
    bidirectional = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    return not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in bidirectional for c in text)


def judge(row, told, seen):
    """What is wrong, and whether it is times alone that a busy machine may be to blame for."""
    faults, slow = [], []
    if seen["failures"]:
        faults.append(f"the peer broke: {seen['failures']}")
    if not seen["felt"]:
        faults.append("the harm was not done")
    deliveries = {int(n): times for n, times in seen["deliveries"].items()}
    if deliveries and max(deliveries.values()) > DELIVERIES_MAX:
        worst = max(deliveries, key=deliveries.get)
        faults.append(f"{worst} was delivered {deliveries[worst]} times")
    if max(seen["refused"].values(), default=0) > row.refusals:
        faults.append(f"one was sent {max(seen['refused'].values())} times to a peer that refuses it")
    if row.connections is not None and seen["connections"] > row.connections:
        faults.append(f"{seen['connections']} connections")
    if "stuck" in told:
        return [*faults, f"{told['stuck']} does not return"], False

    for name, call in told["calls"].items():
        if call["late"] > LATE_MAX:
            (slow if call["late"] < 2000 else faults).append(f"{name} {call['late']:.0f} ms late")
        message = bytes.fromhex(call["message"])
        if not is_clean(message):
            faults.append(f"{name} says {message!r}")
        failed = call["statuses"].keys() - {"APNS_OK", "APNS_DONE"}
        if row.all_succeed and failed:
            faults.append(f"{name} failed: {', '.join(sorted(failed))}: {message.decode(errors='replace')}")
        for other in failed - {status for of, status in row.statuses if of == name}:
            if any(of == name for of, _ in row.statuses):
                faults.append(f"{name} says {other}")
    for name, status in row.statuses:
        if status not in told["calls"].get(name, {}).get("statuses", {}):
            faults.append(f"{name} never says {status}")
    # A tenth of a second is what starting and a few handshakes cost.
    if told["cpu"] > 0.1 + row.cpu * told["seconds"]:
        slow.append(f"{told['cpu']:.2f} s of CPU in {told['seconds']:.2f}")
    if told["memory"] > row.memory_mb << 10:
        faults.append(f"{told['memory'] >> 10} MB of memory")

    accepted, rejected, unknown = (set(told[kind]) for kind in ("accepted", "rejected", "unknown"))
    if told["taken"] != told["sent"]:
        faults.append(f"{told['taken']} taken of {told['sent']}")
    if told["two_ends"]:
        faults.append("two ends for one notification")
    is_reported = "report_accepted=0" not in row.provider
    silent = 0 if is_reported else told["accepted_count"]
    # Closing is what gives the rest its end.
    is_closed = "closes=0" not in row.provider
    if is_closed and len(told["without_end"]) != silent:
        faults.append(f"without an end: {told['without_end'][:5]}")
    if is_closed and told["accepted_count"] + told["rejected_count"] + told["unknown_count"] != told["taken"]:
        faults.append("the counts of the ends do not add up")
    if row.is_counted and accepted - set(seen["accepted"]):
        faults.append(f"accepted, and not by the peer: {sorted(accepted - set(seen['accepted']))[:5]}")
    if not row.is_counted and accepted:
        faults.append(f"accepted, and not by the peer: {sorted(accepted)[:5]}")
    if rejected - row.bad:
        faults.append(f"rejected, and not by the peer: {sorted(rejected - row.bad)[:5]}")
    for kind, ended in (("accepted", accepted), ("rejected", rejected), ("unknown", unknown)):
        if ended & row.bad and kind not in row.bad_ends:
            faults.append(f"{kind}: {sorted(ended & row.bad)[:5]}")
    if row.others_pass:
        got = len(accepted) if is_reported else told["accepted_count"]
        wanted = told["sent"] - len(row.bad)
        if got != wanted or told["sent"] != planned(row):
            faults.append(f"{got} of {planned(row) - len(row.bad)} got through")
    if row.duplicated is not None:
        twice = sum(times > 1 for times in deliveries.values())
        if twice > row.duplicated:
            faults.append(f"{twice} were delivered more than once")
    if row.offers is not None and bool(seen["offers"]) != row.offers:
        faults.append("an earlier session was " + ("offered" if seen["offers"] else "never offered"))
    return [*faults, *slow], bool(slow) and not faults


def judge_the_judge():
    """Spoils a good row in each way: a judge that does not find it is none."""
    own = {"others_pass": True, "connections": 2, "duplicated": 0, "offers": False}
    row = Row("", "", (), (), "send:3", frozenset({2}), ("unknown",), **own)
    call = {"late": -5.0, "message": "", "statuses": {"APNS_OK": 1}}
    told = {
        "seconds": 1.0, "cpu": 0.01, "memory": 9000, "taken": 3, "sent": 3, "two_ends": 0, "calls": {"drain": call},
        "accepted": [0, 1], "rejected": [], "unknown": [2], "without_end": [],
        "accepted_count": 2, "rejected_count": 0, "unknown_count": 1,
    }  # fmt: skip
    seen = {
        "deliveries": {"0": 1, "1": 1}, "refused": {}, "accepted": [0, 1], "connections": 1, "offers": 0,
        "felt": 1, "failures": [],
    }  # fmt: skip
    good = judge(row, told, seen)
    assert good == ([], False), good

    def spoilt(expected, told_changes=(), seen_changes=(), row_changes=()):
        bad_told = {**told, **dict(told_changes)}
        faults, _ = judge(
            dataclasses.replace(row, **dict(row_changes)), bad_told, {**seen, **dict(seen_changes)}
        )
        assert any(expected in fault for fault in faults), (expected, faults)

    spoilt("drain does not return", {"stuck": "drain"})
    spoilt("ms late", {"calls": {"drain": {**call, "late": 101.0}}})
    spoilt("ms late", {"calls": {"drain": {**call, "late": 9000.0}}})
    for message in (b"\x1b[31m", b"\xc2\x9b", b"\xff", "\u202e".encode(), b"a\nb", "\u2028".encode()):
        spoilt("says", {"calls": {"drain": {**call, "message": message.hex()}}})
    spoilt("s of CPU", {"cpu": 0.5})
    spoilt("MB of memory", {"memory": 90000})
    spoilt("taken of", {"taken": 2})
    spoilt("two ends", {"two_ends": 1})
    spoilt("without an end", {"unknown": [], "without_end": [2]})
    spoilt("do not add up", {"unknown_count": 0})
    spoilt("accepted, and not by the peer", {}, {"accepted": [0]})
    spoilt("accepted, and not by the peer", {}, {}, {"is_counted": False})
    spoilt("rejected, and not by the peer", {"accepted": [0], "rejected": [1]})
    spoilt("accepted: [2]", {"accepted": [0, 1, 2], "unknown": []}, {"accepted": [0, 1, 2]})
    spoilt("rejected: [2]", {"rejected": [2], "unknown": []})
    spoilt("1 of 2 got through", {"accepted": [0], "unknown": [1, 2]})
    spoilt("2 of 3 got through", {}, {}, {"steps": "send:4"})
    spoilt("delivered 6 times", {}, {"deliveries": {"0": 6}})
    spoilt("11 times to a peer", {}, {"refused": {"0": 11}})
    spoilt("more than once", {}, {"deliveries": {"0": 2}})
    spoilt("connections", {}, {"connections": 3})
    spoilt("was not done", {}, {"felt": 0})
    spoilt("the peer broke", {}, {"failures": ["x"]})
    spoilt("was offered", {}, {"offers": 1})
    spoilt("never offered", {}, {}, {"offers": True})
    spoilt(
        "drain failed",
        {"calls": {"drain": {**call, "statuses": {"APNS_ERR_TLS": 1}}}},
        {},
        {"all_succeed": True},
    )
    full = {"statuses": (("drain", "APNS_ERR_FULL"),)}
    spoilt("never says", {}, {}, full)
    spoilt(
        "drain says APNS_ERR_TIMEOUT",
        {"calls": {"drain": {**call, "statuses": {"APNS_ERR_TIMEOUT": 1}}}},
        {},
        full,
    )
