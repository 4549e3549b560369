"""Memory and CPU time of processes by name, also of those that have ended."""

import collections
import os
import pathlib

TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


class Processes:
    def __init__(self, pids):
        self.pids, self.ended_s = dict(pids), collections.Counter()

    def add(self, name, pid):
        self.pids[name] = pid

    def end(self, name):
        """Call it before a process ends or is killed, or while it is a zombie."""
        self.ended_s[name] += _seconds(self.pids.pop(name))

    def memory_mb(self):
        """Returns that of each; a zombie has none."""
        pages = {name: int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) for name, pid in self.pids.items()}
        return {name: count * PAGE / 1e6 for name, count in pages.items() if count}

    def seconds(self):
        """Returns the CPU time of each since its first process began."""
        return self.ended_s + collections.Counter({name: _seconds(pid) for name, pid in self.pids.items()})


def _seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def machine_seconds():
    """Returns the time in which processors were busy."""
    user, nice, system, _, _, interrupts, soft = map(int, pathlib.Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + interrupts + soft) / TICKS
