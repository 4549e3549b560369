"""loops.py TOOL PROGRAM...: each program prints what the loops' README shows, also if the service starts after the
program."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import own_network  # noqa: E402

tool, *programs = sys.argv[1:]
# A gateway returns at a port that was free meanwhile, so use a private network.
own_network.enter()
readme = pathlib.Path("Examples/c/loops/README.md").read_text(encoding="utf-8")
assert "\n500 accepted, 0 rejected, 0 unknown\n" in readme


def simulate(directory, port, ledger):
    command = [tool, "simulate", "--http2-port", str(port), "--token-size", "any"]
    command += ["--certificates", f"{directory}/certificates", "--ledger", ledger, "--json"]
    command += ["--log-level", "critical", "--parent", str(os.getpid())]
    gateway = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return gateway, json.loads(gateway.stdout.readline())


def run(program, ready, port):
    words = [program, "127.0.0.1", str(port), ready["provider"], ready["ca"], "500"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check(gateway, ledger, running, title):
    out, complaints = running.communicate(timeout=240)
    assert running.returncode == 0 and out == "500 accepted, 0 rejected, 0 unknown\n", (title, out, complaints)
    assert all(line.startswith("retrying: ") for line in complaints.splitlines()), (title, complaints)
    gateway.terminate()
    gateway.communicate(timeout=240)
    with open(ledger, encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    badges = sorted(
        json.loads(one["payload"])["aps"]["badge"] for one in entries if one.get("outcome") == "accepted"
    )
    assert badges == [*range(500)], f"{title}: lost or duplicated"
    print(f"ok: {title}")


with tempfile.TemporaryDirectory() as directory:
    ledger = os.path.join(directory, "ledger")
    for program in programs:
        name = os.path.basename(program)
        gateway, ready = simulate(directory, 0, ledger)
        check(gateway, ledger, run(program, ready, ready["http2_port"]), name)
        os.unlink(ledger)
        # The port is free now and refuses connections until the service returns.
        running = run(program, ready, ready["http2_port"])
        first = running.stderr.readline()
        assert first.startswith("retrying: "), first
        gateway, ready = simulate(directory, ready["http2_port"], ledger)
        check(gateway, ledger, running, f"{name}, with the service started later")
        os.unlink(ledger)
