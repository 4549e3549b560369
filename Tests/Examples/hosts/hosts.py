"""Programs of others that push: their processes, their users, and what they are told."""

import collections
import contextlib
import json
import os
import pathlib
import queue
import shutil
import signal
import socket
import subprocess
import threading

import pytest
from apns import COUNT, token
from simulator import DEADLINE, until


def need(program, *packages):
    """The path of a host, or a skip."""
    path = shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/dovecot")
    if path is None:
        pytest.skip(f"{program} is not installed (Debian: {' '.join(packages or [program])})")
    return path


class Host:
    """A process of a host with its children, and their output in a file. At the end of a `with` it must end gracefully."""

    def __init__(self, command, log, **options):
        self.log = pathlib.Path(log)
        with open(self.log, "ab") as output:
            self.process = subprocess.Popen(
                list(map(str, command)), stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, **options)

    def text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def said(self, words):
        """The lines of its output with these words."""
        return [line for line in self.text().splitlines() if words in line]

    def wait_for(self, *texts):
        """Until its output has all these texts."""
        until(lambda: self.alive() and all(text in self.text() for text in texts), self.text)

    def alive(self):
        assert self.process.poll() is None, f"the host ended: {self.process.returncode}\n{self.text()}"
        return True

    def listens(self, port):
        """Until something listens at this port."""

        def connects():
            self.alive()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=DEADLINE):
                return True

        until(connects, self.text)
        return self

    def tell(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGTERM):
        """Ends it as its administrator would; returns its exit code."""
        self.tell(number)
        return self.process.wait(DEADLINE)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                assert self.alive() and self.end() == 0, self.text()
        finally:
            self.kill()


@contextlib.contextmanager
def redis(directory):
    """redis-server on its usual port of the private network, with its data in memory."""
    command = [need("redis-server"), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory]
    with Host(command, directory / "redis.log") as server:
        server.wait_for("Ready to accept connections")
        yield


class Told:
    """The file in which a host's application writes what it learns about each notification, a JSON object on each line."""

    def __init__(self, path, *logs):
        self.path, self.logs = pathlib.Path(path), logs
        self.path.touch()

    def rows(self, *words):
        """The lines with one of these words as `told`. The last one may be half written."""
        return [row for row in map(json.loads, self.path.read_text().split("\n")[:-1]) if row["told"] in words]

    def tokens(self, *words):
        return {row["token"] for row in self.rows(*words)}

    def counts(self, *words):
        return collections.Counter(row["token"] for row in self.rows(*words))

    def wait(self, holds):
        until(holds, lambda: "\n".join(log.read_text()[-3000:] for log in (self.path, *self.logs) if log.exists()))

    def wait_answered(self, count):
        """Until the application has an answer of APNs for this number of devices."""
        self.wait(lambda: len(self.tokens("sent", "gone") - {FIRST}) >= count)


# The token of an additional device, to which hosts push first.
FIRST = token(COUNT)


def put(command, environment, first, end):
    """Has a program, which reads tokens, queue a notification for each of these devices."""
    tokens = "".join(token(n) + "\n" for n in range(first, end))
    run = subprocess.run(command, env=environment, input=tokens, text=True, capture_output=True)
    assert run.returncode == 0, run.stdout + run.stderr


class Users:
    """`count` users of a site at once, each asking for one push after the other. `ask` has the site push to a token and returns
    its answer, which has `told`; if that is "not sent" or "in doubt", a user asks again."""

    def __init__(self, count, ask):
        self.ask, self.waiting, self.told = ask, queue.Queue(), collections.defaultdict(list)
        # Nobody begins to ask while `starting` is held; the tokens without an answer are in `pending`.
        self.starting, self.pending, self.changed = threading.Lock(), set(), threading.Condition()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while (one := self.waiting.get()) is not None:
            with self.starting:
                self.pending.add(one)
            told = self.ask(one)["told"]
            with self.changed:
                self.pending.discard(one)
                self.told[one].append(told)
                self.changed.notify_all()
            if told in ("not sent", "in doubt"):
                self.waiting.put(one)

    def count(self, *words):
        return sum(told.count(word) for told in list(self.told.values()) for word in words)

    def tokens(self, word):
        return {one for one, told in self.told.items() if word in told}

    def wait(self, count, *words):
        with self.changed:
            assert self.changed.wait_for(lambda: self.count(*words) >= count, DEADLINE), self.told

    def push_while(self, apns, others, visit):
        """The users push to every device, and APNs is killed in the middle. Their pushes then fail in time, and one after the
        other; meanwhile `visit`, a request without a push, is answered `others` times. In the end all know what APNs decided."""
        for n in range(COUNT // 2):
            self.waiting.put(token(n))
        apns.wait(COUNT // 4)
        with self.starting:
            in_flight = collections.Counter(self.pending)
            apns.kill()
        self.wait(1, "not sent", "in doubt")
        failed, visits = self.count("not sent", "in doubt"), 0
        while self.count("not sent", "in doubt") < failed + others:
            visit()
            visits += 1
        assert visits >= others
        apns.start()
        for n in range(COUNT // 2, COUNT):
            self.waiting.put(token(n))
        self.wait(COUNT, "sent", "gone")
        for _ in self.threads:
            self.waiting.put(None)
        for thread in self.threads:
            thread.join(DEADLINE)
        # A push may arrive twice if it was in flight when APNs was killed, or if the site said that it is in doubt.
        doubts = collections.Counter({one: told.count("in doubt") for one, told in self.told.items()})
        apns.judge(self.tokens("sent"), self.tokens("gone"), again=in_flight + doubts)
