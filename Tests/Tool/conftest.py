import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Simulator"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import simulator as simulators  # noqa: E402
from running import certificates, lasting, shared, simulator, start  # noqa: E402, F401
from terminal import DEADLINE, Terminal, same_screen, without_settings  # noqa: E402


class Tool:
    """Runs the tool, with pipes or in a terminal."""

    def __init__(self, directory):
        self.path, self.directory, self.terminals = simulators.tool(), directory, []

    def __call__(self, *words, stdin="", env=None):
        said = without_settings(os.environ) | (env or {})
        return subprocess.run(
            [self.path, *map(str, words)], cwd=self.directory, env=said, text=not isinstance(stdin, bytes),
            input=stdin, capture_output=True, timeout=DEADLINE, start_new_session=True)

    def start(self, *words, **arguments):
        """Starts it in the background, with pipes."""
        return subprocess.Popen(
            [self.path, *map(str, words)], cwd=self.directory, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **arguments)

    def terminal(self, *words, **arguments):
        self.terminals.append(Terminal([self.path, *map(str, words)], cwd=self.directory, **arguments))
        return self.terminals[-1]

    def shows(self, screen, status, *words, **arguments):
        """Runs it in a terminal; checks its exit status and its screen."""
        terminal = self.terminal(*words, **arguments)
        assert terminal.end() == status
        same_screen(screen, terminal.screen())


@pytest.fixture
def tool(tmp_path):
    tool = Tool(tmp_path)
    yield tool
    for terminal in tool.terminals:
        terminal.kill()


def provider(simulator):
    """The options for the provider's certificate and the CA certificates."""
    return ["--certificate", simulator.ready["provider"], "--ca", simulator.ready["ca"]]


def binary(simulator):
    return ["--protocol", "binary", "--host", "127.0.0.1", "--port", simulator.gateway[1], *provider(simulator)]


def http2(simulator):
    return ["--host", "127.0.0.1", "--port", simulator.ready["http2_port"], *provider(simulator)]


def lines(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def outcomes(path):
    """The result lines about devices."""
    return [line for line in lines(path) if "outcome" in line]


def mode(path):
    return oct(os.lstat(path).st_mode & 0o777)


@pytest.fixture
def open_umask():
    """A umask with which anyone may read and write new files."""
    before = os.umask(0)
    yield
    os.umask(before)
