"""Every party × every fault × every queue: a producer and relays work on one queue, one party meets a fault at moments
drawn from a seed, and everything is checked at the end."""

import contextlib
import dataclasses
import pathlib
import random
import signal
import tempfile
import time

import producer
from judge import Fault, judged
from line import Line
from parties import Producer, Service, SmallDisk, end_in_order, let_run, start_again
from redis_cluster import Cluster, ClusterQueue, slot
from redis_queue import RedisQueue, Server
from relaying import DEADLINE, Queue, Relay, wait_until

SQLITE, EVERYSEC, ALWAYS, CLUSTER = "SQLite", "Redis everysec", "Redis always", "Redis Cluster"
LEASE = 1.5
# Long enough for a fault to find notifications in flight.
DELAY_MS = 20, 120
# A relay waits 10 s for a Redis reply.
LONG, LONG_LEASE = 12.5, 12


@dataclasses.dataclass(frozen=True)
class Row:
    """`repeats`: the number of times that a notification may be pushed again for each fault."""

    engine: str
    who: str
    what: str
    repeats: int = 0
    lease: float = 120
    is_delivery: bool = False
    goes_on: bool = False
    forgets: bool = False

    @property
    def name(self):
        return f"{self.engine}/{self.who}/{self.what}"

    @property
    def in_redis(self):
        return self.engine != SQLITE

    @property
    def pause(self):
        """The shortest and longest duration of the fault, in seconds: longer than the lease if the row needs that."""
        return (0.1, 1.0) if self.lease == 120 else (LEASE + 0.3, LEASE + 1.0)


def rows():
    for engine in SQLITE, EVERYSEC, ALWAYS:
        in_redis = engine != SQLITE
        yield Row(engine, "producer", "kill")
        # A producer holds no entry; in SQLite it may hold the lock of its transaction.
        yield Row(engine, "producer", "stop", lease=LEASE)
        if in_redis:
            yield Row(engine, "producer", "cut")
        yield Row(engine, "relay", "kill", repeats=1, is_delivery=True)
        yield Row(engine, "relay", "crash", repeats=1, is_delivery=True)
        yield Row(engine, "relay", "stop", repeats=1, lease=LEASE, goes_on=True)
        # While the service is unreachable; a notification without a response by then may have arrived.
        yield Row(engine, "relay", "kill away", repeats=1)
        yield Row(engine, "relay", "stop away", repeats=1, lease=LEASE, goes_on=True)
        # The line to the service, and to Redis too: another relay pushes the notification again, and so may the first
        # one's session.
        if in_redis:
            yield Row(engine, "relay", "cut", repeats=2, lease=LEASE, goes_on=True)
        else:
            yield Row(engine, "relay", "cut", repeats=1)
        if in_redis:
            if engine == EVERYSEC:
                # Writes that were not on the disk are lost, a part of the last second, so Redis may give a held entry
                # to another relay.
                yield Row(engine, "redis", "kill", repeats=2, goes_on=True, forgets=True)
                yield Row(engine, "redis", "power", repeats=2, goes_on=True, forgets=True)
            else:
                yield Row(engine, "redis", "kill")
            yield Row(engine, "redis", "stop")
            yield Row(engine, "redis", "cut")
            yield Row(engine, "redis", "full disk")
        else:
            yield Row(engine, "queue", "full disk")
        yield Row(engine, "service", "kill", repeats=1)
        yield Row(engine, "service", "stop")
        yield Row(engine, "service", "cut", repeats=1)
    # A replica takes over, without the writes that it had not received.
    yield Row(CLUSTER, "redis", "kill", repeats=2, goes_on=True, forgets=True)
    yield Row(CLUSTER, "redis", "move")
    yield Row(CLUSTER, "relay", "kill", repeats=1, is_delivery=True)


@dataclasses.dataclass
class Result:
    faults: int = 0
    ids: int = 0
    forgotten: int = 0
    judgement: object = None


class Scene:
    """The parties of one row and seed, and the connections between them."""

    def __init__(self, row, seed, count, certificates, service, directory):
        self.row, self.seed, self.count, self.directory = row, seed, count, pathlib.Path(directory)
        self.chance = random.Random(f"{row.name} {seed}")
        self.faults, self.forgotten, self.sizes = [], set(), []
        self.wanted = {
            (entry["id"], position): token
            for entry in producer.plan(seed, count) for position, token in enumerate(entry["tokens"])}
        self.stack = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            self.disk = SmallDisk(self.directory / "disk") if row.what == "full disk" else None
            if self.disk:
                stack.callback(self.disk.close)
            self._start_queue(self.disk.path if self.disk else self.directory, stack)
            self._start_service(certificates, service, stack)
            self._start_relays(stack)
            self._start_producer(stack)
            self.stack = stack.pop_all()

    def _line(self, target, path, stack):
        line = Line(target, path)
        stack.callback(line.close)
        return line

    def _start_queue(self, place, stack):
        self.server = self.cluster = None
        if self.row.engine == CLUSTER:
            self.cluster = Cluster(place, replicas=self.row.what == "kill" and self.row.who == "redis")
            stack.callback(self.cluster.kill)
            self.queue = ClusterQueue(self.cluster)
            return
        if self.row.in_redis:
            self.server = Server(place, fsync="everysec" if self.row.engine == EVERYSEC else "always")
            stack.callback(self.server.kill)
        self.queue = RedisQueue(self.server) if self.server else Queue(place / "queue.db")

    def _way_to_queue(self, name, stack):
        """The queue's address for this party, and its line."""
        if not (self.row.in_redis and self.row.what == "cut"):
            return self.queue, None
        line = self._line(lambda: self.server.path, str(self.directory / f"{name}.sock"), stack)
        queue = RedisQueue(self.server)
        queue.path = f"unix:{line.path}"
        queue.setting = {"redis": {"url": queue.path}}
        return queue, line

    def _start_service(self, certificates, service, stack):
        self.service = service
        if self.row.who == "service" and self.row.what == "kill":
            self.service = Service(certificates, self.directory, DELAY_MS)
            stack.callback(lambda: self.service.kill())
        else:
            self.service.reset()

    def _start_relays(self, stack):
        row, chance = self.row, self.chance
        others = row.who == "relay" and row.what not in ("kill", "crash")
        self.relays, self.relay_lines, self.queue_lines = [], [], []
        lease = row.lease
        self.is_long = row.who == "redis" and row.what in ("stop", "cut") and self.seed % 10 == 0
        if self.is_long:
            lease = LONG_LEASE
        for n in range(2 if others else chance.choice([1, 1, 2])):
            app = {"limits": {"window": chance.choice([20, 50, 200])}}
            lines = []
            if row.what in ("cut", "kill away", "stop away") or row.who == "service":
                lines.append(self._line(self.service.place, None, stack))
                app["port"] = lines[0].port
            queue, line = self._way_to_queue(f"relay-{n}", stack)
            self.queue_lines.append(line)
            self.relay_lines.append([one for one in [*lines, line] if one])
            relay = Relay(
                self.directory, self.service.simulator, queue=queue, name=f"relay-{n}", app=app, settings={"lease": f"{lease}s"})
            self.relays.append(relay)
            stack.callback(relay.kill)
            relay.start()

    def _start_producer(self, stack):
        queue, self.producer_line = self._way_to_queue("producer", stack)
        self.producer = Producer(queue.path, self.seed, self.count, self.directory)
        stack.callback(self.producer.kill)
        self.producer.start()

    # MARK: Faults

    def fault(self):
        """Inflicts one fault, for its duration."""
        row, chance = self.row, self.chance
        self.victim = self.relays[0] if row.what not in ("kill", "crash") else chance.choice(self.relays)
        before, self.begun = self.service.pushes_so_far(), frozenset()
        {
            "kill": self._kill, "stop": self._stop, "cut": self._cut, "power": self._power, "full disk": self._fill, "move": self._move,
            "crash": self._crash, "kill away": self._kill_away, "stop away": self._stop_away,
        }[row.what]()
        self.faults.append(Fault(before, row.repeats, row.is_delivery, row.goes_on, row.forgets, self.begun))

    def _wait(self):
        # The duration: longer than a lease, or not. Leases use the wall clock.
        time.sleep(LONG + self.chance.random() if self.is_long else self.chance.uniform(*self.row.pause))

    def _kill(self):
        who = self.row.who
        if who == "producer":
            self.producer.kill()
            self.producer.look()
        elif who == "relay":
            let_run(self.chance)
            self.victim.kill()
            self.victim.start()
        elif who == "service":
            self.service.kill()
            self.begun = frozenset(self.queue.held() | {one[0] for one in self.queue.outcomes()})
            self.service.start_again()
        elif self.cluster:
            self._fail_over()
        else:
            self._kill_server(lambda: None)

    def _crash(self):
        """Kills the relay over and over, no matter how much it has finished: no notification may become dead from that."""
        for crash in range(24):
            if crash:
                self.faults.append(Fault(self.service.pushes_so_far(), self.row.repeats, self.row.is_delivery))
            self.victim.kill()
            self.victim.start().wait_ready()
            let_run(self.chance, 0.3)

    def _service_lines(self):
        return [line for line, *_ in self.relay_lines]

    def _kill_away(self):
        for line in self._service_lines():
            line.cut()
        for _ in range(self.chance.randint(2, 7)):
            self.victim.kill()
            self.victim.start().wait_ready()
            let_run(self.chance, 0.1)
        for line in self._service_lines():
            line.heal()

    def _stop_away(self):
        """The other relays work while it is stopped, and hold its entries when it resumes."""
        for line in self._service_lines():
            line.cut()
        let_run(self.chance, 0.3)
        self.victim.signal(signal.SIGSTOP)
        try:
            self._wait()
            for line in self._service_lines():
                line.heal()
            let_run(self.chance, 0.5)
        finally:
            self.victim.signal(signal.SIGCONT)

    def _kill_server(self, damage):
        """Kills Redis, and records what it lost before the producer adds it again: entries, and outcomes that have been
        read. Such an outcome returns only if its entry does."""
        read = {one[:2] for one in self.queue.outcomes()}
        self.server.kill()
        wait_until(self.producer.is_away, "the producer does not notice")
        confirmed = self.producer.confirmed()
        # Outcomes from between the read and the kill are in its file. Read them at an address that no other process knows.
        place, self.server.path = self.server.path, f"{self.server.path}-apart"
        self.server.start()
        read |= {one[:2] for one in self.queue.outcomes()}
        self.server.kill()
        self.server.path = place
        damage()
        self.server.start()
        entries = confirmed - self.queue.ids()
        self.forgotten |= {one for one in self.wanted if one[0] in entries}
        self.forgotten |= read - {one[:2] for one in self.queue.outcomes()}

    def _fail_over(self):
        """Kills the primary, sometimes after its replica was cut off from it; it returns as a replica."""
        number = slot("{shop}")
        victim = self.cluster.owner(number)
        replica = self.cluster.replica(victim)
        if self.chance.random() < 0.5:
            replica.signal(signal.SIGSTOP)
            victim.ask("CLIENT", "KILL", "TYPE", "replica")
            let_run(self.chance, 0.3)
        read = {one[:2] for one in self.queue.outcomes()}
        victim.kill()
        replica.signal(signal.SIGCONT)
        wait_until(self.producer.is_away, "the producer does not notice")
        confirmed = self.producer.confirmed()
        replica.ask("CLUSTER", "FAILOVER", "TAKEOVER")
        wait_until(lambda: self.cluster.owner(number), "no replica takes over")
        entries = confirmed - self.queue.ids()
        self.forgotten |= {one for one in self.wanted if one[0] in entries}
        self.forgotten |= read - {one[:2] for one in self.queue.outcomes()}
        victim.start()
        wait_until(lambda: "master_link_status:up" in victim.ask("INFO", "replication"), "it does not become a replica")

    def _move(self):
        """Moves the app's slot, key by key, with pauses."""
        number = slot("{shop}")
        source = self.cluster.owner(number)
        target = self.chance.choice([node for node in self.cluster.primaries if node is not source])
        self.cluster.move(number, target, step=lambda: let_run(self.chance))

    def _power(self):
        def damage():
            now = time.monotonic()
            least = min((size for moment, size in self.sizes if moment > now - 1), default=self.server.file().stat().st_size)
            with open(self.server.file(), "r+b") as file:
                file.truncate(self.chance.randint(least, file.seek(0, 2)))

        self._kill_server(damage)

    def _stop(self):
        stopped = {"producer": self.producer, "relay": self.victim, "redis": self.server, "service": self.service}[self.row.who]
        stopped.signal(signal.SIGSTOP)
        try:
            self._wait()
        finally:
            stopped.signal(signal.SIGCONT)

    def _cut(self):
        lines = {
            "producer": [self.producer_line],
            "relay": self.relay_lines[0],
            "redis": [self.producer_line, *self.queue_lines],
            "service": self._service_lines(),
        }[self.row.who]
        for line in lines:
            line.cut()
        self._wait()
        is_broken = self.chance.random() < 0.5
        for line in lines:
            if is_broken:
                line.heal_broken()
            else:
                line.heal()

    def _fill(self):
        troubles = [len(relay.said("cannot be recorded")) for relay in self.relays]
        self.disk.fill()

        def is_felt():
            # With their reserve the relays may finish all entries.
            if not self.server and self.queue.is_empty():
                return True
            return self.producer.is_away() or [len(relay.said("cannot be recorded")) for relay in self.relays] != troubles

        wait_until(is_felt, "the full disk goes unnoticed")
        self._wait()
        self.disk.free()
        if self.server and self.server.process.poll() is not None:
            # With appendfsync always it ended.
            self.server.start()

    def _is_empty(self):
        try:
            return self.queue.is_empty()
        except OSError:
            # With appendfsync always a Redis with a full disk ends, and may take time for that.
            if self.row.what != "full disk" or not self.server:
                raise
            self.server.process.wait(DEADLINE)
            self.server.start()
            return False

    # MARK: From the first entry to the last outcome

    def play(self):
        row, chance = self.row, self.chance
        tokens = len(self.wanted)
        # Each fault comes after a given number of outcomes are recorded, or entries are in the queue.
        most = 3 if row.what == "kill" else 1 if row.what in ("power", "full disk", "crash") or self.is_long else 2
        moments = sorted(chance.random() ** 2 * 0.8 for _ in range(chance.randint(1, most)))
        deadline = time.monotonic() + DEADLINE
        while not (self.producer.is_done and self._is_empty()):
            assert time.monotonic() < deadline, f"{row.name}, seed {self.seed}: it does not end"
            self.producer.look()
            for relay in self.relays:
                start_again(relay)
                assert relay.process.poll() is None, f"{row.name}, seed {self.seed}: a relay ended: {relay.log.read_text()[-2000:]}"
            if row.what == "power":
                self.sizes.append((time.monotonic(), self.server.file().stat().st_size))
            share = self.queue.entries_so_far() / self.count if row.who == "producer" else self.queue.outcomes_so_far() / tokens
            if moments and share >= moments[0]:
                moments.pop(0)
                self.fault()
        end_in_order(self.relays)
        outcomes = self.queue.outcomes()
        judgement = judged(self.wanted, outcomes, self.service.pushes(), self.faults, self.forgotten)
        return Result(len(self.faults), self.count, len(self.forgotten - {one[:2] for one in outcomes}), judgement)


def play(row, seed, count, certificates, service):
    with tempfile.TemporaryDirectory(prefix="apns-kills-") as directory:
        scene = Scene(row, seed, count, certificates, service, directory)
        with scene.stack:
            return scene.play()
