"""What tells that something was kept that should have gone."""

import gc
import os
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


def resident_kilobytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def grows(work, rounds):
    """How much memory `rounds` of work leave behind, in KB, after as many to warm up."""
    if SANITIZED:
        work()
        return 0
    for _ in range(rounds):
        work()
    gc.collect()
    before = resident_kilobytes()
    for _ in range(rounds):
        work()
    gc.collect()
    return resident_kilobytes() - before
