"""The machine's effects on a relay: a disk that is full, read-only, slow or missing; the watchdog; a crash, and what it
leaves behind."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import sys

import pytest
from redis_queue import RedisQueue
from relaying import DEADLINE, Queue, pushes, relay_program, token, wait_until
from test_binary_listener import people  # noqa: F401
from test_http_listener import listener  # noqa: F401

CLOSED_BY_EXEC = 0o2000000
roots = pytest.mark.skipif(os.geteuid() != 0, reason="only root looks into a process that forbids it, and mounts")


@pytest.fixture
def manager(tmp_path, monkeypatch):
    """systemd's end of the notification socket."""
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
        one.bind(address)
        one.settimeout(DEADLINE)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        monkeypatch.setenv("WATCHDOG_USEC", "200000")
        yield one


@pytest.fixture
def small(tmp_path):
    """A file system of 10 MB."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=10m", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def fill(path):
    """Fills the rest of its file system."""
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass


# Inheritance and leftovers


@roots
def test_nothing_that_it_opens_is_inherited(start, relay, listener, people, tmp_path):  # noqa: F811
    """Checks listeners, connections, files and their watches, while all are in use."""
    one = listener(start())
    one.relay.stop()
    gateway = {
        "type": "binary", "port": 0, "feedback_port": 0, "port_file": str(tmp_path / "gateway.port"),
        "fingerprints": {"shop": people.listed_print}, "client_ca": str(people.ca)}
    open_listeners = {"web": one.listener, "local": {"type": "http", "socket": str(tmp_path / "http.sock")}, "gateway": gateway}
    one.relay.listeners = open_listeners
    one.relay.write()
    one.relay.start().wait_ready()
    one.relay.wait_said("ready, with", 2)
    ports = one.port, int((tmp_path / "gateway.port").read_text())
    with contextlib.ExitStack() as clients:
        for port in ports:
            clients.enter_context(socket.create_connection(("127.0.0.1", port)))
        local = clients.enter_context(socket.socket(socket.AF_UNIX))
        local.connect(str(tmp_path / "http.sock"))
        one.relay.queue.add({"id": "a", "token": token(1)})
        one.relay.wait_done()
        for name in open_listeners:
            wait_until(lambda: one.relay.metric(f'apns_relay_listener_connections{{listener="{name}"}}') == 1, f"no connection at {name}")
        process = pathlib.Path(f"/proc/{one.relay.process.pid}")
        left = {}
        for info in (process / "fdinfo").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed in between
                flags = next(int(line.split()[1], 8) for line in info.read_text().splitlines() if line.startswith("flags:"))
                if int(info.name) > 2 and not flags & CLOSED_BY_EXEC:
                    left[info.name] = os.readlink(process / "fd" / info.name)
        assert left == {}


@pytest.fixture
def backtracer(tmp_path):
    """A program in place of Swift's backtracer, which writes its process ID and never exits."""
    said = tmp_path / "backtracer.pid"
    program = tmp_path / "backtracer"
    program.write_text(f"#!/bin/sh\necho $$ > {said}.new && mv {said}.new {said}\nexec sleep 600\n")
    program.chmod(0o755)
    yield {"SWIFT_BACKTRACE": f"enable=yes,interactive=no,swift-backtrace={program}"}, said
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int(said.read_text()), signal.SIGKILL)


def test_the_watchdogs_signal_ends_it_at_once(start, relay, queue, backtracer):
    environment, said = backtracer
    one = relay(start(), queue=queue).start(**environment).wait_ready()
    one.signal(signal.SIGABRT)
    ended = wait_until(lambda: os.waitid(os.P_PID, one.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT), "it does not end")
    # Not CLD_DUMPED.
    assert (ended.si_code, ended.si_status) == (os.CLD_KILLED, signal.SIGABRT) and not said.exists()


def test_what_writes_a_backtrace_keeps_no_port(start, listener, backtracer):  # noqa: F811
    environment, said = backtracer
    one = listener(start())
    one.relay.stop()
    one.relay.start(**environment).wait_ready().wait_said("ready, with", 2)
    port = one.port
    one.relay.signal(signal.SIGSEGV)
    wait_until(lambda: said.exists() or one.relay.process.poll() is not None, "nothing becomes of a crash")
    if not said.exists():
        pytest.skip("this runtime writes no backtraces")
    one.relay.kill()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()


@roots
def test_no_dump_has_its_keys(start, relay, queue):
    one = relay(start(), queue=queue).start().wait_ready()
    limits = pathlib.Path(f"/proc/{one.process.pid}/limits").read_text()
    assert next(line.split()[4:6] for line in limits.splitlines() if line.startswith("Max core file size")) == ["0", "0"]
    # An unprivileged user may not read the memory of a relay of the same user.
    program = "import os, sys; os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534); os.execv(sys.argv[1], sys.argv[1:])"
    look = "import os, sys; open(f'/proc/{sys.argv[1]}/mem', 'rb')"
    place = queue.path.parent / "nobody"
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    configuration = json.loads(one.file.read_text())
    configuration["queue"]["file"] = str(place / "queue.db")
    configuration["status"] = {"port": 0, "port_file": str(place / "port")}
    file = place / "relay.yaml"
    file.write_text(json.dumps(configuration))
    for above in [file, *file.parents][:-2]:
        above.chmod(above.stat().st_mode | 0o005)
    for kept in configuration["apps"]["shop"]["credentials"].values():
        pathlib.Path(kept).chmod(0o644)
        for above in list(pathlib.Path(kept).parents)[:-2]:
            above.chmod(above.stat().st_mode | 0o005)
    other = subprocess.Popen([sys.executable, "-c", program, relay_program(), "--config", file], stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: (place / "port").exists() or other.poll() is not None, "it does not start")
        assert other.poll() is None, other.stderr.read()
        ran = subprocess.run([sys.executable, "-c", program, sys.executable, "-c", look, str(other.pid)], capture_output=True, text=True)
        assert ran.returncode != 0 and "PermissionError" in ran.stderr, ran
    finally:
        other.kill()
        other.communicate()


# Responses while the queue is locked


def test_a_file_that_another_holds_stops_no_answer(start, relay, queue, manager):
    """The watchdog, /healthz and /readyz stay healthy, during a reload that waits for the file too, and at the end."""
    simulator = start()
    one = relay(simulator, queue=queue, drain_s=0.2).start().wait_ready()
    while not manager.recv(999).startswith(b"READY=1"):
        pass
    with queue.open() as database:
        database.execute("BEGIN IMMEDIATE")
        one.write({"shop": {}, "extra": {}})
        one.signal(signal.SIGHUP)
        while not manager.recv(999).startswith(b"RELOADING=1"):
            pass
        for _ in range(5):
            assert manager.recv(999) == b"WATCHDOG=1"
        assert one.get("/healthz") == (200, "ok\n")
        status, text = one.get("/readyz")
        assert status == 503 and "queue: no reply for" in text, text
        assert one.get("/metrics")[0] == 200
        for _ in range(5):
            assert manager.recv(999) == b"WATCHDOG=1"
        assert not one.said("reloaded")
        database.execute("ROLLBACK")
    one.wait_said("reloaded, with 2 apps")
    wait_until(lambda: one.get("/readyz")[0] == 200, "it is not ready again")
    with queue.open() as database:
        database.execute("BEGIN IMMEDIATE")
        one.signal(signal.SIGTERM)
        while manager.recv(999) != b"STOPPING=1":
            pass
        assert manager.recv(999) == b"WATCHDOG=1"
        # After its end other relays take its entries, so it does not wait long.
        assert one.process.wait(DEADLINE) == 0, one.log.read_text()
        database.execute("ROLLBACK")


def test_sigterm_ends_a_start_that_waits_for_the_file(start, relay, queue):
    simulator = start()
    with queue.open() as database:
        database.execute("BEGIN IMMEDIATE")
        one = relay(simulator, queue=queue).start()
        # It has the file open, and waits for the lock.
        wait_until(lambda: pathlib.Path(f"{queue.path}-workers").exists() or one.process.poll() is not None, "it does not start")
        one.signal(signal.SIGTERM)
        assert one.process.wait(DEADLINE) == 0, one.log.read_text()
        database.execute("ROLLBACK")
    assert one.lines() == []


# The disk


@pytest.mark.parametrize("is_crowded", [False, True], ids=["its own entries", "files of other programs"])
def test_a_file_system_that_is_too_small(start, relay, small, is_crowded):
    """Producers, or another program, fill the file system while the service is unreachable. All queued notifications
    are pushed once and recorded, though there is no more room than at first."""
    simulator = start()
    queue = Queue(small / "queue.db")
    away = relay(simulator, queue=queue, name="away", app={"port": 1}, drain_s=0.2).start().wait_ready()
    wait_until((small / "queue.db-reserve").exists, "there is no reserve")
    payload = json.dumps({"aps": {"alert": "x" * 900}})
    count = 0
    with contextlib.suppress(sqlite3.OperationalError):  # database or disk is full
        while True:
            queue.add(*({"id": f"{n}", "token": token(n), "payload": payload} for n in range(count, count + 50)))
            count += 50
    if is_crowded:
        fill(small / "other")
    wait_until(lambda: away.get("/readyz")[0] == 503, "it reports that it is ready")
    away.stop()
    one = relay(simulator, queue=queue, settings={"lease": "2s"}).start().wait_ready().wait_done()
    assert count > 500 and queue.counts() == {"accepted": count}
    assert len(pushes(simulator)) == count
    (small / "other").unlink(missing_ok=True)
    queue.rows("DELETE FROM outcomes")
    queue.rows("VACUUM")
    wait_until(lambda: one.get("/readyz")[0] == 200, one.get("/readyz"))
    queue.add({"id": "more", "token": token(1)})
    one.wait_done()
    one.stop()
    assert queue.counts() == {"accepted": 1}


def test_what_has_no_room_is_not_taken(start, relay, listener, small):  # noqa: F811
    """A listener and enqueue refuse entries before the room for recording runs out, and accept them again once there is room."""
    simulator = start()
    queue = Queue(small / "queue.db")
    one = listener(simulator, queue=queue)
    wait_until((small / "queue.db-reserve").exists, "there is no reserve")
    for count in range(100):
        fill(small / f"other-{count}")
        # The WAL may have had room left.
        if one.push(token(count))[0] == 503:
            break
    else:
        raise AssertionError("every entry is accepted")
    ran = subprocess.run(
        [relay_program(), "enqueue", "--config", one.relay.file, "--app", "shop", "--alert", "Hello", token(1)], capture_output=True, text=True)
    assert ran.returncode != 0 and "it accepts more entries from" in ran.stderr, ran
    status, text = one.relay.get("/readyz")
    assert status == 503 and "KB are free on its file system" in text
    one.relay.wait_done()
    assert queue.outcomes_so_far() == count
    for other in small.glob("other-*"):
        other.unlink()
    wait_until(lambda: one.relay.get("/readyz")[0] == 200, "it is not ready again")
    assert one.push(token(count))[0] == 200


@roots
def test_a_file_system_that_is_read_only_is_said(start, relay, small):
    simulator = start()
    queue = Queue(small / "queue.db")
    one = relay(simulator, queue=queue)
    subprocess.run(["mount", "-o", "remount,ro", small], check=True)
    ran = subprocess.run([relay_program(), "--config", one.file], capture_output=True, text=True, timeout=DEADLINE)
    assert ran.returncode == 2 and "is mounted read-only" in ran.stderr and str(queue.path) in ran.stderr, ran
    ran = subprocess.run([relay_program(), "--config", one.file, "--check", "--offline"], capture_output=True, text=True, timeout=DEADLINE)
    assert ran.returncode == 1 and "is mounted read-only" in ran.stdout, ran
    subprocess.run(["mount", "-o", "remount,rw", small], check=True)
    one.start().wait_ready().stop()


@pytest.mark.parametrize("name", ["", "-wal"])
def test_a_file_that_is_removed_is_said(start, relay, queue, name):
    one = relay(start(), queue=queue).start().wait_ready()
    assert one.get("/readyz") == (200, "ready\n")
    pathlib.Path(f"{queue.path}{name}").unlink()
    status, text = one.get("/readyz")
    assert status == 503 and f"{queue.path}{name}: it was removed or replaced" in text, text
    one.kill()


# Redis


def test_a_redis_that_is_full_is_drained(start, relay, server):
    """A relay starts with it, makes its provider token, and records outcomes; no new entries are accepted."""
    queue = RedisQueue(server)
    simulator = start("--topic", "com.example.app")
    ready = simulator.ready
    who = {"p8": ready["token_key"], "key_id": ready["token_key_id"], "team_id": ready["token_team_id"], "ca": ready["ca"]}
    queue.add(*({"id": str(n), "token": token(n)} for n in range(200)))
    queue.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
    queue.ask("CONFIG", "SET", "maxmemory", "1")
    several = [
        relay(simulator, queue=queue, name=f"relay-{n}", app={"credentials": who, "limits": {"total_connections": 2}}).start().wait_ready()
        for n in range(2)]
    several[0].wait_done()
    assert queue.counts() == {"accepted": 200}
    ran = subprocess.run(
        [relay_program(), "enqueue", "--config", several[0].file, "--app", "shop", "--alert", "Hello", token(1)], capture_output=True, text=True)
    assert ran.returncode != 0 and "OOM" in ran.stderr, ran
    assert "OOM" in several[0].get("/readyz")[1]
    queue.ask("CONFIG", "SET", "maxmemory", "0")
    wait_until(lambda: several[0].get("/readyz")[0] == 200, "it is not ready again")
    for one in several:
        one.stop()
