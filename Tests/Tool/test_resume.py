"""A long list: memory, and a run that is killed and resumed, compared with the gateway's ledger.

TOOL_DEVICES=1000000 sends a million instead of the few that a debug build sends quickly."""

import collections
import json
import os
import signal
import threading
import time

from conftest import binary, mode, outcomes

COUNT = int(os.environ.get("TOOL_DEVICES", "30000"))
# The size of the session's window in bytes, small compared with the list.
WINDOW = 4 << 20 if COUNT >= 1_000_000 else 1 << 18
# The minimum that one notification takes of it: frame and bookkeeping.
SMALLEST = 100
MEMORY_KB = 64 * 1024


class Peak(threading.Thread):
    """Samples the peak memory of a process."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.kilobytes = pid, 0
        self.start()

    def run(self):
        try:
            while True:
                with open(f"/proc/{self.pid}/status") as status:
                    for line in status:
                        if line.startswith("VmHWM:"):
                            self.kilobytes = max(self.kilobytes, int(line.split()[1]))
                time.sleep(0.05)  # sample until it has ended
        except (OSError, ProcessLookupError):
            pass


def make_list(path):
    with open(path, "w") as file:
        file.write("token,name,badge\n")
        file.writelines(f"{n:064x},\"Person {n}, Esq.\",{n % 100}\n" for n in range(1, COUNT + 1))


def acceptances(ledger):
    """How often each token was accepted, by the gateway's ledger."""
    times, duplicates = collections.Counter(), 0
    with open(ledger) as file:
        for line in file:
            one = json.loads(line)
            if one.get("outcome") == "accepted":
                times[int(one["token"], 16)] += 1
                duplicates += bool(one.get("duplicate"))
    return times, duplicates


def size(path):
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def test_killed_and_resumed(tool, start, tmp_path):
    simulator = start("--ledger", tmp_path / "ledger", control=True)
    make_list(tmp_path / "list.csv")
    words = ["send", *binary(simulator), "--tokens", "list.csv", "--alert", "Hello {{name}}", "--badge", "{{badge}}",
             "--results", "results", "--window", WINDOW, "--json"]
    deadline, peaks, before, kills = time.monotonic() + max(240, COUNT / 500), [], set(), (0.3, 0.6)
    for share in kills:
        running = tool.start(*words, *["--resume"] * bool(before))
        peaks.append(Peak(running.pid))
        while size(tmp_path / "results") < COUNT * 100 * share:
            assert running.poll() is None, running.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.005)  # no event reports that a file has grown
        running.send_signal(signal.SIGKILL)
        running.communicate()
        assert running.returncode == -signal.SIGKILL
        ended = {one["n"] for one in whole(tmp_path / "results")}
        assert len(before) < len(ended) < COUNT
        before = ended

    running = tool.start(*words, "--resume")
    peaks.append(Peak(running.pid))
    out, err = running.communicate(timeout=max(240, COUNT / 500))
    assert running.returncode == 0, err
    totals = json.loads(out)
    simulator.stop()

    told = collections.Counter(one["n"] for one in outcomes(tmp_path / "results") if one["outcome"] == "accepted")
    assert sorted(told) == list(range(1, COUNT + 1)), "each device has an outcome"
    assert max(told.values()) == 1
    times, _ = acceptances(tmp_path / "ledger")
    lost = COUNT - len(times)
    twice = {n for n, count in times.items() if count > 1}
    named = {one["n"] for one in outcomes(tmp_path / "results") if one.get("again")}
    window, memory = WINDOW // SMALLEST, max(peak.kilobytes for peak in peaks)
    print(f"{COUNT} devices, killed {len(kills)} times, at last with {len(before)} done: {lost} lost, "
          f"{len(twice)} twice, {len(named)} named as possible duplicates (a window holds at most {window}); {memory} KB")
    assert lost == 0
    assert twice <= named
    assert len(twice) <= len(kills) * window and len(named) <= len(kills) * (window + 1024)
    assert totals["passed_over"] == len(before)
    assert memory < MEMORY_KB


def whole(path):
    """The outcomes in a file, except for an incomplete last line."""
    text = path.read_text()
    for line in text[:text.rfind("\n") + 1].splitlines():
        one = json.loads(line)
        if "outcome" in one:
            yield one


def test_notifications_in_doubt_are_resent_and_named(tool, start, tmp_path):
    """The gateway accepted them, but the tool was killed before it knew."""
    simulator = start("--ledger", tmp_path / "ledger", control=True)
    with open(tmp_path / "list.csv", "w") as file:
        file.writelines(f"{n:064x}\n" for n in range(1, 2001))
    words = ["send", *binary(simulator), "--tokens", "list.csv", "--alert", "Hello", "--results", "results"]
    running = tool.start(*words, "--rate", 1000)
    simulator.wait("/counters", lambda counters: counters["accepted"] > 300)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    ran = tool(*words, "--resume")
    assert ran.returncode == 0, ran.stderr
    assert "that an earlier run may have sent; resent" in ran.stderr
    simulator.stop()
    times, duplicates = acceptances(tmp_path / "ledger")
    twice = {n for n, count in times.items() if count > 1}
    named = {one["n"] for one in outcomes(tmp_path / "results") if one.get("again")}
    assert len(times) == 2000 and 300 < len(twice) == duplicates
    assert twice <= named and max(named) <= max(twice) + 1024


def test_at_most_once(tool, start, tmp_path):
    """With --at-most-once, notifications in doubt are named but not resent."""
    simulator = start("--ledger", tmp_path / "ledger", control=True)
    with open(tmp_path / "list.csv", "w") as file:
        file.writelines(f"{n:064x}\n" for n in range(1, 3001))
    words = ["send", *binary(simulator), "--tokens", "list.csv", "--alert", "Hello", "--results", "results", "--json"]
    running = tool.start(*words, "--rate", 1000)
    simulator.wait("/counters", lambda counters: counters["accepted"] > 300)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    ran = tool(*words, "--resume", "--at-most-once")
    assert ran.returncode == 1, ran.stderr
    totals = json.loads(ran.stdout)
    told = {one["n"]: one["outcome"] for one in outcomes(tmp_path / "results")}
    assert sorted(told) == list(range(1, 3001))
    doubtful = {n for n, outcome in told.items() if outcome == "unknown"}
    assert 300 < len(doubtful) == totals["unknown"] == totals["in_doubt"]
    simulator.stop()
    times, duplicates = acceptances(tmp_path / "ledger")
    assert duplicates == 0 and set(times.values()) == {1}
    assert {n for n, outcome in told.items() if outcome == "accepted"} <= set(times)
    # The option leaves them as they are again; without it they are sent.
    ran = tool(*words, "--resume", "--at-most-once")
    assert ran.returncode == 1 and json.loads(ran.stdout)["passed_over"] == 3000, ran
    assert tool(*words, "--resume").returncode == 3


def test_repeating_a_finished_run_gives_the_same_status(tool, start, tmp_path):
    """The status is that of the whole list, and no connection is made."""
    bad = "bad0" * 16
    (tmp_path / "bad").write_text(bad + "\n")
    simulator = start("--bad-tokens", tmp_path / "bad", control=True)
    for name, tokens, status in ("fine", ["a1" * 32], 0), ("rejected", ["a1" * 32, bad], 1), ("refused", ["a1" * 32, "zz"], 1):
        (tmp_path / f"{name}.csv").write_text("\n".join(["token", *tokens]) + "\n")
        words = ["send", *binary(simulator), "--tokens", f"{name}.csv", "--alert", "x", "--results", name]
        assert tool(*words).returncode == status
        connections = simulator.control("GET", "/counters")[1]["connections"]
        text = (tmp_path / name).read_text()
        ran = tool(*words, "--resume")
        assert ran.returncode == status, ran
        assert f"Skipped: {len(tokens)} that already had an outcome" in ran.stderr
        assert ("1 of them not accepted" in ran.stderr) == bool(status)
        # The summary is of the whole list.
        first = ran.stderr.splitlines()[0]
        assert first.startswith(f"1 accepted{f', 1 {name}' if status else ''} of the whole list; in this run 0 accepted in "), first
        assert ("  rejected: invalid token, 1" in ran.stderr) == (name == "rejected")
        totals = json.loads(tool(*words, "--resume", "--json").stdout)
        assert (totals["passed_over"], totals["passed_over_not_accepted"]) == (len(tokens), status)
        assert (totals["accepted"], totals["rejected"] + totals["refused"]) == (1, status)
        assert totals["reasons"] == ({"invalid token": 1} if name == "rejected" else {}) and set(totals["this_run"].values()) == {0}
        assert simulator.control("GET", "/counters")[1]["connections"] == connections
        assert (tmp_path / name).read_text() == text
    # With --at-most-once, an unknown outcome of an earlier run stays unknown, and the status is 1.
    with open(tmp_path / "fine", "a") as file:
        file.write('{"n":1,"outcome":"unknown"}\n')
    words = ["send", *binary(simulator), "--tokens", "fine.csv", "--alert", "x", "--results", "fine", "--resume"]
    assert tool(*words, "--at-most-once").returncode == 1
    assert tool(*words).returncode == 0
    assert tool(*words, "--at-most-once").returncode == 0
    simulator.stop()
    words = ["send", *binary(simulator), "--tokens", "rejected.csv", "--alert", "x", "--results", "rejected", "--resume"]
    assert tool(*words).returncode == 1


def test_an_incomplete_line_is_ignored(tool, simulator, tmp_path):
    with open(tmp_path / "list.csv", "w") as file:
        file.writelines(f"{n:064x}\n" for n in range(1, 11))
    words = ["send", *binary(simulator), "--tokens", "list.csv", "--alert", "Hello", "--results", "results"]
    assert tool(*words).returncode == 0
    text = (tmp_path / "results").read_text()
    (tmp_path / "results").write_text(text[:-20])
    ran = tool(*words, "--resume")
    assert ran.returncode == 0, ran.stderr
    assert "Skipped: 9" in ran.stderr and "In doubt: " in ran.stderr
    assert outcomes(tmp_path / "results")[-1]["again"] is True
    (tmp_path / "results").write_text(text.replace('"n"', '"m', 1))
    ran = tool(*words, "--resume")
    assert ran.returncode == 2 and "results:3: " in ran.stderr


def test_one_writer(tool, start, tmp_path):
    simulator = start(control=True)
    with open(tmp_path / "list.csv", "w") as file:
        file.writelines(f"{n:064x}\n" for n in range(1, 2001))
    words = ["send", *binary(simulator), "--tokens", "list.csv", "--alert", "Hello", "--results", "results"]
    running = tool.start(*words, "--rate", 100)
    simulator.wait("/counters", lambda counters: counters["accepted"] > 0)
    ran = tool(*words, "--resume")
    running.kill()
    running.communicate()
    assert ran.returncode == 2 and "another run is writing to it" in ran.stderr


def test_only_the_owner_reads_results(tool, simulator, tmp_path, open_umask):
    (tmp_path / "list").write_text("token\n" + "a1" * 32 + "\n")
    send = ["send", *binary(simulator), "--tokens", "list", "--alert", "hello", "--results"]
    assert tool(*send, "results").returncode == 0
    assert mode(tmp_path / "results") == "0o600"

    (tmp_path / "elsewhere").write_text("")
    (tmp_path / "link").symlink_to("elsewhere")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in "link", "dangling":
        ran = tool(*send, name)
        assert ran.returncode == 2 and "is a symbolic link, which is not followed" in ran.stderr, ran.stderr
    os.link(tmp_path / "elsewhere", tmp_path / "hard")
    ran = tool(*send, "hard")
    assert ran.returncode == 2 and "several names" in ran.stderr, ran.stderr
    if os.geteuid() == 0:
        os.unlink(tmp_path / "hard")
        os.chown(tmp_path / "elsewhere", 65534, 65534)
        ran = tool(*send, "elsewhere")
        assert ran.returncode == 2 and "belongs to another user" in ran.stderr, ran.stderr
    assert (tmp_path / "elsewhere").read_text() == "" and not (tmp_path / "nowhere").exists()
