#!/usr/bin/env python3
"""own_network.py PROGRAM [ARGUMENT...]: runs the program in a private network with only loopback. There a port that
was free a moment ago is still free, and there are no connections of other programs. If the system does not allow
this, it prints so and runs the program in the normal network.

Tests in Python import it and call `enter()` before they start a thread."""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import sys

NEW_NETWORK, NEW_USER = 0x40000000, 0x10000000
SET_FLAGS, UP = 0x8914, 1
# Keeps a program in a private network from making another one, which could not reach the first.
MARK = "APNS_OWN_NETWORK"


def enter():
    """Moves this process and its later children there."""
    if MARK in os.environ:
        return
    # It cannot be undone, so try it in a child first.
    child = os.fork()
    if child == 0:
        try:
            _move()
        except OSError as error:
            print(f"no private network ({error.strerror}): other programs may take a port", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        _move()
        os.environ[MARK] = "1"


def use_small_buffers():
    """Connections that are made in a private network from now on have small buffers, so that one whose peer does not read
    is soon full."""
    if MARK in os.environ:
        for name in "tcp_rmem", "tcp_wmem":
            with contextlib.suppress(OSError), open(f"/proc/sys/net/ipv4/{name}", "w") as file:
                file.write("4096 16384 131072")


def _move():
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_NETWORK | (0 if user == 0 else NEW_USER)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if user != 0:
        # Keep the user and group.
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
