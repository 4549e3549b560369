"""One client on one day: plays it, and compares what its program believed with what arrived."""

import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Simulator"))

from days import BAD, GONE, PlayedDay  # noqa: E402
from simulator import Simulator  # noqa: E402

CERTIFICATES = ROOT / "build/python/peers/certificates"
TOPIC = "com.example.app"
COUNTS = ("arrived", "lost", "given up", "twice", "false", "unknown", "no outcome")


@dataclasses.dataclass
class Row:
    counts: collections.Counter
    # The beliefs about those given up or false.
    words: collections.Counter
    seconds: float
    processor: float
    # How it ended, if not by itself.
    end: str

    def remark(self):
        words = [f"{count:,} {word}" for word, count in self.words.most_common(3)]
        return "; ".join(words + [self.end] * bool(self.end))


def devices(day, n):
    """Each with the reason for which it is rejected, or None."""
    reasons = {7: BAD, 13: GONE} if day.has_bad else {}
    return {f"{number:064x}": reasons.get(number % 20) for number in range(1, n + 1)}


def judge(believed, arrived, expected, day):
    """believed: token to belief; arrived: how often each token did; expected: token to reason."""
    counts, words = collections.Counter(arrived=sum(1 for token in expected if arrived[token])), collections.Counter()
    for token, reason in expected.items():
        word, _, why = believed.get(token, "none").partition(" ")
        kinds = ["twice"] if arrived[token] > 1 else []
        if word == "none":
            kinds.append("no outcome")
        elif word == "unknown":
            kinds.append("unknown")
        elif word == "accepted":
            kinds += [] if arrived[token] else ["lost"]
        elif arrived[token] or word == "rejected" and why not in ((reason,) if reason else day.reasons):
            kinds.append("false")
        elif not reason or word != "rejected":
            kinds.append("given up")
        counts.update(kinds)
        if "false" in kinds or "given up" in kinds:
            words[f"{word} {why}".strip()] += 1
    return counts, words


def play(client, day, n, limit):
    expected = devices(day, n)
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        options = ["--accepted", folder / "accepted"]
        for option, reason, before in ("--bad-tokens", BAD, ""), ("--feedback", GONE, f"{int(time.time())} "):
            lines = [f"{before}{token}\n" for token in expected if expected[token] == reason]
            (folder / reason).write_text("".join(lines))
            options += [option, folder / reason]
        simulator = Simulator(CERTIFICATES, *Simulator.STRICT, *options, control=True)
        ready = simulator.ready
        facts = {
            "port": ready["http2_port"], "ca": ready["ca"], "key": ready["token_key"], "key_id": ready["token_key_id"],
            "team_id": ready["token_team_id"], "topic": TOPIC, "tokens": list(expected), "beliefs": str(folder / "beliefs")}
        (folder / "day").write_text(json.dumps(facts))
        try:
            seconds, processor, end = push(client, PlayedDay(day, n, simulator), folder, limit)
            simulator.totals()
            simulator.stop()
        finally:
            simulator.kill()
        lines = (folder / "accepted").read_text().splitlines()
        arrived = collections.Counter(json.loads(line)["token"] for line in lines)
        beliefs = folder / "beliefs"
        believed = dict(line.split(" ", 1) for line in beliefs.read_text().splitlines()) if beliefs.exists() else {}
    counts, words = judge(believed, arrived, expected, day)
    return Row(counts, words, seconds, processor, end)


def push(client, played, folder, limit):
    """Runs the program; returns its seconds without the pause, its CPU seconds, and how it ended if not by itself."""
    with open(folder / "errors", "w+") as errors:
        process = subprocess.Popen(
            client.command(folder / "day"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        killer = threading.Timer(limit, process.kill)
        began, waited = time.monotonic(), 0
        for line in process.stdout:
            if line == "ready\n":
                killer.start()
                began = time.monotonic()
                played.begin()
            elif line == "half\n":
                paused = time.monotonic()
                played.pause()
                waited = time.monotonic() - paused
            elif line == "end\n":
                break
            with contextlib.suppress(BrokenPipeError):  # killed meanwhile
                process.stdin.write("go\n")
                process.stdin.flush()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        killer.cancel()
        played.end()
        seconds = time.monotonic() - began - waited
        errors.seek(0)
        said = errors.read().strip().splitlines()
    end = ""
    if process.returncode == -signal.SIGKILL:
        end = f"killed after {limit:g} s"
    elif process.returncode:
        end = f"status {process.returncode}: {said[-1] if said else 'no message'}"
    return seconds, usage.ru_utime + usage.ru_stime, end
