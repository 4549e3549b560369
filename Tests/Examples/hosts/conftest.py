import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "Simulator"), str(TESTS)]

import own_network  # noqa: E402
from apns import APNs  # noqa: E402
from running import certificates  # noqa: E402, F401

# Hosts have fixed ports, and APNs has the same one after a restart.
own_network.enter()


@pytest.fixture
def apns(certificates, tmp_path):
    """APNs that rejects the tokens of `apns.BAD`."""
    one = APNs(certificates, tmp_path)
    yield one
    one.kill()
