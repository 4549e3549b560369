"""Examples/testing: the fixture for pytest, and what it costs."""

import importlib.util
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys

import pytest
from simulator import DEADLINE, ROOT, tool

EXAMPLE = ROOT / "Examples/testing"
COUNT = int(os.environ.get("FIXTURE_TESTS", 200))

# Every test sees its own push only, half of them with a device that another test rejected.
MANY = f"""
import pytest
from http2 import Client
from simulator import TOKEN, Simulator

class Peer(Simulator):
    def __init__(self, apns):
        self.ready = {{"ca": apns.ca, "provider": apns.simulator.ready["provider"], "http2_port": apns.port}}

@pytest.mark.parametrize("number", range({COUNT}))
def test(apns_simulator, number):
    if number % 2:
        apns_simulator.reject(TOKEN.hex(), "TooManyRequests", times=1)
    with Client(Peer(apns_simulator)) as client:
        if number % 2:
            assert client.push() == (429, "TooManyRequests")
        assert client.push(b'{{"aps":{{"badge":%d}}}}' % number) == (200, None)
    (push,) = apns_simulator.pushes
    assert push.payload == {{"aps": {{"badge": number}}}}
    assert apns_simulator.counters["connections"] == 1
"""


@pytest.fixture
def run(tmp_path):
    """Runs pytest on the text of a test file; returns its output and how many simulators were started."""
    started = tmp_path / "started"
    counted = tmp_path / "apns"
    counted.write_text(f'#!/bin/sh\necho x >>"{started}"\nexec "{pathlib.Path(tool()).resolve()}" "$@"\n')
    counted.chmod(counted.stat().st_mode | stat.S_IXUSR)

    def run(text, *options, environment=None):
        (tmp_path / "conftest.py").write_text((EXAMPLE / "conftest.py").read_text())
        (tmp_path / "test_it.py").write_text(text)
        paths = os.pathsep.join([str(EXAMPLE), str(ROOT / "Tests/Simulator"), os.environ.get("PYTHONPATH", "")])
        told = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, tmp_path], capture_output=True,
            text=True, timeout=10 * DEADLINE,
            env={**os.environ, "PYTHONPATH": paths, "APNS_SIMULATOR": str(counted), **(environment or {})})
        return told.stdout, len(started.read_text().split()) if started.exists() else 0

    return run


def test_many_tests_start_one_process(run):
    out, processes = run(MANY)
    assert f"{COUNT} passed" in out and processes == 1, out


@pytest.mark.skipif(not importlib.util.find_spec("xdist"), reason="Python has no pytest-xdist")
def test_each_worker_of_xdist_has_one(run):
    out, processes = run(MANY, "-n", "2")
    assert f"{COUNT} passed" in out and processes == 2, out


def test_options_of_the_process(run):
    out, _ = run("""
import pytest

@pytest.fixture(scope="session")
def apns_simulator_options():
    return ["--binary", "--gateway-port", "0", "--feedback-port", "0"]

def test(apns_simulator):
    assert len({apns_simulator.gateway_port, apns_simulator.feedback_port, apns_simulator.channels_port}) == 3
    with pytest.raises(ValueError, match="reason: expected one of Apple's"):
        apns_simulator.reject("00", "Nonsense")
    with pytest.raises(ValueError, match="unknown fault nonsense"):
        apns_simulator.fault(nonsense=1)
    with pytest.raises(TimeoutError, match="0 of 1 pushes arrived within 0 s"):
        apns_simulator.wait(1, 0)
""")
    assert "1 passed" in out, out


@pytest.mark.parametrize(
    "program, message",
    [
        ("", "there is no program apns: put it on PATH, or its path into APNS_SIMULATOR"),
        ("/nowhere/apns", "/nowhere/apns: No such file or directory"),
        ("/bin/false", "/bin/false simulate ended with status 1"),
    ])
def test_without_the_program(run, program, message):
    out, processes = run("def test(apns_simulator): pass", environment={"APNS_SIMULATOR": program, "PATH": "/nowhere"})
    assert message in out and "1 error" in out and processes == 0, out


def test_the_program_of_the_wheel(run, tmp_path):
    """Under that name it is the simulator, and the fixture finds it."""
    program = tmp_path / "bin/apns-simulator"
    program.parent.mkdir()
    program.symlink_to(pathlib.Path(tool()).resolve())
    out, _ = run("def test(apns_simulator): assert apns_simulator.pushes == []",
                 environment={"APNS_SIMULATOR": "", "PATH": str(program.parent)})
    assert "1 passed" in out, out
    told = subprocess.run([program, "send"], capture_output=True, text=True)
    assert told.returncode == 2 and "Usage: apns-simulator <options>" in told.stderr, told.stderr
    assert re.fullmatch(r"apns-simulator [\d.]+\n", subprocess.run([program, "--version"], capture_output=True, text=True).stdout)


def test_the_end_of_the_simulator_is_told(run):
    out, _ = run("""
def test(apns_simulator):
    apns_simulator.simulator.process.kill()
    apns_simulator.simulator.process.wait()
    apns_simulator.pushes
""")
    assert "RuntimeError: the simulator does not answer" in out, out


def test_the_example(run):
    text = (EXAMPLE / "test_push.py").read_text()
    out, processes = run(text)
    assert f"{text.count('def test_')} passed" in out and processes == 1, out


def test_the_page_shows_the_fixture_as_it_is():
    """Every name on the page exists."""
    source = (EXAMPLE / "apns_simulator.py").read_text()
    names = set(re.findall(r"`\.(\w+)", (EXAMPLE / "README.md").read_text()))
    assert len(names) > 10
    for name in names:
        assert re.search(rf"(def |self\.|, self\.|^    ){name}\b", source, re.M), name


@pytest.mark.skipif(not shutil.which("phpunit"), reason="there is no phpunit")
def test_the_example_for_phpunit():
    told = run_example("phpunit", "--do-not-cache-result", EXAMPLE / "PushTest.php")
    assert "OK (2 tests" in told.stdout, told.stdout


@pytest.mark.skipif(not shutil.which("javac"), reason="there is no javac")
def test_the_example_in_java(tmp_path):
    subprocess.run(["javac", "-d", tmp_path, *EXAMPLE.glob("*.java")], check=True)
    told = run_example("java", "-cp", tmp_path, "PushTest")
    assert told.stdout == "OK (2 tests)\n", told.stderr


def run_example(*command):
    environment = {**os.environ, "APNS_SIMULATOR": tool()}
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, env=environment)
