"""Fixtures that run simulators, for the conftest.py of each directory that tests with one."""

import pytest
from simulator import Simulator


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
    """The simulator shared by all tests that need no special options, reset and with these faults."""
    return lasting.renew


@pytest.fixture
def simulator(shared):
    """The same without faults."""
    return shared()
