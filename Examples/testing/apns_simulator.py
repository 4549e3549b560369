"""A fixture for pytest: every test gets its own APNs, on a simulator that all tests share.

The package apns-simulator has it and the simulator: with that no import is needed.

    def test_a_push(apns_simulator):
        ...  # your program pushes to apns_simulator.host and .port
        assert apns_simulator.pushes[0].payload["aps"]["alert"] == "Hello"

Or copy this file next to your tests, name it in conftest.py (`pytest_plugins = ["apns_simulator"]`), and have the program
`apns` on PATH or named by APNS_SIMULATOR. It needs no package but pytest. With pytest-xdist each worker has one simulator.
A marker sets the options of a test's world, which POST /worlds has: @pytest.mark.apns_simulator(topics=["com.example.app"]).
Override the fixture apns_simulator_options for more options of `apns simulate`.
"""

import base64
import dataclasses
import http.client
import json
import os
import shutil
import subprocess
import sysconfig
import time
import typing

import pytest


@dataclasses.dataclass(frozen=True)
class Push:
    """An accepted push. A header that it lacks is None."""

    token: str
    topic: typing.Optional[str]
    push_type: typing.Optional[str]
    id: str
    priority: typing.Optional[int]
    expiration: typing.Optional[int]
    collapse_id: typing.Optional[str]
    #: Of a broadcast, whose token is empty.
    channel: typing.Optional[str]
    payload: typing.Any
    #: Everything that the control API has of it.
    record: typing.Dict[str, typing.Any] = dataclasses.field(repr=False)

    @classmethod
    def read(cls, record):
        body = record["payload"] if "payload" in record else base64.b64decode(record["payload_base64"])
        try:
            payload = json.loads(body)
        except ValueError:
            payload = body
        numbers = {name: record.get(name) and int(record[name]) for name in ("priority", "expiration")}
        texts = {name: record.get(name) for name in ("topic", "push_type", "collapse_id", "channel")}
        return cls(token=record["token"], id=record.get("apns_id"), payload=payload, record=record, **numbers, **texts)


def installed():
    """The program as pip installed it for this Python, or on PATH; None without one."""
    beside = shutil.which("apns-simulator", path=sysconfig.get_path("scripts"))
    return beside or shutil.which("apns-simulator") or shutil.which("apns")


class Simulator:
    """One process, with certificates and keys for all worlds."""

    def __init__(self, certificates, options=()):
        program = os.environ.get("APNS_SIMULATOR") or installed()
        if not program:
            pytest.fail("there is no program apns: put it on PATH, or its path into APNS_SIMULATOR", pytrace=False)
        command = [program, "simulate", "--json", "--parent", str(os.getpid()), "--log-level", "error"]
        command += ["--http2-port", "0", "--channels-port", "0", "--control-port", "0", "--certificates", str(certificates)]
        try:
            self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        except OSError as error:
            pytest.fail(f"{program}: {error.strerror}", pytrace=False)
        line = self.process.stdout.readline()
        if not line:
            pytest.fail(f"{program} simulate ended with status {self.process.wait()}", pytrace=False)
        self.ready = json.loads(line)

    def control(self, method, path, body=None):
        """A request to the control API; returns the JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ready["control_port"])
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            answer = json.loads(response.read())
        except OSError as error:
            raise RuntimeError(f"the simulator does not answer: {error}; status {self.process.poll()}") from error
        finally:
            connection.close()
        if response.status >= 400:
            raise ValueError(answer["error"])
        return answer

    def stop(self):
        self.process.terminate()
        self.process.communicate()


class World:
    """The APNs of one test."""

    def __init__(self, simulator, **options):
        self.simulator = simulator
        world = simulator.control("POST", "/worlds", options)
        ready = simulator.ready
        self.path = world["path"]
        self.host, self.port, self.channels_port = "127.0.0.1", world["http2_port"], world["channels_port"]
        #: Of the binary interface, with the option --binary.
        self.gateway_port, self.feedback_port = world["gateway_port"], world["feedback_port"]
        #: Files in PEM: whom to trust, and a provider's certificate and its key.
        self.ca, self.certificate, self.key = ready["ca"], ready["provider_certificate"], ready["provider_key"]
        #: For provider tokens instead of the certificate.
        self.token_key, self.key_id, self.team_id = ready["token_key"], ready["token_key_id"], ready["token_team_id"]

    def control(self, method, path, body=None):
        return self.simulator.control(method, self.path + path, body)

    @property
    def pushes(self):
        """The accepted pushes, the oldest first."""
        records, at = [], 0
        while True:
            page = self.control("GET", f"/accepted?from={at}&limit=10000")
            if not page["notifications"]:
                return [Push.read(record) for record in records]
            records += page["notifications"]
            at = page["next"]

    @property
    def counters(self):
        """Totals such as accepted, reasons and connections."""
        return self.control("GET", "/counters")

    def wait(self, count, seconds=60):
        """Waits for this number of pushes from a program that pushes in the background, and returns them."""
        deadline = time.monotonic() + seconds
        while self.counters["accepted"] < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.counters['accepted']} of {count} pushes arrived within {seconds} s")
            time.sleep(0.005)
        return self.pushes

    def reject(self, token, reason="BadDeviceToken", times=None):
        """Rejects pushes to a device token in hex, with a reason of Apple's or "418 Teapot"; all, or some times."""
        limit = {} if times is None else {"times": times}
        self.control("POST", "/rejections", {"token": token, "reason": reason, **limit})

    def unregister(self, token, reason="Unregistered"):
        """The app is gone from the device: pushes get 410, and the feedback service lists it."""
        self.control("POST", "/unregistered", {"token": token, "reason": reason})

    def drop_after(self, count):
        """Cuts each connection after this number of accepted pushes. The last gets no response."""
        self.fault(cut_after=count)

    def fault(self, **faults):
        """Adds faults of `apns simulate --help`; None removes one."""
        self.control("PATCH", "/faults", faults)

    def end(self):
        """Closes its ports and connections; returns the totals."""
        return self.simulator.control("DELETE", self.path)


def pytest_configure(config):
    config.addinivalue_line("markers", "apns_simulator(**options): the options of POST /worlds for this test")


@pytest.fixture(scope="session")
def apns_simulator_options():
    """More options of `apns simulate`, such as ["--binary"]."""
    return []


@pytest.fixture(scope="session")
def apns_simulator_process(tmp_path_factory, apns_simulator_options):
    """The simulator that all tests share."""
    simulator = Simulator(tmp_path_factory.mktemp("apns-simulator"), apns_simulator_options)
    yield simulator
    simulator.stop()


@pytest.fixture
def apns_simulator(request, apns_simulator_process):
    """An APNs for this test only."""
    marker = request.node.get_closest_marker("apns_simulator")
    world = World(apns_simulator_process, **(marker.kwargs if marker else {}))
    yield world
    world.end()
