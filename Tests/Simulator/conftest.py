import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from simulator import Simulator  # noqa: E402


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """RSA keys take their time: one set serves all tests."""
    directory = tmp_path_factory.mktemp("certificates")
    Simulator(directory).stop()
    return directory


@pytest.fixture
def start(certificates):
    """Starts simulators and lets none of them outlive the test."""
    running = []

    def start(*options, faults=None, **arguments):
        running.append(Simulator(certificates, *options, faults=faults, **arguments))
        return running[-1]

    yield start
    for simulator in running:
        simulator.kill()
