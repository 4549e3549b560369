"""A relay with systemd sockets, for which the test does what systemd does."""

import json
import os
import socket
import subprocess
import sys

from relaying import Relay, relay_program

# What systemd does between fork and exec.
LAUNCH = """
import fcntl, os, sys
files, names, *words = sys.argv[1:]
copies = [fcntl.fcntl(int(file), fcntl.F_DUPFD_CLOEXEC, 64) for file in files.split()]
for place, copy in enumerate(copies, 3):
    os.dup2(copy, place)
process = os.environ.pop("TEST_PID", os.getpid())
os.environ.update(LISTEN_PID=str(process), LISTEN_FDS=str(len(copies)), LISTEN_FDNAMES=names)
os.execv(words[0], words)
"""


class Activated(Relay):
    """A relay whose sockets belong to the test, as those of a socket unit belong to systemd."""

    def __init__(self, *arguments, sockets, **options):
        self.sockets = sockets
        super().__init__(*arguments, **options)

    def write(self, apps=None):
        super().write(apps)
        if "status" in dict(self.sockets):
            text = json.loads(self.file.read_text())
            self.file.write_text(json.dumps(text | {"status": text["status"] | {"port": "systemd:status"}}))

    def start(self, **environment):
        self.port_file.unlink(missing_ok=True)
        files = [one.fileno() for _, one in self.sockets]
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", LAUNCH, " ".join(map(str, files)), ":".join(name for name, _ in self.sockets),
                 relay_program(), "--config", self.file],
                stderr=log, stdin=subprocess.DEVNULL, pass_fds=files, env=os.environ | environment)
        return self


def listening(family=socket.AF_INET, address=("127.0.0.1", 0), kind=socket.SOCK_STREAM, listens=True):
    one = socket.socket(family, kind)
    one.bind(address)
    if listens and kind == socket.SOCK_STREAM:
        one.listen()
    return one
