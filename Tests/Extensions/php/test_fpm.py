"""Persistent sessions under php-fpm: one connection per worker, nothing lost, every outcome with its name."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "Simulator"))
from fastcgi import Pool  # noqa: E402
from simulator import Simulator  # noqa: E402

MODULE = os.environ["APNS_MODULE"]


@pytest.fixture
def simulator(tmp_path):
    faults = {"bad_tokens": [device("bad")]}
    made = Simulator(tmp_path / "certificates", control=True, faults=faults)
    yield made
    made.kill()


@pytest.fixture
def pool(tmp_path, simulator):
    pools = []

    def start(workers, *settings, **more):
        pools.append(Pool(
            tmp_path, MODULE, workers, "apns.protocol=binary", "apns.host=127.0.0.1",
            f"apns.port={simulator.ready['gateway_port']}",
            f"apns.certificate_file={simulator.ready['provider']}", f"apns.ca_file={simulator.ready['ca']}",
            *settings, **more))
        return pools[-1]

    yield start
    for one in pools:
        one.stop()


def device(name):
    return hashlib.sha256(str(name).encode()).hexdigest()


def push(pool, name, **more):
    query = "&".join(f"{key}={value}" for key, value in {"device": device(name), "name": name, **more}.items())
    answer = pool.request(HERE / "push.php", query)
    try:
        return json.loads(answer)
    except ValueError:
        raise AssertionError(answer)


def test_as_many_connections_as_workers_and_nothing_lost(simulator, pool):
    count = 10_000
    fpm = pool(4)
    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(lambda n: push(fpm, n), range(count)))
    workers = {answer["worker"] for answer in answers}
    assert len(workers) == 4
    counters = simulator.wait("/counters", lambda now: now["accepted"] >= count)
    # Workers keep their connections, and none needed its standby.
    assert counters["connections"] == 4, counters
    fpm.stop()
    counters = simulator.control("GET", "/counters")[1]
    assert counters["accepted"] == count and counters["duplicates"] == 0, counters
    accepted, start = [], 0
    while len(accepted) < count:
        page = simulator.control("GET", f"/accepted?from={start}&limit=1000")[1]
        accepted += page["notifications"]
        start = page["next"]
    assert {one["token"] for one in accepted} == {device(n) for n in range(count)}
    assert sum(answer["taken"] == 1 for answer in answers) == 4


def test_an_outcome_goes_to_a_later_request_by_name_only(simulator, pool):
    fpm = pool(1)
    push(fpm, "good")
    first = push(fpm, "bad", request="the first")
    assert first["own"] == first["left"] == []
    simulator.wait("/counters", lambda now: now["statuses"].get("8") == 1)
    # A request that reads only its own outcomes gets none and loses none of the others.
    second = push(fpm, "good", look="own")
    assert second["own"] == second["left"] == []
    third = push(fpm, "good", look="both")
    assert third["own"] == []
    assert third["left"] == [["the first", "rejected: invalid token (status 8)", device("bad"), {"name": "bad"}]]
    fourth = push(fpm, "good", look="both")
    assert fourth["own"] == fourth["left"] == []
    own = push(fpm, "bad", look="both", request="mine")
    assert own["own"] == [["mine", "rejected: invalid token (status 8)", device("bad"), {"name": "bad"}]]
    assert own["left"] == []


def test_unflushed_notifications_are_sent_when_the_request_ends(simulator, pool):
    fpm = pool(1)
    assert push(fpm, "one", more="1")["taken"] == 1
    simulator.wait("/counters", lambda now: now["accepted"] == 1)
    # Also if the script exits early or runs out of memory.
    assert fpm.request(HERE / "push.php", f"device={device('two')}&name=two&more=1&end=exit") == "exit"
    assert "Allowed memory size" in fpm.request(
        HERE / "push.php", f"device={device('three')}&name=three&more=1&end=memory")
    simulator.wait("/counters", lambda now: now["accepted"] == 3)
    assert push(fpm, "four")["taken"] == 4
    assert simulator.control("GET", "/counters")[1]["connections"] == 1


def test_a_worker_that_ends_logs_unread_outcomes(simulator, pool):
    fpm = pool(1)
    push(fpm, "good")
    push(fpm, "bad", request="the last")
    push(fpm, "after it")
    fpm.stop()
    simulator.wait("/counters", lambda now: now["accepted"] == 2)
    text = fpm.log_text()
    assert (
        f'nobody took the outcome of notification 2 of request "the last" to {device("bad")}: '
        "rejected, invalid token" in text
    ), text
    assert text.count("nobody took the outcome") == 1, text


def test_frequently_replaced_workers_lose_nothing(simulator, pool):
    fpm = pool(2, max_requests=10)
    for number in range(100):
        push(fpm, number, more=str(number % 2))
    fpm.stop()
    counters = simulator.wait("/counters", lambda now: now["accepted"] >= 100)
    assert counters["accepted"] == 100 and counters["duplicates"] == 0, counters


def test_passphrases_of_php_ini_pool_and_directory(simulator, pool, tmp_path):
    """Each passphrase opens its key in every request, and a script cannot read it."""
    key = tmp_path / "locked.key"
    subprocess.run(["openssl", "pkey", "-in", simulator.ready["provider"], "-aes256", "-passout", "pass:right-SECRET",
                    "-out", key], check=True)
    for name, said in ("plain", ""), ("another", "apns.passphrase=wrong-SECRET"), ("none", "apns.passphrase="):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".user.ini").write_text(said + "\n")
        shutil.copy(HERE / "passphrase.php", tmp_path / name)

    def fetch(fpm, name):
        script = tmp_path / name / "passphrase.php"
        return json.loads(fpm.request(script, f"key={key}", DOCUMENT_ROOT=str(script.parent)))

    for settings, lines in ((["apns.passphrase=right-SECRET"], []),
                            (["apns.passphrase=wrong-SECRET"], ["php_value[apns.passphrase] = right-SECRET"])):
        fpm = pool(1, *settings, lines_of_pool=lines)
        for name in "plain", "plain", "another", "plain", "none", "another", "another", "plain":
            assert fetch(fpm, name) == {"opens": name == "plain", "seen": False}, name
        fpm.stop()
