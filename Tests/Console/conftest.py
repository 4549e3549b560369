"""Relays as in Tests/Relay, and their page in a browser."""

import importlib.util
import pathlib
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "Dashboard"))
SPEC = importlib.util.spec_from_file_location("relay_conftest", HERE.parent / "Relay" / "conftest.py")
sys.modules["relay_conftest"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(sys.modules["relay_conftest"])

from chromium import browser, pages  # noqa: E402, F401
from relay_conftest import certificates, idle, relay, start  # noqa: E402, F401
from relaying import Queue  # noqa: E402


@pytest.fixture
def queue():
    """Its name is on the pictures."""
    with tempfile.TemporaryDirectory(prefix="shop-") as directory:
        yield Queue(pathlib.Path(directory) / "queue.db")


@pytest.fixture
def show(browser):  # noqa: F811
    """Opens the pages of relays."""
    with pages(browser) as show:
        yield lambda one, **arguments: show(f"http://127.0.0.1:{one.port_file.read_text().strip()}/", **arguments)
