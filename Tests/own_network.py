#!/usr/bin/env python3
"""own_network.py PROGRAM [ARGUMENT...]: runs the program in a network of its own, which has only loopback. There a
port that was free a moment ago still is, and nobody else's connections come and go. Where the system lets
nobody have one it says so, and the program runs in the network of all.

Tests in Python import it and call `enter()`, before they start a thread."""

import ctypes
import fcntl
import os
import socket
import struct
import sys

NEW_NETWORK, NEW_USER = 0x40000000, 0x10000000
SET_FLAGS, UP = 0x8914, 1
# So that what runs in one does not make another, and cannot reach the first any more.
MARK = "APNS_OWN_NETWORK"


def enter():
    """Moves this process there, and whatever it starts."""
    if MARK in os.environ:
        return
    # There is no way back, so a child tries it.
    child = os.fork()
    if child == 0:
        try:
            _move()
        except OSError as error:
            print(f"no network of its own ({error.strerror}): others may take a port meanwhile", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        _move()
        os.environ[MARK] = "1"


def _move():
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_NETWORK | (0 if user == 0 else NEW_USER)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if user != 0:
        # It stays who it is.
        for name, text in ("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    with socket.socket() as some:
        fcntl.ioctl(some, SET_FLAGS, struct.pack("16sH", b"lo", UP) + bytes(14))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    enter()
    os.execvp(sys.argv[1], sys.argv[1:])
