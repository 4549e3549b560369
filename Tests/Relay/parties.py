"""The parties that may meet a fault: a producer, the service, a disk. The relay and the queue's server have their own files."""

import contextlib
import errno
import json
import pathlib
import signal
import subprocess
import sys
import time

import producer
import simulator as simulators
from relaying import DEADLINE, pushes, wait_until

HERE = pathlib.Path(__file__).resolve().parent


def let_run(chance, most_s=0.02):
    """Pauses, so that the next step comes at a random moment, and not always right after the awaited event."""
    time.sleep(chance.random() * most_s)


class Producer:
    """Adds a seed's entries; its output goes to a file. `place`: the queue's address for the producer."""

    def __init__(self, place, seed, count, directory):
        self.command = [sys.executable, "-B", str(HERE / "producer.py"), str(place), str(seed), str(count)]
        self.seed, self.count, self.said = seed, count, pathlib.Path(directory) / "producer.said"
        self.process, self.is_done, self.kills = None, False, 0

    def start(self):
        with open(self.said, "a") as said:
            self.process = subprocess.Popen(self.command, stdout=said, cwd=HERE)

    def look(self):
        """Restarts it if it was killed."""
        if self.process.poll() is None:
            return
        if self.process.returncode == 0:
            self.is_done = True
        else:
            assert self.process.returncode == -signal.SIGKILL, self.process.returncode
            self.start()

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(DEADLINE)
            self.kills += self.process.returncode == -signal.SIGKILL

    def is_away(self):
        """True if it knows that the queue does not accept entries, or if it has no more to add."""
        return self.process.poll() is not None or self.said.read_text().endswith("away\n")

    def confirmed(self):
        """The IDs of entries that the queue has confirmed to it."""
        counts = [int(line) for line in self.said.read_text().splitlines() if line.isdigit()]
        return {entry["id"] for entry in producer.plan(self.seed, self.count)[:max(counts, default=0)]}


class Service:
    """A simulator that may be killed: then its ledger is a file, and it restarts at another port."""

    def __init__(self, certificates, ledgers=None, delay_ms=(0, 30)):
        self.certificates, self.ledgers, self.past = certificates, ledgers and pathlib.Path(ledgers), []
        self.faults = {"answer_delay_ms": list(delay_ms)}
        self.start()

    def start(self):
        options = ["--accepted", self.ledgers / f"accepted-{len(self.past)}"] if self.ledgers else []
        self.simulator = simulators.Simulator(
            self.certificates, "--http2-port", "0", *options, control=True, faults=self.faults)

    @property
    def ready(self):
        return self.simulator.ready

    def place(self):
        return "127.0.0.1", self.ready["http2_port"]

    def reset(self):
        self.simulator.control("POST", "/reset")

    def signal(self, number):
        self.simulator.process.send_signal(number)

    def kill(self):
        self.simulator.kill()

    def pushes_so_far(self):
        return sum(map(len, self.past)) + self.simulator.control("GET", "/accepted?limit=0")[1]["total"]

    def start_again(self):
        lines = (self.ledgers / f"accepted-{len(self.past)}").read_text().split("\n")
        # The last line may be incomplete.
        self.past.append([json.loads(line) for line in lines[:-1]])
        self.start()

    def pushes(self):
        """All accepted pushes of all its runs. Each run numbers its connections from the start."""
        lives = [*self.past, pushes(self.simulator)]
        return [push | {"connection": (life, push["connection"])} for life, all in enumerate(lives) for push in all]

    def tokens(self):
        return [push["token"] for push in self.pushes()]


class SmallDisk:
    """A disk of `size` MiB that a test can fill. Not every user may mount one."""

    def __init__(self, path, size=64):
        self.path, self.ballast = pathlib.Path(path), pathlib.Path(path) / "ballast"
        self.path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}m", "tmpfs", self.path], check=True)

    def fill(self):
        with open(self.ballast, "wb", buffering=0) as file:
            try:
                while file.write(bytes(1 << 16)):
                    pass
            except OSError as error:
                assert error.errno == errno.ENOSPC, error

    def free(self):
        self.ballast.unlink()

    def close(self):
        subprocess.run(["umount", "--lazy", self.path], check=True)


def start_again(relay):
    """Restarts the relay as a service manager would: a relay that starts while Redis is unreachable ends with status 2."""
    if relay.process.poll() == 2:
        said = relay.lines()[-1]
        assert said["level"] == "critical" and "unix:" in said["message"], relay.log.read_text()
        relay.start()


def end_in_order(relays):
    for relay in relays:
        wait_until(lambda: relay.port_file.exists() or start_again(relay), "a relay does not start")
        relay.wait_ready().stop()


@contextlib.contextmanager
def all_ended(parties):
    """Kills them at the end, also after a failure."""
    try:
        yield
    finally:
        for one in parties:
            one.kill()
