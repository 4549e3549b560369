"""One provider token for all processes of a machine: php-fpm workers, Python programs, runs of the tool."""

import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parents[1] / "Simulator"))
from fastcgi import Pool  # noqa: E402
from simulator import Simulator, tool  # noqa: E402

MODULE = os.environ["APNS_MODULE"]
# The suite python makes this environment, with the package in it.
PYTHON = os.environ.get("APNS_PYTHON", str(ROOT / "build/python/environment/bin/python"))
PROGRAM = """
import sys, libapns
host, port, key, ca, token = sys.argv[1:]
who = libapns.Credentials(token_key_file=key, key_id="SIMULATOR1", team_id="EXAMPLE123", ca_file=ca)
with libapns.Session(who, host=host, port=int(port), protocol="http2", topic="com.example.app") as session:
    session.send(token, {"aps": {}})
"""


def device(name):
    return hashlib.sha256(str(name).encode()).hexdigest()


def has_package():
    try:
        return subprocess.run([PYTHON, "-c", "import libapns"], capture_output=True).returncode == 0
    except OSError:
        return False


def push_all(tmp_path, place):
    """Pushes from eight workers, four programs and two runs together; returns the simulator's counters."""
    faults = {"token_renewal_over": "key"}
    simulator = Simulator(tmp_path / "certificates", "--http2-port", 0, control=True, faults=faults)
    key = pathlib.Path(simulator.ready["provider"]).with_name("provider-token.p8")
    port, ca = simulator.ready["http2_port"], simulator.ready["ca"]
    environment = {**os.environ, "APNS_TOKEN_CACHE": place}
    pool = Pool(
        tmp_path, MODULE, 8, "apns.host=127.0.0.1", f"apns.port={port}", "apns.protocol=http2",
        "apns.topic=com.example.app", f"apns.ca_file={ca}", f"apns.token_key_file={key}",
        "apns.key_id=SIMULATOR1", "apns.team_id=EXAMPLE123", f"apns.token_cache={place}",
    )  # fmt: skip
    programs = [[PYTHON, "-c", PROGRAM, "127.0.0.1", str(port), str(key), ca, device(f"python {n}")]
                for n in range(4 if has_package() else 0)]  # fmt: skip
    programs += [[tool(), "send", "--host", f"127.0.0.1:{port}", "--ca", ca, "--p8", str(key),
                  "--key-id", "SIMULATOR1", "--team-id", "EXAMPLE123", "--topic", "com.example.app",
                  "--alert", "Hello", device(f"tool {n}")] for n in range(2)]  # fmt: skip
    try:
        # Few pushes per worker, so that all sign or read the token at about the same time.
        queries = [f"device={device(n)}&name={n}&look=own" for n in range(64)]
        with concurrent.futures.ThreadPoolExecutor(8 + len(programs)) as together:
            runs = [together.submit(subprocess.run, program, env=environment, capture_output=True)
                    for program in programs]  # fmt: skip
            answers = list(together.map(lambda query: pool.request(HERE / "push.php", query), queries))
            ends = [run.result() for run in runs]
        assert all('"own":[]' in answer for answer in answers), answers
        return ends, simulator.control("GET", "/counters")[1]
    finally:
        pool.stop()
        simulator.kill()


def test_one_token_for_all(tmp_path):
    place = tmp_path / "shared"
    place.mkdir(mode=0o700)
    ends, counters = push_all(tmp_path, str(place))
    assert [end.returncode for end in ends] == [0] * len(ends), ends
    assert counters["reasons"] == {}, counters
    assert counters["accepted"] == 64 + len(ends), counters
    names = sorted(path.name for path in place.iterdir())
    assert names == ["apns-EXAMPLE123-SIMULATOR1.token", "apns-EXAMPLE123-SIMULATOR1.token.lock"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in place.iterdir())
    if len(ends) < 6:
        pytest.skip("all but Python: its package is not built (Tests/run python)")
