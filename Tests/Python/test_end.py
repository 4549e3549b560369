"""Programs that push and exit: everything is delivered, or the number of unresolved notifications is printed."""

import subprocess
import sys

import libapns
import pytest

from test_http2 import needs_http2

DEADLINE = 240
STALL = {"stall_after_bytes": 0, "stall_ms": 100000}

BEGINNING = """
import sys, threading
import libapns
count, port, certificates, protocol = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
def make(make=libapns.Session, **options):
    who = libapns.Credentials(certificate_file=certificates + "/provider.pem", ca_file=certificates + "/ca.pem")
    return make(who, protocol=protocol, host="127.0.0.1", port=port, **options)
def push(session, count=count):
    for n in range(count):
        session.send(bytes(range(32)), {"aps": {"alert": str(n)}})
"""
LOOP = """
import asyncio, libapns.aio
async def post(session):
    for n in range(count):
        await session.post(bytes(range(32)), {"aps": {"badge": n}})
"""

ENDS = {
    "end": "session = make(); push(session)",
    "exit": "session = make(); push(session); sys.exit(0)",
    "raise": "session = make(); push(session); raise RuntimeError('something else')",
    "held back": "session = make(); session.send_many((bytes(range(32)), b'{\"aps\":{}}') for _ in range(count))",
    "local": "def main(): push(make())\nmain()",
    "cycle": "class Thing: pass\nthing = Thing(); thing.me = thing; thing.session = make(); push(thing.session)\ndel thing",
    "user_data": "session = make(); session.send(bytes(32), {'aps': {}}, user_data=session); push(session, count - 1)",
    "thread": "thread = threading.Thread(target=lambda: push(make())); thread.start()",
    "global of a thread": "def work():\n    global session\n    session = make(); push(session)\nthreading.Thread(target=work).start()",
    "daemon": "session = make()\nthread = threading.Thread(target=push, args=[session], daemon=True); thread.start(); thread.join()",
    "atexit before": "import atexit\nsession = make(); atexit.register(push, session)",
    "nonblocking": "session = make(nonblocking=True, window_bytes=1 << 22); push(session)",
    "handed out": "session = make(); events = session.events(); push(session); del session",
    "two": "sessions = [make(), make()]; push(sessions[0], count // 2); push(sessions[1], count - count // 2)",
    "fork": "import os\nsession = make(); push(session)\nif os.fork() == 0: sys.exit(0)\nos.wait()",
    "child": "import os\nif os.fork() == 0:\n    session = make(); push(session); sys.exit(0)\nassert os.wait()[1] == 0",
    "multiprocessing": "import multiprocessing\ndef work():\n    global session\n    session = make(); push(session)\n"
    "one = multiprocessing.get_context('fork').Process(target=work); one.start(); one.join()",
    "loop, local": LOOP + "async def main(): await post(make(libapns.aio.Session))\nasyncio.run(main())",
    "loop, global": LOOP + "async def main():\n    global session\n    session = make(libapns.aio.Session)\n    await post(session)\nasyncio.run(main())",
    "loop continues": LOOP + "async def main():\n    await post(make(libapns.aio.Session))\n"
    "    while libapns.aio._Unclosed.all: await asyncio.sleep(0.01)\n    print('delivered')\nasyncio.run(main())",
}  # fmt: skip


def run(simulator, certificates, program, count, protocol):
    port = simulator.ready["http2_port"] if protocol == "http2" else simulator.gateway[1]
    return subprocess.run(
        [sys.executable, "-c", BEGINNING + program, str(count), str(port), certificates, protocol],
        capture_output=True, text=True, timeout=DEADLINE,
    )  # fmt: skip


@pytest.mark.parametrize("protocol", ["binary", pytest.param("http2", marks=needs_http2)])
@pytest.mark.parametrize("how", ENDS)
def test_all_is_delivered(start, certificates, how, protocol):
    simulator = start("--http2-port", 0)
    # The default would be too short on a busy machine.
    program = ENDS[how].replace("make(", "make(close_timeout=200, ", 1).replace("(close_timeout=200, )", "(close_timeout=200)")
    program = program.replace("make(close_timeout=200, libapns.aio.Session", "make(libapns.aio.Session, close_timeout=200")
    ended = run(simulator, certificates, program, 300, protocol)
    said = ended.stderr if how != "raise" else ended.stderr.replace("RuntimeError: something else", "")
    assert ended.returncode == (how == "raise") and "outcome" not in said, said
    assert simulator.stop()["accepted"] == 300


@pytest.mark.parametrize("count", [300, 2000])
@pytest.mark.parametrize("protocol", ["binary", pytest.param("http2", marks=needs_http2)])
def test_exit_with_the_default_timeout(start, certificates, count, protocol):
    simulator = start("--http2-port", 0)
    ended = run(simulator, certificates, ENDS["end"], count, protocol)
    lost = sum(int(line.split(" notifications")[0].split()[-1]) for line in ended.stderr.splitlines() if "no outcome" in line)
    assert ended.returncode == 0 and simulator.stop()["accepted"] >= count - lost
    assert len(ended.stderr.splitlines()) == (lost > 0)


LOSSES = {
    "end": "session = make(close_timeout=0.2); push(session)",
    "local": "def main(): push(make(close_timeout=0.2))\nmain()",
    "cycle": ENDS["cycle"].replace("make()", "make(close_timeout=0.2)"),
    "none": "session = make(close_timeout=0); push(session)",
    "disabled": "import logging; logging.disable(); session = make(close_timeout=0); push(session)",
    "nonblocking": "session = make(close_timeout=0.2, nonblocking=True); push(session)",
    "loop": LOOP + "async def main(): await post(make(libapns.aio.Session, close_timeout=0.2))\nasyncio.run(main())",
    "loop continues": LOOP + "async def main():\n    await post(make(libapns.aio.Session, close_timeout=0.2))\n    while libapns.aio._Unclosed.all: await asyncio.sleep(0.01)\nasyncio.run(main())",
}  # fmt: skip


@pytest.mark.parametrize("how", LOSSES)
def test_unresolved_notifications_are_counted(start, certificates, how):
    simulator = start(faults=STALL)
    ended = run(simulator, certificates, LOSSES[how], 100, "binary")
    said = f"libapns: 127.0.0.1:{simulator.gateway[1]}: the session ended, and 100 notifications have no outcome\n"
    assert (ended.returncode, ended.stderr) == (0, said)


def test_a_close_timeout_of_0_does_not_wait(start, certificates):
    """An exit handler registered before the session runs after the session's own."""
    program = """
import atexit, time
atexit.register(lambda: print(time.monotonic() - began))
session = make(close_timeout=0); push(session)
began = time.monotonic()
"""
    assert float(run(start(faults=STALL), certificates, program, 100, "binary").stdout) < 8  # the default is 10


LOG = """
def log(line):
    if line.level is libapns.LogLevel.ERROR: print(line.kind, line.count, line.peer, line.line)
session = make(close_timeout=0.2, log=log, log_level="error"); push(session)
{}
"""


@pytest.mark.parametrize("last", ["", "del session", "log.session = session; del session, log"])
def test_the_log_gets_the_count(start, certificates, last):
    simulator = start(faults=STALL)
    ended = run(simulator, certificates, LOG.format(last), 100, "binary")
    peer = f"127.0.0.1:{simulator.gateway[1]}"
    assert (ended.stdout, ended.stderr) == (f"closed 100 {peer} the session ended, and 100 notifications have no outcome\n", "")


def test_the_logger_gets_the_count_if_it_has_a_handler(start, certificates):
    program = "import logging; logging.basicConfig(stream=sys.stdout); session = make(close_timeout=0.2); push(session)"
    ended = run(start(faults=STALL), certificates, program, 100, "binary")
    assert "ERROR:libapns:127.0.0.1" in ended.stdout and "100 notifications have no outcome" in ended.stdout
    assert ended.stderr == ""


def test_an_unreachable_session_does_not_affect_others(start, certificates):
    simulator = start()
    program = """
stuck = libapns.Session(libapns.Credentials(dangerously_accept_any_peer=True), protocol="http2", topic="a", host="127.0.0.1", port=1, nonblocking=True, close_timeout=1)
stuck.send(bytes(32), {"aps": {}})
session = make(close_timeout=200); push(session)
"""
    if not apns_has_http2():
        pytest.skip("the library was built without HTTP/2")
    ended = run(simulator, certificates, program, 300, "binary")
    assert ended.stderr == "libapns: 127.0.0.1:1: the session ended, and 1 notifications have no outcome\n"
    assert simulator.stop()["accepted"] == 300


def apns_has_http2():
    from test_http2 import HAS_HTTP2

    return HAS_HTTP2


def test_ctrl_c_ends_the_wait(start, certificates):
    program = """
import atexit, os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
session = make(close_timeout=600); push(session)
# Registered later, so it is called before.
atexit.register(lambda: threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start())
"""
    ended = run(start(faults=STALL), certificates, program, 100, "binary")
    assert "KeyboardInterrupt" in ended.stderr and "100 notifications have no outcome" in ended.stderr


def test_a_closed_session_prints_nothing(start, connect):
    session = connect(start(faults=STALL), close_timeout=600)
    session.send(bytes(32), b'{"aps":{}}')
    session.close(0)
    del session


@pytest.mark.parametrize("given", [-1, "5", float("nan")])
def test_the_option(who, given):
    with pytest.raises((TypeError, ValueError), match="close_timeout"):
        libapns.Session(who, close_timeout=given)
