"""A run that is recorded, and played again by both sides."""

import collections
import hashlib
import json

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
