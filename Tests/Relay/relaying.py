"""A relay, its queue, and the simulator's counters."""

import collections
import contextlib
import http.client
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import time
import uuid

import simulator as simulators

DEADLINE = simulators.DEADLINE
NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def relay_program():
    if path := os.environ.get("APNS_RELAY_TOOL"):
        return path
    raise SystemExit("APNS_RELAY_TOOL has to name apns-relay")


def wait_until(holds, what):
    deadline, pause = time.monotonic() + DEADLINE, 0.002
    while True:
        if said := holds():
            return said
        assert time.monotonic() < deadline, what
        # Other processes cause the event, and cannot notify this one. The longer it takes, the less a check costs.
        time.sleep(pause)
        pause = min(0.05, 1.2 * pause)


class Queue:
    """The queue's file, as a producer and a reader in any language see it."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.setting = {"file": str(self.path)}
        if not self.path.exists():
            schema = subprocess.run([relay_program(), "--print-schema"], check=True, capture_output=True, text=True).stdout
            with self.open() as database:
                database.executescript(schema)

    @contextlib.contextmanager
    def open(self):
        database = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        try:
            yield database
        finally:
            database.close()

    def is_free(self):
        """Returns true if no process is writing."""
        with self.open() as database:
            database.execute("PRAGMA busy_timeout = 100")
            try:
                database.execute("BEGIN IMMEDIATE")
                database.execute("ROLLBACK")
                return True
            except sqlite3.OperationalError:
                return False

    def rows(self, sql, *arguments):
        with self.open() as database:
            return database.execute(sql, arguments).fetchall()

    def value(self, sql, *arguments):
        return self.rows(sql, *arguments)[0][0]

    def add(self, *entries, app="shop"):
        """Adds entries, given as dictionaries of columns, in one transaction."""
        with self.open() as database:
            database.execute("BEGIN IMMEDIATE")
            for entry in entries:
                entry = {"app": app, "payload": '{"aps":{"alert":"Hello"}}'} | entry
                names = ", ".join(entry)
                marks = ", ".join("?" * len(entry))
                database.execute(f"INSERT OR IGNORE INTO entries ({names}) VALUES ({marks})", list(entry.values()))
            database.execute("COMMIT")

    def is_empty(self):
        return self.value("SELECT NOT EXISTS (SELECT 1 FROM entries)") == 1

    def entries_so_far(self):
        """Returns the number of waiting, held and finished entries."""
        return self.value("SELECT (SELECT count(*) FROM entries) + (SELECT count(DISTINCT id) FROM outcomes)")

    def outcomes_so_far(self):
        return self.value("SELECT count(*) FROM outcomes")

    def held(self):
        """Returns the IDs of the entries that relays hold."""
        return {identifier for identifier, in self.rows("SELECT id FROM held JOIN entries USING (number)")}

    def gone(self):
        return [one for one, in self.rows("SELECT token FROM gone WHERE app = 'shop'")]

    def outcomes(self):
        return self.rows("SELECT id, position, token, outcome, deliveries FROM outcomes")

    def counts(self):
        return dict(self.rows("SELECT outcome, count(*) FROM outcomes GROUP BY outcome"))

    def ends(self):
        """Returns the outcomes of each ID, by position."""
        ends = collections.defaultdict(list)
        for identifier, position, outcome, reason in self.rows("SELECT id, position, outcome, reason FROM outcomes ORDER BY id, position"):
            ends[identifier].append((position, outcome, reason))
        return ends


def identifier(*parts):
    """Returns the same UUID for the same words."""
    return str(uuid.uuid5(NAMESPACE, " ".join(map(str, parts))))


def token(number):
    return f"{number:064x}"


class Relay:
    """A relay in its own directory; several may share one queue."""

    def __init__(
        self, directory, simulator, *, queue=None, name="relay", app=None, settings=None, drain_s=20, listeners=None, level="debug"):
        self.directory = pathlib.Path(directory)
        self.name, self.simulator, self.process = name, simulator, None
        self.file = self.directory / f"{name}.yaml"
        self.log = self.directory / f"{name}.log"
        self.port_file = self.directory / f"{name}.port"
        self.queue = queue or Queue(self.directory / "queue.db")
        self.settings, self.drain_s, self.app, self.level = settings or {}, drain_s, app or {}, level
        self.listeners = listeners or {}
        self.log_read, self.log_lines = 0, []
        self.write()

    def write(self, apps=None):
        ready = self.simulator.ready
        plain = {
            "topic": "com.example.app", "host": "127.0.0.1", "port": ready["http2_port"],
            "credentials": {"certificate": ready["provider"], "ca": ready["ca"]},
        }
        everything = {
            "queue": self.queue.setting | self.settings,
            "status": {"port": 0, "port_file": str(self.port_file)},
            "log": {"level": self.level},
            "drain_timeout": f"{self.drain_s}s",
            "apps": {name: plain | app for name, app in (apps or {"shop": self.app}).items()},
            "listeners": self.listeners,
        }
        # JSON is valid YAML.
        self.file.write_text(json.dumps(everything, indent=1))

    def start(self, **environment):
        self.port_file.unlink(missing_ok=True)
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [relay_program(), "--config", self.file], stderr=log, stdin=subprocess.DEVNULL, env=os.environ | environment)
        return self

    def wait_ready(self):
        wait_until(lambda: self.port_file.exists() or self.process.poll() is not None, "the relay does not start")
        assert self.process.poll() is None, self.log.read_text()
        return self

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", int(self.port_file.read_text()), timeout=DEADLINE)
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def metric(self, name):
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith(name):
                return float(line.split()[-1])
        return None

    def lines(self):
        """Returns the log so far; lines read before are not read again."""
        with open(self.log, "rb") as log:
            log.seek(self.log_read)
            whole, end, _ = log.read().rpartition(b"\n")
        self.log_read += len(whole + end)
        self.log_lines += [json.loads(line) for line in whole.splitlines()]
        return self.log_lines

    def said(self, words):
        return [line for line in self.lines() if words in line["message"]]

    def wait_said(self, words, times=1):
        wait_until(lambda: len(self.said(words)) >= times, f"the relay does not log: {words}")

    def wait_done(self):
        wait_until(lambda: self.queue.is_empty() or self.process.poll() is not None, "the queue does not get empty")
        assert self.process.poll() is None, self.log.read_text()
        return self

    def suspend(self):
        """Stops it between its writes, because other processes would wait for a file that it has locked."""
        while True:
            self.signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)
            if self.queue.is_free():
                return
            self.signal(signal.SIGCONT)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(DEADLINE)

    def stop(self):
        """Stops it gracefully."""
        self.signal(signal.SIGTERM)
        assert self.process.wait(DEADLINE) == 0, self.log.read_text()

    def memory(self, most=False):
        """Returns its memory in KB, or its peak with `most`."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:" if most else "VmRSS:"))

    def rests(self):
        """Returns true if all of its threads sleep in every sample; a busy thread nearly always shows."""
        threads = [*pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()] * 5
        return all((thread / "stat").read_text().rpartition(")")[2].split()[0] != "R" for thread in threads)

    def seconds(self):
        return processor_seconds(self.process)


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pushes(simulator):
    """Returns all notifications that the simulator accepted."""
    all, start = [], 0
    while True:
        answer = simulator.control("GET", f"/accepted?from={start}&limit=1000")[1]
        all += answer["notifications"]
        if answer["next"] >= answer["total"] or not answer["notifications"]:
            return all
        start = answer["next"]
