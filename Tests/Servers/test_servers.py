"""Third-party servers and the simulator: each notification has exactly one outcome, and it matches the server's."""

import collections
import json
import os
import pwd
import shutil
import socket
import subprocess
import time

import pytest
from provider import COUNT, push, token
from simulator import tool

h2 = pytest.importorskip("h2", reason="Python has no h2")
from h2_server import Server  # noqa: E402

# sbin is missing from some PATHs.
NGHTTPD, NGINX, GNUTLS = (
    shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") for name in ("nghttpd", "nginx", "gnutls-serv"))
GONE = b'{"reason":"Unregistered","timestamp":1454948015990}'
BAD = b'{"reason":"BadDeviceToken"}'


def judge(number):
    """Every seventh is bad, every eleventh of the rest gone."""
    if number % 7 == 0:
        return 400, BAD
    if number % 11 == 0:
        return 410, GONE
    return 200, b""


def check(outcomes, judge=judge):
    for number, outcome in enumerate(outcomes):
        status, body = judge(number)
        reason = json.loads(body)["reason"] if body else ""
        kind = "accepted" if status == 200 else "rejected"
        assert (outcome.kind, outcome.status, outcome.reason) == (kind, status, reason), number


@pytest.fixture
def port():
    """A port reserved while the test runs. A server that sets SO_REUSEADDR too can listen on it."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


def await_listening(port, process):
    deadline = time.monotonic() + 240
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except ConnectionRefusedError:
            assert process.poll() is None and time.monotonic() < deadline, "the server does not listen"
            time.sleep(0.02)


@pytest.fixture
def run():
    """Runs a server, and stops it after the test."""
    running = []

    def run(command, port, stdout=subprocess.DEVNULL):
        running.append(subprocess.Popen(list(map(str, command)), stdout=stdout))
        await_listening(port, running[-1])

    yield run
    for process in running:
        process.terminate()
        process.wait(20)


# ---- Python's h2 ------------------------------------------------------------


@pytest.mark.parametrize("answers, batch, streams", [("each", 1, 100), ("batch", 1, 1000), ("batch", 50, 100), ("each", 1, 1)])
@pytest.mark.parametrize("connections", [1, 4])
def test_h2(server_certificate, answers, batch, streams, connections):
    with Server(server_certificate, judge, answers=answers, batch=batch, streams=streams) as server:
        outcomes, counts = push(server.port, server_certificate["ca"], connections=connections)
    check(outcomes)
    assert server.received == collections.Counter(range(COUNT))
    assert all(one.id == f"5e2a60c0-0000-4000-8000-{number:012x}" for number, one in enumerate(outcomes))
    assert (counts.resent, counts.connects) == (0, server.connections)
    assert server.connections <= connections and server.most_open <= streams


# ---- nghttpd ----------------------------------------------------------------


@pytest.mark.skipif(not NGHTTPD, reason="nghttp2-server is not installed")
@pytest.mark.parametrize("options", [[], ["--early-response"], ["--max-concurrent-streams=1"], ["--padding=100"],
                                     ["--header-table-size=0", "--encoder-header-table-size=0"]])
def test_nghttpd(server_certificate, run, tmp_path, port, options):
    """A file server: existing files get 200, others 404 with an error page."""
    devices = tmp_path / "3" / "device"
    devices.mkdir(parents=True)
    for number in range(0, COUNT, 3):
        (devices / token(number)).touch()
    files = [str(server_certificate[name]) for name in ("key", "certificate")]
    run([NGHTTPD, "-a", "127.0.0.1", "-d", str(tmp_path), *options, str(port), *files], port)
    outcomes, counts = push(port, server_certificate["ca"])
    for number, outcome in enumerate(outcomes):
        expected = ("rejected", 404) if number % 3 else ("accepted", 200)
        assert (outcome.kind, outcome.status, outcome.reason) == (*expected, ""), number
    assert (counts.resent, counts.connects) == (0, 1)


# ---- nginx ------------------------------------------------------------------

CONFIGURATION = """
{user}daemon off; worker_processes 1; pid {directory}/pid; error_log {directory}/error.log;
events {{ worker_connections 64; }}
http {{
  log_format pushes '$uri $status $ssl_protocol $ssl_client_verify';
  access_log {directory}/pushes pushes;
  client_body_temp_path {directory}/a; proxy_temp_path {directory}/b; fastcgi_temp_path {directory}/c;
  uwsgi_temp_path {directory}/d; scgi_temp_path {directory}/e;
  server {{
    listen 127.0.0.1:{port} ssl http2;
    ssl_certificate {certificate}; ssl_certificate_key {key}; {tls}
    keepalive_requests {requests}; http2_max_concurrent_streams {streams};
    location ~ ^/3/device/.*[02468ace]$ {{ return 200; }}
    location ~ ^/3/device/.*[159d]$ {{ return 400 '{bad}'; }}
    location / {{ return 410 '{unregistered}'; }}
  }}
}}
"""


def judge_last_digit(number):
    return [(200, b""), (400, BAD), (200, b""), (410, GONE)][number % 4]


@pytest.fixture
def nginx(server_certificate, run, tmp_path, port):
    """Starts nginx and returns a function that reads its log: number, status, TLS version, and whether the client's
    certificate is trusted."""

    def start(requests=100000, streams=128, tls=""):
        user = f"user {pwd.getpwuid(0).pw_name};" if os.getuid() == 0 else ""
        (tmp_path / "nginx.conf").write_text(CONFIGURATION.format(
            user=user, directory=tmp_path, port=port, requests=requests, streams=streams, tls=tls,
            bad=BAD.decode(), unregistered=GONE.decode(),
            **{name: server_certificate[name] for name in ("certificate", "key")}))
        run([NGINX, "-p", tmp_path, "-c", tmp_path / "nginx.conf", "-e", tmp_path / "error.log"], port)
        return logged

    def logged():
        lines = (line.split(maxsplit=3) for line in (tmp_path / "pushes").read_text().splitlines())
        return [(int(uri[-8:], 16), *rest) for uri, *rest in lines]

    return start


@pytest.mark.skipif(not NGINX, reason="nginx is not installed")
@pytest.mark.parametrize("requests, streams", [(1000, 128), (100000, 128), (150, 20), (100000, 1)])
def test_nginx(server_certificate, nginx, port, requests, streams):
    """nginx responds before it has read the body, then resets the stream, and sends GOAWAY after `requests`
    requests."""
    logged = nginx(requests, streams)
    outcomes, counts = push(port, server_certificate["ca"], delivery="at_most_once")
    check(outcomes, judge_last_digit)
    assert collections.Counter(number for number, *_ in logged()) == collections.Counter(range(COUNT))
    assert counts.connects >= COUNT // requests


# ---- The provider's certificate, verified by other TLS implementations ----------

VERSIONS = pytest.mark.parametrize("version", ["1.2", "1.3"])


def doctor(port, certificates, whose, *options):
    """Whether the service accepts this provider, and the causes that apns doctor finds."""
    command = [tool(), "doctor", "--host", "localhost", "--port", port, "--ca", certificates["ca"], "--json",
               "--certificate", certificates[whose], *options]
    told = json.loads(subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240).stdout)
    return told["reachable"], [one["cause"] for one in told["checks"] if "cause" in one]


@pytest.mark.skipif(not GNUTLS, reason="gnutls-bin is not installed")
@VERSIONS
def test_gnutls(server_certificate, run, tmp_path, port, version):
    """Without OpenSSL. Like a gateway without an answer, it reads until an empty line."""
    log = tmp_path / "log"
    with log.open("w") as written:
        run(["stdbuf", "-oL", GNUTLS, "--http", "--port", port, "--x509certfile", server_certificate["certificate"],
             "--x509keyfile", server_certificate["key"], "--x509cafile", server_certificate["ca"], "--require-client-cert",
             "--verify-client-cert", "--priority", f"NORMAL:-VERS-ALL:+VERS-TLS{version}"], port, stdout=written)
    binary = ["--protocol", "binary"]
    assert doctor(port, server_certificate, "provider", *binary) == (True, [])
    for words in ("- Status: The certificate is trusted.", f"- Description: (TLS{version}-X.509)", "UID=com.example.app"):
        await_words(log, words)
    assert "NOT trusted" not in log.read_text()
    assert doctor(port, server_certificate, "stranger", *binary) == (False, ["alert-access-denied"])
    await_words(log, "- Status: The certificate is NOT trusted.")


def await_words(log, words):
    deadline = time.monotonic() + 240
    while words not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)


@pytest.mark.skipif(not NGINX, reason="nginx is not installed")
@VERSIONS
@pytest.mark.parametrize("whose", ["provider", "stranger"])
def test_nginx_verifies(server_certificate, nginx, port, version, whose):
    """nginx completes every handshake, and answers pushes of an untrusted client with 400."""
    logged = nginx(tls=f"ssl_protocols TLSv{version}; ssl_verify_client on; ssl_client_certificate {server_certificate['ca']};")
    outcomes, _ = push(port, server_certificate["ca"], certificate=server_certificate[whose], delivery="at_most_once")
    if whose == "provider":
        check(outcomes, judge_last_digit)
    else:
        assert {(one.kind, one.status) for one in outcomes} == {("rejected", 400)}
    assert {protocol for *_, protocol, _ in logged()} == {f"TLSv{version}"}
    assert {verdict.split(":")[0] for *_, verdict in logged()} == {"SUCCESS" if whose == "provider" else "FAILED"}


@pytest.mark.skipif(not NGHTTPD, reason="nghttp2-server is not installed")
def test_nghttpd_requires_a_certificate(server_certificate, run, tmp_path, port):
    """It requires a certificate but accepts any."""
    run([NGHTTPD, "-a", "127.0.0.1", "-d", tmp_path, "--verify-client", port, server_certificate["key"],
         server_certificate["certificate"]], port)
    assert doctor(port, server_certificate, "provider") == (True, [])
    with pytest.raises(AssertionError, match="no certificate was shown"):
        push(port, server_certificate["ca"])


# ---- The simulator ----------------------------------------------------------


@pytest.mark.parametrize("faults", [{}, {"answers": "each"}, {"answers": "batch", "answer_batch_ms": 20}, {"streams_max": 1}])
def test_simulator(simulate, tmp_path, faults):
    ledger = tmp_path / "ledger"
    bad = {"bad_every": 7, "bad_reason": "BadDeviceToken"}
    simulator = simulate("--ledger", ledger, faults={**bad, **faults})
    outcomes, counts = push(
        simulator.ready["http2_port"], simulator.ready["ca"], certificate=simulator.ready["provider"])
    simulator.stop()
    recorded = outcomes_of(ledger)
    assert sorted(recorded) == list(range(COUNT)) and all(len(each) == 1 for each in recorded.values())
    for number, outcome in enumerate(outcomes):
        (entry,) = recorded[number]
        expected = ("accepted", 200, "") if entry == "accepted" else ("rejected", 400, "BadDeviceToken")
        assert (outcome.kind, outcome.status, outcome.reason) == expected, number
    assert (counts.rejected, counts.resent, counts.connects) == (COUNT // 7, 0, 1)


def outcomes_of(ledger):
    """The ledger's outcomes of each number."""
    found = collections.defaultdict(list)
    for line in map(json.loads, ledger.read_text().splitlines()):
        if "summary" not in line:
            found[int(line["token"][-8:], 16)].append(line["outcome"])
    return found


MANY, EVERY = 20000, 1500


@pytest.mark.parametrize("end, connections, delivery", [
    ("graceful", 1, "at_most_once"), ("graceful", 3, "at_least_once"), ("immediate", 1, "at_least_once"), ("immediate", 3, "at_most_once")])
def test_goaway(simulate, tmp_path, end, connections, delivery):
    """GOAWAY every 1,500: nothing is lost, and after a graceful end nothing is duplicated."""
    ledger = tmp_path / "ledger"
    simulator = simulate("--ledger", ledger, faults={"goaway_after": EVERY, "goaway": end})
    outcomes, counts = push(
        simulator.ready["http2_port"], simulator.ready["ca"], MANY, certificate=simulator.ready["provider"],
        connections=connections, delivery=delivery, ids=True)
    simulator.stop()
    accepted = {number: each.count("accepted") for number, each in outcomes_of(ledger).items()}
    assert counts.connects >= MANY // EVERY
    lost = [one.line for one in outcomes if one.kind == "accepted" and not accepted.get(one.line)]
    twice = [number for number, times in accepted.items() if times > 1]
    assert not lost and counts.rejected == 0
    # The response names the notification by its apns-id, which stays the same when it is resent.
    assert all(one.id == f"00000000-0000-4000-8000-{one.line:012x}" for one in outcomes if one.kind == "accepted")
    if end == "graceful":
        assert (counts.accepted, counts.unknown, twice) == (MANY, 0, [])
    elif delivery == "at_most_once":
        assert not twice and counts.accepted + counts.unknown == MANY
    else:
        assert (counts.accepted, counts.unknown) == (MANY, 0)
    print(f"{end}, {connections} connections, {delivery}: accepted {counts.accepted}, unknown {counts.unknown}, "
          f"resent {counts.resent}, twice {len(twice)}, connects {counts.connects}")
