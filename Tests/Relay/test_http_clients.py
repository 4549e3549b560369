"""Clients that know nothing of the relay push twice on one connection, each with its own defaults."""

import pathlib
import re
import shutil
import subprocess
import uuid

import pytest
from fetch import DIRECTORY, HTTP_CLIENTS, find_python
from line import Line
from relaying import DEADLINE, pushes, token
from test_http_listener import PAYLOAD, TOPIC, Listener

PROGRAMS = pathlib.Path(__file__).parent / "Programs"
PUSH = f"/3/device/{token(1)}"


def here(program, package=None):
    found = shutil.which(program)
    if not found:
        pytest.skip(f"{program} is not here (Debian: {package or program})")
    return found


def curl(*options, unix=False):
    def words(place, _):
        address = ["--unix-socket", place, f"http://localhost{PUSH}"] if unix else [f"http://127.0.0.1:{place}{PUSH}"]
        return [
            here("curl"), "-sS", *options, "-d", PAYLOAD, "-H", f"apns-topic: {TOPIC}", "-w", "%{http_code} %header{apns-id}\n",
            *address, address[-1]]
    words.unix = unix
    return words


def curl_by_http2(place, folder):
    # Version 7.88 cannot use such a connection twice (curl#10634).
    version = subprocess.run([here("curl"), "--version"], capture_output=True, text=True).stdout.split()[1]
    if tuple(map(int, version.split(".")[:2])) == (7, 88):
        pytest.skip(f"curl is {version}, which cannot push twice by --http2-prior-knowledge")
    return curl("--http2-prior-knowledge")(place, folder)


def php(place, _):
    program = here("php", "php-cli")
    if subprocess.run([program, "-r", "exit(extension_loaded('curl') ? 0 : 1);"]).returncode:
        pytest.skip("php has no curl (Debian: php-curl)")
    return [program, PROGRAMS / "http_client.php", place, token(1), TOPIC]


def java(place, _):
    here("javac", "default-jdk-headless")
    return [here("java", "default-jdk-headless"), PROGRAMS / "HTTPClient.java", place, token(1), TOPIC]


def python(client):
    def words(place, _):
        (program, (versions, packages)), = HTTP_CLIENTS.items()
        found, path = find_python(versions), DIRECTORY / program
        if found is None:
            pytest.skip(f"{client}: there is no Python {' or '.join(versions)}")
        if not path.exists():
            pytest.skip(f"{client}: Tests/Relay/fetch.py has not installed {' '.join(packages)}")
        return ["env", f"PYTHONPATH={path}", found, "-W", "ignore", PROGRAMS / program, client, place, token(1), TOPIC]
    return words


def of_nghttp2(program, *options):
    def words(place, folder):
        payload = folder / "payload"
        payload.write_bytes(PAYLOAD)
        url = f"http://127.0.0.1:{place}{PUSH}"
        return [here(program, "nghttp2-client"), *options, "-d", payload, "-H", f"apns-topic: {TOPIC}", url, *([f"{url}?again"] if program == "nghttp" else [])]
    words.says = {"nghttp": r"\(stream_id=\d+\) :status: (200)\n.*?\) apns-id: (\S+)\n", "h2load": r"2 done, 2 succeeded, 0 failed"}[program]
    return words


CLIENTS = {
    "curl": curl(), "curl by HTTP/1.1": curl("--http1.1"), "curl that offers HTTP/2": curl("--http2"), "curl by HTTP/2": curl_by_http2,
    "curl on a UNIX socket": curl(unix=True), "curl that offers HTTP/2 on a UNIX socket": curl("--http2", unix=True),
    "curl that expects a word": curl("-H", "Expect: 100-continue", "--expect100-timeout", "60", "--http2"),
    "curl that can read trailers": curl("--tr-encoding"), "curl in chunks": curl("-H", "Transfer-Encoding: chunked", "--http2"),
    "PHP's curl": php, "java.net.http": java, "nghttp": of_nghttp2("nghttp", "-v"),
    "h2load": of_nghttp2("h2load", "-n", "2", "-c", "1"), "h2load by HTTP/1.1": of_nghttp2("h2load", "--h1", "-n", "2", "-c", "1"),
    **{client: python(client) for client in ("requests", "httpx", "httpx by HTTP/2", "aiohttp", "aioapns")},
}


@pytest.mark.parametrize("client", CLIENTS)
def test_two_pushes_on_one_connection(client, start, relay, tmp_path):
    words = CLIENTS[client]
    is_unix, connections = getattr(words, "unix", False), []
    path = str(tmp_path / "listener.socket")
    place = str(tmp_path / "line.socket") if is_unix else "0"
    words(place, tmp_path)
    simulator = start()
    one = Listener(relay, simulator, tmp_path, listener={"socket": path} if is_unix else {})

    def target():
        connections.append(client)
        return path if is_unix else ("127.0.0.1", one.port)

    line = Line(target, place if is_unix else None)
    try:
        ran = subprocess.run(
            [str(word) for word in words(place if is_unix else line.port, tmp_path)], capture_output=True, text=True, timeout=DEADLINE)
    finally:
        line.close()
    assert ran.returncode == 0, ran
    answers = re.findall(getattr(words, "says", r"^(\d+) (\S+)$"), ran.stdout, re.M | re.S)
    if answers and isinstance(answers[0], tuple):
        assert [status for status, _ in answers] == ["200", "200"], ran
        assert {push["apns_id"] for push in pushes(simulator)} == {str(uuid.UUID(id)) for _, id in answers}
    assert answers and len(pushes(simulator)) == 2, ran
    assert len(connections) == 1
