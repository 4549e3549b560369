import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / name) for name in ("Relay", "Simulator", ".", "Tool")]

import own_network  # noqa: E402
import simulator as simulators  # noqa: E402
from redis_queue import RedisQueue, Server  # noqa: E402
from relaying import Queue, Relay  # noqa: E402

own_network.enter()
own_network.use_small_buffers()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """RSA keys take time to generate: all tests share one set."""
    directory = tmp_path_factory.mktemp("certificates")
    simulators.Simulator(directory).stop()
    return directory


@pytest.fixture(scope="session")
def idle():
    """Simulators that a finished test has left for the next one."""
    simulators = []
    yield simulators
    for one in simulators:
        one.kill()


@pytest.fixture
def start(certificates, idle):
    """Starts HTTP/2 simulators, reset to a fresh state. A test gets a private one if it gives options or uses random
    faults, because random faults depend on the seed and the number of earlier connections."""
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
    # The test's relays have ended, and their connections must close.
    for one in running:
        if one.process.poll() is None:
            one.wait("/connections", lambda said: said["connections"] == [])
            idle.append(one)


@pytest.fixture
def queue(tmp_path):
    return Queue(tmp_path / "queue.db")


@pytest.fixture
def server(tmp_path):
    """A private Redis for this test."""
    if not Server.is_here():
        pytest.skip("redis-server is not here (Debian: redis-server)")
    server = Server(tmp_path)
    yield server
    server.kill()


@pytest.fixture(params=["SQLite", "Redis"])
def shared(request, tmp_path):
    """A queue of each engine in turn."""
    return RedisQueue(request.getfixturevalue("server")) if request.param == "Redis" else Queue(tmp_path / "queue.db")


@pytest.fixture
def relay(start, tmp_path):
    """Creates relays, and ends them and their simulators with the test."""
    running = []

    def make(simulator, **arguments):
        running.append(Relay(tmp_path, simulator, **arguments))
        return running[-1]

    yield make
    for one in running:
        one.kill()
