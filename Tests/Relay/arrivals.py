"""When the simulator has read notifications: its file `--accepted`."""

import collections
import json
import pathlib


def arrivals(file):
    """Returns when each notification arrived, in UNIX seconds."""
    return sorted(json.loads(line)["time"] for line in pathlib.Path(file).read_text().splitlines())


def each_second(times):
    """Returns how many arrived in each full second, counted from the first one."""
    counts = collections.Counter(int(time - times[0]) for time in times)
    return [counts[second] for second in range(int(times[-1] - times[0]))]
