"""Programs of that time, unmodified but for host and port, push through the binary door."""

import pathlib
import shutil
import subprocess

import pytest
from relaying import pushes, token, wait_until
from test_binary_door import Door, people  # noqa: F401

PROGRAMS = pathlib.Path(__file__).parent / "Programs"
COUNT = 2000


@pytest.fixture
def door(start, relay, tmp_path, people):  # noqa: F811
    return Door(relay, start(faults={"bad_share": 0.05}), tmp_path, people, app={"guard": {"least": 1, "share": 1, "wait_s": 0}})


def run(*words):
    ran = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def arrived(door, count):
    """Each of them has its outcome once, and each dead device is in the feedback."""
    wait_until(lambda: door.queue.outcomes_so_far() >= count, "they do not arrive")
    door.relay.wait_done()
    tokens = [one for _, _, one, *_ in door.queue.outcomes()]
    assert len(tokens) == len(set(tokens)) == count
    rejected = {one for _, _, one, outcome, *_ in door.queue.outcomes() if outcome == "rejected"}
    assert rejected
    wait_until(lambda: rejected == {one for one, in door.queue.rows("SELECT token FROM feedback")}, "feedback lacks some")
    assert set(door.queue.counts()) == {"accepted", "rejected"}
    return set(tokens)


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


def test_a_connection_for_each_push(door, people, tmp_path):  # noqa: F811
    php(tmp_path, PROGRAMS / "push_each.php", door.port, people.listed, 1, 300)
    assert arrived(door, 300) == {token(n) for n in range(1, 301)}
