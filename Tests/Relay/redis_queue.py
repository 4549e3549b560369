"""A private Redis of a test, and a relay's queue in it as any client sees it."""

import collections
import contextlib
import itertools
import json
import pathlib
import shutil
import socket
import subprocess

from relaying import DEADLINE, wait_until


# Below the system's ephemeral ports. A cluster node's bus is ten thousand above its port.
PORTS = itertools.count(20000)


def free_port():
    """Returns a free port. The network is private, so no other program takes it."""
    for port in PORTS:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)), socket.create_server(("127.0.0.1", port + 10000)):
            return port


class Refusal(Exception):
    """A Redis error reply."""


class Client:
    """The needed part of the protocol, because not every system has a package for it."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(path)
        self.replies = self.socket.makefile("rb")

    def close(self):
        self.replies.close()
        self.socket.close()

    def ask(self, *words):
        return self.all([words])[0]

    def all(self, commands):
        """Sends all commands before it reads the first reply."""
        out = bytearray()
        for words in commands:
            out += b"*%d\r\n" % len(words)
            for word in words:
                word = word if isinstance(word, bytes) else str(word).encode()
                out += b"$%d\r\n%s\r\n" % (len(word), word)
        self.socket.sendall(out)
        return [self.reply() for _ in commands]

    def reply(self):
        line = self.replies.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("Redis is gone")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise Refusal(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            if rest == b"-1":
                return None
            text = self.replies.read(int(rest) + 2)
            if len(text) != int(rest) + 2:
                raise ConnectionError("Redis is gone")
            return text[:-2].decode()
        if kind == b"*":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        return rest.decode()


class Server:
    """redis-server at a UNIX socket in a directory. With `fsync` "always" a write is on the disk before its reply."""

    def __init__(self, directory, *, fsync="always", options=()):
        self.directory, self.options = pathlib.Path(directory), options
        self.path, self.fsync, self.process = str(self.directory / "redis.sock"), fsync, None
        self.start()

    @staticmethod
    def is_here():
        return shutil.which("redis-server") is not None

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--unixsocketperm", "700", "--dir", self.directory,
             "--save", "", "--appendonly", "yes", "--appendfsync", self.fsync, "--logfile", self.directory / "redis.log",
             *self.options],
            stdin=subprocess.DEVNULL)

        def answers():
            assert self.process.poll() is None, (self.directory / "redis.log").read_text()
            try:
                with contextlib.closing(Client(self.path)) as client:
                    client.ask("PING")
                return True
            except Refusal as refusal:
                return "LOADING" not in str(refusal)
            except OSError:
                return False

        wait_until(answers, "redis-server does not reply")

    def listen(self, kind="port"):
        """Makes it listen on TCP too, on loopback; with `tls-port` over TLS. Returns the port."""
        port = free_port()
        with contextlib.closing(Client(self.path)) as client:
            client.ask("CONFIG", "SET", kind, port)
        return port

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(DEADLINE)
            pathlib.Path(self.path).unlink(missing_ok=True)

    def signal(self, number):
        self.process.send_signal(number)

    def file(self):
        """Returns the file to which it appends each change."""
        return max([*self.directory.glob("appendonlydir/*.incr.aof"), *self.directory.glob("appendonly.aof")])


class Authority:
    """Makes a test's certificates, for Redis and for relays."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.ca = self.directory / "redis-ca.pem"
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                     "-subj", "/CN=Redis", "-keyout", "redis-ca.key", "-out", "redis-ca.pem")
        self.issue("redis", "IP:127.0.0.1,DNS:redis.example")
        self.issue("relay", "DNS:relay.example")
        self.setting = {
            "ca": str(self.ca), "certificate": str(self.directory / "relay.pem"), "key": str(self.directory / "relay.key")}

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.directory, check=True, capture_output=True)

    def issue(self, name, names):
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                     "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (self.directory / f"{name}.ext").write_text(f"subjectAltName={names}\n")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "redis-ca.pem", "-CAkey", "redis-ca.key", "-days", "2",
                     "-extfile", f"{name}.ext", "-out", f"{name}.pem")

    def redis(self, name="redis", **more):
        """Returns options of redis-server, which requires a client certificate."""
        return {
            "tls-cert-file": str(self.directory / f"{name}.pem"), "tls-key-file": str(self.directory / f"{name}.key"),
            "tls-ca-cert-file": str(self.ca),
        } | {option.replace("_", "-"): value for option, value in more.items()}


class Sentinel:
    """A Redis Sentinel: watches a server and its replicas, and promotes a replica when the server is unreachable."""

    def __init__(self, directory, primary, name="shop", tls=None):
        self.directory, self.name, self.port = pathlib.Path(directory), name, free_port()
        file = self.directory / "sentinel.conf"
        file.write_text(
            (f"port 0\ntls-port {self.port}\n" + "".join(f"{name} {value}\n" for name, value in tls.items())
             if tls else f"port {self.port}\n") + f"bind 127.0.0.1\ndir {self.directory}\nunixsocket {self.directory}/sentinel.sock\n"
            f"logfile {self.directory}/sentinel.log\n"
            f"sentinel monitor {name} 127.0.0.1 {primary} 1\nsentinel down-after-milliseconds {name} 500\n"
            f"sentinel failover-timeout {name} 5000\n")
        self.process = subprocess.Popen(["redis-server", file, "--sentinel"], stdin=subprocess.DEVNULL)
        wait_until(self.knows_a_replica, "the sentinel sees no replica")

    def knows_a_replica(self):
        assert self.process.poll() is None, (self.directory / "sentinel.log").read_text()
        try:
            with contextlib.closing(Client(f"{self.directory}/sentinel.sock")) as client:
                return client.ask("SENTINEL", "replicas", self.name) != []
        except OSError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE)


def outcomes_of(text):
    """Yields each device's outcome; equal outcomes of an entry share one element of a record."""
    for shared in json.loads(text):
        for token, position, apns_id in shared.pop("devices"):
            yield shared | {"token": token, "position": position, "apns_id": apns_id}


# The streams of the lanes.
STREAMS = {"normal": "in", "urgent": "urgent", "bulk": "bulk"}


class RedisQueue:
    """The queue as a producer and a reader in any language see it."""

    def __init__(self, server):
        self.server = server
        self.path = f"unix:{server.path}"
        self.setting = {"redis": {"url": self.path}}

    def ask(self, *words):
        with contextlib.closing(Client(self.server.path)) as client:
            return client.ask(*words)

    def is_free(self):
        return True

    @staticmethod
    def addition(entry, app="shop"):
        """Returns the command that adds an entry."""
        entry = {"payload": '{"aps":{"alert":"Hello"}}'} | entry
        stream = STREAMS[entry.pop("lane", "normal")]
        return ["XADD", f"apns:{{{app}}}:{stream}", "*", *(word for pair in entry.items() for word in pair)]

    def add(self, *entries, app="shop"):
        with contextlib.closing(Client(self.server.path)) as client:
            client.all([self.addition(entry, app) for entry in entries])

    def stream(self, name, app="shop"):
        return [dict(zip(fields[::2], fields[1::2])) for _, fields in self.ask("XRANGE", f"apns:{{{app}}}:{name}", "-", "+")]

    def results(self):
        """Yields each notification's outcome; a record of "out" has many."""
        for record in self.stream("out"):
            yield from ({"at": record["at"]} | one for one in outcomes_of(record["outcomes"]))

    def is_empty(self):
        return all(self.ask("XLEN", f"apns:{{shop}}:{stream}") == 0 for stream in STREAMS.values())

    def entries_so_far(self):
        """Returns the number of waiting, held and finished entries."""
        new = 0
        for stream in STREAMS.values():
            new += self.ask("XLEN", f"apns:{{shop}}:{stream}")
            with contextlib.suppress(Refusal):
                new -= self.ask("XPENDING", f"apns:{{shop}}:{stream}", "relay")[0]
        return new + self.ask("HLEN", "apns:{shop}:ids")

    def outcomes_so_far(self):
        return sum(1 for _ in self.results())

    def held(self):
        """Returns the IDs of the entries that relays hold."""
        held = set()
        with contextlib.closing(Client(self.server.path)) as client:
            for stream in STREAMS.values():
                key = f"apns:{{shop}}:{stream}"
                with contextlib.suppress(Refusal):
                    pending = client.ask("XPENDING", key, "relay", "-", "+", 1_000_000)
                    for found in client.all([["XRANGE", key, number, number] for number, *_ in pending]):
                        held |= {fields[fields.index("id") + 1] for _, fields in found}
        return held

    def gone(self):
        return self.ask("ZRANGE", "apns:{shop}:gone", 0, -1)

    def outcomes(self):
        return [
            (one["id"], int(one["position"]), one["token"], one["outcome"], int(one["deliveries"]))
            for one in self.results()]

    def ids(self):
        """Returns the IDs of all waiting, held and finished entries, at one moment."""
        with contextlib.closing(Client(self.server.path)) as client:
            reads = [["XRANGE", f"apns:{{shop}}:{stream}", "-", "+"] for stream in [*STREAMS.values(), "out"]]
            *_, (*waiting, done) = client.all([["MULTI"], *reads, ["EXEC"]])
        return {fields[fields.index("id") + 1] for stream in waiting for _, fields in stream} | {
            one["id"] for _, fields in done for one in json.loads(fields[fields.index("outcomes") + 1])}

    def counts(self):
        return dict(collections.Counter(one["outcome"] for one in self.results()))

    def ends(self):
        """Returns the outcomes of each ID, by position."""
        ends = collections.defaultdict(list)
        for one in self.results():
            ends[one["id"]].append((int(one["position"]), one["outcome"], one["reason"]))
        return {identifier: sorted(all) for identifier, all in ends.items()}


class Adding:
    """A producer's connection. After a failure it reconnects, and adds again what had no reply."""

    def __init__(self, place):
        self.path, self.client = place.removeprefix("unix:"), None

    def add(self, entries):
        try:
            self.client = self.client or Client(self.path)
            self.client.all([RedisQueue.addition(fields(entry)) for entry in entries])
        except (OSError, Refusal):
            if self.client:
                self.client.close()
            self.client = None
            raise


def fields(entry):
    """Returns the fields of an entry of a seed's plan."""
    tokens = entry["tokens"]
    return {"id": entry["id"]} | ({"token": tokens[0]} if len(tokens) == 1 else {"tokens": json.dumps(tokens)})
