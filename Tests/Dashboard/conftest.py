import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Simulator")]

from chromium import Chromium, program  # noqa: E402
from simulator import Simulator  # noqa: E402


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """RSA keys take their time: one set serves all tests."""
    directory = tmp_path_factory.mktemp("certificates")
    Simulator(directory).stop()
    return directory


@pytest.fixture
def start(certificates):
    """Starts simulators with the page, and lets none of them outlive the test."""
    running = []

    def start(*options, **arguments):
        arguments.setdefault("control", True)
        simulator = Simulator(certificates, "--dashboard-port", 0, *options, **arguments)
        simulator.url = f"http://127.0.0.1:{simulator.ready['dashboard_port']}/"
        running.append(simulator)
        return simulator

    yield start
    for simulator in running:
        simulator.kill()


@pytest.fixture(scope="session")
def browser():
    if program() is None:
        pytest.skip("there is no chromium")
    browser = Chromium()
    yield browser
    browser.close()


@pytest.fixture
def show(browser):
    """Opens pages; none of them may have complained, or asked anybody else for anything."""
    pages = []

    def show(simulator, **arguments):
        pages.append(browser.page(simulator.url, **arguments))
        pages[-1].wait("document.getElementById('link').dataset.is === 'live'")
        return pages[-1]

    yield show
    complaints = [complaint for page in pages for complaint in page.complaints()]
    for page in pages:
        page.close()
    assert complaints == []
