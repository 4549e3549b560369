"""For hosts in C and C++: compiles their plugins, runs and ends their processes, and has an APNs that only listens."""

import contextlib
import pathlib
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import time

import apns
import pytest
from simulator import DEADLINE, ROOT, until

LIBRARY = ["-L", str(ROOT / "build/release"), "-l:libapns.a", "-lnghttp2", "-lcares", "-lssl", "-lcrypto"]
# In seconds, the wait for an APNs that says nothing: the default of connect_timeout_ms.
BLOCKING_CONNECT = 10


def need(program, *packages):
    """The path of a host, or a skip."""
    path = shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/dovecot")
    if path is None:
        pytest.skip(f"{program} is not installed: {' '.join(packages or [program])}")
    return path


def compiled(compiler, source, output, *flags):
    """Compiles a plugin as its README says, and with all warnings."""
    command = [compiler, "-shared", "-fPIC", "-g", "-O2", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "include"), *flags]
    command += [str(ROOT / source), *LIBRARY, "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stderr}"
    return output


class Host:
    """A process of a host, and its output in a file."""

    def __init__(self, command, log, **options):
        self.log = pathlib.Path(log)
        with open(self.log, "ab") as output:
            self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=output, stderr=output, **options)

    def text(self):
        return self.log.read_text(errors="replace")

    def wait_for(self, *texts):
        """Until its output has all these texts."""
        until(lambda: all(text in self.text() for text in texts), lambda: self.alive() and self.text())

    def alive(self):
        assert self.process.poll() is None, f"the host ended: {self.process.returncode}\n{self.text()}"
        return True

    def listens(self, port):
        """Until something listens at this port."""

        def connects():
            self.alive()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=DEADLINE):
                return True

        until(connects, self.text)
        return self

    def tell(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGTERM):
        """Ends it as its administrator would; returns its exit code."""
        self.tell(number)
        return self.process.wait(DEADLINE)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def silent_apns():
    """An APNs that takes connections and says nothing, where a host that waited for it would stand still."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", apns.PORT))
        listener.listen(100)
        yield listener


def stop(apns):
    """Stops APNs where it is: from now on it reads and answers nothing. What it has answered is in its ledger only a little
    later, so a test waits for that first."""
    apns.simulator.process.send_signal(signal.SIGSTOP)


def once(tokens):
    """As APNs.accepted() counts it."""
    return dict.fromkeys(tokens, 1)


def durations(count, call):
    """How long each of these calls took, in seconds."""
    times = []
    for n in range(count):
        began = time.monotonic()
        call(n)
        times.append(time.monotonic() - began)
    return times


def assert_undisturbed(before, during):
    """The host answered as before, and never once waited as long as half of a connect."""
    assert max(during) < BLOCKING_CONNECT / 2, sorted(during)[-5:]
    assert statistics.median(during) < 5 * statistics.median(before) + 0.005, (
        statistics.median(before), statistics.median(during))


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
