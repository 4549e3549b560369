"""What tells that something was kept that should have gone."""

import ctypes
import gc
import os
import sys
import weakref

# The extension is built with the address sanitizer, which finds what is left behind by
# itself, once is enough for it, and keeps freed memory to catch who uses it.
SANITIZED = os.environ.get("APNS_SANITIZED") == "1"


class Thing:
    """Something a weak reference can watch."""

    def __init__(self, number=0):
        self.number = number
        self.peer = None


def watched(count=1):
    things = [Thing(number) for number in range(count)]
    return things, [weakref.ref(thing) for thing in things]


def alive(references):
    gc.collect()
    return sum(reference() is not None for reference in references)


def in_use():
    """Bytes that malloc has handed out, and small objects of Python's, which are not malloc's. How much memory the
    process has says less: allocators keep what was freed."""
    libc = ctypes.CDLL(None)
    number = ctypes.c_size_t if hasattr(libc, "mallinfo2") else ctypes.c_int
    # arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost
    info = type("mallinfo", (ctypes.Structure,), {"_fields_": [(f"n{place}", number) for place in range(10)]})
    ask = libc.mallinfo2 if hasattr(libc, "mallinfo2") else libc.mallinfo
    ask.restype = info
    said = ask()
    return said.n4 + said.n7 + 32 * sys.getallocatedblocks()


def grows(work, rounds):
    """How many bytes `rounds` of work leave behind, after as many to warm up."""
    if SANITIZED:
        work()
        return 0
    for _ in range(rounds):
        work()
    gc.collect()
    before = in_use()
    for _ in range(rounds):
        work()
    gc.collect()
    return in_use() - before
