import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Simulator"))

from simulator import Simulator  # noqa: E402


@pytest.fixture(scope="session")
def server_certificate(tmp_path_factory):
    """An authority and a certificate for localhost: `ca`, `certificate` and `key`."""
    directory = tmp_path_factory.mktemp("server")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)

    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority")
    openssl("req", *new, "-keyout", "server.key", "-out", "request", "-subj", "/CN=localhost")
    (directory / "names").write_text("subjectAltName=DNS:localhost\n")
    openssl("x509", "-req", "-in", "request", "-out", "server.pem", "-days", "2", "-CA", "ca.pem",
            "-CAkey", "ca.key", "-set_serial", "2", "-extfile", "names")
    return {"ca": directory / "ca.pem", "certificate": directory / "server.pem", "key": directory / "server.key"}


@pytest.fixture(scope="session")
def simulator_certificates(tmp_path_factory):
    directory = tmp_path_factory.mktemp("certificates")
    Simulator(directory).stop()
    return directory


@pytest.fixture
def simulate(simulator_certificates):
    """Starts simulators and lets none of them outlive the test."""
    running = []

    def start(*options, faults=None, **arguments):
        running.append(Simulator(simulator_certificates, "--http2-port", 0, *options, faults=faults, **arguments))
        return running[-1]

    yield start
    for simulator in running:
        simulator.kill()
