"""Fixtures that run simulators, for the conftest.py of each directory that needs them."""

import pytest
from simulator import Simulator


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """One set for all tests, because RSA keys take long to make."""
    directory = tmp_path_factory.mktemp("certificates")
    Simulator(directory).stop()
    return directory


@pytest.fixture
def start(certificates):
    """Starts simulators and stops them after the test."""
    running = []

    def start(*options, **arguments):
        running.append(Simulator(certificates, *options, **arguments))
        return running[-1]

    yield start
    for simulator in running:
        simulator.kill()


@pytest.fixture(scope="session")
def lasting(certificates):
    simulator = Simulator(certificates, "--http2-port", 0, "--channels-port", 0, control=True)
    yield simulator
    simulator.stop()


@pytest.fixture
def shared(lasting):
    """Returns the simulator shared by all tests that need no special options, reset and with these faults."""
    return lasting.renew


@pytest.fixture
def simulator(shared):
    """The shared simulator, without faults."""
    return shared()
