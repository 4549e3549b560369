"""Producers in each language, the quickstart, and how the tool starts the relay."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess

import pytest

import simulator as simulators
from redis_queue import Client, RedisQueue
from relaying import pushes, relay_program, token
from simulator import ROOT

EXAMPLES = ROOT / "Examples/relay"
TEXT = """It's "quoted" \\ ü, $(id) `id` '; DROP TABLE entries; --"""


def php_words():
    """APNS_PHP may name PHP with its options."""
    words = os.environ.get("APNS_PHP", "php").split()
    if not shutil.which(words[0]):
        pytest.skip("there is no PHP")
    return words


def php():
    """Finds a PHP that has PDO's SQLite driver."""
    words = php_words()
    drivers = subprocess.run([*words, "-r", "echo implode(' ', class_exists('PDO') ? PDO::getAvailableDrivers() : []);"], capture_output=True, text=True)
    if "sqlite" not in drivers.stdout.split():
        pytest.skip("PHP has no PDO driver for SQLite (Debian: php-sqlite3)")
    return words


def compiled(directory):
    compiler = os.environ.get("CC", "cc")
    program = directory / "producer"
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", EXAMPLES / "producer.c", "-o", program, "-lsqlite3"], check=True)
    return [program]


LANGUAGES = {
    "python": lambda directory: [shutil.which("python3"), EXAMPLES / "producer.py"],
    "php": lambda directory: [*php(), EXAMPLES / "producer.php"],
    "c": compiled,
    "shell": lambda directory: [EXAMPLES / "producer.sh"],
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_producer(language, start, relay, queue, tmp_path):
    simulator = start()
    command = LANGUAGES[language](tmp_path)
    text = json.dumps({"aps": {"alert": TEXT}}) if language == "c" else TEXT

    def run():
        return subprocess.run([*command, queue.path, "shop", "o'clock", token(1), text], capture_output=True, text=True)

    for said in "enqueued", "known already":
        ran = run()
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{said}\n", ""), ran
    relay(simulator, queue=queue).start().wait_ready().wait_done()
    push, = pushes(simulator)
    assert push["token"] == token(1) and json.loads(push["payload"]) == {"aps": {"alert": TEXT}}
    # Finished IDs are known.
    assert run().stdout == "known already\n" and queue.is_empty()
    # A failure is reported.
    queue.rows("DROP TABLE entries")
    ran = run()
    assert ran.returncode != 0 and "entries" in ran.stderr + ran.stdout


def test_orders_in_sql(start, relay, queue, tmp_path):
    simulator = start()
    texts = TEXT, "another"
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.db")) as shop, shop:
        shop.execute("CREATE TABLE orders (number INTEGER, device TEXT, text TEXT)")
        shop.executemany("INSERT INTO orders VALUES (?, ?, ?)", [(n, token(n), text) for n, text in enumerate(texts)])
    assert queue.path == tmp_path / "queue.db"

    def run():
        with open(EXAMPLES / "orders.sql") as text:
            return subprocess.run(
                ["sqlite3", "-bail", "-cmd", ".timeout 30000", "shop.db"], stdin=text, capture_output=True, text=True, cwd=tmp_path)

    for count in 2, 0:
        ran = run()
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{count} enqueued\n", ""), ran
    relay(simulator, queue=queue).start().wait_ready().wait_done()
    arrived = {push["token"]: json.loads(push["payload"])["aps"]["alert"] for push in pushes(simulator)}
    assert arrived == {token(n): text for n, text in enumerate(texts)}
    assert run().stdout == "0 enqueued\n" and queue.is_empty()
    queue.rows("DROP TABLE entries")
    ran = run()
    assert ran.returncode != 0 and "entries" in ran.stderr + ran.stdout


def python_with_redis():
    for python in shutil.which("python3"), "/usr/bin/python3":
        if python and subprocess.run([python, "-c", "import redis"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    pytest.skip("Python has no module redis (Debian: python3-redis)")


def php_with_redis():
    words = php_words()
    if subprocess.run([*words, "-r", "exit(extension_loaded('redis') ? 0 : 1);"]).returncode:
        pytest.skip("PHP has no extension redis (Debian: php-redis)")
    return words


def compiled_with_hiredis(directory):
    compiler, program = os.environ.get("CC", "cc"), directory / "producer"
    if subprocess.run([compiler, "-E", "-x", "c", "-"], input=b"#include <hiredis/hiredis.h>", capture_output=True).returncode:
        pytest.skip("hiredis/hiredis.h is not here (Debian: libhiredis-dev)")
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", EXAMPLES / "redis/producer.c", "-o", program, "-lhiredis"], check=True)
    return [program]


def shell_with_redis(directory):
    if not shutil.which("redis-cli"):
        pytest.skip("redis-cli is not here (Debian: redis-tools)")
    return [EXAMPLES / "redis/producer.sh"]


REDIS_LANGUAGES = {
    "python": lambda directory: [python_with_redis(), EXAMPLES / "redis/producer.py"],
    "php": lambda directory: [*php_with_redis(), EXAMPLES / "redis/producer.php"],
    "c": compiled_with_hiredis,
    "shell": shell_with_redis,
}


@pytest.mark.parametrize("language", REDIS_LANGUAGES)
def test_redis_producer(language, start, relay, server, tmp_path):
    simulator, queue = start(), RedisQueue(server)
    command = REDIS_LANGUAGES[language](tmp_path)
    text = json.dumps({"aps": {"alert": TEXT}}) if language in ("c", "shell") else TEXT

    def run(place=server.path, **environment):
        return subprocess.run(
            [*command, place, "shop", "o'clock", token(1), text], capture_output=True, text=True, env=os.environ | environment)

    for _ in range(2):
        ran = run()
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "enqueued\n", ""), ran
    assert queue.ask("XLEN", "apns:{shop}:in") == 2
    one = relay(simulator, queue=queue).start().wait_ready().wait_done()
    # Finished IDs are known.
    assert run().returncode == 0
    one.wait_done()
    push, = pushes(simulator)
    assert push["token"] == token(1) and json.loads(push["payload"]) == {"aps": {"alert": TEXT}}
    assert queue.ends() == {"o'clock": [(0, "accepted", "")]}
    one.stop()
    # Over TCP, with a password, and with only the rights that the manual requires.
    port = server.listen()
    queue.ask("ACL", "SETUSER", "default", "resetpass", ">correct horse", "resetkeys", "~apns:{shop}:in", "-@all", "+xadd")
    ran = run(f"127.0.0.1:{port}", REDISCLI_AUTH="correct horse")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "enqueued\n", ""), ran
    # A failure is reported.
    for environment in {}, {"REDISCLI_AUTH": "wrong horse"}:
        ran = run(**environment)
        assert ran.returncode != 0 and "enqueued" not in ran.stdout and ran.stderr + ran.stdout, ran
    with contextlib.closing(Client(server.path)) as client:
        client.ask("AUTH", "correct horse")
        client.ask(*queue.addition({"id": "after", "token": token(2)}))
    server.kill()
    ran = run()
    assert ran.returncode != 0 and "enqueued" not in ran.stdout and ran.stderr + ran.stdout, ran


@pytest.mark.parametrize("options", [[], ["--redis"]], ids=["file", "redis"])
def test_quickstart_prints_what_its_readme_shows(options):
    if options and not shutil.which("redis-server"):
        pytest.skip("redis-server is not here (Debian: redis-server)")
    ran = subprocess.run([EXAMPLES / "quickstart", *options], capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran
    shown = re.search(r"```text\n(.*?)```", (EXAMPLES / "README.md").read_text(), re.S)[1]
    if options:
        shown = shown.replace("== relay.yaml", "== starting redis-server\n\n== relay.yaml")
        shown = shown.replace("file: queue.db", "redis: { url: 'unix:WORK/redis.sock' }")
    pattern = ".*".join(re.escape(part) for part in shown.strip().split("…"))
    assert re.fullmatch(pattern, ran.stdout.strip(), re.S), ran.stdout


def test_the_readme_shows_the_programs():
    """The pages show the tables that the relay creates, and each option."""
    page = (ROOT / "Documentation/RELAY-QUEUE.md").read_text()
    schema = subprocess.run([relay_program(), "--print-schema"], check=True, capture_output=True, text=True).stdout
    for table, body in re.findall(r"CREATE TABLE IF NOT EXISTS (\w+) \((.*?)\n\)", schema, re.S):
        assert f"`{table}`" in page, table
        for column in re.findall(r"^  (\w+) (?:INTEGER|TEXT)", body, re.M):
            assert table in ("workers", "provider_tokens", "connections", "lines", "suspects") or f"`{column}`" in page, (table, column)
    options = subprocess.run([relay_program(), "--print-config"], check=True, capture_output=True, text=True).stdout
    assert options in (ROOT / "Documentation/RELAY-CONFIGURATION.md").read_text()


def test_the_tool_starts_the_relay(tmp_path):
    tool = simulators.tool()

    def run(*words, path):
        environment = os.environ | {"PATH": path}
        return subprocess.run([tool, *words], capture_output=True, text=True, env=environment, cwd=tmp_path)

    said = subprocess.run([relay_program(), "--print-config"], capture_output=True, text=True).stdout
    beside = pathlib.Path(tool).resolve().parent / "apns-relay"
    if not beside.exists():
        # Files in the working directory are not run, even with an empty element in PATH.
        (tmp_path / "apns-relay").write_text("#!/bin/sh\necho wrong\n")
        (tmp_path / "apns-relay").chmod(0o755)
        for path in "/nowhere", ":/nowhere", "":
            ran = run("relay", "--print-config", path=path)
            assert (ran.returncode, ran.stdout) == (2, ""), ran
            assert ran.stderr == "Error: there is no apns-relay, neither beside this program nor in the PATH: Sources/compile apns-relay builds it\n"
    path = f"/nowhere:{pathlib.Path(relay_program()).parent}"
    ran = run("relay", "--print-config", path=path)
    assert (ran.returncode, ran.stdout) == (0, said), ran
    assert "OVERVIEW: Put notifications" in run("enqueue", "--help", path=path).stdout
    assert "--schema" not in run("relay", path=path).stdout and run("relay", path=path).returncode != 0
