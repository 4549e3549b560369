"""Relays with HTTP listeners, for hosts that push through them."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Relay"))

from relaying import Relay  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "Examples/integrations"
PAYLOAD = b'{"aps":{"alert":"Hello"}}'
TOPIC = "com.example.app"
BEARER = "cR4u1m9XqYt0Zb7L"


@pytest.fixture
def relays(apns, tmp_path):
    """Starts relays, which share a queue, with these options of a listener, and ends them with the test."""
    running = []

    def start(**listener):
        queue = running[0].queue if running else None
        relay = Relay(
            tmp_path, apns, name=f"relay-{len(running) + 1}", queue=queue, listeners={"web": {"type": "http"} | listener},
            # A tenth of the tokens is bad, and the guard would wait for more responses first.
            app={"guard": {"share": 0.5}})
        running.append(relay)
        relay.start().wait_ready()
        relay.wait_said("the listener web is open")
        return relay

    yield start
    for one in running:
        one.kill()


def copy(example, to, places):
    """Copies a file of an example, with the paths, ports and names of this test. Each must occur in it."""
    text = (EXAMPLES / example).read_text()
    for old, new in places.items():
        assert old in text, (example, old)
        text = text.replace(old, str(new))
    to.write_text(text)
    return to
