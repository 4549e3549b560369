"""A Redis of a test's own, and a relay's queue in it as any client sees it."""

import collections
import contextlib
import json
import pathlib
import shutil
import socket
import subprocess

from relaying import DEADLINE, wait_until


class Refusal(Exception):
    """An error that Redis answers."""


class Client:
    """What is needed of the protocol: packages for it are not everywhere."""

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
        """Sends all of them before it reads the first answer."""
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
    """redis-server at a socket in a directory; what it has answered is on the disk."""

    def __init__(self, directory, *options):
        self.directory = pathlib.Path(directory)
        self.path, self.options, self.process = str(self.directory / "redis.sock"), options, None
        self.start()

    @staticmethod
    def is_here():
        return shutil.which("redis-server") is not None

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--unixsocketperm", "700", "--dir", self.directory,
             "--save", "", "--appendonly", "yes", "--appendfsync", "always", "--logfile", self.directory / "redis.log", *self.options],
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

        wait_until(answers, "redis-server does not answer")

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(DEADLINE)
            pathlib.Path(self.path).unlink(missing_ok=True)


class RedisQueue:
    """As a producer and a reader of any language see it."""

    def __init__(self, server):
        self.server = server
        self.path = f"unix:{server.path}"
        self.setting = {"redis": {"url": self.path}}

    def ask(self, *words):
        with contextlib.closing(Client(self.server.path)) as client:
            return client.ask(*words)

    @staticmethod
    def addition(entry, app="shop"):
        """The command that adds an entry."""
        entry = {"payload": '{"aps":{"alert":"Hello"}}'} | entry
        return ["XADD", f"apns:{{{app}}}:in", "*", *(word for pair in entry.items() for word in pair)]

    def add(self, *entries, app="shop"):
        with contextlib.closing(Client(self.server.path)) as client:
            client.all([self.addition(entry, app) for entry in entries])

    def stream(self, name, app="shop"):
        return [dict(zip(fields[::2], fields[1::2])) for _, fields in self.ask("XRANGE", f"apns:{{{app}}}:{name}", "-", "+")]

    def is_empty(self):
        return self.ask("XLEN", "apns:{shop}:in") == 0

    def entries_so_far(self):
        """Those that wait or are held, and those that are done."""
        try:
            held = self.ask("XPENDING", "apns:{shop}:in", "relay")[0]
        except Refusal:
            held = 0
        return self.ask("XLEN", "apns:{shop}:in") - held + self.ask("HLEN", "apns:{shop}:ids")

    def outcomes_so_far(self):
        return self.ask("XLEN", "apns:{shop}:out")

    def outcomes(self):
        return [
            (one["id"], int(one["position"]), one["token"], one["outcome"], int(one["deliveries"]), int(one["at"]))
            for one in self.stream("out")]

    def counts(self):
        return dict(collections.Counter(one["outcome"] for one in self.stream("out")))

    def ends(self):
        """Of each id the outcomes, by position."""
        ends = collections.defaultdict(list)
        for one in self.stream("out"):
            ends[one["id"]].append((int(one["position"]), one["outcome"], one["reason"]))
        return {identifier: sorted(all) for identifier, all in ends.items()}


def add_all(path, entries, chance, say):
    """A producer: adds entries, several at a time, and says how many are there. What had no answer it
    adds again."""
    done, client = 0, None
    while done < len(entries):
        batch = entries[done:done + chance.randint(1, 12)]
        try:
            client = client or Client(path.removeprefix("unix:"))
            client.all([RedisQueue.addition(entry) for entry in batch])
        except (OSError, Refusal):
            if client:
                client.close()
            client = None
            continue
        done += len(batch)
        say(done)


def fields(entry):
    """An entry of a seed's plan, as it is written."""
    tokens = entry["tokens"]
    return {"id": entry["id"]} | ({"token": tokens[0]} if len(tokens) == 1 else {"tokens": json.dumps(tokens)})
