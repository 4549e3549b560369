import contextlib
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Simulator")]

from chromium import browser, pages  # noqa: E402, F401
from running import certificates, shared  # noqa: E402, F401
from simulator import Simulator  # noqa: E402


class Shown(Simulator):
    """A simulator that serves the page."""

    def __init__(self, certificates, *options, **arguments):
        super().__init__(certificates, "--dashboard-port", 0, *options, **{"control": True} | arguments)
        self.url = f"http://127.0.0.1:{self.ready['dashboard_port']}/"


@pytest.fixture
def start(certificates):
    """Starts simulators with the page and stops them after the test."""
    with contextlib.ExitStack() as running:
        def start(*options, **arguments):
            simulator = Shown(certificates, *options, **arguments)
            running.callback(simulator.kill)
            return simulator

        yield start


@pytest.fixture
def simulator(start):
    return start()


@pytest.fixture(scope="session")
def lasting(certificates):
    simulator = Shown(certificates)
    yield simulator
    simulator.stop()


@pytest.fixture
def show(browser):
    """Opens the pages of simulators."""
    with pages(browser) as show:
        yield lambda simulator, **arguments: show(simulator.url, **arguments)
