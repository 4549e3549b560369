"""Programs of that time, with only host and port changed, push through the binary listener. LEGACY_PUSHES=10000 sets
the number of notifications that each of them pushes."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from fetch import DIRECTORY, LIBRARIES, find_python
from relaying import pushes, token, wait_until
from test_binary_listener import Listener, people  # noqa: F401

PROGRAMS = pathlib.Path(__file__).parent / "Programs"
COUNT = int(os.environ.get("LEGACY_PUSHES", 1000))
# The number of devices. 2 % are bad; the listener knows half of these.
BELIEFS = int(os.environ.get("LEGACY_BELIEFS", 200))
# The number of further devices, pushed together with some rejected ones.
MORE = 200


@pytest.fixture
def listener(start, relay, tmp_path, people):  # noqa: F811
    options = {"fingerprints": {"shop": people.listed_print}, "min_tls": "1.0"}
    return Listener(
        relay, start(faults={"bad_share": 0.01}), tmp_path, people, listener=options, level="info",
        app={"guard": {"min_responses": 1, "share": 1, "wait": "0s"}})


@pytest.fixture
def open_listener(start, relay, tmp_path, people):  # noqa: F811
    def make(**options):
        options = {"fingerprints": {"shop": people.listed_print}, "min_tls": "1.0"} | options
        return Listener(
            relay, start("--check-payload"), tmp_path, people, listener=options, level="info",
            app={"guard": {"min_responses": 1, "share": 1, "wait": "0s"}})

    return make


def run(*words, **environment):
    ran = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=os.environ | environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def dead(listener):
    return {one for one, in listener.queue.rows("SELECT token FROM outcomes WHERE outcome = 'rejected'")}


def arrived(listener, count):
    """Checks that each has one outcome, and that the feedback list has each gone device."""
    listener.done(count)
    tokens = [one for _, _, one, *_ in listener.queue.outcomes()]
    assert len(tokens) == len(set(tokens)) == count
    assert dead(listener)
    wait_until(lambda: dead(listener) == {one for one, in listener.queue.rows("SELECT token FROM feedback")}, "feedback lacks some")
    assert set(listener.queue.counts()) == {"accepted", "rejected"}
    pushed = [push["token"] for push in pushes(listener.relay.simulator)]
    assert len(pushed) == len(set(pushed)) == count - len(dead(listener))
    return set(tokens)


def tell(listener, tmp_path, run_program):
    """Tests a program that reads error packets: nothing is lost, nothing arrives twice, and every gone device is
    reported to it."""
    gone = [token(n) for n in range(5, COUNT, COUNT // 5)]
    for one in gone:
        listener.relay.simulator.control("POST", "/unregistered", {"token": one})
    file, told = tmp_path / "tokens", {"packet": [], "feedback": []}

    def told_of(*tokens):
        file.write_text("\n".join(tokens))
        for line in run_program(file).splitlines():
            if line:
                how, one = line.split()
                told[how].append(one)

    everybody = [token(n) for n in range(1, COUNT + 1)]
    told_of(*everybody)
    listener.done(COUNT)
    assert not told["packet"] and set(gone) < dead(listener)
    wait_until(lambda: {one for one, in listener.queue.rows("SELECT token FROM bad_tokens")} == dead(listener), "they are not remembered")
    # Now the listener knows some bad tokens: the first, two in a row, and the last.
    known = sorted(dead(listener))[:4]
    more = [token(n) for n in range(COUNT + 1, COUNT + MORE + 1)]
    told_of(known[0], *more[:90], *known[1:3], *more[90:], known[3])
    listener.done(COUNT + MORE)
    assert told["packet"] == known
    wait_until(lambda: {one for one, in listener.queue.rows("SELECT token FROM bad_tokens")} == dead(listener), "they are not remembered")
    told_of()
    assert set(told["feedback"]) == dead(listener) and len(told["feedback"]) == len(dead(listener))
    pushed = [push["token"] for push in pushes(listener.relay.simulator)]
    assert sorted(pushed) == sorted(set(everybody + more) - dead(listener))
    assert listener.queue.outcomes_so_far() == COUNT + MORE


@pytest.mark.parametrize("form", ["SIMPLE", "ENHANCED"])
def test_apples_listings(listener, people, tmp_path, form):  # noqa: F811
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("there is no C compiler")
    program = tmp_path / "listing"
    run(compiler, "-O2", f"-D{form}", PROGRAMS / "listing.c", "-o", program, "-lssl", "-lcrypto")
    assert run(program, listener.port, people.listed, 1, COUNT) == f"{COUNT}\n"
    assert arrived(listener, COUNT) == {token(n) for n in range(1, COUNT + 1)}


def php(tmp_path, *words):
    program = shutil.which("php")
    if not program or "openssl" not in run(program, "-m"):
        pytest.skip("there is no PHP with openssl")
    return run(program, "-d", f"openssl.cafile={tmp_path}/gateway-listener-ca.pem", *words)


def test_the_batch_loop_of_php(listener, people, tmp_path):  # noqa: F811
    said = php(tmp_path, PROGRAMS / "batch_loop.php", listener.port, people.listed, COUNT)
    assert said.startswith("Connection OK\n")
    arrived(listener, COUNT + 1)


def test_the_class_of_php_connects_for_each_push(listener, people, tmp_path):  # noqa: F811
    count = COUNT // 5
    shutil.copy(people.listed, tmp_path / "iphoneDis.pem")
    php(tmp_path, PROGRAMS / "apns_service.php", listener.port, tmp_path / "iphoneDis.pem", 1, count)
    assert arrived(listener, count) == {token(n) for n in range(1, count + 1)}


def test_plain_php_that_hears_answers(listener, people, tmp_path):  # noqa: F811
    tell(listener, tmp_path, lambda file: php(tmp_path, PROGRAMS / "stream_client.php", listener.port, listener.feedback_port, people.listed, file))


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


def run_library(tmp_path, program, *words, **environment):
    """These speak TLS 1.0 only, so an OpenSSL configuration enables it."""
    versions, packages = LIBRARIES[program]
    python = find_python(versions)
    if python is None:
        pytest.skip(f"there is no Python {' or '.join(versions)}, and what is tested knows no newer one")
    path = DIRECTORY / program
    if not path.exists():
        pytest.skip(f"Tests/Relay/fetch.py has not installed {' '.join(packages)}")
    (tmp_path / "openssl.cnf").write_text(OLD_TLS)
    environment |= {"PYTHONPATH": str(path), "OPENSSL_CONF": str(tmp_path / "openssl.cnf")}
    return run(python, "-W", "ignore", PROGRAMS / program, *words, **environment)


@pytest.mark.parametrize("program", LIBRARIES)
def test_libraries_of_python(listener, people, tmp_path, program):  # noqa: F811
    tell(listener, tmp_path, lambda file: run_library(tmp_path, program, listener.port, listener.feedback_port, people.listed, file))


@pytest.mark.parametrize("program", ["clerk.py", "django_push.py"])
def test_silent_pushes_of_libraries_arrive(open_listener, people, tmp_path, program):  # noqa: F811
    listener = open_listener()
    (tmp_path / "tokens").write_text("\n".join(token(n) for n in range(1, 6)))
    run_library(tmp_path, program, listener.port, listener.feedback_port, people.listed, tmp_path / "tokens", SILENT="1")
    listener.done(5)
    assert listener.queue.counts() == {"accepted": 5}
    assert [(push["push_type"], push["priority"]) for push in pushes(listener.relay.simulator)] == [("background", "5")] * 5
    assert listener.relay.metric("apns_relay_listener_silent_total") == 5


def interpreter(name, *words):
    program = shutil.which(name)
    if not program or subprocess.run([program, *words], capture_output=True).returncode:
        pytest.skip(f"there is no {' '.join([name, *words])}")
    return program


# By program; the value runs the same idiom in its own language.
IDIOMS = {
    **{program: lambda tmp_path, *words, program=program: run_library(tmp_path, program, *words) for program in LIBRARIES},
    "stream_client.php": lambda tmp_path, *words: php(tmp_path, PROGRAMS / "stream_client.php", *words),
    "apns_php.php": lambda tmp_path, *words: php(tmp_path, PROGRAMS / "apns_php.php", *words),
    "node_apn.js": lambda tmp_path, *words: run(interpreter("node", "--version"), PROGRAMS / "node_apn.js", *words),
    "net_apns.pl": lambda tmp_path, *words: run(interpreter("perl", "-MIO::Socket::SSL", "-e1"), PROGRAMS / "net_apns.pl", *words),
}
# The simple format has no error packets, so these rely on the feedback list only.
WITHOUT_ANSWERS = {"net_apns.pl"}


def know(listener):
    """Makes 2 % of the devices bad; the listener knows every other one of these."""
    everybody = [token(n) for n in range(1, BELIEFS + 1)]
    bad = everybody[24::50]
    assert listener.relay.simulator.control("PUT", "/faults", {"bad_tokens": bad})[0] == 200
    with listener.queue.open() as database:
        database.executemany("INSERT INTO bad_tokens (app, token, at) VALUES ('shop', ?, 9000000000000)", [[one] for one in bad[::2]])
    # It reads the bad tokens when it starts.
    listener.relay.stop()
    listener.start()
    return everybody, bad


@pytest.mark.parametrize("program", IDIOMS)
def test_what_the_program_believes_is_what_happened(open_listener, people, tmp_path, program):  # noqa: F811
    """LEGACY_BELIEFS=5000 runs it in full size."""
    listener = open_listener()
    everybody, bad = know(listener)
    file, said = tmp_path / "tokens", []

    def play(tokens):
        file.write_text("\n".join(tokens))
        output = IDIOMS[program](tmp_path, listener.port, listener.feedback_port, people.listed, file)
        said.extend(line.split() for line in output.splitlines() if line)

    play(everybody)
    told = [one for how, one in said if how == "packet"]
    listener.done(BELIEFS - len(told))
    wait_until(lambda: {one for one, in listener.queue.rows("SELECT token FROM bad_tokens")} == set(bad), "they are not remembered")
    play([])
    assert told == ([] if program in WITHOUT_ANSWERS else bad[::2])
    fed = [one for how, one in said if how == "feedback"]
    assert sorted(told + fed) == bad
    pushed = [push["token"] for push in pushes(listener.relay.simulator)]
    assert sorted(pushed) == sorted(set(everybody) - set(bad))


@pytest.mark.parametrize("answers", [True, False], ids=["errors", "no errors"])
def test_one_who_never_reads_loses_what_is_behind_the_first_bad_token(open_listener, people, tmp_path, answers):  # noqa: F811
    """As it was with Apple. With `token_errors` off nothing is lost."""
    listener = open_listener(token_errors=answers)
    everybody, bad = know(listener)
    program = tmp_path / "listing"
    run(interpreter("cc", "--version"), "-O2", "-DENHANCED", PROGRAMS / "listing.c", "-o", program, "-lssl", "-lcrypto")
    believed = re.findall(r"\d+", subprocess.run([program, str(listener.port), people.listed, "1", str(BELIEFS)], capture_output=True, text=True).stdout)
    taken = everybody.index(bad[0]) if answers else BELIEFS
    listener.done(taken)
    pushed = {push["token"] for push in pushes(listener.relay.simulator)}
    assert pushed == set(everybody[:taken]) - set(bad)
    # The program has written them all, or found the connection closed. It read no error packet.
    assert answers or believed == [str(BELIEFS)]
