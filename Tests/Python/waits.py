"""Whether a thread waits in the kernel, and for what: no clock tells that of a busy machine."""

import os
import pathlib
import time

from simulator import DEADLINE

# poll and ppoll: for a connection. In between it wakes, to see whether a signal came.
POLLS = {"x86_64": {"7", "271"}, "aarch64": {"73"}}[os.uname().machine]
# futex, nanosleep and clock_nanosleep: for another thread, or in what stands in for libc.
ANY = POLLS | {"x86_64": {"202", "35", "230"}, "aarch64": {"98", "101", "115"}}[os.uname().machine]


def until_it_waits(thread, calls=POLLS):
    """Whenever one looks. `thread`: its number in the kernel, which is the process's own where it is the first."""
    seen, deadline = 0, time.monotonic() + DEADLINE
    while seen < 10:
        seen = seen + 1 if pathlib.Path(f"/proc/{thread}/syscall").read_text().split()[0] in calls else 0
        assert time.monotonic() < deadline, "it does not wait"
        # The kernel tells nobody of it.
        time.sleep(0.002)
