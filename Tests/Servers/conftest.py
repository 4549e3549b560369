import functools
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Simulator"))

from running import certificates, start  # noqa: E402, F401
from simulator import make_certificates  # noqa: E402


@pytest.fixture(scope="session")
def server_certificate(tmp_path_factory):
    """A CA and a certificate for localhost: `ca`, `certificate` and `key`. Two providers' certificates with their
    key: `provider`, signed by that CA, and `stranger`, by another CA of the same name."""
    own, other = (make_certificates(tmp_path_factory.mktemp("made") / name, "/UID=com.example.app/CN=provider")
                  for name in ("own", "other"))
    return {"ca": own / "ca.pem", "certificate": own / "server.pem", "key": own / "server.key",
            "provider": own / "provider.pem", "stranger": other / "provider.pem"}


@pytest.fixture
def simulate(start):
    return functools.partial(start, "--http2-port", 0)
