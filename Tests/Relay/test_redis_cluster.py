"""A relay with its queue in a Redis Cluster: moving slots, killed primaries, and nodes that lie."""

import collections
import contextlib
import signal
import socket
import subprocess
import threading
import time

import pytest

from redis_cluster import SLOTS, Cluster, ClusterQueue, slot
from redis_queue import Authority, RedisQueue, Refusal, Server
from relaying import DEADLINE, pushes, relay_program, token, wait_until

FINE = (
    "ok: the queue can be written, the credentials of shop can be used, and the services respond over HTTP/2\n"
    "not tried: a push, which alone shows whether token and topic are accepted (--try-push)\n")


@pytest.fixture
def cluster(tmp_path):
    """Creates clusters, and ends them with the test."""
    if not Server.is_here():
        pytest.skip("redis-server is not here (Debian: redis-server)")
    with contextlib.ExitStack() as stack:

        def make(**options):
            made = Cluster(tmp_path, **options)
            stack.callback(made.kill)
            return made

        yield make


class Producers:
    """Adds entries for several apps in turn; each is added again until it is confirmed."""

    def __init__(self, queues):
        self.queues, self.sent = queues, {}

    def add(self, app):
        number = len(self.sent) + 1
        identifier = f"{app} {number}"
        self.sent[identifier] = (app, token(number))
        self.push(identifier)

    def push(self, identifier):
        app, device = self.sent[identifier]

        def is_added():
            with contextlib.suppress(OSError, Refusal):
                self.queues[app].add({"id": identifier, "token": device})
                return True

        wait_until(is_added, f"{identifier} cannot be added")

    def ends_of(self, app):
        return self.queues[app].done()

    def ends(self):
        return {identifier: count for queue in self.queues.values() for identifier, count in queue.done().items()}


def run(relay, *words):
    ran = subprocess.run([relay_program(), *words, "--config", relay.file], capture_output=True, text=True, timeout=DEADLINE)
    return ran.returncode, ran.stdout + ran.stderr


def relays_of(relay, simulator, queue, apps, count=2):
    made = [relay(simulator, queue=queue, name=f"relay-{n}", settings={"lease": "60s"}) for n in range(count)]
    for one in made:
        one.write({app: {"limits": {"window": 50}} for app in apps})
        one.start()
    for one in made:
        one.wait_ready()
    return made


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "TLS"])
def test_slots_move_while_entries_flow(start, relay, cluster, tmp_path, is_secure):
    """Nothing is lost, and nothing is sent twice: a node without the slot executes nothing."""
    made = Authority(tmp_path) if is_secure else None
    tls = made.redis(tls_cluster="yes", tls_replication="yes") if made else None
    nodes = cluster(options=tls)
    setting = {"tls": made.setting} if made else {}
    apps = [nodes.app(node) for node in nodes.primaries]
    queues = {app: ClusterQueue(nodes, app, **setting) for app in apps}
    if made:
        for queue in queues.values():
            queue.setting["redis"]["url"] = nodes.url.replace("redis+", "rediss+")
    adding = Producers(queues)
    simulator = start(faults={"answer_delay_ms": [0, 20]})
    relays = relays_of(relay, simulator, queues[apps[0]], apps)

    def step():
        for app in apps:
            adding.add(app)

    for _ in range(30):
        step()
    for app, to in [(apps[0], 1), (apps[1], 2), (apps[0], 2), (apps[0], 0)]:
        nodes.move(slot(f"{{{app}}}"), nodes.primaries[to], step=step)
        for _ in range(10):
            step()
    # The list of all apps and the provider tokens have their own slots.
    nodes.move(slot("apns:apps"), nodes.primaries[2 if nodes.owner(slot("apns:apps")) is nodes.primaries[0] else 0], step=step)
    wait_until(lambda: all(queue.is_empty() for queue in queues.values()), "the queues do not get empty")
    assert adding.ends() == dict.fromkeys(adding.sent, 1)
    assert sorted(push["token"] for push in pushes(simulator)) == sorted(device for _, device in adding.sent.values())
    for one in relays:
        wait_until(lambda: one.get("/readyz")[0] == 200, "the relay does not get ready again")
        assert one.metric(f'apns_relay_entries{{app="{apps[0]}",state="ready"}}') in (0, None)
        one.stop()
    assert run(relays[0], "--check")[0] == 0
    if made:
        return
    (tmp_path / "devices").write_text("".join(f"{token(n)}\n" for n in range(30)))
    words = "enqueue", "--app", apps[0], "--id", "sale", "--alert", "Hello", "--tokens", tmp_path / "devices", "--entry", "10"
    assert run(relays[0], *words) == (0, "3 entries enqueued, 0 known already; 30 devices; id sale\n")
    assert run(relays[0], *words) == (0, "0 entries enqueued, 3 known already; 30 devices; id sale\n")


def test_a_primary_dies_and_its_replica_takes_over(start, relay, cluster):
    nodes = cluster(replicas=True)
    victim = nodes.primaries[0]
    apps = [nodes.app(node) for node in nodes.primaries]
    queues = {app: ClusterQueue(nodes, app) for app in apps}
    adding = Producers(queues)
    simulator = start(faults={"answer_delay_ms": [0, 20]})
    relays = relays_of(relay, simulator, queues[apps[0]], apps)
    for _ in range(60):
        for app in apps:
            adding.add(app)
    kept, ended, replica = set(adding.sent), set(adding.ends()), nodes.replicas[0]
    written = victim.offset()
    wait_until(lambda: replica.offset() >= written, "the replica does not get it")
    # The replica does not receive the following writes.
    replica.signal(signal.SIGSTOP)
    victim.ask("CLIENT", "KILL", "TYPE", "replica")
    for _ in range(20):
        adding.add(apps[0])
    wait_until(lambda: len(adding.ends_of(apps[0])) >= 70, "there are no outcomes")
    victim.kill()
    # The apps of other nodes continue.
    before = len(adding.ends_of(apps[1]))
    for _ in range(20):
        for app in apps[1:]:
            adding.add(app)
    wait_until(lambda: len(adding.ends_of(apps[1])) >= before + 20, "the apps of living nodes stand still")
    for one in relays:
        wait_until(one.rests, "it works although its queue is away")
    # Until now there was no node to take over.
    replica.signal(signal.SIGCONT)
    replica.ask("CLUSTER", "FAILOVER", "TAKEOVER")
    wait_until(lambda: nodes.owner(slot(f"{{{apps[0]}}}")), "no replica takes over")
    back = len(adding.sent)
    for _ in range(20):
        for app in apps:
            adding.add(app)
    wait_until(lambda: all(queue.is_empty() for queue in queues.values()), "the queues do not get empty")
    # Like a producer that must not lose anything: add again every entry without an outcome.
    forgotten = set(adding.sent) - set(adding.ends())
    assert forgotten, "Redis lost nothing, so this proves nothing"
    assert forgotten <= {one for one in list(adding.sent)[:back] if adding.sent[one][0] == apps[0]} - kept
    for identifier in forgotten:
        adding.push(identifier)
    wait_until(lambda: all(queue.is_empty() for queue in queues.values()), "the queues do not get empty again")
    assert adding.ends() == dict.fromkeys(adding.sent, 1)
    # A second push had an outcome that the replica had not received.
    times = collections.Counter(push["token"] for push in pushes(simulator))
    assert set(times) == {device for _, device in adding.sent.values()} and max(times.values()) <= 2
    twice = {identifier for identifier, (_, device) in adding.sent.items() if times[device] == 2}
    assert not twice & ended and {adding.sent[identifier][0] for identifier in twice} <= {apps[0]}
    print(f"Redis lost {len(forgotten)} entries of {len(adding.sent)}; pushed twice: {len(twice)}")
    for one in relays:
        wait_until(lambda: one.get("/readyz")[0] == 200, "the relay does not get ready again")
        # The problem is logged once, not with every attempt.
        troubles = [line for line in one.said("the queue: ") if line.get("app") == apps[0]]
        assert len(troubles) <= 6, troubles
    # A restarted node is a replica, and relays do not use it for keys that it no longer owns.
    victim.start()
    for app in apps:
        adding.add(app)
    wait_until(lambda: all(queue.is_empty() for queue in queues.values()), "the queues do not get empty")
    assert adding.ends() == dict.fromkeys(adding.sent, 1)
    for one in relays:
        one.stop()


def test_where_nodes_are_away(start, relay, cluster):
    """The address of a cluster, and the messages if it is wrong."""
    nodes = cluster(primaries=2)
    one = relay(start(), queue=ClusterQueue(nodes))

    def check(url):
        one.queue.setting = {"redis": {"url": url}}
        one.write()
        return run(one, "--check")

    first, second = (node.port for node in nodes.primaries)
    assert check(f"redis+cluster://127.0.0.1:1,127.0.0.1:{second}") == (0, FINE)
    assert check(f"redis://127.0.0.1:{first}") == (
        1, f"queue: redis://127.0.0.1:{first}: it is a node of a cluster: use redis+cluster://host:port, or rediss+cluster://\nnot tried: everything after an error\n")
    code, said = check(f"redis+cluster://127.0.0.1:{first}/2")
    assert code == 2 and "queue.redis.url: a cluster has only database 0, not 2" in said
    nodes.primaries[1].kill()
    code, said = check(f"redis+cluster://127.0.0.1:{first}")
    assert code == 1 and f"redis://127.0.0.1:{second}: no connection: Connection refused" in said


def test_a_single_redis_is_no_cluster(start, relay, server):
    port = server.listen()
    queue = RedisQueue(server)
    queue.setting = {"redis": {"url": f"redis+cluster://127.0.0.1:{port}"}}
    one = relay(start(), queue=queue)
    assert run(one, "--check") == (
        1, f"queue: redis://127.0.0.1:{port}: not a node of a cluster: use redis:// instead of redis+cluster://\nnot tried: everything after an error\n")


class Liar:
    """Speaks like a cluster node, with replies from the test. `answer` returns the reply to a command's words."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=[self.listener.accept()[0]], daemon=True).start()

    def serve(self, peer):
        with contextlib.suppress(OSError, ValueError), peer, peer.makefile("rb") as lines:
            while line := lines.readline():
                words = []
                for _ in range(int(line[1:])):
                    length = int(lines.readline()[1:])
                    words.append(lines.read(length + 2)[:-2].decode())
                self.asked.append(words)
                reply = self.answer(words)
                if reply is None:
                    return
                peer.sendall(reply)

    def close(self):
        self.listener.close()


def node(start, end, port, host=b"127.0.0.1"):
    return b"*3\r\n:%d\r\n:%d\r\n*3\r\n$%d\r\n%s\r\n:%d\r\n$2\r\nid\r\n" % (start, end, len(host), host, port)


def whole_map(port):
    return b"*1\r\n" + node(0, SLOTS - 1, port)


def plain(words):
    """Returns the replies that every node gives."""
    return {"TIME": b"*2\r\n$10\r\n%d\r\n$1\r\n0\r\n" % time.time(), "INFO": b"$0\r\n\r\n", "ASKING": b"+OK\r\n"}.get(words[0])


@pytest.fixture
def liars():
    made = []

    def make(answer):
        made.append(Liar(answer))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def checked(start, relay):
    """Returns the output of --check for a cluster URL with these nodes."""
    simulator = start()

    def check(*liars):
        queue = type("Lies", (), {"setting": {"redis": {"url": "redis+cluster://" + ",".join(f"127.0.0.1:{liar.port}" for liar in liars)}}})
        return run(relay(simulator, queue=queue), "--check")

    return check


def test_nodes_that_send_each_other_everything(liars, checked):
    first = liars(lambda words: plain(words) or (
        whole_map(first.port) if words[0] == "CLUSTER" else b"-MOVED 1 127.0.0.1:%d\r\n" % second.port))
    second = liars(lambda words: plain(words) or (
        whole_map(second.port) if words[0] == "CLUSTER" else b"-MOVED 1 127.0.0.1:%d\r\n" % first.port))
    code, said = checked(first)
    assert code == 1 and "the nodes redirect apns:check{0} to each other" in said, said
    writes = [words for liar in (first, second) for words in liar.asked if words[0] == "SET"]
    assert 2 < len(writes) < 20


@pytest.mark.parametrize("kind", ["MOVED", "ASK"])
def test_a_node_that_sends_to_nowhere(liars, checked, kind):
    liar = liars(lambda words: plain(words) or (
        whole_map(liar.port) if words[0] == "CLUSTER" else b"-%s 1 127.0.0.1:1\r\n" % kind.encode()))
    code, said = checked(liar)
    assert code == 1 and "redis://127.0.0.1:1: no connection: Connection refused" in said, said
    assert len([words for words in liar.asked if words[0] == "SET"]) < 20


def test_a_node_that_sends_to_ever_new_ones(liars, checked):
    """Redirects to a new loopback address each time."""
    count = 0

    def answer(words):
        nonlocal count
        if words[0] == "CLUSTER":
            return whole_map(liar.port)
        if words[0] == "SET":
            count += 1
            return b"-MOVED 1 127.0.%d.1:%d\r\n" % (count, liar.port)
        return plain(words)

    liar = liars(answer)
    code, said = checked(liar)
    assert code == 1 and ("to each other" in said or "no connection" in said), said


@pytest.mark.parametrize("words, said", [
    (b"-MOVED\r\n", "MOVED"), (b"-MOVED 1 host\r\n", "MOVED 1 host"), (b"-MOVED 1 127.0.0.1:0\r\n", "127.0.0.1:0"),
    (b"-MOVED 1 127.0.0.1:99999999999999999999\r\n", "MOVED"), (b"-ASK 1 :\r\n", "ASK 1 :"),
    (b"-MOVED 1 " + b"h" * 100_000 + b":1\r\n", "MOVED 1 hhh"), (b"-CLUSTERDOWN The cluster is down\r\n", "CLUSTERDOWN"),
    (b"-READONLY You cannot\r\n", "READONLY"), (b"-CROSSSLOT Keys\r\n", "CROSSSLOT"), (None, "closed the connection")],
    ids=["no place", "no port", "port 0", "a port that is not a number", "no host", "a long host", "down", "read only", "two slots", "the end"])
def test_answers_that_lead_nowhere(liars, checked, words, said):
    liar = liars(lambda command: plain(command) or (whole_map(liar.port) if command[0] == "CLUSTER" else words))
    code, what = checked(liar)
    assert code == 1 and said in what, what


@pytest.mark.parametrize("time", [
    b"*2\r\n$19\r\n9223372036854775807\r\n$1\r\n0\r\n", b"*2\r\n:-9223372036854775808\r\n:0\r\n", b"*2\r\n:1\r\n:9223372036854775807\r\n",
    b"*1\r\n:1\r\n", b"+noon\r\n"], ids=["the last", "the first", "microseconds", "half", "noon"])
def test_a_clock_that_is_none(liars, checked, time):
    liar = liars(lambda words: time if words[0] == "TIME" else plain(words) or whole_map(liar.port))
    code, said = checked(liar)
    assert code == 1 and "invalid reply to TIME" in said, said


RUBBISH = {
    "an error": b"-ERR what?\r\n", "no list": b"+OK\r\n", "nothing": b"*-1\r\n", "empty": b"*0\r\n", "numbers": b"*2\r\n:1\r\n:2\r\n",
    "no node": b"*1\r\n*2\r\n:0\r\n:5\r\n", "an empty node": b"*1\r\n*3\r\n:0\r\n:5\r\n*0\r\n",
    "a slot too many": b"*1\r\n" + node(0, SLOTS, 1), "below zero": b"*1\r\n" + node(-1, 5, 1), "backwards": b"*1\r\n" + node(5, 4, 1),
    "twice": b"*2\r\n" + node(0, 5, 1) + node(5, 6, 2), "port 0": b"*1\r\n" + node(0, 5, 0), "port 65536": b"*1\r\n" + node(0, 5, 65536),
    "a long name": b"*1\r\n" + node(0, 5, 1, b"h" * 10_000), "a name with a line": b"*1\r\n" + node(0, 5, 1, b"a\r\nb"),
    "many": b"*20000\r\n" + b"".join(node(n, n, 1) for n in range(20000)), "no protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "deep": b"*1\r\n" * 1000, "the end": None}


@pytest.mark.parametrize("kind", RUBBISH)
def test_maps_that_are_none(liars, checked, kind):
    liar = liars(lambda words: plain(words) or RUBBISH[kind])
    code, said = checked(liar)
    assert code == 1 and "no node returned a slot map" in said, said


def test_a_map_with_one_good_node_among_bad_ones(start, relay, cluster, liars):
    """A seed node with a wrong map is skipped if another one has the right map."""
    nodes = cluster(primaries=2)
    liar = liars(lambda words: plain(words) or RUBBISH["twice"])
    part = liars(lambda words: plain(words) or b"*1\r\n" + node(0, 5, part.port))
    mute = liars(lambda words: plain(words) or threading.Event().wait())
    one = relay(start(), queue=ClusterQueue(nodes))
    seeds = [liar.port, part.port, mute.port, nodes.primaries[1].port]
    one.queue.setting = {"redis": {"url": "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in seeds)}}
    one.write()
    assert run(one, "--check") == (0, FINE)
