"""What providers report of Apple's service: `--like production`, and each of its faults."""

import pytest
from http2 import Client, jwt
from simulator import TOKEN, Simulator


@pytest.fixture(scope="module")
def production(certificates):
    simulator = Simulator(certificates, "--like", "production", control=True)
    yield simulator
    simulator.stop()


def test_the_faults_of_production(production):
    assert production.control("GET", "/faults")[1]["faults"] == {
        "streams_max": 1000, "streams_after_rejection": 1, "goaway_age_s": [7200, 86400], "gone_delay_s": [3600, 2592000]}


def test_a_slow_start_to_1000_streams(production):
    with Client(production, certificate=False, bearer=jwt(production)) as client:
        client.until(lambda: client.settings.get(3) == 1)
        client.push()
        client.until(lambda: client.settings.get(3) == 1000)


def test_streams_after_a_rejection(shared):
    simulator = shared({"streams_after_rejection": 2, "bad_prefixes": ["ba"]})
    with Client(simulator) as client:
        assert client.push() == (200, None)
        for _ in range(2):
            assert client.push(token=b"\xba" * 32) == (400, "BadDeviceToken")
            client.until(lambda: client.settings[3] == 2)
        assert client.push() == (200, None)
        client.until(lambda: client.settings[3] == 1000)


def test_no_unique_id(production):
    with Client(production) as client:
        assert "apns-unique-id" not in client.answer(client.request()).headers


def test_429_of_one_connection(production):
    with Client(production, certificate=False, bearer=jwt(production, age=100)) as client, \
            Client(production, certificate=False, bearer=jwt(production, age=100)) as other:
        assert (client.push(), other.push()) == ((200, None), (200, None))
        client.bearer = jwt(production)
        assert client.push() == (429, "TooManyProviderTokenUpdates")
        assert other.push() == (200, None)


def test_a_gone_device_is_accepted_at_first(production):
    gone = bytes([7]) * 32
    assert production.control("POST", "/unregistered", {"token": gone.hex()})[0] == 200
    with Client(production) as client:
        assert client.push(token=gone) == (200, None)
        assert production.control("PATCH", "/faults", {"gone_delay_s": None})[0] == 200
        assert client.push(token=gone) == (410, "Unregistered")
        assert production.control("PATCH", "/faults", {"gone_delay_s": [3600, 2592000]})[0] == 200


def test_the_fault_for_gone_devices(shared):
    """As in July 2025, a shorter time brings the 410 of many devices at once."""
    devices = [bytes([number]) * 32 for number in range(1, 21)]
    simulator = shared({"gone_delay_s": [1000, 2_000_000_000]})
    for device in devices:
        # Found gone in 1990.
        assert simulator.control("POST", "/unregistered", {"token": device.hex(), "timestamp": 631_152_000})[0] == 200

    def gone():
        with Client(simulator) as client:
            return [device for device in devices if client.push(token=device)[0] == 410]

    some = gone()
    assert 0 < len(some) < len(devices) and some == gone()
    assert simulator.control("PATCH", "/faults", {"gone_delay_s": [1_000_000_000_000, 1_000_000_000_001]})[0] == 200
    assert gone() == []
    assert simulator.control("PATCH", "/faults", {"gone_delay_s": 1000})[0] == 200
    assert gone() == devices
    with Client(simulator) as client:
        assert client.push(token=TOKEN) == (200, None)


def test_goaway_by_age(shared):
    simulator = shared({"goaway_age_s": 100_000, "goaway_reason": "Shutdown"})
    with Client(simulator) as client:
        stream = client.request()
        assert client.answer(stream).status == 200 and client.goaway is None
        # An open connection that is older gets it too.
        simulator.control("PATCH", "/faults", {"goaway_age_s": 0})
        client.until(lambda: client.goaway)
        assert client.goaway == (stream, 0, b'{"reason":"Shutdown"}')
    with Client(simulator) as client:
        client.until(lambda: client.goaway)
        assert client.goaway[0] == 0
