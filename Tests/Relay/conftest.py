import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "Simulator"), str(pathlib.Path(__file__).parents[1])]

import own_network  # noqa: E402
import simulator as simulators  # noqa: E402
from redis_queue import RedisQueue, Server  # noqa: E402
from relaying import Queue, Relay  # noqa: E402

own_network.enter()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """RSA keys take their time: one set serves all tests."""
    directory = tmp_path_factory.mktemp("certificates")
    simulators.Simulator(directory).stop()
    return directory


@pytest.fixture(scope="session")
def idle():
    """Simulators that a test is done with, for the next one."""
    simulators = []
    yield simulators
    for one in simulators:
        one.kill()


@pytest.fixture
def start(certificates, idle):
    """Simulators of HTTP/2, as good as new. One with options is the test's own, and so is one that draws by chance: what it draws
    depends on its seed and on how many connections it had."""
    running, own = [], []

    def start(*options, faults=None):
        is_own = bool(options) or any("share" in name for name in faults or {})
        if is_own or not idle:
            one = simulators.Simulator(certificates, "--http2-port", "0", *options, faults=faults, control=True)
        else:
            one = idle.pop()
            for method, path, body in ("PUT", "/faults", faults or {}), ("POST", "/reset", None):
                assert one.control(method, path, body)[0] == 200
        (own if is_own else running).append(one)
        return one

    yield start
    for one in own:
        one.kill()
    # The test's relays are dead, and what they had there ends.
    for one in running:
        if one.process.poll() is None:
            one.wait("/connections", lambda said: said["connections"] == [])
            idle.append(one)


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
def relay(start, tmp_path):
    """Makes relays and lets none of them outlive the test, nor its simulators."""
    running = []

    def make(simulator, **arguments):
        running.append(Relay(tmp_path, simulator, **arguments))
        return running[-1]

    yield make
    for one in running:
        one.kill()
