"""The provider: Tests/Servers/push_lines.c, built with the C tests, and a check of its outcomes."""

import collections
import json
import os
import pathlib
import subprocess
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("PUSH_LINES") or ROOT / "build/release/Tests/C/push_lines"
COUNT = 2000


def token(number):
    """A token for each number, which is its last 4 bytes."""
    return bytes(range(28)).hex() + f"{number:08x}"


def payload(number):
    return json.dumps({"aps": {"alert": f"number {number}"}, "pad": "x" * (number % 200)}, separators=(",", ":"))


def push(port, ca, count=COUNT, *, certificate="-", connections=1, delivery="at_least_once", ids=False):
    """Returns the outcome of each notification, by number, and the session's counts. Each has exactly one outcome."""
    lines = "".join(f"{token(number)} {payload(number)}\n" for number in range(count))
    command = [PROGRAM, port, ca, certificate, "com.example.app", connections, delivery, "ids" if ids else "-"]
    ran = subprocess.run([str(word) for word in command], input=lines, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    *told, counts = (json.loads(line) for line in ran.stdout.splitlines())
    outcomes = {one["line"]: types.SimpleNamespace(**one) for one in told}
    assert len(told) == count and sorted(outcomes) == list(range(count))
    kinds = collections.Counter(one.kind for one in outcomes.values())
    assert counts["taken"] == count
    assert {kind: counts[kind] for kind in ("accepted", "rejected", "unknown")} == {
        kind: kinds[kind] for kind in ("accepted", "rejected", "unknown")}
    return [outcomes[number] for number in range(count)], types.SimpleNamespace(**counts)
