"""For hosts in C and C++: compiles and judges their plugins, and has an APNs that only listens."""

import contextlib
import pathlib
import shlex
import socket
import statistics
import subprocess
import time

import apns
from hosts import need
from simulator import ROOT

LIBRARY = ["-L", str(ROOT / "build/release"), "-l:libapns.a", "-lnghttp2", "-lcares", "-lssl", "-lcrypto"]
# In seconds, the wait for an APNs that says nothing: the default of connect_timeout_ms.
BLOCKING_CONNECT = 10


def compiled(compiler, source, output, *flags):
    """Compiles a plugin as its README says, and with all warnings."""
    command = [compiler, "-shared", "-fPIC", "-g", "-O2", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "include"), *flags]
    command += [str(ROOT / source), *LIBRARY, "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stderr}"
    return output


@contextlib.contextmanager
def silent_apns():
    """An APNs that takes connections and says nothing, where a host that waited for it would stand still."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", apns.PORT))
        listener.listen(100)
        yield listener


def durations(count, call):
    """How long each of these calls took, in seconds."""
    times = []
    for n in range(count):
        began = time.monotonic()
        call(n)
        times.append(time.monotonic() - began)
    return times


def assert_undisturbed(before, during):
    """The host answered as before, and never once waited as long as half of a connect. `pytest -s` prints the figures."""
    usual, now = statistics.median(before), statistics.median(during)
    print(f"{1000 * usual:.2f} ms before, {1000 * now:.2f} ms while APNs is away, {1000 * max(during):.1f} ms at most")
    assert max(during) < BLOCKING_CONNECT / 2, sorted(during)[-5:]
    assert now < 5 * usual + BLOCKING_CONNECT / 20, (usual, now)


def valgrind(log):
    """The beginning of a command that runs under it."""
    return [need("valgrind"), "--leak-check=full", "--keep-debuginfo=yes", f"--log-file={log}"]


def assert_valgrind_is_quiet(log, *ours):
    """No error and no leak with a function or a file of ours in its stack; a host's own are its own."""
    blocks = pathlib.Path(log).read_text(errors="replace").replace("\r", "").split("\n")
    found, block = [], []
    for line in [*blocks, ""]:
        text = line.split("== ", 1)[-1] if line.startswith("==") else ""
        if text.strip() and not text.strip("= 0123456789") == "":
            block.append(text)
        else:
            if any(name in one for one in block for name in ours):
                found.append("\n".join(block))
            block = []
    assert not found, "\n\n".join(found)
