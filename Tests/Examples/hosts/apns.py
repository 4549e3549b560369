"""APNs as the hosts of these tests meet it: on one port, away for a while, and with a ledger of all its runs."""

import collections
import json
import pathlib

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
        self.runs += 1
        self.simulator = Simulator(
            self.certificates, "--http2-port", PORT, "--bad-tokens", self.bad,
            "--ledger", self._ledger(self.runs), control=True)
        self.ready = self.simulator.ready

    def kill(self):
        """As a crash: no connection is closed by a GOAWAY or a close_notify."""
        self.simulator.kill()

    def ledger(self):
        """The notifications of all runs in order: `token`, `outcome` and the rest. A crash may cut the last line of a run."""
        rows = []
        for run in range(1, self.runs + 1):
            lines = self._ledger(run).read_text().split("\n")[:-1]
            rows += [row for row in map(json.loads, lines) if "token" in row]
        return rows

    def accepted(self):
        """How often each token was accepted."""
        return collections.Counter(row["token"] for row in self.ledger() if row["outcome"] == "accepted")

    def wait(self, count):
        """Waits until it has decided about this number of notifications in all its runs."""
        until(lambda: len(self.ledger()) >= count, lambda: len(self.ledger()))

    def _ledger(self, run):
        return self.directory / f"ledger-{run}"
