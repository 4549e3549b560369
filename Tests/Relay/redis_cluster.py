"""A private Redis Cluster of a test, on loopback, and queues in it as any client sees them."""

import collections
import contextlib
import json
import pathlib
import signal

from redis_queue import STREAMS, Client, RedisQueue, Refusal, Server, fields, free_port, outcomes_of
from relaying import wait_until

SLOTS = 16384


def slot(key):
    """Returns the slot of a key."""
    start = key.find("{")
    end = key.find("}", start + 1)
    if start >= 0 and end > start + 1:
        key = key[start + 1:end]
    total = 0
    for byte in key.encode():
        total ^= byte << 8
        for _ in range(8):
            total = ((total << 1) ^ 0x1021 if total & 0x8000 else total << 1) & 0xFFFF
    return total % SLOTS


class Node(Server):
    """A node at a port, and at a UNIX socket for the test."""

    def __init__(self, directory, timeout_ms, options=None, address="127.0.0.1"):
        pathlib.Path(directory).mkdir()
        self.address = address
        more = {
            "cluster-enabled": "yes", "cluster-node-timeout": timeout_ms, "cluster-replica-validity-factor": 0,
            # On a busy machine nodes wrongly report each other as failed, so only the test starts a failover.
            "cluster-require-full-coverage": "no", "cluster-replica-no-failover": "yes", "bind": address, **(options or {})}
        self.port = free_port()
        kind = "tls-port" if "tls-cert-file" in more else "port"
        words = [str(word) for name, value in {**more, kind: self.port}.items() for word in (f"--{name}", value)]
        self.is_stopped = False
        super().__init__(directory, options=words)
        self.id = self.ask("CLUSTER", "MYID")

    def ask(self, *words):
        with contextlib.closing(Client(self.path)) as client:
            return client.ask(*words)

    def offset(self):
        """Returns its replication offset: the amount of all writes that it has."""
        lines = dict(line.split(":", 1) for line in self.ask("INFO", "replication").splitlines() if ":" in line)
        return int(lines["slave_repl_offset" if lines["role"] == "slave" else "master_repl_offset"])

    @property
    def is_alive(self):
        return self.process.poll() is None

    def signal(self, number):
        super().signal(number)
        self.is_stopped = number == signal.SIGSTOP


class Cluster:
    """`primaries` nodes with slots, and as many replicas if `replicas`; each on one of the `hosts`, if there are any."""

    def __init__(self, directory, *, primaries=3, replicas=False, timeout_ms=1500, options=None, hosts=()):
        self.nodes = []
        try:
            for number in range(primaries * (2 if replicas else 1)):
                with hosts[number] if hosts else contextlib.nullcontext():
                    address = {"address": hosts[number].address} if hosts else {}
                    self.nodes.append(Node(pathlib.Path(directory) / f"node-{number}", timeout_ms, options, **address))
            self.primaries, self.replicas = self.nodes[:primaries], self.nodes[primaries:]
            self._join()
        except BaseException:
            self.kill()
            raise

    def kill(self):
        for node in self.nodes:
            node.kill()

    def _join(self):
        each = -(-SLOTS // len(self.primaries))
        first = self.nodes[0]
        for number, node in enumerate(self.nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if node in self.primaries:
                node.ask("CLUSTER", "ADDSLOTS", *range(number * each, min(SLOTS, (number + 1) * each)))
            node.ask("CLUSTER", "MEET", first.address, first.port, *([first.port + 10000] if first.port else []))

        def knows_all(node):
            return f"cluster_known_nodes:{len(self.nodes)}" in node.ask("CLUSTER", "INFO")

        wait_until(lambda: all(map(knows_all, self.nodes)), "the nodes do not meet")
        for replica, primary in zip(self.replicas, self.primaries):
            replica.ask("CLUSTER", "REPLICATE", primary.id)

        def is_whole(node):
            lines = node.ask("CLUSTER", "INFO")
            ranges = node.ask("CLUSTER", "SLOTS")
            return "cluster_state:ok" in lines and all(len(one) >= (4 if self.replicas else 3) for one in ranges)

        wait_until(lambda: all(map(is_whole, self.nodes)), "the cluster does not come about")
        wait_until(
            lambda: all("master_link_status:up" in replica.ask("INFO", "replication") for replica in self.replicas),
            "the replicas get nothing")

    @property
    def url(self):
        return "redis+cluster://" + ",".join(f"{node.address}:{node.port}" for node in self.nodes[:2])

    def owner(self, number):
        """Returns the running node that reports itself as the slot's owner, or None."""
        for node in self.nodes:
            with contextlib.suppress(OSError, Refusal):
                for start, end, (_, port, *_), *_ in node.ask("CLUSTER", "SLOTS"):
                    if start <= number <= end and port == node.port:
                        return node

    def replica(self, primary):
        """Returns the node that calls itself a replica of the primary, as in `ID ADDRESS myself,slave,nofailover PRIMARY …`."""

        def own_line(node):
            return next(words for words in map(str.split, node.ask("CLUSTER", "NODES").splitlines()) if "myself" in words[2])

        return next(node for node in self.nodes if own_line(node)[3] == primary.id)

    def app(self, node):
        """Returns the name of an app with its keys on this node."""
        return next(name for name in (f"app-{number}" for number in range(1000)) if self.owner(slot(f"{{{name}}}")) is node)

    def move(self, number, to, *, step=lambda: None):
        """Moves a slot, key by key, as redis-cli --cluster reshard does. Calls `step` in between."""
        source = self.owner(number)
        to.ask("CLUSTER", "SETSLOT", number, "IMPORTING", source.id)
        source.ask("CLUSTER", "SETSLOT", number, "MIGRATING", to.id)
        step()
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", number, 1):
            source.ask("MIGRATE", to.address, to.port, keys[0], 0, 5000)
            step()
        for node in [to, source, *self.nodes]:
            if node.is_alive and "role:master" in node.ask("INFO", "replication"):
                node.ask("CLUSTER", "SETSLOT", number, "NODE", to.id)


class ClusterQueue(RedisQueue):
    """One app's queue: each command goes to the node that has its key."""

    def __init__(self, cluster, app="shop", **setting):
        self.cluster, self.app = cluster, app
        self.setting = {"redis": {"url": cluster.url, **setting}}
        self.path = "cluster:" + ",".join(str(node.path) for node in cluster.nodes)

    def _route(self, key, act):
        """Tries the nodes, until one does not redirect."""
        refused = None
        for node in self.cluster.nodes:
            if node.is_stopped:
                continue
            try:
                with contextlib.closing(Client(node.path)) as client:
                    return act(client)
            except Refusal as refusal:
                refused = refusal
                parts = str(refusal).split()
                if parts[0] == "ASK":
                    # Only the importing node does it, and a producer does not know which node that is: try all of them.
                    for there in self.cluster.nodes:
                        with contextlib.suppress(Refusal, OSError), contextlib.closing(Client(there.path)) as client:
                            client.ask("ASKING")
                            return act(client)
                    continue
                if parts[0] not in ("MOVED", "CLUSTERDOWN", "LOADING", "MASTERDOWN"):
                    raise
            except OSError as error:
                refused = error
        raise ConnectionError(f"no node has {key}: {refused}")

    def ask(self, *words):
        """Waits while no node has the key."""

        def answer():
            with contextlib.suppress(ConnectionError):
                return [self._route(words[1], lambda client: client.ask(*words))]

        return wait_until(answer, f"no node has {words[1]}")[0]

    def key(self, name):
        return f"apns:{{{self.app}}}:{name}"

    def add(self, *entries):
        for entry in entries:
            words = self.addition(entry, self.app)
            self._route(words[1], lambda client: client.ask(*words))

    def stream(self, name):
        return [dict(zip(words[::2], words[1::2])) for _, words in self.ask("XRANGE", self.key(name), "-", "+")]

    def results(self):
        for record in self.stream("out"):
            for one in outcomes_of(record["outcomes"]):
                yield {"at": record["at"]} | one

    def is_empty(self):
        return all(self.ask("XLEN", self.key(stream)) == 0 for stream in STREAMS.values())

    def done(self):
        """Counts the IDs of all recorded outcomes."""
        return collections.Counter(one["id"] for one in self.results())

    def ids(self):
        words = [["MULTI"], *(["XRANGE", self.key(stream), "-", "+"] for stream in [*STREAMS.values(), "out"]), ["EXEC"]]
        *_, (*waiting, done) = self._route(self.key("in"), lambda client: client.all(words))
        return {words[words.index("id") + 1] for stream in waiting for _, words in stream} | {
            one["id"] for _, words in done for one in json.loads(words[words.index("outcomes") + 1])}


class ClusterAdding:
    """A producer that knows only the sockets of the nodes. `place`: "cluster:" and their paths, separated by commas."""

    def __init__(self, place):
        self.queue = ClusterQueue(Sockets(place.removeprefix("cluster:").split(",")))

    def add(self, entries):
        for entry in entries:
            self.queue.add(fields(entry))


class Sockets:
    """The part of a cluster that a producer needs."""

    def __init__(self, paths):
        self.nodes, self.url = [collections.namedtuple("Socket", "path port is_stopped")(path, None, False) for path in paths], None
