"""What tells that something was kept that should have gone."""

import gc
import weakref


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
