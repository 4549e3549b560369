import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Simulator"))

from simulator import Simulator  # noqa: E402


@pytest.fixture(scope="session")
def server_certificate(tmp_path_factory):
    """An authority and a certificate for localhost: `ca`, `certificate` and `key`. With key in one file a
    provider's, by the same authority, and a stranger's, by another of its name: `provider`, `stranger`."""
    directory = tmp_path_factory.mktemp("server")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)

    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    (directory / "names").write_text("subjectAltName=DNS:localhost\n")

    def authority(name):
        openssl("req", "-x509", *new, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", "/CN=authority")

    def issue(name, by, subject):
        openssl("req", *new, "-keyout", f"{name}.key", "-out", "request", "-subj", subject)
        openssl("x509", "-req", "-in", "request", "-out", f"{name}.pem", "-days", "100", "-CA", f"{by}.pem",
                "-CAkey", f"{by}.key", "-set_serial", str(len(name)), "-extfile", "names")
        both = directory / f"{name}-both.pem"
        both.touch(0o600)
        both.write_text("".join((directory / f"{name}.{end}").read_text() for end in ("pem", "key")))
        return both

    authority("ca")
    authority("other")
    issue("server", "ca", "/CN=localhost")
    return {
        "ca": directory / "ca.pem", "certificate": directory / "server.pem", "key": directory / "server.key",
        "provider": issue("provider", "ca", "/UID=com.example.app/CN=provider"),
        "stranger": issue("stranger", "other", "/UID=com.example.app/CN=provider")}


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
