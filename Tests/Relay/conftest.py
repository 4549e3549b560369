import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Simulator"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import simulator as simulators  # noqa: E402
from redis_queue import RedisQueue, Server  # noqa: E402
from relaying import Queue, Relay  # noqa: E402


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """RSA keys take their time: one set serves all tests."""
    directory = tmp_path_factory.mktemp("certificates")
    simulators.Simulator(directory).stop()
    return directory


@pytest.fixture
def start(certificates):
    """Starts simulators of HTTP/2 and lets none of them outlive the test."""
    running = []

    def start(*options, faults=None):
        options = ["--http2-port", "0", *options]
        running.append(simulators.Simulator(certificates, *options, faults=faults, control=True))
        return running[-1]

    yield start
    for one in running:
        one.kill()


@pytest.fixture
def queue(tmp_path):
    return Queue(tmp_path / "queue.db")


@pytest.fixture
def server(tmp_path):
    """A Redis of the test's own."""
    if not Server.is_here():
        pytest.skip("redis-server is not here (Debian: redis-server)")
    server = Server(tmp_path)
    yield server
    server.kill()


@pytest.fixture(params=["SQLite", "Redis"])
def shared(request, tmp_path):
    """A queue of either engine."""
    return RedisQueue(request.getfixturevalue("server")) if request.param == "Redis" else Queue(tmp_path / "queue.db")


@pytest.fixture
def relay(tmp_path):
    """Makes relays and lets none of them outlive the test."""
    running = []

    def make(simulator, **arguments):
        running.append(Relay(tmp_path, simulator, **arguments))
        return running[-1]

    yield make
    for one in running:
        one.kill()
