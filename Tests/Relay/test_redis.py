"""The differences of a relay with its queue in Redis."""

import contextlib
import re
import subprocess

import pytest

from redis_queue import Authority, Client, RedisQueue, Sentinel, Server
from relaying import identifier, pushes, relay_program, token, wait_until


@pytest.fixture
def queue(server):
    return RedisQueue(server)


def test_redis_is_killed_and_nothing_is_lost_or_sent_twice(start, relay, queue, server):
    simulator = start(faults={"answer_delay_ms": [0, 20]})
    one = relay(simulator, queue=queue, app={"limits": {"window": 50}})
    queue.add(*({"id": identifier(n), "token": token(n)} for n in range(600)))
    one.start().wait_ready()
    for many in 100, 300:
        wait_until(lambda: queue.outcomes_so_far() >= many, "there are no outcomes")
        server.kill()
        one.wait_said("unix:")
        assert one.get("/readyz")[0] == 503 and "redis.sock" in one.get("/readyz")[1]
        assert one.get("/healthz")[0] == 200
        server.start()
    wait_until(queue.is_empty, "the queue does not get empty")
    assert queue.counts() == {"accepted": 600} and len(pushes(simulator)) == 600
    one.stop()


def test_an_idle_relay_is_ready_again_when_redis_is(start, relay, queue, server):
    one = relay(start(), queue=queue).start().wait_ready()
    wait_until(lambda: one.get("/readyz")[0] == 200, "the relay does not get ready")
    server.kill()
    one.wait_said("the queue: unix:")
    assert one.get("/readyz")[0] == 503
    server.start()
    wait_until(lambda: one.get("/readyz")[0] == 200, "the relay does not get ready again")
    one.stop()


def test_entries_of_a_dead_relay_are_anothers_at_once(start, relay, queue):
    simulator = start(faults={"no_answer": 1})
    queue.add(*({"id": f"{n}", "token": token(n)} for n in range(20)))
    first = relay(simulator, queue=queue, name="first").start().wait_ready()
    simulator.wait("/counters", lambda counters: counters["received"] >= 20)
    second = relay(simulator, queue=queue, name="second").start().wait_ready()
    simulator.control("DELETE", "/faults")
    first.kill()
    second.wait_done()
    assert queue.counts() == {"accepted": 20}
    assert {one["deliveries"] for one in queue.results()} == {2}


def leads(queue):
    # The sentinel ends all connections to a replica that takes over.
    with contextlib.suppress(ConnectionError):
        return queue.ask("ROLE")[0] == "master"
    return False


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "TLS"])
def test_a_replica_takes_over(start, relay, tmp_path, is_secure):
    """The sentinels know where the queue is, and the relay follows a failover."""
    if not Server.is_here():
        pytest.skip("redis-server is not here (Debian: redis-server)")
    made = Authority(tmp_path) if is_secure else None
    tls = made.redis(tls_replication="yes") if made else {}
    options = [word for name, value in tls.items() for word in (f"--{name}", value)]
    kind = "tls-port" if made else "port"
    simulator = start(faults={"answer_delay_ms": [0, 20]})
    (tmp_path / "replica").mkdir()
    with contextlib.ExitStack() as stack:
        server = Server(tmp_path, options=options)
        stack.callback(server.kill)
        queue = RedisQueue(server)
        port = server.listen(kind)
        replica = Server(tmp_path / "replica", options=options)
        stack.callback(replica.kill)
        other = RedisQueue(replica)
        replica.listen(kind)
        other.ask("REPLICAOF", "127.0.0.1", port)
        sentinel = Sentinel(tmp_path, port, tls=tls)
        stack.callback(sentinel.kill)
        # An unreachable sentinel is skipped.
        place = f"+sentinel://127.0.0.1:1,127.0.0.1:{sentinel.port}/shop/0"
        queue.setting = {"redis": {"url": "rediss" + place, "tls": made.setting} if made else {"url": "redis" + place}}
        queue.add(*({"id": identifier(n), "token": token(n)} for n in range(600)))
        wait_until(lambda: other.ask("XLEN", "apns:{shop}:in") == 600, "the replica does not get the entries")
        one = relay(simulator, queue=queue, app={"limits": {"window": 50}}).start().wait_ready()
        wait_until(lambda: queue.outcomes_so_far() >= 100, "there are no outcomes")
        server.kill()
        wait_until(lambda: leads(other), "the replica does not take over")
        wait_until(other.is_empty, "the queue does not get empty")
        # Work that the replica had not received is done again.
        assert other.counts() == {"accepted": 600}
        assert {push["token"] for push in pushes(simulator)} == {token(n) for n in range(600)}
        assert one.get("/readyz")[0] == 200
        one.stop()
    ran = subprocess.run([relay_program(), "--check", "--config", one.file], capture_output=True, text=True)
    assert ran.returncode == 1 and "no Redis Sentinel knows its address" in ran.stdout, ran


def test_a_password_is_in_a_file_and_in_no_log(start, relay, queue, server, tmp_path):
    simulator = start()
    (tmp_path / "password").write_text("correct horse\n")
    queue.ask("CONFIG", "SET", "requirepass", "correct horse")
    queue.setting = {"redis": {"url": f"unix:{server.path}", "password_file": str(tmp_path / "password")}}
    one = relay(simulator, queue=queue).start().wait_ready()
    with contextlib.closing(Client(server.path)) as client:
        client.ask("AUTH", "correct horse")
        client.ask(*queue.addition({"id": "a", "token": token(1)}))
        wait_until(lambda: client.ask("XLEN", "apns:{shop}:out") == 1, "there is no outcome")
    one.stop()

    def run(*words):
        return subprocess.run([relay_program(), *words, "--config", one.file], capture_output=True, text=True)

    ran = run("--check")
    assert ran.returncode == 0, ran
    (tmp_path / "password").write_text("wrong horse\n")
    ran = run("--check")
    assert ran.returncode == 1 and "authentication failed" in ran.stdout and "horse" not in ran.stdout, ran
    ran = run("enqueue", "--app", "shop", "--alert", "x", "00")
    assert ran.returncode == 2 and server.path in ran.stderr and "horse" not in ran.stderr, ran
    assert "horse" not in run("--print-config").stdout and "horse" not in one.log.read_text()


def test_a_redis_that_forgets_is_said(start, relay, queue):
    queue.ask("CONFIG", "SET", "appendonly", "no")
    one = relay(start(), queue=queue)
    ran = subprocess.run([relay_program(), "--check", "--config", one.file], capture_output=True, text=True)
    assert ran.returncode == 0 and re.match(r"warning: unix:\S+: appendonly is off", ran.stdout), ran
    one.start().wait_ready().wait_said("appendonly is off")
