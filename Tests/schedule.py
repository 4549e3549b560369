"""Runs suites in parallel. Tests/run calls it when everything that the builds need is installed."""

import argparse
import collections
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
LOGS = ROOT / "build/logs"
GREEN = ROOT / "Tests/rota-green"
TIERS = ["fast", "usual", "thorough"]
# A run of the continuous integration plays this many groups of the rota.
GROUPS_A_RUN = 2
# A landing has some dozen commits; groups not green for 20 landings are named.
COMMITS_UNTIL_STALE = 20 * 12
# The machine ends a run of .ci/run after 90 minutes.
THOROUGH_MINUTES = 80

# Where a failed test's output begins and ends: pytest, CTest, PHP's run-tests.
OUTPUT_BEGINS = re.compile(r"=+ (FAILURES|ERRORS) =+$|_{3,} .* _{3,}$|.* Test +#\d+: .*\*\*\*(?!Skipped|Not Run)|=+DIFF=+$")
OUTPUT_ENDS = re.compile(r"=+ .* =+$| *Start +\d+: | *\d+/\d+ Test +#|\d+% tests passed|=+DONE=+$")
FAILURE = re.compile(r"\bFAIL(ED)?\b|\berror: |^✘|Fatal error|Assertion .* failed|^\w*Error: ")


@dataclasses.dataclass
class Part:
    name: str
    tier: str
    after: list
    # It measures time, so it runs last and alone.
    is_alone: bool
    result: int | None = None
    wall: float = 0
    processor: float = 0


def read_parts():
    parts = {}
    for line in (ROOT / "Tests/parts").read_text().splitlines():
        words = line.split()
        if words and not words[0].startswith("#"):
            parts[words[0]] = Part(words[0], words[1], [word for word in words[2:] if word != "alone"], "alone" in words)
    return parts


def commits():
    counted = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return int(counted.stdout) if counted.returncode == 0 else 0


class Rota:
    """The groups of exhaustive tests. Each run plays the next ones, by its number of commits."""

    def __init__(self, parts):
        self.groups = [part.name for part in parts.values() if part.tier == "rota"]
        self.now = commits()
        lines = GREEN.read_text().splitlines() if GREEN.exists() else []
        self.green = {name: int(count) for name, count in (line.split() for line in lines if not line.startswith("#"))}

    def next(self):
        first = self.now * GROUPS_A_RUN
        return [self.groups[(first + place) % len(self.groups)] for place in range(GROUPS_A_RUN)]

    def report(self, played):
        others = [name for name in self.groups if name not in played]
        print(f"rota: {', '.join(played)}; not in this run: {', '.join(others) or 'none'}")
        stale = [name for name in others if self.now - self.green.get(name, 0) > COMMITS_UNTIL_STALE]
        if stale:
            red, plain = ("\033[31m", "\033[0m") if sys.stdout.isatty() else ("", "")
            print(f"{red}not green for {COMMITS_UNTIL_STALE} commits: {', '.join(stale)}{plain}")

    def keep(self, parts):
        passed = [name for name in self.groups if name in parts and parts[name].result == 0]
        if passed:
            self.green.update(dict.fromkeys(passed, self.now))
            head = "# Groups of the rota, and the number of commits at which each was last green.\n"
            GREEN.write_text(head + "".join(f"{name} {self.green[name]}\n" for name in self.groups if name in self.green))


def choose(options, parts, rota):
    """The suites to run, with those that must run before them."""
    if options.parts:
        wanted = options.parts
    else:
        wanted = [part.name for part in parts.values() if part.tier in TIERS[: TIERS.index(options.tier) + 1]]
    if options.exhaustive:
        wanted += rota.groups
    elif options.tier == "thorough" and not options.parts:
        wanted += rota.next()
    chosen, left = set(), list(wanted)
    while left:
        name = left.pop()
        if name not in chosen:
            chosen.add(name)
            left += parts[name].after
    return {name: part for name, part in parts.items() if name in chosen}


def descendants(pid):
    """The processes of a suite, including those in other process groups."""
    children = collections.defaultdict(list)
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                children[int((entry / "stat").read_text().rpartition(")")[2].split()[1])].append(int(entry.name))
            except OSError:
                continue
    found, left = [], [pid]
    while left:
        found.append(left.pop())
        left += children[found[-1]]
    return found


def stacks(pids):
    """Returns the command lines of these processes, and where each of their threads waits."""
    lines = []
    for pid in pids:
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            waits = pathlib.Path(f"/proc/{pid}/wchan").read_text()
        except OSError:
            continue
        lines.append(f"{pid} in {waits or '?'}: {words[:200]}")
        if shutil.which("gdb") and "bash" not in words[:20]:
            shown = subprocess.run(
                ["timeout", "20", "gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 12"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
            lines += [f"    {line[:160]}" for line in shown.stdout.splitlines() if re.match(r"#|Thread", line)]
    return lines


def what_failed(lines):
    """The output of each failed test, or the lines that name a failure, and the end of the log."""
    outputs, inside = [], False
    for number, line in enumerate(lines):
        if OUTPUT_BEGINS.match(line):
            outputs.append([])
            inside = True
        elif OUTPUT_ENDS.match(line):
            inside = False
        if inside:
            outputs[-1].append(number)
    named = [number for number, line in enumerate(lines) if FAILURE.search(line)]
    wanted = {number for output in outputs for number in output[:2] + output[-40:]} or set(named[-30:])
    shown, last = [], -1
    for number in sorted(wanted)[:240] + list(range(max(len(lines) - 15, 0), len(lines))):
        if number > last:
            shown += ["..."] * (number > last + 1) + [lines[number]]
            last = number
    return shown


class Run:
    def __init__(self, parts, options, environment):
        self.parts, self.options, self.environment = parts, options, environment
        self.waiting = list(parts.values())
        self.running = {}
        self.begun = 0
        self.changed = threading.Condition()
        self.began = time.monotonic()
        self.is_over = False

    def next(self):
        """The first suite with no unfinished suite before it; None if none is left."""
        with self.changed:
            while self.waiting and not self.is_over:
                for part in self.waiting:
                    if part.is_alone and (self.begun or not all(other.is_alone for other in self.waiting)):
                        continue
                    before = [self.parts[name] for name in part.after]
                    failed = [other.name for other in before if other.result not in (0, None)]
                    if failed or all(other.result == 0 for other in before):
                        self.waiting.remove(part)
                        self.begun += 1
                        return part, failed
                self.changed.wait()
        return None

    def work(self):
        while (found := self.next()) is not None:
            part, failed = found
            if failed:
                skipped = all(self.parts[name].result == 77 for name in failed)
                (LOGS / f"{part.name}.log").write_text(f"skipped: {' and '.join(failed)} did not pass\n")
                self.ended(part, 77 if skipped else 1)
            else:
                self.play(part)

    def play(self, part):
        script = f'. Tests/prerequisites.sh; . Tests/parts.sh; {part.name}'
        before = time.monotonic()
        with open(LOGS / f"{part.name}.log", "wb") as log:
            process = subprocess.Popen(
                ["bash", "-o", "pipefail", "-c", script], cwd=ROOT, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True)
            with self.changed:
                self.running[part.name] = process
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        part.wall, part.processor = time.monotonic() - before, usage.ru_utime + usage.ru_stime
        self.ended(part, process.returncode)

    def ended(self, part, result):
        with self.changed:
            part.result = result
            self.running.pop(part.name, None)
            self.begun -= 1
            self.report(part)
            self.changed.notify_all()

    def report(self, part):
        lines = (LOGS / f"{part.name}.log").read_text(errors="replace").splitlines()
        figures = f"{part.wall:5.0f} s, {part.processor:5.0f} s of CPU"
        if part.result == 0:
            print(f"{part.name:22} passed   {figures}")
            lines = [line for line in lines if re.match(r"skipped|.*[1-9]\d* skipped", line)]
        elif part.result == 77:
            lines = [line for line in lines if line.startswith("skipped")][-1:]
            print(f"{part.name:22} skipped  {figures}")
        else:
            print(f"{part.name:22} FAILED   {figures}; from build/logs/{part.name}.log:")
            lines = what_failed(lines)
        print("".join(f"    {line[:400]}\n" for line in lines), end="", flush=True)

    def cut(self):
        """Ends the running suites and logs where they were."""
        with self.changed:
            self.is_over = True
            running = dict(self.running)
            self.changed.notify_all()
        for name, process in running.items():
            pids = descendants(process.pid)
            with open(LOGS / f"{name}.log", "a") as log:
                log.write("\n".join([f"\ncut off after {self.options.limit:g} minutes of the whole run, here:", *stacks(pids), ""]))
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue

    def all(self):
        workers = [threading.Thread(target=self.work) for _ in range(self.options.jobs)]
        for worker in workers:
            worker.start()
        if self.options.limit:
            timer = threading.Timer(self.options.limit * 60, self.cut)
            timer.daemon = True
            timer.start()
        for worker in workers:
            worker.join()
        return time.monotonic() - self.began


def options_of(words, parts):
    parser = argparse.ArgumentParser(
        prog="Tests/run", description="The tests, in every language, of both builds. Without options: every kind of test once.")
    parser.set_defaults(tier="usual")
    for tier, text in (("fast", "what a change is likely to break"), ("thorough", "all, and the next groups of the rota: what CI runs")):
        parser.add_argument(f"--{tier}", dest="tier", action="store_const", const=tier, help=text)
    parser.add_argument("--exhaustive", action="store_true", help="all, and every group of the rota")
    parser.add_argument("--list", action="store_true", help="the suites with their tiers")
    parser.add_argument("--jobs", type=int, help="suites in parallel")
    parser.add_argument("--limit", type=float, help="end everything after this many minutes")
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these suites, with the builds that they need")
    options = parser.parse_args(words)
    if unknown := [name for name in options.parts if name not in parts]:
        parser.error(f"unknown suite '{unknown[0]}'; Tests/run --list names the suites")
    if options.exhaustive:
        options.tier = "thorough"
    elif options.tier == "thorough" and options.limit is None:
        options.limit = THOROUGH_MINUTES
    if options.jobs is None:
        # Many suites wait, but those of --thorough mostly compute.
        options.jobs = (os.cpu_count() or 1) + (1 if options.tier == "thorough" else 2)
    return options


def main():
    parts = read_parts()
    options = options_of(sys.argv[1:], parts)
    if options.list:
        for part in parts.values():
            print(f"{part.name:22} {part.tier}")
        return 0
    rota = Rota(parts)
    chosen = choose(options, parts, rota)
    groups = [name for name in rota.groups if name in chosen]
    if options.tier == "thorough" and not options.parts:
        rota.report(groups)
    LOGS.mkdir(parents=True, exist_ok=True)
    # One package graph for all programs and tests, so that one build serves all.
    programs = ROOT / ".build/release"
    environment = dict(
        os.environ, APNS_RELAY="1", APNS_TOKEN_CACHE="off", APNS_TOOL=str(programs / "apns"), APNS_RELAY_TOOL=str(programs / "apns-relay"), tier=options.tier,
        APNS_PARTS=" ".join(chosen), CTEST_PARALLEL_LEVEL=os.environ.get("CTEST_PARALLEL_LEVEL", "3"), CTEST_OUTPUT_ON_FAILURE="1")
    run = Run(chosen, options, environment)
    seconds = run.all()
    rota.keep(chosen)
    with open(LOGS / "durations", "a") as kept:
        for part in chosen.values():
            kept.write(f"{time.strftime('%FT%T')} {options.tier:8} {part.name:22} {part.wall:5.0f} s, {part.processor:5.0f} s of CPU, status {part.result}\n")
    results = [part.result for part in chosen.values()]
    for part in chosen.values():
        if part.result is None:
            print(f"{part.name:22} did not start")
    processor = sum(part.processor for part in chosen.values())
    print(f"{seconds // 60:.0f} min {seconds % 60:.0f} s, {processor:.0f} s of CPU")
    passed, skipped = results.count(0), results.count(77)
    print(f"{passed} passed, {len(results) - passed - skipped} failed, {skipped} skipped")
    return 0 if passed + skipped == len(results) else 1


sys.exit(main())
