"""Producers in each language, the quickstart, and how the tool starts the relay."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import simulator as simulators
from relaying import pushes, relay_program, token
from simulator import ROOT

EXAMPLES = ROOT / "Examples/relay"
TEXT = """It's "quoted" \\ ü, $(id) `id` '; DROP TABLE entries; --"""


def php():
    """PHP with PDO's driver for SQLite; APNS_PHP may name it with its options."""
    words = os.environ.get("APNS_PHP", "php").split()
    if not shutil.which(words[0]):
        pytest.skip("there is no PHP")
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
    # What is done is known.
    assert run().stdout == "known already\n" and queue.is_empty()
    # A failure is not silent.
    queue.rows("DROP TABLE entries")
    ran = run()
    assert ran.returncode != 0 and "entries" in ran.stderr + ran.stdout


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
    """The tables on the page are those that the relay makes, and each option is on it."""
    page = (ROOT / "Documentation/RELAY.md").read_text()
    schema = subprocess.run([relay_program(), "--print-schema"], check=True, capture_output=True, text=True).stdout
    for table, body in re.findall(r"CREATE TABLE IF NOT EXISTS (\w+) \((.*?)\n\)", schema, re.S):
        assert f"`{table}`" in page, table
        for column in re.findall(r"^  (\w+) (?:INTEGER|TEXT)", body, re.M):
            assert table in ("workers", "provider_tokens") or f"`{column}`" in page, (table, column)
    options = subprocess.run([relay_program(), "--print-config"], check=True, capture_output=True, text=True).stdout
    assert options in page


def test_the_tool_starts_the_relay(tmp_path):
    tool = simulators.tool()

    def run(*words, path):
        environment = os.environ | {"PATH": path}
        return subprocess.run([tool, *words], capture_output=True, text=True, env=environment, cwd=tmp_path)

    said = subprocess.run([relay_program(), "--print-config"], capture_output=True, text=True).stdout
    beside = pathlib.Path(tool).resolve().parent / "apns-relay"
    if not beside.exists():
        # What lies in the working directory is not run, not even with an empty word in PATH.
        (tmp_path / "apns-relay").write_text("#!/bin/sh\necho wrong\n")
        (tmp_path / "apns-relay").chmod(0o755)
        for path in "/nowhere", ":/nowhere", "":
            ran = run("relay", "--print-config", path=path)
            assert (ran.returncode, ran.stdout) == (2, ""), ran
            assert ran.stderr == "Error: there is no apns-relay, neither beside this program nor in the PATH: Sources/build-relay builds it\n"
    path = f"/nowhere:{pathlib.Path(relay_program()).parent}"
    ran = run("relay", "--print-config", path=path)
    assert (ran.returncode, ran.stdout) == (0, said), ran
    assert "OVERVIEW: Put notifications" in run("enqueue", "--help", path=path).stdout
    assert "--schema" not in run("relay", path=path).stdout and run("relay", path=path).returncode != 0
