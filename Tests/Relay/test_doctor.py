"""apns doctor --relay: what a program of 2010 would find at the listeners, with remedies. It pushes nothing."""

import contextlib
import functools
import json
import os
import signal
import socket
import ssl
import subprocess
import threading

import pytest
from relaying import DEADLINE, token, wait_until
from simulator import tool
from test_binary_listener import open_listener, people  # noqa: F401

OWN = "gateway.push.apple.com feedback.push.apple.com"
SANDBOX = "gateway.sandbox.push.apple.com feedback.sandbox.push.apple.com"


@functools.cache
def namespace():
    """Returns the command prefix that runs a program with a private /etc/hosts, so that no name is resolved elsewhere."""
    words = ["unshare", "--mount"]
    if os.geteuid() != 0:
        words += ["--user", "--map-root-user"]
    try:
        subprocess.run([*words, "mount", "--bind", "/etc/hosts", "/etc/hosts"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return words


@pytest.fixture
def doctor(tmp_path):
    def run(*words, hosts=f"127.0.0.1 {OWN} {SANDBOX}"):
        """Returns its exit status and its output."""
        if not namespace():
            pytest.skip("this system allows no private /etc/hosts")
        (tmp_path / "hosts").write_text(f"127.0.0.1 localhost\n{hosts}\n")
        script = f'mount --bind "{tmp_path}/hosts" /etc/hosts && exec "$@"'
        ran = subprocess.run(
            [*namespace(), "sh", "-c", script, "sh", tool(), "doctor", *map(str, words)], text=True, capture_output=True,
            stdin=subprocess.DEVNULL, timeout=DEADLINE)
        return ran.returncode, ran.stdout + ran.stderr

    return run


def at(listener, *words):
    return ["--relay", f"127.0.0.1:{listener.port}", "--feedback-port", listener.feedback_port, *words]


def causes(said):
    return [line["cause"] for line in json.loads(said)["checks"] if "cause" in line]


def test_all_in_order(open_listener, people, doctor, tmp_path):  # noqa: F811
    listener = open_listener()
    ca = tmp_path / "gateway-listener-ca.pem"
    status, said = doctor(*at(listener, "--certificate", people.listed, "--ca", ca, "--json"))
    assert (status, json.loads(said)["ok"]) == (0, True), said
    status, said = doctor(*at(listener, "--certificate", people.expired, "--ca", ca))
    assert status == 0 and said.endswith("No problems found.\n"), said
    for words in [
        f"a program that trusts {ca} accepts it for gateway.push.apple.com", "TLS 1.2 and 1.3; not 1.0 and 1.1; no RSA key exchange",
        "is accepted (", "gets status 2", "it and feedback.push.apple.com lead to the relay", "the feedback service responds",
    ]:
        assert words in said
    # The doctor queued nothing.
    assert listener.queue.entries_so_far() == 0
    # The key in a separate file, with a passphrase.
    people.openssl("pkey", "-in", "listed.key", "-aes128", "-passout", "pass:secret", "-out", tmp_path / "shut.key")
    (tmp_path / "passphrase").write_text("secret\n")
    shut = ["--certificate", people.directory / "listed.crt", "--key", tmp_path / "shut.key", "--passphrase-file", tmp_path / "passphrase"]
    status, said = doctor(*at(listener, *shut))
    assert status == 0 and "is accepted (" in said
    (tmp_path / "passphrase").write_text("sacred\n")
    status, said = doctor(*at(listener, *shut, "--json"))
    assert (status, causes(said)) == (1, ["key-missing"])
    status, said = doctor(*at(listener, "--certificate", people.directory / "listed.crt", "--key", people.directory / "old.key", "--json"))
    assert (status, causes(said)) == (1, ["key-mismatch"])


def test_who_is_nobody_learns_what_to_write_down(open_listener, people, doctor):  # noqa: F811
    listener = open_listener()
    status, said = doctor(*at(listener, "--certificate", people.stranger, "--ca", people.ca))
    assert status == 1
    printed = people.openssl("x509", "-in", "stranger.crt", "-noout", "-fingerprint", "-sha256").partition("=")[2].strip()
    assert f"reload the relay: {printed}" in said and "the certificate belongs to no app" in said
    assert f"a program that trusts {people.ca} rejects it: self-signed certificate in certificate chain" in said
    # After adding the printed fingerprint, the listener accepts the client.
    listener.relay.listeners["gateway"]["fingerprints"] = {"shop": printed}
    listener.relay.write()
    for file in listener.files.values():
        file.unlink()
    listener.relay.signal(signal.SIGHUP)
    listener.relay.wait_said("reloaded, with")
    wait_until(lambda: all(file.exists() and file.read_text() for file in listener.files.values()), "the listener does not open again")
    status, said = doctor(*at(listener, "--certificate", people.stranger))
    assert status == 0 and "is accepted (" in said


def test_names_that_lead_elsewhere(open_listener, people, doctor):  # noqa: F811
    listener = open_listener()
    status, said = doctor(*at(listener, "--json"), hosts=f"127.0.0.2 {OWN} {SANDBOX}")
    assert (status, causes(said)) == (1, ["old-names-elsewhere"])
    assert "127.0.0.2, not to the relay at 127.0.0.1" in said
    gateway, feedback = OWN.split()
    status, said = doctor(*at(listener, "--json"), hosts=f"127.0.0.1 {gateway}\n127.0.0.2 {feedback} {SANDBOX}")
    assert (status, causes(said)) == (1, ["old-name-elsewhere"]) and "no feedback about gone devices" in said
    status, said = doctor(*at(listener, "--json"), hosts=f"127.0.0.1 {feedback}\n127.0.0.2 {gateway} {SANDBOX}")
    assert (status, causes(said)) == (1, ["old-name-elsewhere"]) and "nothing is pushed" in said


def test_what_the_options_open(open_listener, people, doctor):  # noqa: F811
    listener = open_listener(listener={"app": "shop", "min_tls": "1.0", "rsa_key_exchange": True})
    # A list that has been read is deleted, so the doctor does not read it.
    listener.queue.rows("INSERT INTO feedback VALUES ('shop', ?, 1)", token(1))
    for _ in range(3):
        status, said = doctor(*at(listener, "--json"))
        assert (status, causes(said)) == (1, ["old-tls-open", "rsa-key-exchange-open", "listener-of-anybody"])
    assert "it accepts TLS 1.0" in said and "TLS 1.0, 1.1, 1.2 and 1.3" in said
    listener.relay.stop()
    assert listener.queue.rows("SELECT token FROM feedback") == [(token(1),)]


def test_certificates_of_ones_own(open_listener, people, doctor):  # noqa: F811
    own, _ = people.make("own", subject="/CN=gateway.push.apple.com", years=(2010, 2012))
    listener = open_listener(listener={"fingerprints": {"shop": people.listed_print}, "certificate": str(own)})
    status, said = doctor(*at(listener, "--certificate", people.listed, "--ca", people.ca, "--json"))
    assert (status, causes(said)) == (1, ["certificate-expired", "listener-not-trusted"]) and "certificate has expired" in said
    listener.relay.stop()
    long, _ = people.make("long", subject="/CN=relay.example", years=(2020, 2049))
    listener = open_listener(listener={"fingerprints": {"shop": people.listed_print}, "certificate": str(long)}, name="long")
    words = at(listener, "--certificate", people.listed, "--ca", people.ca, "--json")
    status, said = doctor(*words)
    assert (status, causes(said)) == (1, ["listener-certificate-past-2038", "listener-name-mismatch"])
    status, said = doctor(*words, "--server-name", "relay.example")
    assert (status, causes(said)) == (1, ["listener-certificate-past-2038"])


def is_open(path):
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as client:
        return client.connect_ex(str(path)) == 0


def test_an_http_listener(open_listener, people, doctor, tmp_path):  # noqa: F811
    sock = tmp_path / "web.sock"
    (tmp_path / "bearers").write_text("0123456789abcdef\n")
    listener = open_listener()
    listener.relay.listeners |= {
        "web": {"type": "http", "socket": str(sock)},
        "other": {"type": "http", "port": 0, "port_file": str(tmp_path / "other.port"), "authorization_file": str(tmp_path / "bearers")}}
    listener.relay.stop()
    listener.relay.write()
    listener.start()
    wait_until(lambda: is_open(sock) and (tmp_path / "other.port").exists(), "the HTTP listeners do not open")
    status, said = doctor(*at(listener, "--http-listener", sock))
    assert status == 0 and f"{sock}: an HTTP listener of a relay: anyone who can reach it can push" in said
    status, said = doctor(*at(listener, "--http-listener", f"127.0.0.1:{(tmp_path / 'other.port').read_text().strip()}"))
    assert status == 0 and "it requires a bearer token" in said
    status, said = doctor(*at(listener, "--http-listener", f"127.0.0.1:{listener.relay.port_file.read_text().strip()}", "--json"))
    assert (status, causes(said)) == (1, ["http-listener-other"])
    status, said = doctor(*at(listener, "--http-listener", tmp_path / "nothing", "--json"))
    assert (status, causes(said)) == (3, ["http-listener-unreachable"])
    assert listener.queue.entries_so_far() == 0


class Other:
    """A peer that is not a relay, on one port: TLS, and then `act`."""

    def __init__(self, certificate, act, *, tls=True, tickets=0, accept=True):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # Without the additional ciphers of a system's Python.
        self.context.set_ciphers("ECDHE+AESGCM")
        self.context.load_cert_chain(certificate)
        self.context.num_tickets = tickets
        self.act, self.tls = act, tls
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        if accept:
            threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                plain = self.listener.accept()[0]
                threading.Thread(target=self.meet, args=[plain], daemon=True).start()

    def meet(self, plain):
        with contextlib.suppress(OSError), plain:
            if not self.tls:
                return self.act(plain)
            with self.context.wrap_socket(plain, server_side=True) as sock:
                self.act(sock)

    def close(self):
        self.listener.close()


def answers(bytes, goodbye=True):
    def act(sock):
        sock.recv(100)
        sock.sendall(bytes)
        if goodbye:
            sock.unwrap()

    return act


PACKET = bytes([8, 2]) + b"apns"


@pytest.mark.parametrize("act, options, wanted", [
    (answers(PACKET), {}, ["listener-of-anybody"]),
    (answers(PACKET), {"tickets": 2}, ["session-tickets", "listener-of-anybody"]),
    (answers(PACKET, goodbye=False), {}, ["listener-of-anybody", "abrupt-end"]),
    (answers(b"HTTP/1.1 400 Bad Request\r\n\r\n"), {}, ["no-binary-listener"]),
    (lambda sock: sock.recv(1) and threading.Event().wait(30), {}, ["listener-silent"]),
    (lambda sock: sock.sendall(b"220 mail.example\r\n"), {"tls": False}, ["not-tls", "not-tls"]),
    (lambda sock: None, {"tls": False}, ["handshake-closed", "handshake-closed"]),
    (None, {"accept": False}, ["handshake-timeout", "handshake-timeout"]),
], ids=["relay", "tickets", "abrupt", "http", "silent", "mail", "closes", "sleeps"])
def test_what_is_no_relay(people, doctor, act, options, wanted):  # noqa: F811
    other = Other(people.listed, act, **options)
    try:
        status, said = doctor(
            "--relay", f"127.0.0.1:{other.port}", "--feedback-port", other.port, "--connect-timeout", 2, "--json")
        assert causes(said) == wanted, said
        assert status == (3 if wanted[0] in ("not-tls", "handshake-closed", "handshake-timeout") else 1)
    finally:
        other.close()


def test_nobody_is_there(doctor):
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    status, said = doctor("--relay", f"127.0.0.1:{port}", "--feedback-port", port, "--json")
    assert (status, causes(said)) == (3, ["listener-unreachable", "listener-unreachable"])
    assert "Connection refused" in said and json.loads(said)["reachable"] is False


def test_the_command_line(doctor):
    for words, wanted in [
        (["--relay", "127.0.0.1", "--host", "x"], "--host cannot be used with --relay"),
        (["--relay", "127.0.0.1", "--offline", "--ca", "x"], "--offline cannot be used with --relay"),
        (["--feedback-port", "2196"], "need --relay"),
        (["--relay", "127.0.0.1:0"], "1 to 65535"),
        (["--relay", "127.0.0.1", "--http-listener", "web"], "HOST:PORT"),
        (["--relay", "127.0.0.1", "--ca", "/nowhere.pem"], "--ca: /nowhere.pem: No such file"),
    ]:
        status, said = doctor(*words)
        assert status == 2 and wanted in said, said
