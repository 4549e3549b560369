"""When the simulator has read notifications: its file `--accepted`."""

import collections
import json
import pathlib


def arrivals(file, tokens=None):
    """Returns when each notification arrived, in UNIX seconds, or each one to these devices."""
    every = map(json.loads, pathlib.Path(file).read_text().splitlines())
    return sorted(one["time"] for one in every if tokens is None or one["token"] in tokens)


def each_second(times):
    """Returns how many arrived in each full second, counted from the first one."""
    counts = collections.Counter(int(time - times[0]) for time in times)
    return [counts[second] for second in range(int(times[-1] - times[0]))]
