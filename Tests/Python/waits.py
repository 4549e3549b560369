"""Detects whether a thread waits in the kernel, and in which call. On a busy machine no clock shows that."""

import os
import pathlib
import time

from simulator import DEADLINE

# poll and ppoll: for a connection. The thread wakes now and then to check for signals.
POLLS = {"x86_64": {"7", "271"}, "aarch64": {"73"}}[os.uname().machine]
# futex, nanosleep and clock_nanosleep: for another thread, or in a test's replacement for libc.
ANY = POLLS | {"x86_64": {"202", "35", "230"}, "aarch64": {"98", "101", "115"}}[os.uname().machine]


def until_it_waits(thread, calls=POLLS):
    """Waits until ten samples in a row show it. `thread`: its ID in the kernel, which for the main thread is the
    process ID."""
    seen, deadline = 0, time.monotonic() + DEADLINE
    while seen < 10:
        seen = seen + 1 if pathlib.Path(f"/proc/{thread}/syscall").read_text().split()[0] in calls else 0
        assert time.monotonic() < deadline, "it does not wait"
        # The kernel sends no event for it.
        time.sleep(0.002)
