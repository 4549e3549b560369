"""Programs of that time, unmodified but for host and port, push through the binary door. LEGACY_PUSHES=10000 says how many
notifications each of them pushes."""

import os
import pathlib
import shutil
import subprocess

import pytest
from fetch import DIRECTORY, LIBRARIES, find_python
from relaying import pushes, token, wait_until
from test_binary_door import Door, people  # noqa: F401

PROGRAMS = pathlib.Path(__file__).parent / "Programs"
COUNT = int(os.environ.get("LEGACY_PUSHES", 1000))
# So many more, among them some that it was told of, at FIRST.
MORE = 200


@pytest.fixture
def door(start, relay, tmp_path, people):  # noqa: F811
    options = {"fingerprints": {"shop": people.listed_print}, "min_tls": "1.0"}
    return Door(
        relay, start(faults={"bad_share": 0.01}), tmp_path, people, door=options, level="info",
        app={"guard": {"least": 1, "share": 1, "wait_s": 0}})


def run(*words, **environment):
    ran = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=os.environ | environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def dead(door):
    return {one for one, in door.queue.rows("SELECT token FROM outcomes WHERE outcome = 'rejected'")}


def arrived(door, count):
    """Each of them has its outcome once, and each dead device is in the feedback."""
    door.done(count)
    tokens = [one for _, _, one, *_ in door.queue.outcomes()]
    assert len(tokens) == len(set(tokens)) == count
    assert dead(door)
    wait_until(lambda: dead(door) == {one for one, in door.queue.rows("SELECT token FROM feedback")}, "feedback lacks some")
    assert set(door.queue.counts()) == {"accepted", "rejected"}
    pushed = [push["token"] for push in pushes(door.relay.simulator)]
    assert len(pushed) == len(set(pushed)) == count - len(dead(door))
    return set(tokens)


def tell(door, tmp_path, run_program):
    """A program that hears answers: nothing is lost, nothing arrives twice, and it is told of each dead device."""
    gone = [token(n) for n in range(5, COUNT, COUNT // 5)]
    for one in gone:
        door.relay.simulator.control("POST", "/unregistered", {"token": one})
    file, told = tmp_path / "tokens", {"packet": [], "feedback": []}

    def told_of(*tokens):
        file.write_text("\n".join(tokens))
        for line in run_program(file).splitlines():
            if line:
                how, one = line.split()
                told[how].append(one)

    everybody = [token(n) for n in range(1, COUNT + 1)]
    told_of(*everybody)
    door.done(COUNT)
    assert not told["packet"] and set(gone) < dead(door)
    wait_until(lambda: {one for one, in door.queue.rows("SELECT token FROM bad")} == dead(door), "they are not remembered")
    # Now the door knows some itself: the first, one behind another, and the last.
    known = sorted(dead(door))[:4]
    more = [token(n) for n in range(COUNT + 1, COUNT + MORE + 1)]
    told_of(known[0], *more[:90], *known[1:3], *more[90:], known[3])
    door.done(COUNT + MORE)
    assert told["packet"] == known
    wait_until(lambda: {one for one, in door.queue.rows("SELECT token FROM bad")} == dead(door), "they are not remembered")
    told_of()
    assert set(told["feedback"]) == dead(door) and len(told["feedback"]) == len(dead(door))
    pushed = [push["token"] for push in pushes(door.relay.simulator)]
    assert sorted(pushed) == sorted(set(everybody + more) - dead(door))
    assert door.queue.outcomes_so_far() == COUNT + MORE


@pytest.mark.parametrize("form", ["SIMPLE", "ENHANCED"])
def test_apples_listings(door, people, tmp_path, form):  # noqa: F811
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("there is no C compiler")
    program = tmp_path / "listing"
    run(compiler, "-O2", f"-D{form}", PROGRAMS / "listing.c", "-o", program, "-lssl", "-lcrypto")
    assert run(program, door.port, people.listed, 1, COUNT) == f"{COUNT}\n"
    assert arrived(door, COUNT) == {token(n) for n in range(1, COUNT + 1)}


def php(tmp_path, *words):
    program = shutil.which("php")
    if not program or "openssl" not in run(program, "-m"):
        pytest.skip("there is no PHP with openssl")
    return run(program, "-d", f"openssl.cafile={tmp_path}/gateway-door-ca.pem", *words)


def test_the_batch_loop_of_php(door, people, tmp_path):  # noqa: F811
    said = php(tmp_path, PROGRAMS / "batch_loop.php", door.port, people.listed, COUNT)
    assert said.startswith("Connection OK\n")
    arrived(door, COUNT + 1)


def test_the_class_of_php_connects_for_each_push(door, people, tmp_path):  # noqa: F811
    count = COUNT // 5
    shutil.copy(people.listed, tmp_path / "iphoneDis.pem")
    php(tmp_path, PROGRAMS / "apns_service.php", door.port, tmp_path / "iphoneDis.pem", 1, count)
    assert arrived(door, count) == {token(n) for n in range(1, count + 1)}


def test_plain_php_that_hears_answers(door, people, tmp_path):  # noqa: F811
    tell(door, tmp_path, lambda file: php(tmp_path, PROGRAMS / "stream_client.php", door.port, door.feedback_port, people.listed, file))


OLD_TLS = """
openssl_conf = all
[all]
ssl_conf = tls
[tls]
system_default = old
[old]
MinProtocol = TLSv1
CipherString = DEFAULT:@SECLEVEL=0
"""


# These two speak TLS 1.0 and nothing else: their system is told to have it still.
@pytest.mark.parametrize("program", LIBRARIES)
def test_libraries_of_python(door, people, tmp_path, program):  # noqa: F811
    versions, packages = LIBRARIES[program]
    python = find_python(versions)
    if python is None:
        pytest.skip(f"there is no Python {' or '.join(versions)}, and what is tested knows no newer one")
    path = DIRECTORY / program
    if not path.exists():
        pytest.skip(f"Tests/Relay/fetch.py has not installed {' '.join(packages)}")
    (tmp_path / "openssl.cnf").write_text(OLD_TLS)
    tell(
        door, tmp_path,
        lambda file: run(
            python, "-W", "ignore", PROGRAMS / program, door.port, door.feedback_port, people.listed, file,
            PYTHONPATH=str(path), OPENSSL_CONF=str(tmp_path / "openssl.cnf")))
