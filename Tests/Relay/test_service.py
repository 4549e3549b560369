"""The relay as a service: systemd sockets, a restart between two connections, and the program's own probe."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import threading

import legacy
import pytest
from activated import Activated, listening
from legacy import context, push, simple
from relaying import DEADLINE, pushes, relay_program, token, wait_until
from simulator import CLEAN
from test_http_listener import PAYLOAD, TOPIC, UnixConnection


def port(one):
    return one.getsockname()[1]


def ask(connection, number):
    """Pushes over a connection and closes it; returns the status."""
    with contextlib.closing(connection):
        connection.request("POST", "/3/device/" + token(number), PAYLOAD, {"apns-topic": TOPIC})
        answer = connection.getresponse()
        answer.read()
        return answer.status


def tcp(one, host="127.0.0.1"):
    return http.client.HTTPConnection(host, port(one), timeout=DEADLINE)


@pytest.fixture
def activated(tmp_path):
    """Starts relays with sockets, given as pairs of name and socket, and ends them with the test."""
    running = []

    def start(simulator, *sockets, **options):
        running.append(Activated(tmp_path, simulator, sockets=sockets, **options))
        return running[-1].start()

    yield start
    for one in running:
        one.kill()
        for _, opened in one.sockets:
            opened.close()


WEB = {"type": "http", "port": "systemd:web"}


def test_every_port_is_a_systemd_socket(start, activated, tmp_path):
    simulator = start()
    four, gateway, feedback = listening(), listening(), listening()
    six = listening(socket.AF_INET6, ("::1", 0))
    path = str(tmp_path / "web.sock")
    unix = listening(socket.AF_UNIX, path)
    status = listening()
    binary = {"type": "binary", "port": "systemd:gateway", "feedback_port": "systemd:feedback", "app": "shop"}
    one = activated(
        simulator, ("web", four), ("gateway", gateway), ("web", six), ("web", unix), ("feedback", feedback), ("status", status),
        ("unused", listening()), listeners={"web": WEB, "gateway": binary})
    one.wait_ready()
    one.wait_said("the listener gateway is open")
    assert [ask(tcp(four), 1), ask(tcp(six, "::1"), 2), ask(UnixConnection(path), 3)] == [200] * 3
    push(port(gateway), context(), simple(bytes.fromhex(token(4))))
    wait_until(lambda: one.queue.outcomes_so_far() == 4, "it does not arrive")
    assert legacy.feedback(port(feedback), context()) == ([], CLEAN)
    assert int(one.port_file.read_text()) == port(status) and one.get("/healthz") == (200, "ok\n")
    assert sorted(one["token"] for one in pushes(simulator)) == [token(n) for n in (1, 2, 3, 4)]
    for place in range(3, 10):
        flags = next(line.split()[1] for line in open(f"/proc/{one.process.pid}/fdinfo/{place}") if line.startswith("flags:"))
        assert int(flags, 8) & os.O_CLOEXEC
    assert [line["message"] for line in one.said("no listener uses")] == [
        "no listener uses systemd's socket 'unused': its clients wait in vain"]
    one.stop()
    # The path is systemd's.
    assert os.path.exists(path)


def test_a_restart_loses_no_connection(start, activated):
    simulator = start()
    web = listening()
    one = activated(simulator, ("web", web), listeners={"web": WEB})
    one.wait_ready()
    one.wait_said("the listener web is open")
    told, ended = [], threading.Event()

    def client(part):
        """Repeats a request after 503: the relay stops, and has not queued it."""
        number = part
        while not ended.is_set():
            status = ask(tcp(web), number)
            told.append((number, status))
            if status != 503:
                number += 10

    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        clients = [executor.submit(client, part) for part in range(4)]
        try:
            for restart in range(1, 4):
                before = len(told)
                wait_until(lambda: len(told) > before + 20, "nothing is pushed")
                one.stop()
                # It connects while no relay runs.
                early = tcp(web)
                early.request("POST", "/3/device/" + token(100_000 + restart), PAYLOAD, {"apns-topic": TOPIC})
                one.start().wait_ready()
                assert early.getresponse().status == 200
                early.close()
        finally:
            ended.set()
        # No connection was refused or reset.
        for each in clients:
            each.result(DEADLINE)
    statuses = {status for _, status in told}
    assert statuses <= {200, 202, 503} and 200 in statuses
    one.wait_done()
    arrived = [push["token"] for push in pushes(simulator)]
    wanted = [token(number) for number, status in told if status != 503] + [token(100_000 + n) for n in (1, 2, 3)]
    assert sorted(arrived) == sorted(wanted)


def test_a_reload_keeps_the_sockets(start, activated):
    simulator = start()
    web, unused = listening(), listening()
    one = activated(simulator, ("web", web), ("unused", unused), listeners={"web": WEB, "unused": WEB | {"port": "systemd:unused"}})
    one.wait_ready()
    one.wait_said("the listener unused is open")
    one.listeners = {"web": WEB | {"connections": 7}}
    one.write()
    one.signal(signal.SIGHUP)
    one.wait_said("reloaded")
    assert ask(tcp(web), 1) == 200
    assert len(one.said("no listener uses systemd's socket 'unused'")) == 1
    one.listeners = {"again": WEB | {"port": "systemd:unused"}}
    one.write()
    one.signal(signal.SIGHUP)
    one.wait_said("reloaded", 2)
    assert ask(tcp(unused), 2) == 200


def test_sockets_that_cannot_serve(start, activated, tmp_path):
    simulator = start()
    file = open(tmp_path / "file", "w")
    unix = listening(socket.AF_UNIX, str(tmp_path / "unix"))
    gateway = {"type": "binary", "port": "systemd:gateway", "feedback_port": -1, "app": "shop"}
    of = "listeners.web: systemd's socket 'web'"
    for sockets, listener, said in [
        ([("other", listening())], WEB, "listeners.web: systemd passed no socket 'web', only: other. "),
        ([("web", listening(kind=socket.SOCK_DGRAM))], WEB, f"{of} is not a stream socket: its unit needs ListenStream="),
        ([("web", listening(listens=False))], WEB, f"{of} does not listen: its unit needs Accept=no"),
        ([("web", file)], WEB, f"{of} is not a socket"),
        ([("web", listening()), ("web", listening(address=("0.0.0.0", 0)))], WEB,
         "listeners.web.authorization_file: is missing: 0.0.0.0 is reachable from other machines, and anyone there could push"),
        ([("gateway", unix)], gateway, "listeners.gateway: systemd's socket 'gateway' has no port: TCP is accepted here"),
    ]:
        one = activated(simulator, *sockets, listeners={listener["port"].split(":")[1]: listener})
        assert one.process.wait(DEADLINE) == 2
        assert one.lines()[-1]["message"].startswith(said), one.lines()[-1]
        one.log.unlink()
    # They are those of another process, such as a shell that started the relay.
    one = activated(simulator, listeners={"web": WEB})
    one.kill()
    one.sockets = [("web", listening())]
    one.log.unlink()
    one.start(TEST_PID="1")
    assert one.process.wait(DEADLINE) == 2
    assert "systemd passed no socket 'web', only: none. " in one.lines()[-1]["message"]


def test_programs_inherit_no_systemd_sockets(start, activated, tmp_path):
    simulator = start()
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nenv >$0.environment\nls -l /proc/self/fd >$0.files\nexit 1\n")
    program.chmod(0o700)
    ready = simulator.ready
    one = activated(
        simulator, ("web", listening()), listeners={"web": WEB},
        app={"credentials": {"program": [str(program)], "ca": ready["ca"], "provider_token": "process"}})
    one.wait_ready()
    one.queue.add({"id": "one", "token": token(1)})
    wait_until((tmp_path / "program.files").exists, "the program does not run")
    wait_until(lambda: (tmp_path / "program.files").read_text().count("\n") > 3, "it lists no files")
    assert "APNS_APP=shop" in (tmp_path / "program.environment").read_text()
    assert "LISTEN_" not in (tmp_path / "program.environment").read_text()
    assert "socket:" not in (tmp_path / "program.files").read_text()


def test_systemds_own_activator(start, relay, tmp_path):
    activator = shutil.which("systemd-socket-activate")
    if not activator:
        pytest.skip("systemd-socket-activate is not here (Debian: systemd)")
    simulator = start()
    with listening() as free:
        place = port(free)
    one = relay(simulator, listeners={"web": WEB})
    with open(one.log, "a") as log:
        one.process = subprocess.Popen(
            [activator, f"--listen=127.0.0.1:{place}", f"--listen=[::1]:{place}", "--fdname=web:web", relay_program(), "--config", one.file],
            stderr=log, stdin=subprocess.DEVNULL)
    wait_until(lambda: f"Listening on [::1]:{place}" in one.log.read_text(), "it does not listen")
    # The first client starts the relay.
    for number, host in enumerate(("127.0.0.1", "::1")):
        assert ask(http.client.HTTPConnection(host, place, timeout=DEADLINE), number) == 200
    one.signal(signal.SIGTERM)
    assert one.process.wait(DEADLINE) == 0


def health(one, *options):
    said = subprocess.run([relay_program(), "health", "--config", one.file, *options], capture_output=True, text=True, timeout=DEADLINE)
    assert said.stderr == "" and said.stdout.count("\n") == 1
    return said.returncode, said.stdout.strip()


def test_health(start, relay):
    simulator = start()
    one = relay(simulator)
    assert health(one) == (1, f"status.port_file: {one.port_file} has no port: no relay has written it")
    one.start().wait_ready()
    wait_until(lambda: health(one, "--ready") == (0, "ready"), "it does not get ready")
    assert health(one) == (0, "ok")
    # It is healthy, and cannot deliver.
    simulator.kill()
    one.queue.add({"id": "one", "token": token(1)})
    wait_until(lambda: health(one, "--ready")[0] == 1, "it stays ready")
    assert health(one, "--ready")[1].startswith("shop: ") and health(one) == (0, "ok")
    # A mistake elsewhere in the file does not concern the relay that runs.
    text = one.file.read_text()
    one.file.write_text(text.replace("apps", "aps"))
    assert health(one) == (0, "ok")
    one.file.write_text(text)
    # It hangs.
    place = one.port_file.read_text().strip()
    one.signal(signal.SIGSTOP)
    assert health(one) == (1, f"127.0.0.1:{place}: no response for 10 s")
    one.signal(signal.SIGCONT)
    one.stop()
    assert health(one) == (1, f"127.0.0.1:{place}: Connection refused")
    for changed, said in [
        ({"port": int(place)}, f"127.0.0.1:{place}: Connection refused"), ({"port": -1}, "status.port is -1: there is no page to ask"),
        ({"port": "systemd:status"}, "status.port is not a number: status.port_file is needed too, which has it"),
    ]:
        one.file.write_text(json.dumps(json.loads(text) | {"status": changed}))
        assert health(one) == (1, said)
    one.file.write_text("status: []\n")
    assert health(one) == (1, f"{one.file}:1: status: expected keys and values below it")
    one.file.unlink()
    assert health(one) == (1, f"{one.file}: cannot be read: the file does not exist")


def test_health_of_something_else(start, relay):
    one = relay(start())
    with listening() as other:
        one.port_file.write_text(f"{port(other)}\n")
        for answer, said in (b"220 smtp ESMTP\r\n", "the response is not the relay's"), (b"", "the response is not the relay's"):
            with subprocess.Popen([relay_program(), "health", "--config", one.file], stdout=subprocess.PIPE, text=True) as asking:
                client, _ = other.accept()
                client.recv(100)
                client.sendall(answer)
                client.close()
                assert asking.stdout.read() == f"127.0.0.1:{port(other)}: {said}\n" and asking.wait(DEADLINE) == 1
