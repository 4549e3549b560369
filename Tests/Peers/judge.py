"""Judges a row by the provider's measurements and the peer's ledger, and tests itself."""

import dataclasses
import unicodedata

from row import Row, planned

LATE_MAX = 100
EXACT_MAX = 5  # for calls in a loop
DELIVERIES_MAX = 5


def is_clean(message):
    try:
        text = message.decode("utf-8")
    except UnicodeDecodeError:
        return False
    bidirectional = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    return not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in bidirectional for c in text)


def judge_calls(row, told, is_exact):
    is_loop = "loop" in row.options()
    for name, call in told["calls"].items():
        late = call["late_by_clock" if is_exact and not is_loop else "late"]
        if late > LATE_MAX:
            yield f"{name} {late:.0f} ms late"
        if call["early"] and name in ("drain", "next_event"):
            yield f"{name} returned {call['early']} times before its timeout"
        failed = call["statuses"].keys() - {"APNS_OK", "APNS_DONE"}
        message = bytes.fromhex(call["message"])
        if not is_clean(message):
            yield f"{name} has an unclean message: {message!r}"
        if row.all_succeed and failed:
            yield f"{name} failed: {', '.join(sorted(failed))}: {message.decode(errors='replace')}"
        for other in failed - {status for of, status in row.statuses if of == name}:
            if any(of == name for of, _ in row.statuses):
                yield f"{name} returned {other}"
        if not is_loop:
            continue
        if call["waits"]:
            yield f"{name} waits {call['waits']} times"
        if is_exact and "sessions" not in row.options() and call["longest"] > EXACT_MAX:
            yield f"{name} works or waits for {call['longest']:.1f} ms"
        # process() may report errors of the peer; every other failure is wrong.
        wrong = {"APNS_ERR_AGAIN", "APNS_ERR_ARGUMENT"} & failed if name == "process" else failed - {
            "APNS_ERR_AGAIN", "APNS_ERR_FULL" if name == "send" else ""}  # fmt: skip
        if wrong:
            yield f"{name} returned {', '.join(sorted(wrong))}"
    for name, status in row.statuses:
        if status not in told["calls"].get(name, {}).get("statuses", {}):
            yield f"{name} never returned {status}"
    if is_loop and not told["closed"]:
        yield "not closed"
    if told["late_passes"] > 1:
        yield f"not closed by {told['late_passes']} passes after its time"
    if told["idle_wakes"]:
        yield f"{told['idle_wakes']} wake-ups while nothing was due"
    if is_exact and "sessions" not in row.options() and told["gap_cpu_ms"] > EXACT_MAX and is_loop:
        yield f"{told['gap_cpu_ms']} ms of CPU time between heartbeats"


def judge_outcomes(row, told, seen):
    accepted, rejected, unknown = (set(told[kind]) for kind in ("accepted", "rejected", "unknown"))
    options = row.options()
    is_reported, is_closed = options.get("outcomes") != "2", options.get("closes") != "0"
    takes_all = row.others_pass or row.peer[0] == "simulate" or "loop" in options
    if told["taken"] != told["sent"] or takes_all and told["sent"] != planned(row):
        yield f"{told['taken']} taken of {told['sent']}, {planned(row)} planned"
    if told["unexplained"]:
        yield f"{told['unexplained']} unknown without a reason"
    if told["two_outcomes"]:
        yield "two outcomes for one notification"
    # close() gives the rest an outcome.
    if is_closed and len(told["unresolved"]) != (0 if is_reported else told["accepted_count"]):
        yield f"without an outcome: {told['unresolved'][:5]}"
    if is_closed and told["accepted_count"] + told["rejected_count"] + told["unknown_count"] != told["taken"]:
        yield "the counts of the outcomes do not add up"
    got = set(seen["accepted"]) if row.is_counted else set()
    if accepted - got:
        yield f"accepted, but not by the peer: {sorted(accepted - got)[:5]}"
    if rejected - row.bad or rejected & got:
        yield f"rejected, but not by the peer: {sorted(rejected - row.bad | rejected & got)[:5]}"
    for kind, ended in (("accepted", accepted), ("rejected", rejected), ("unknown", unknown)):
        if ended & row.bad and kind not in row.bad_outcomes:
            yield f"{kind}: {sorted(ended & row.bad)[:5]}"
    if row.answers and rejected and set(told["answers"]) != {"", *row.answers}:
        yield f"answered {told['answers']} instead of {row.answers}"
    if row.others_pass:
        passed = len(accepted - row.bad) if is_reported else told["accepted_count"]
        if passed != planned(row) - len(row.bad):
            yield f"{passed} of {planned(row) - len(row.bad)} got through"
    twice = sum(times > 1 for times in seen["deliveries"].values())
    if row.duplicated is not None and twice > row.duplicated:
        yield f"{twice} were delivered more than once"
    if row.is_resent and not told["resent"] and not unknown:
        yield "the harm had no effect"


def judge(row, told, seen, is_exact=False):
    """Returns the faults of a row."""
    faults = []
    if seen["failures"]:
        faults.append(f"the peer broke: {seen['failures']}")
    if not seen["felt"]:
        faults.append("the harm was not done")
    for n, times in seen["deliveries"].items():
        if times > DELIVERIES_MAX and times == max(seen["deliveries"].values()):
            faults.append(f"{n} was delivered {times} times")
            break
    if max(seen["refused"].values(), default=0) > row.refusals:
        faults.append(f"one was sent {max(seen['refused'].values())} times to a peer that refuses it")
    if row.connections is not None and seen["connections"] > row.connections:
        faults.append(f"{seen['connections']} connections")
    if row.offers is not None and bool(seen["offers"]) != row.offers:
        faults.append("an earlier session was " + ("offered" if seen["offers"] else "never offered"))
    if "stuck" in told:
        return [*faults, f"{told['stuck']} does not return"]
    # Starting and a few handshakes cost a tenth of a second.
    if row.cpu is not None and told["cpu"] > 0.1 + row.cpu * told["seconds"]:
        faults.append(f"{told['cpu']:.2f} s of CPU in {told['seconds']:.2f}")
    if row.memory_mb is not None and told["memory"] > row.memory_mb << 10:
        faults.append(f"{told['memory'] >> 10} MB of memory")
    return [*faults, *judge_calls(row, told, is_exact), *judge_outcomes(row, told, seen)]


def judge_the_judge():
    """Spoils a good row in each way and checks that the judge detects it."""
    own = {"others_pass": True, "connections": 2, "duplicated": 0, "offers": False, "cpu": 0.3, "memory_mb": 40}
    row = Row("", "", ("http2",), (), "send:3", bad=frozenset({2}), bad_outcomes=("unknown",), **own)
    call = {"late": -5.0, "late_by_clock": 300, "longest": 9.0, "early": 0, "waits": 1, "message": "",
            "statuses": {"APNS_OK": 1}}  # fmt: skip
    told = {
        "seconds": 1.0, "cpu": 0.01, "memory": 9000, "taken": 3, "sent": 3, "two_outcomes": 0, "calls": {"drain": call},
        "accepted": [0, 1], "rejected": [], "unknown": [2], "unresolved": [], "answers": {"": 0}, "resent": 0,
        "accepted_count": 2, "rejected_count": 0, "unknown_count": 1, "closed": 1, "late_passes": 0,
        "idle_wakes": 0, "gap_cpu_ms": 9.0, "unexplained": 0,
    }  # fmt: skip
    seen = {
        "deliveries": {"0": 1, "1": 1}, "refused": {}, "accepted": [0, 1], "connections": 1, "offers": 0,
        "felt": 1, "failures": [],
    }  # fmt: skip
    assert judge(row, told, seen) == [], judge(row, told, seen)

    def spoilt(expected, told_changes=(), seen_changes=(), row_changes=(), is_exact=False):
        changed = {**told, **dict(told_changes)}, {**seen, **dict(seen_changes)}
        faults = judge(dataclasses.replace(row, **dict(row_changes)), *changed, is_exact)
        assert any(expected in fault for fault in faults), (expected, faults)

    def drained(**changes):
        return {"calls": {"drain": {**call, **changes}}}

    loop = {"provider": ("loop=1",)}
    spoilt("drain does not return", {"stuck": "drain"})
    spoilt("ms late", drained(late=101.0))
    spoilt("300 ms late", is_exact=True)
    spoilt("waits 1 times", row_changes=loop)
    spoilt("drain works or waits for 9.0", row_changes=loop, is_exact=True)
    spoilt("9.0 ms of CPU", row_changes=loop, is_exact=True)
    spoilt("not closed", {"closed": 0}, row_changes=loop)
    spoilt("not closed by 2 passes", {"late_passes": 2})
    spoilt("wake-ups", {"idle_wakes": 1})
    spoilt("before its timeout", drained(early=1))
    for message in (b"\x1b[31m", b"\xc2\x9b", b"\xff", "\u202e".encode(), b"a\nb", "\u2028".encode()):
        spoilt("unclean message", drained(message=message.hex()))
    spoilt("s of CPU", {"cpu": 0.5})
    spoilt("MB of memory", {"memory": 90000})
    spoilt("taken of", {"taken": 2})
    spoilt("without a reason", {"unexplained": 1})
    spoilt("two outcomes", {"two_outcomes": 1})
    spoilt("without an outcome", {"unknown": [], "unresolved": [2]})
    spoilt("do not add up", {"unknown_count": 0})
    spoilt("accepted, but not by the peer", {}, {"accepted": [0]})
    spoilt("accepted, but not by the peer", {}, {}, {"is_counted": False})
    spoilt("rejected, but not by the peer", {"accepted": [0], "rejected": [1]})
    both = {"bad": frozenset({1, 2}), "bad_outcomes": ("rejected", "unknown")}
    spoilt("rejected, but not by the peer: [1]", {"accepted": [0], "rejected": [1]}, {}, both)
    spoilt("answered", {"accepted": [0], "rejected": [1]}, {"accepted": [0]}, {**both, "answers": ("8",)})
    spoilt("accepted: [2]", {"accepted": [0, 1, 2], "unknown": []}, {"accepted": [0, 1, 2]})
    spoilt("rejected: [2]", {"rejected": [2], "unknown": []})
    spoilt("1 of 2 got through", {"accepted": [0], "unknown": [1, 2]})
    spoilt("2 of 3 got through", {}, {}, {"steps": "send:4"})
    spoilt("delivered 6 times", {}, {"deliveries": {"0": 6}})
    spoilt("11 times to a peer", {}, {"refused": {"0": 11}})
    spoilt("more than once", {}, {"deliveries": {"0": 2}})
    spoilt("no effect", {"unknown": []}, {}, {"is_resent": True})
    spoilt("connections", {}, {"connections": 3})
    spoilt("was not done", {}, {"felt": 0})
    spoilt("the peer broke", {}, {"failures": ["x"]})
    spoilt("was offered", {}, {"offers": 1})
    spoilt("never offered", {}, {}, {"offers": True})
    full = {"statuses": (("drain", "APNS_ERR_FULL"),)}
    spoilt("never returned", {}, {}, full)
    for changes, expected in (({"all_succeed": True}, "drain failed"), (full, "drain returned APNS_ERR_TLS"),
                              (loop, "drain returned APNS_ERR_TLS")):  # fmt: skip
        spoilt(expected, drained(statuses={"APNS_ERR_TLS": 1}), {}, changes)
