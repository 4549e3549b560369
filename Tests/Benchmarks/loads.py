"""A queue with work, relays on it, and what they cost: for measurements that compare queues, apps and relays."""

import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import time
import uuid

from cheap_service import Service
from redis_queue import RedisQueue, Server
from relaying import Queue, Relay, token, wait_until

PAYLOAD = '{"aps":{"alert":"Hello Zoë, your order is on its way and arrives on Thursday between nine and eleven o\'clock"}}'
# In one transaction, or one pipeline.
TOGETHER = 1000


def seconds(process):
    """The CPU time of a process, without the kernel's rounding to ticks."""
    total = 0
    for thread in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        with contextlib.suppress(OSError):
            total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


class Load:
    """All entries have one device and a random ID."""

    MEASURED, WARM, WINDOW = 20_000, 5_000, 2_000
    SINGLES, EVERY_S, IDLE_S = 200, 0.02, 6

    def __init__(self, directory, engine, program):
        self.directory, self.program, self.added = pathlib.Path(directory), program, itertools.count()
        self.directory.mkdir()
        # A rewrite of its file would be in some rounds and not in others.
        options = ("--auto-aof-rewrite-percentage", "0")
        self.server = Server(self.directory, fsync="everysec", options=options) if engine == "Redis" else None
        self.queue = RedisQueue(self.server) if self.server else Queue(self.directory / "queue.db")
        self.left = 0

    def close(self):
        if self.server:
            self.server.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def entries(self, count):
        for number in itertools.islice(self.added, count):
            yield {"id": str(uuid.uuid4()), "token": token(number), "payload": PAYLOAD}

    def add(self, count):
        self.left += count
        if self.server:
            for start in range(0, count, TOGETHER):
                self.queue.add(*self.entries(min(TOGETHER, count - start)))
            return
        with self.queue.open() as database:
            # Random IDs lie on random pages: with less memory, many entries take hours.
            database.execute("PRAGMA cache_size = -3000000")
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT INTO entries (app, id, token, payload) VALUES ('shop', :id, :token, :payload)", self.entries(count))
            database.execute("COMMIT")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def fill(self, count):
        if count > self.left:
            self.add(count - self.left)

    def fill_at_rest(self, relays, count):
        """Fills it while relays, which have ended the work of their start, are suspended."""
        for one in relays:
            wait_until(one.rests, "a relay without entries does not rest")
            one.suspend()
        self.fill(count)
        for one in relays:
            one.signal(signal.SIGCONT)

    @contextlib.contextmanager
    def running(self, apps=1, relays=1):
        """Yields the relays once they are ready. Their service counts."""
        devices = self.directory / "devices"
        devices.write_text("")
        self.service = Service(self.program, devices=devices)
        names = ["shop", *(f"app-{n}" for n in range(1, apps))]
        self.all = [
            Relay(self.directory, self.service, queue=self.queue, name=f"relay-{n}", level="warning") for n in range(relays)]
        began = time.monotonic()
        try:
            for one in self.all:
                one.write({name: {"server_name": "localhost", "limits": {"window": self.WINDOW}} for name in names})
                one.start()
            for one in self.all:
                one.wait_ready()
            self.ready_s = time.monotonic() - began
            yield self.all
            self.left -= self.service.pushes_so_far()
            for one in self.all:
                one.stop()
        finally:
            for one in self.all:
                one.kill()
            self.service.kill()

    def wait_pushes(self, count):
        def is_there():
            assert all(one.process.poll() is None for one in self.all), self.all[0].log.read_text()[-2000:]
            return self.service.pushes_so_far() >= count

        wait_until(is_there, f"{self.service.pushes_so_far()} of {count} were pushed")

    def wait_empty(self):
        wait_until(self.queue.is_empty, "the queue does not get empty")

    def used(self, relays):
        return sum(map(seconds, (one.process for one in relays))), seconds(self.server.process) if self.server else 0

    def cost(self, relays, length):
        """The cost of MEASURED notifications of a queue that is this long, or is filled up to that again and again."""
        self.advance(self.WARM, length)
        first, before = self.service.pushes_so_far(), self.used(relays)
        self.advance(first + self.MEASURED, length)
        count, after = self.service.pushes_so_far() - first, self.used(relays)
        return self.figures("relay_us", count, before, after)

    def advance(self, count, length):
        while (done := self.service.pushes_so_far()) < count:
            if length < self.MEASURED:
                self.add(length)
                self.wait_pushes(done + length)
            else:
                self.wait_pushes(count)

    def figures(self, name, count, before, after):
        relays, redis = (1e6 * (then - now) / count for now, then in zip(before, after))
        return {name: relays} | ({"redis_us": redis} if self.server and name == "relay_us" else {})

    def single_cost(self, relays):
        """The cost of notifications that come one by one."""
        first, before = self.service.pushes_so_far(), self.used(relays)
        for _ in range(self.SINGLES):
            self.queue.add(*self.entries(1))
            time.sleep(self.EVERY_S)
        self.wait_pushes(first + self.SINGLES)
        return self.figures("single_us", self.SINGLES, before, self.used(relays))

    def idle_cost(self, relays):
        """What relays, and Redis, use while nothing happens, in ms for each second."""
        # Until the last heartbeats that follow news.
        time.sleep(self.IDLE_S)
        before, began = self.used(relays), time.monotonic()
        time.sleep(self.IDLE_S)
        return {"idle_ms": 1000 * (sum(self.used(relays)) - sum(before)) / (time.monotonic() - began)}

    def size(self, relays):
        threads = len(os.listdir(f"/proc/{relays[0].process.pid}/task"))
        return {"ready_s": self.ready_s, "memory_mb": relays[0].memory() / 1024, "threads": threads}
