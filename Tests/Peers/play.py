"""Plays rows: starts the peer of each, has the provider play its calls, and has the result judged.

Each row runs separately, and judge.py judges all of them alike:

    late        no call takes more than 100 ms beyond its deadline: its own timeout, or the session's
                timeouts. With an event loop no call waits in poll() or nanosleep(), or for more than 100 ms in
                anything else. Most of the machine's own delays do not count (provider.c), so other load
                does not fail a row
    CPU         of the provider, as a share of the row's time
    most        how often one notification arrived at the peer: never more than 5 times
    a/r/u, d    accepted, rejected, unknown: each queued one has exactly one outcome; none is accepted
                that the peer did not accept, none rejected that it did not reject; duplicates
    messages    of errors are clean: UTF-8, one line, no control characters, no bidirectional overrides

and by the row's own conditions (row.py). A row without its harm fails too. First the judge is tested: a good row is
spoilt in every possible way, and the judge must detect each.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.request

import identity
import judge
from row import planned

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MOST_SECONDS = 600


class Process:
    """A peer: prints its port first and, when its standard input ends, its ledger."""

    def __init__(self, command, **options):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        self.process = subprocess.Popen(command, **pipes, **options)
        self.ready = json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.kill()
        self.process.communicate()


class Hostile(Process):
    """peer.py or tls_peer.c, which signals the provider when the harm is done."""

    def __init__(self, row, programs):
        first = [programs.tls_peer] if row.peer[0] == "tls_peer" else [sys.executable, "-B", str(HERE / "peer.py")]
        super().__init__([*first, programs.directory, *row.peer[row.peer[0] == "tls_peer" :]])
        self.signal, self.port = self.process.stdout, self.ready["port"]
        self.given = {"ca": f"{programs.directory}/ca.pem", "certificate": f"{programs.directory}/provider.pem"}
        if row.options().get("authentication") == "token":
            self.given = {"ca": self.given["ca"], "token_key": f"{programs.directory}/token.p8",
                          "key_id": "KEY4567890", "team_id": "TEAM567890"}  # fmt: skip

    def end(self):
        seen = json.loads(self.process.communicate(timeout=120)[0].splitlines()[-1])
        return {**seen, "deliveries": {int(n): times for n, times in seen["deliveries"].items()}}


class Simulator(Process):
    """The simulator and its ledger."""

    signal = subprocess.DEVNULL

    def __init__(self, row, programs, directory):
        self.ledger = os.path.join(directory, "ledger")
        command = [programs.tool, "simulate", "--json", "--certificates", programs.certificates, "--ledger", self.ledger]
        command += ["--log-level", "critical", "--parent", str(os.getpid()), "--token-size", "any", "--no-check-payload"]
        for port in ("gateway", "feedback", "http2", "control"):
            command += [f"--{port}-port", "0"]
        for word in row.peer[1:]:
            command += [word] if word.startswith("--") else ["--fault", word]
        super().__init__(command)
        options, ready = row.options(), self.ready
        self.port = ready["http2_port" if options.get("protocol") == "http2" else "gateway_port"]
        self.given = {"ca": ready["ca"], "certificate": ready["provider"]}
        if options.get("authentication") == "token":
            self.given = {"ca": ready["ca"], "token_key": ready["token_key"], "key_id": ready["token_key_id"],
                          "team_id": ready["token_team_id"], "topic": "com.example.libapns.simulator"}  # fmt: skip

    def request(self, method, path, what=None):
        data = None if what is None else json.dumps(what).encode()
        address = f"http://127.0.0.1:{self.ready['control_port']}{path}"
        with urllib.request.urlopen(urllib.request.Request(address, method=method, data=data), timeout=60) as answer:
            return answer.read()

    def end(self):
        self.process.terminate()
        self.process.communicate(timeout=120)
        accepted = collections.Counter()
        with open(self.ledger, encoding="utf-8") as lines:
            for entry in map(json.loads, lines):
                if entry.get("outcome") == "accepted":
                    accepted[json.loads(entry["payload"])["n"]] += 1
        return {"deliveries": accepted, "accepted": list(accepted), "refused": {}, "connections": 0, "offers": 0,
                "felt": 1, "notes": {}, "failures": []}  # fmt: skip


def with_name_server(directory, name_server):
    """The prefix of a command that makes it use that name server. Only the command sees the file."""
    file = pathlib.Path(directory, "resolv.conf")
    file.write_text(f"nameserver {name_server}\n", encoding="ascii")
    return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', str(file)]


@contextlib.contextmanager
def meddling(row, peer):
    """The future's result is true if row.meddle had an effect."""
    done = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(row.meddle, peer.request, done) if row.meddle else None
        finally:
            done.set()


def play(row, programs):
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as ends:
        is_simulated = row.peer[0] == "simulate"
        peer = ends.enter_context(Simulator(row, programs, directory) if is_simulated else Hostile(row, programs))
        given, before = {**peer.given, "port": peer.port}, list(programs.first)
        if row.between:
            words = [sys.executable, "-B", str(HERE / "between.py"), str(peer.port), *row.between]
            between = ends.enter_context(Process(words))
            if row.between[0].startswith("names"):
                before += with_name_server(directory, f"127.0.0.{row.between[0].split(':')[2]}")
            elif row.between[0].startswith("proxy"):
                given["proxy"] = f"127.0.0.1:{between.ready[0]}"
            else:
                given["port"] = ",".join(str(port) for port in between.ready)
        elif row.peer[0] == "proxy":
            given["proxy"] = f"127.0.0.1:{peer.port}"
        elif row.peer[0] == "feedback":
            given["feedback_port"] = peer.port
        words = [f"{name}={value}" for name, value in {**given, **row.options()}.items()]
        command = [*before, programs.provider, *words, *row.steps.split()]
        with meddling(row, peer) as meddled:
            process = subprocess.Popen(command, stdin=peer.signal, stdout=subprocess.PIPE, text=True)
            try:
                said, _ = process.communicate(timeout=MOST_SECONDS)
            except subprocess.TimeoutExpired:
                process.terminate()
                said, _ = process.communicate(timeout=60)
        if not said:
            raise RuntimeError(f"the provider ended with {process.returncode}")
        told = json.loads(said)
        seen = peer.end()
        if meddled and not meddled.result():
            seen["felt"] = 0
        return told, seen, judge.judge(row, told, seen, programs.is_exact)


def play_safely(row, programs):
    """Turns every exception into a fault of the row."""
    try:
        return play(row, programs)
    except Exception as error:
        return {"stuck": "the row"}, {"deliveries": {}, "connections": 0, "notes": {}}, [f"broken: {error!r}"]


# ---- The table -----------------------------------------------------------------

HEAD = f"  {'':56}{'latest call':>22}{'CPU':>6}{'most':>6}{'conns':>7}{'a/r/u, d':>20}{'gap':>10}{'time':>9}"


def line_of(row, told, seen, faults, is_exact):
    most = f"{max(seen['deliveries'].values(), default=0):6}"
    mark = "!" if faults else ""
    if "stuck" in told:
        return f"  {row.name:56}{told['stuck'] + ' is stuck':>22}{'':6}{most}{seen['connections']:7} {mark}"
    measure = "late_by_clock" if is_exact else "late"
    calls = {name: call for name, call in told["calls"].items() if name not in ("new", "free")}
    name, late = max(((name, call[measure]) for name, call in calls.items()), key=lambda one: one[1])
    share = 100 * told["cpu"] / max(told["seconds"], 0.001)
    twice = sum(times > 1 for times in seen["deliveries"].values())
    ends = "/".join(str(told[f"{kind}_count"]) for kind in ("accepted", "rejected", "unknown")) + f", {twice}"
    gap = f"{told['gap_ms']:5.1f} ms" if "loop" in row.options() else ""
    note = f" {row.note}: {seen['notes'].get(row.note, told.get(row.note))}" if row.note else ""
    latest = f"{name} {late:+.0f} ms"
    line = f"  {row.name:56}{latest:>22}{share:5.0f}%{most}{seen['connections'] or told['connects']:7}{ends:>20}"
    return f"{line}{gap:>10}{told['seconds']:7.1f} s {mark}{note}"


class Programs:
    """The provider and the peer in C, built; the tool; and certificates for all rows."""

    def __init__(self, directory, options):
        self.directory, self.certificates = directory, os.path.join(directory, "simulator")
        self.tool, self.is_exact = str(options.tool), options.exact
        self.first = ("chrt", "--fifo", "1") if options.first else ()
        self.provider, self.tls_peer = (os.path.join(directory, name) for name in ("provider", "tls_peer"))
        tls = ["-lssl", "-lcrypto", "-lpthread", "-lm"]
        library = [f"-I{ROOT / 'include'}", str(options.archive), "-lnghttp2", "-lcares", *tls]
        for program, rest in ((self.provider, library), (self.tls_peer, tls)):
            source = str(HERE / f"{os.path.basename(program)}.c")
            subprocess.run([os.environ.get("CC", "cc"), "-O2", source, *rest, "-o", program], check=True)
        identity.make(directory)


def main(description, rows, jobs=4):
    """Plays the rows that the command line selects."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every row; default: a selection with every aspect")
    parser.add_argument("--share", default="0/1", metavar="K/N", help="of every N of these rows number K, from 0 on")
    parser.add_argument("--only", help="of all rows those with TEXT in group or name")
    parser.add_argument("--list", action="store_true", help="print the rows without running them")
    parser.add_argument("--exact", action="store_true", help="measure by the clock, one row at a time, on a quiet machine")
    parser.add_argument("--first", action="store_true", help="give the provider priority over all processes; needs root")
    parser.add_argument("--archive", default=ROOT / "build/release/libapns.a")
    parser.add_argument("--tool", default=ROOT / ".build/release/apns", help="the apns tool")
    parser.add_argument("--jobs", type=int, default=jobs, help="rows in parallel; they mostly wait")
    parser.add_argument("--json", help="write all results to this file")
    options = parser.parse_args()
    judge.judge_the_judge()
    chosen = [row for row in rows if (options.only in f"{row.group}: {row.name}" if options.only else
                                      row.quick or options.all)]  # fmt: skip
    share, shares = map(int, options.share.split("/"))
    chosen = chosen[share::shares]
    if options.list:
        print("\n".join(f"{row.group}: {row.name}" for row in chosen))
        return 0
    with tempfile.TemporaryDirectory() as directory:
        programs = Programs(directory, options)
        if any(row.peer[0] == "simulate" for row in chosen):
            # Make the certificates once, before many rows need them.
            first = next(row for row in chosen if row.peer[0] == "simulate")
            with tempfile.TemporaryDirectory() as other, Simulator(first, programs, other):
                pass
        # The longest first, so that none of them runs alone at the end.
        order = sorted(range(len(chosen)), key=lambda at: -planned(chosen[at]))
        with concurrent.futures.ThreadPoolExecutor(1 if options.exact else options.jobs) as pool:
            done = pool.map(lambda at: play_safely(chosen[at], programs), order)
            results = [(chosen[at], *result) for at, result in sorted(zip(order, done))]
    print(HEAD)
    for group, of_group in itertools.groupby(results, key=lambda result: result[0].group):
        print(f"\n{group}:")
        for result in of_group:
            print(line_of(*result, options.exact))
    print()
    failed = [f"FAILED: {row.group}: {row.name}: {'; '.join(faults)}" for row, _, _, faults in results if faults]
    print("\n".join(failed))
    if options.json:
        names = [f"{row.group}: {row.name}" for row, *_ in results]
        pathlib.Path(options.json).write_text(json.dumps(list(zip(names, (result[1:] for result in results)))))
    had, there_are = (len(set().union(*(row.aspects for row in those))) for those in (chosen, rows))
    aspects = f" with {had} of {there_are} aspects" if there_are else ""
    print(f"\n{len(results)} rows of {len(rows)}{aspects}, {len(failed)} failed")
    return 1 if failed or not results else 0
