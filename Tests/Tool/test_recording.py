"""A run that is recorded, and played again by both sides."""

import collections
import hashlib
import json
import time

import pytest
from conftest import http2, lines, mode
from recording import event, push, stand_in, written

COUNT = 60
HOURS = 36_000_000


def token(number):
    return f"{number:02x}" * 32


def pushes(path):
    return [line for line in lines(path) if line.get("event") == "push"]


def answers(path):
    """How often the service gave each answer, and ended a connection in each way."""
    return collections.Counter(
        (line["event"], line.get("status"), line.get("reason"), line.get("reset"), line.get("error"))
        for line in lines(path)[1:] if line["event"] in ("goaway", "closed", "reset") or "status" in line or "reset" in line)


@pytest.fixture
def day(tool, start, tmp_path):
    """Records a bad day, and returns its totals."""
    (tmp_path / "rules.json").write_text(json.dumps([
        {"connections": 1, "goaway_after": 20, "goaway_reason": "Shutdown", "reset_every": 7},
        {"connections": 2, "cut_after": 15, "cut": "close_notify"}]))
    simulator = start("--rules", tmp_path / "rules.json", control=True)
    for number, reason, times in (
            (3, "Unregistered", None), (9, "BadDeviceToken", None), (30, "Shutdown", 2), (44, "TooManyRequests", 1)):
        order = {"token": token(number), "reason": reason} | ({"times": times} if times else {})
        assert simulator.control("POST", "/rejections", order)[0] == 200
    (tmp_path / "list").write_text("".join(token(number) + "\n" for number in range(COUNT)))
    ran = tool("send", *http2(simulator), "--tokens", "list", "--alert", "Secret words", "--priority", 5,
               "--record", "day.jsonl", "--json")
    assert ran.returncode == 1, ran
    return json.loads(ran.stdout.splitlines()[-1])


def test_a_recorded_day_is_played_again(tool, start, tmp_path, day):
    assert (day["accepted"], day["reasons"]) == (COUNT - 2, {"BadDeviceToken": 1, "Unregistered": 1})
    seen = answers(tmp_path / "day.jsonl")
    assert seen[("push", 503, "Shutdown", None, None)] == 2
    assert seen[("push", 429, "TooManyRequests", None, None)] == 1
    assert seen[("push", 410, "Unregistered", None, None)] == 1
    assert seen[("push", None, None, "REFUSED_STREAM", None)] >= 2
    assert seen[("goaway", None, "Shutdown", None, "NO_ERROR")] == 1
    assert seen[("closed", None, None, None, None)] == 1
    simulator = start("--replay", tmp_path / "day.jsonl", "--speed", 10)
    ran = tool("send", *http2(simulator), "--replay", "day.jsonl", "--speed", 10, "--record", "again.jsonl", "--json")
    again = json.loads(ran.stdout.splitlines()[-1])
    assert (again["accepted"], again["reasons"]) == (day["accepted"], day["reasons"]), ran
    assert answers(tmp_path / "again.jsonl") == seen


def test_every_response_is_recorded(tool, start, tmp_path):
    """Also those of connections that have GOAWAY, while what they did not process is sent on others."""
    simulator = start(faults={"goaway_after": 300, "answer_delay_ms": [5, 40], "bad_every": 20})
    tokens = [hashlib.sha256(bytes([number & 255, number >> 8])).hexdigest() for number in range(3000)]
    (tmp_path / "list").write_text("\n".join(tokens))
    ran = tool("send", *http2(simulator), "--tokens", "list", "--alert", "Hello", "--record", "day.jsonl", "--json")
    totals = json.loads(ran.stdout.splitlines()[-1])
    seen = answers(tmp_path / "day.jsonl")
    assert seen[("goaway", None, None, None, "NO_ERROR")] > 6
    assert seen[("push", 200, None, None, None)] == totals["accepted"] > 2500
    assert seen[("push", 400, "BadDeviceToken", None, None)] == totals["rejected"] > 100


# What a program logs of its session, and a time for each line: in milliseconds after the first.
LOG = [
    (0, "connection 1: connected to 127.0.0.1:443 at 127.0.0.1 in 41 ms"),
    (5, "connection 1: > HEADERS, stream 1, to 00000000…"),
    (5, "connection 1: > DATA, stream 1, 31 bytes, END_STREAM"),
    (6, "connection 1: > HEADERS, stream 3, to 01010101…"),
    (6, "connection 1: > DATA, stream 3, 31 bytes, END_STREAM"),
    (7, "connection 1: > HEADERS, stream 5, to 02020202…"),
    (7, "connection 1: > DATA, stream 5, 31 bytes, END_STREAM"),
    (9, "connection 1: > HEADERS, stream 7, to channel dHN0LXNyY2gtY2hubA=="),
    (20, "connection 1: < HEADERS, stream 1, status 503"),
    (20, "connection 1: < DATA, stream 1, 21 bytes, END_STREAM"),
    (20, "the service answered 503 Shutdown: the notification is sent again in 1 s"),
    (25, "connection 1: < HEADERS, stream 3, status 400"),
    (25, "connection 1: < DATA, stream 3, 21 bytes, END_STREAM"),
    (26, "01010101 answered 400 BadTopic"),
    (30, "connection 1: the service sent GOAWAY: NO_ERROR, last stream 3, {\"reason\":\"Shutdown\"}"),
    (30, "connection 1: < GOAWAY, NO_ERROR"),
    (40, "connection 2: no connection: 127.0.0.1:443: connection refused"),
    (1020, "connection 3: connected to 127.0.0.1:443 at 127.0.0.1 in 12 ms, TLS session resumed"),
    (1030, "connection 3: > HEADERS, stream 1, to 02020202…"),
    (1031, "connection 3: > HEADERS, stream 3, to 00000000…"),
    (1040, "connection 3: < HEADERS, stream 1, status 200, END_STREAM"),
    (1041, "connection 3: < HEADERS, stream 3, status 410"),
    (1041, "connection 3: < DATA, stream 3, 21 bytes, END_STREAM"),
    (1050, "connection 3: the peer ended it with 0 in flight"),
]
# The program starts again.
LATER = [
    (2000, "connection 1: connected to 127.0.0.1:443 at 127.0.0.1 in 3 ms"),
    (2001, "connection 1: > HEADERS, stream 1, to 03030303…"),
    (2010, "connection 1: ended with 1 in flight: the connection broke: Connection reset by peer"),
]
FIRST = 1_800_000_000_250


def moment(milliseconds, form):
    whole, rest = divmod(FIRST + milliseconds, 1000)
    return f"{whole}.{rest:03}" if form is None else time.strftime(form, time.gmtime(whole)).replace("mmm", f"{rest:03}")


FORMS = {
    "UNIX seconds": lambda at, line: f"{moment(at, None)} {line}",
    "ISO 8601": lambda at, line: f"{moment(at, '%Y-%m-%dT%H:%M:%S.mmm456Z')} host push[77]: {line}",
    "an offset": lambda at, line: f"[{moment(at, '%Y-%m-%dT%H:%M:%S.mmm+00:00')}] push.DEBUG: {line}",
    "logging of Python": lambda at, line: f"{moment(at, '%Y-%m-%d %H:%M:%S,mmm')} DEBUG {line}",
    "JSON": lambda at, line: json.dumps({"time": moment(at, "%Y-%m-%dT%H:%M:%S.mmmZ"), "level": "trace", "message": line, "count": 0}),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_log_of_any_program(tool, tmp_path, form):
    (tmp_path / "log").write_text("".join(FORMS[form](*line) + "\nsomething else\n" for line in LOG + LATER))
    ran = tool("record", "log")
    assert (ran.returncode, ran.stderr) == (0, "")
    first, *told = map(json.loads, ran.stdout.splitlines())
    assert first == {"apns_recording": 1, "began": "2027-01-15T08:00:00Z"}
    sent = sorted((line for line in told if line["event"] == "push"), key=lambda line: line["at"])
    names = dict.fromkeys(line["device"] for line in sent)
    assert len(names) == 4 and not any(f"{digit:02}" * 4 in ran.stdout for digit in range(4))
    devices = {name: "abcd"[index] for index, name in enumerate(names)}
    assert [{**line, "device": devices[line["device"]]} for line in sent] == [
        push("a", (503, "Shutdown"), at=5, ms=15, bytes=31), push("b", (400, "BadTopic"), at=6, ms=19, bytes=31),
        push("c", at=7, ms=23, bytes=31), push("c", (200,), at=1030, connection=3, ms=10, bytes=0, again=True),
        push("a", (410,), at=1031, connection=3, ms=10, bytes=0, again=True),
        push("d", at=2001, connection=4, ms=9, bytes=0)]
    assert sorted((line for line in told if line["event"] != "push"), key=lambda line: line["at"]) == [
        event("opened", ms=41), event("goaway", at=30, error="NO_ERROR", reason="Shutdown"),
        event("refused", at=40, connection=2), event("opened", at=1020, connection=3, ms=12),
        event("closed", at=1050, connection=3), event("opened", at=2000, connection=4, ms=3),
        event("reset", at=2010, connection=4)]


@pytest.mark.parametrize("text, problem", [
    ("connection 1: > HEADERS, stream 1, to 00000000…", "log:1: has no time: expected lines such as 2026-"),
    # Nanoseconds, and the largest numbers of a time and of a connection.
    ("1800000000043000000 connection 1: > HEADERS, stream 1, to 00000000…", "log:1: has no time: expected lines such as 2026-"),
    ("9223372036854775807.5 connection 1: > HEADERS, stream 1, to 00000000…", "log:1: has no time: expected lines such as 2026-"),
    ("1800000000.5 connection 4294967295: connected to 127.0.0.1:443 in 99999999999 ms", "log: has no frames of a session at"),
    ("1800000000.5 connection 1: connected to 127.0.0.1:443 in 4 ms", "log: has no frames of a session at the level trace"),
    ("", "log: has no frames of a session at the level trace"),
    (None, "log: No such file or directory"),
])
def test_a_log_without_what_a_recording_needs(tool, tmp_path, text, problem):
    if text is not None:
        (tmp_path / "log").write_text(text + "\n")
    ran = tool("record", "log")
    assert ran.returncode == 2 and problem in ran.stderr, ran


def test_a_recording_has_no_secrets(tmp_path, day):
    text = (tmp_path / "day.jsonl").read_text()
    assert "Secret" not in text and not any(token(number)[:8] in text for number in range(COUNT))
    assert mode(tmp_path / "day.jsonl") == "0o600"
    first, *others = lines(tmp_path / "day.jsonl")
    assert first["apns_recording"] == 1
    sent = pushes(tmp_path / "day.jsonl")
    assert len({line["device"] for line in sent}) == COUNT
    assert len([line for line in sent if not line.get("again")]) == COUNT
    assert {(line["bytes"], line["priority"]) for line in sent} == {(len('{"aps":{"alert":"Secret words"}}'), 5)}
    assert others[0]["event"] == "opened"


def test_tokens_that_begin_alike(tool, start, tmp_path):
    simulator = start(faults={"answer_delay_ms": 500})
    (tmp_path / "list").write_text("".join(f"{number:064x}\n" for number in (1, 2, 3, 3)))
    ran = tool("send", *http2(simulator), "--tokens", "list", "--alert", "Hello", "--record", "day.jsonl")
    assert ran.returncode == 0 and "2 notifications went to tokens with the same first 8 digits as others in flight" in ran.stderr, ran
    assert [line["status"] for line in pushes(tmp_path / "day.jsonl")] == [200] * 4
    (tmp_path / "list").write_text("".join(token(number) + "\n" for number in range(20)))
    ran = tool("send", *http2(simulator), "--tokens", "list", "--alert", "Hello", "--record", "day.jsonl")
    assert ran.returncode == 0 and "digits" not in ran.stderr, ran


def test_two_recordings_of_one_device_differ(tool, simulator, tmp_path):
    for name in ("one", "two"):
        ran = tool("send", *http2(simulator), "--alert", "Hello", "--record", name, token(1))
        assert ran.returncode == 0, ran
    one, two = (pushes(tmp_path / name)[0]["device"] for name in ("one", "two"))
    assert one != two


def test_what_is_sent(tool, simulator, tmp_path):
    """Each notification once, in its size, with its priority and push type, to a stand-in of its device."""
    written(tmp_path / "day.jsonl", push("a", (503,), bytes=200, priority=5, type="alert"),
            push("a", (200,), again=True, at=3), push("b", bytes=12, type="voip", at=4), push("c", bytes=0, at=5))
    ran = tool("send", *http2(simulator), "--replay", "day.jsonl", "--topic", "com.example.app", "--json")
    assert ran.returncode == 0, ran
    told = simulator.control("GET", "/accepted?from=0&limit=10")[1]["notifications"]
    assert [(one["token"], len(one["payload"])) for one in told] == [
        (stand_in("a").hex(), 200), (stand_in("b").hex(), 12), (stand_in("c").hex(), 10)]
    assert [(one["topic"], one["push_type"], one["priority"]) for one in told[:2]] == [
        ("com.example.app", "alert", "5"), ("com.example.app.voip", "voip", None)]


def test_the_speed(tool, simulator, tmp_path):
    """Ten hours between two pushes take a second."""
    written(tmp_path / "day.jsonl", event("opened", at=500), push("a", (200,), at=500), push("b", (200,), at=HOURS + 500))
    ran = tool("send", *http2(simulator), "--replay", "day.jsonl", "--speed", HOURS / 1000, "--record", "again.jsonl")
    assert ran.returncode == 0, ran
    first, second = pushes(tmp_path / "again.jsonl")
    assert 900 < second["at"] - first["at"] < HOURS


def test_a_wrong_line(tool, simulator, tmp_path):
    written(tmp_path / "day.jsonl", event("opened"), {"at": 1, "event": "push"})
    ran = tool("send", *http2(simulator), "--replay", "day.jsonl")
    assert ran.returncode == 2 and "--replay: day.jsonl:3:1: device: expected a text" in ran.stderr
    written(tmp_path / "day.jsonl", event("opened"))
    ran = tool("send", *http2(simulator), "--replay", "day.jsonl")
    assert ran.returncode == 2 and "--replay: day.jsonl: has no pushes" in ran.stderr


@pytest.mark.parametrize("words, problem", [
    (["--replay", "day.jsonl", token(1)], "--replay cannot be used with a token"),
    (["--replay", "day.jsonl", "--alert", "Hello"], "--replay cannot be used with a payload"),
    (["--replay", "day.jsonl", "--rate", "1"], "--replay cannot be used with --rate"),
    (["--speed", "2", "--alert", "Hello", token(1)], "--speed needs --replay"),
    (["--replay", "day.jsonl", "--speed", "-1"], "--speed"),
    (["--record", "day.jsonl", "--protocol", "binary", "--alert", "Hello", token(1)],
     "--record is for notifications to devices over HTTP/2"),
    (["--record", "/nonexistent/day", "--alert", "Hello", token(1)], "--record: /nonexistent/day: No such file or directory"),
])
def test_wrong_options(tool, simulator, words, problem):
    ran = tool("send", *http2(simulator), *words)
    assert ran.returncode == 2 and problem in ran.stderr, ran
