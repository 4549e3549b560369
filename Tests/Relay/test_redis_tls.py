"""A relay with a TLS connection to Redis."""

import contextlib
import os
import socket
import subprocess
import threading

import pytest

from redis_queue import Authority, RedisQueue, Server
from relaying import identifier, pushes, relay_program, token, wait_until


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def secure(tmp_path, authority):
    """A Redis that requires a client certificate, and its port."""
    if not Server.is_here():
        pytest.skip("redis-server is not here (Debian: redis-server)")
    server = Server(tmp_path, options=[word for name, value in authority.redis().items() for word in (f"--{name}", value)])
    server.port = server.listen("tls-port")
    yield server
    server.kill()


def check(one, **environment):
    ran = subprocess.run([relay_program(), "--check", "--config", one.file], capture_output=True, text=True, env=os.environ | environment)
    return ran.returncode, ran.stdout.removesuffix("not tried: everything after an error\n")


def test_nothing_is_lost_over_tls(start, relay, secure, authority):
    """Some connections break meanwhile; entries of 40 devices are longer than a TLS record."""
    queue = RedisQueue(secure)
    queue.setting = {"redis": {"url": f"rediss://127.0.0.1:{secure.port}/0", "tls": authority.setting}}
    simulator = start(faults={"answer_delay_ms": [0, 20]})
    one = relay(simulator, queue=queue, app={"limits": {"window": 200}})
    assert check(one)[0] == 0
    queue.add(*({"id": identifier(n), "token": token(n)} for n in range(600)))
    queue.add(*({"id": f"many {n}", "payload": '{"aps":{"alert":"' + "x" * 2000 + '"}}',
                 "tokens": "[" + ",".join(f'"{token(1000 * (n + 1) + k)}"' for k in range(40)) + "]"} for n in range(20)))
    one.start().wait_ready()
    for many in 100, 400:
        wait_until(lambda: queue.outcomes_so_far() >= many, "there are no outcomes")
        queue.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    wait_until(queue.is_empty, "the queue does not get empty")
    assert queue.counts() == {"accepted": 1400} and len(pushes(simulator)) == 1400
    one.stop()


def test_whom_it_does_not_trust(start, relay, secure, authority, tmp_path):
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    queue = RedisQueue(secure)
    one = relay(start(), queue=queue)

    def said(port=secure.port, host="127.0.0.1", **tls):
        queue.setting = {"redis": {"url": f"rediss://:hunter2@{host}:{port}", "tls": authority.setting | tls}}
        one.write()
        status, text = check(one)
        assert status == 1 and "hunter2" not in text
        return text.removeprefix(f"queue: rediss://{host}:{port}: ").strip()

    assert said(ca=str(other.ca)).startswith("no connection: its certificate is not trusted: self")
    assert said(ca=None).startswith("no connection: its certificate is not trusted: ")
    assert said(server_name="other.example") == "no connection: its certificate is not trusted: hostname mismatch"
    assert said(server_name="127.0.0.2") == "no connection: its certificate is not trusted: IP address mismatch"
    # Authentication comes after the TLS checks, so this is the right server.
    assert "authentication failed" in said(server_name="redis.example")
    # In TLS 1.3 Redis rejects it after the handshake, and may close before the relay reads that.
    assert "perhaps it requires a client certificate" in said(certificate=None, key=None)
    assert said(certificate=str(other.ca), key=None).startswith(f"no connection: {other.ca}: ")
    # The port without TLS waits for the end of a line.
    assert said(port=secure.listen()) == "no connection: no reply within 3 s"


# Like a system with old TLS versions enabled by its administrator: only the relay refuses them.
OLD_TLS = """openssl_conf = all
[all]
ssl_conf = programs
[programs]
system_default = old
[old]
MinProtocol = TLSv1
CipherString = DEFAULT:@SECLEVEL=0
"""


@pytest.mark.parametrize("version", ["TLSv1", "TLSv1.1"])
def test_an_old_version_is_not_spoken(start, relay, secure, authority, tmp_path, version):
    """Only the relay refuses it: another client reaches this Redis in the same way."""
    queue = RedisQueue(secure)
    queue.ask("CONFIG", "SET", "tls-ciphers", "DEFAULT:@SECLEVEL=0", "tls-protocols", version)
    file = tmp_path / "openssl.cnf"
    file.write_text(OLD_TLS)
    setting = authority.setting
    other = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{secure.port}", "-CAfile", setting["ca"], "-cert", setting["certificate"], "-key", setting["key"]],
        env=os.environ | {"OPENSSL_CONF": str(file)}, input=b"", capture_output=True)
    if b"Verify return code: 0 (ok)" not in other.stdout or f"Protocol  : {version}\n".encode() not in other.stdout:
        pytest.skip(f"OpenSSL speaks no {version} here")
    queue.setting = {"redis": {"url": f"rediss://127.0.0.1:{secure.port}", "tls": setting}}
    one = relay(start(), queue=queue)
    assert check(one, OPENSSL_CONF=str(file)) == (
        1, f"queue: rediss://127.0.0.1:{secure.port}: no connection: TLS: tlsv1 alert protocol version\n")
    # Today's version works with the same files.
    queue.ask("CONFIG", "SET", "tls-protocols", "TLSv1.2")
    assert check(one, OPENSSL_CONF=str(file))[0] == 0


@pytest.mark.parametrize("answer", [b"", b"\x16", b"+OK\r\n", b"\x16\x03\x03\x40\x00" + bytes(100)], ids=["silence", "a byte", "plain", "half"])
def test_who_stalls_costs_no_more_than_its_time(start, relay, authority, server, answer):
    """A handshake that stalls times out, and the relay reports it."""
    queue = RedisQueue(server)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held = []

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    held.append(listener.accept()[0])
                    held[-1].sendall(answer)

        threading.Thread(target=accept, daemon=True).start()
        queue.setting = {"redis": {"url": f"rediss://127.0.0.1:{listener.getsockname()[1]}", "tls": authority.setting}}
        status, text = check(relay(start(), queue=queue))
        assert status == 1 and "no connection: " in text, text
        assert ("does not speak TLS" if answer == b"+OK\r\n" else "no reply within 3 s") in text, text


def test_a_renewed_certificate_is_used(start, relay, secure, authority):
    """A new connection reads the files again."""
    queue = RedisQueue(secure)
    queue.setting = {"redis": {"url": f"rediss://127.0.0.1:{secure.port}", "tls": authority.setting}}
    one = relay(start(), queue=queue).start().wait_ready()
    queue.add({"id": "a", "token": token(1)})
    wait_until(lambda: queue.outcomes_so_far() == 1, "there is no outcome")
    key = authority.directory / "relay.pem"
    before = key.read_bytes()
    key.write_text("none")
    queue.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    one.wait_said("contains no matching PEM block")
    assert one.get("/readyz")[0] == 503
    key.write_bytes(before)
    queue.add({"id": "b", "token": token(2)})
    wait_until(lambda: queue.outcomes_so_far() == 2, "there is no outcome")
    one.stop()
