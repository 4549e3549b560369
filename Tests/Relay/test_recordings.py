"""A day of the relay, recorded from its log at the level trace."""

import json
import signal
import subprocess

import pytest
from relaying import DEADLINE, wait_until
from simulator import tool

COUNT = 30


def device(number):
    return f"{number + 1:08x}" * 8


def recorded(log):
    ran = subprocess.run([tool(), "record", "-"], input=log, capture_output=True, text=True, timeout=DEADLINE)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.parametrize("form", ["json", "text"])
def test_the_log_becomes_a_recording(start, relay, tmp_path, form):
    simulator = start()
    simulator.control("POST", "/rejections", {"token": device(0), "reason": "Unregistered"})
    simulator.control("POST", "/rejections", {"token": device(1), "reason": "Shutdown", "times": 1})
    one = relay(simulator, level="trace")
    one.file.write_text(json.dumps(json.loads(one.file.read_text()) | {"log": {"level": "trace", "format": form}}))
    one.queue.add(*({"id": f"{number}", "token": device(number)} for number in range(COUNT)))
    one.start().wait_done()
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(DEADLINE) == 0
    day = tmp_path / "day.jsonl"
    day.write_text(recorded(one.log.read_text()))
    _, *told = map(json.loads, day.read_text().splitlines())
    sent = [line for line in told if line["event"] == "push"]
    assert len({line["device"] for line in sent}) == COUNT
    assert sorted(line["status"] for line in sent) == [200] * (COUNT - 1) + [410, 503]
    assert [line["reason"] for line in sent if line["status"] == 503] == ["Shutdown"]
    assert [line["status"] for line in sent if line.get("again")] == [200]
    # The same responses again.
    service = start("--replay", day)
    subprocess.run([tool(), "send", "--replay", day, "--host", "127.0.0.1", "--port", str(service.ready["http2_port"]), "--ca",
                    service.ready["ca"], "--certificate", service.ready["provider"]], capture_output=True, timeout=DEADLINE)
    wait_until(lambda: service.control("GET", "/counters")[1]["accepted"] == COUNT - 1, "not all pushes arrive")
    assert service.control("GET", "/counters")[1]["reasons"] == {"Shutdown": 1, "Unregistered": 1}
