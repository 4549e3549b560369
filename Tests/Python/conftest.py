import pathlib
import sys

import apns
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Simulator"))

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


@pytest.fixture
def who(certificates):
    return apns.Credentials(
        certificate_file=certificates / "provider.pem", ca_file=certificates / "ca.pem"
    )


@pytest.fixture
def connect(who):
    """A session to a simulator, closed with the test."""
    sessions = []

    def connect(simulator, **options):
        sessions.append(apns.Session(who, host="127.0.0.1", port=simulator.gateway[1], **options))
        return sessions[-1]

    yield connect
    for session in sessions:
        session.close(0)
