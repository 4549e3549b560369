"""APNs as the hosts of these tests meet it: on one port, away for a while, and with a ledger of all its runs."""

import collections
import json
import pathlib
import signal

from simulator import Simulator, until

PORT = 8443
COUNT = 200


def token(n):
    return f"{n:064x}"


# Every tenth token is bad.
BAD = {token(n) for n in range(0, COUNT, 10)}
GOOD = {token(n) for n in range(COUNT)} - BAD


class APNs:
    """A simulator that may be killed, and that then starts again on the same port."""

    def __init__(self, certificates, directory):
        self.certificates, self.directory, self.runs = certificates, pathlib.Path(directory), 0
        self.bad = self.directory / "bad-tokens"
        self.bad.write_text("".join(one + "\n" for one in sorted(BAD)))
        self.start()

    def start(self):
        self.runs, self.is_stopped = self.runs + 1, False
        self.simulator = Simulator(
            self.certificates, "--http2-port", PORT, "--bad-tokens", self.bad,
            "--ledger", self._ledger(self.runs), control=True)
        self.ready = self.simulator.ready

    def stop(self):
        """Suspends the simulator. A response is in its ledger only a little later, so a test waits for that first."""
        self.simulator.process.send_signal(signal.SIGSTOP)
        self.is_stopped = True

    def kill(self):
        """As a crash: no connection is closed by a GOAWAY or a close_notify. The ledger has what was answered."""
        if not self.is_stopped and self.simulator.process.poll() is None:
            self.simulator.control("PUT", "/faults", {"answer_delay_ms": 1_000_000})
            counters = self.simulator.control("GET", "/counters")[1]
            answered = counters["accepted"] + sum(counters["reasons"].values())
            until(lambda: len(self._rows(self.runs)) >= answered, lambda: (counters, len(self._rows(self.runs))))
        if self.simulator.process.returncode is None:
            self.simulator.kill()

    def ledger(self):
        """The notifications of all runs in order: `token`, `outcome` and the rest. A crash may cut the last line of a run."""
        return [row for run in range(1, self.runs + 1) for row in self._rows(run)]

    def _rows(self, run):
        return [row for row in map(json.loads, self._ledger(run).read_text().split("\n")[:-1]) if "token" in row]

    def accepted(self):
        """How often each token was accepted."""
        return collections.Counter(row["token"] for row in self.ledger() if row["outcome"] == "accepted")

    def judge(self, accepted, rejected, *, again={}, extra=0, others=()):
        """Checks that the host got the outcome of each device. A push arrived once, and at most `again[token]` times more; `extra`
        more may have arrived, at any devices. `others` are good devices besides GOOD."""
        arrived = self.accepted()
        assert set(accepted) == GOOD | set(others) == set(arrived)
        assert set(rejected) == BAD == {row["token"] for row in self.ledger() if row.get("reason") == "BadDeviceToken"}
        more = {one: max(arrived[one] - 1 - again.get(one, 0), 0) for one in GOOD}
        assert sum(more.values()) <= extra, more

    def wait(self, count):
        """Waits until it has decided about this number of notifications in all its runs."""
        until(lambda: len(self.ledger()) >= count, lambda: len(self.ledger()))

    def _ledger(self, run):
        return self.directory / f"ledger-{run}"
