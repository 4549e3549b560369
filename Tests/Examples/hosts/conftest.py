import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "Simulator"), str(TESTS)]

# So that a failure shows the values.
pytest.register_assert_rewrite("apns", "hosts", "native", "phphost", "relayed")

import own_network  # noqa: E402
from apns import APNs  # noqa: E402
from relayed import relays  # noqa: E402, F401
from running import certificates  # noqa: E402, F401

# Hosts have fixed ports, and APNs has the same one after a restart.
own_network.enter()


@pytest.fixture
def keep():
    """Takes processes, and kills them after the test."""
    kept = []
    yield lambda one: kept.append(one) or one
    for one in reversed(kept):
        one.kill()


@pytest.fixture
def apns(certificates, tmp_path, keep):
    """APNs that rejects the tokens of `apns.BAD`."""
    return keep(APNs(certificates, tmp_path))
