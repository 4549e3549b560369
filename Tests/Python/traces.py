"""Detects objects and memory that outlive their use."""

import ctypes
import gc
import os
import sys
import weakref

# The extension is built with the address sanitizer, which finds leaks itself, so one round is enough. It keeps
# freed memory to catch uses after free.
SANITIZED = os.environ.get("APNS_SANITIZED") == "1"


class Thing:
    """Supports weak references."""

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
    """Bytes in use from malloc, and in Python's small objects, which have their own allocator. The size of the
    process says less: allocators keep freed memory."""
    libc = ctypes.CDLL(None)
    number = ctypes.c_size_t if hasattr(libc, "mallinfo2") else ctypes.c_int
    # arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost
    info = type("mallinfo", (ctypes.Structure,), {"_fields_": [(f"n{place}", number) for place in range(10)]})
    ask = libc.mallinfo2 if hasattr(libc, "mallinfo2") else libc.mallinfo
    ask.restype = info
    said = ask()
    return said.n4 + said.n7 + 32 * sys.getallocatedblocks()


def grows(work, rounds):
    """How many bytes `rounds` of work leave in use, after the same number to warm up."""
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
