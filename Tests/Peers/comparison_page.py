"""Writes Documentation/COMPARISON.md from the rows of Tests/Peers/run."""

import ast
import collections
import os
import time

from clients import PROGRAMS, ROOT
from comparison import COUNTS, Row

HEAD = """# Comparison

<!-- Tests/Peers/run --page writes this page. -->

The Python clients of PyPI on twelve bad days: what each program believed, beside what arrived at the service.

```sh
Tests/Peers/run --page --notifications {n} --limit {limit:g} --jobs {jobs}    # {date}
```

Each program sent {n:,} notifications on each day, each to another device, with a provider token, to [the
simulator](SIMULATOR.md). Half of them come before a pause. A program that ran {limit:g} seconds was killed. The machine had
{cores} cores, on which {jobs} of the programs at a time, their simulators and others ran. The tables have the programs' CPU
time only.

| column | notifications |
|---|---|
| arrived | that the service accepted, by its ledger |
| lost | that the program believed accepted, and that did not arrive |
| given up | that the program believed failed or rejected, and that did not arrive; without those to bad devices |
| twice | that arrived more than once |
| false | that the program believed failed and that arrived, or that were rejected for another reason than it believed |
| unknown | that the client reported as perhaps arrived; only libapns has this outcome |
| no outcome | of which the program believed nothing when it ended |

CPU s is the CPU time of the program's process, imports included.

## Clients

The programs are in [`Tests/Peers/Clients`](../Tests/Peers/Clients), with their pinned packages. In those of aioapns, httpx and
kalyke 100 notifications are under way together, in that of apns2 a batch has 100; libapns limits itself.

"""


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("|" + "|".join(f" {cell} " if cell != "---" else "---" for cell in line) + "|\n" for line in lines)


def numbers(row):
    return [f"{row.counts[kind]:,}" for kind in COUNTS] + [f"{row.seconds:.1f}", f"{row.processor:.1f}"]


def described(client):
    """The docstring of its program, in one line."""
    return " ".join(ast.get_docstring(ast.parse((PROGRAMS / f"with_{client.package}.py").read_text())).split())


def write(rows, days, clients, options):
    """Writes the days that were played."""
    date = time.strftime("%-d %B %Y")
    text = HEAD.format(n=options.notifications, limit=options.limit, jobs=options.jobs, cores=os.cpu_count(), date=date)
    by_package = {client.package: client for client in reversed(clients)}
    text += table(
        ["client", "Python", "versions"],
        [[one.package, one.python_version(), one.packages()] for one in reversed(by_package.values())])
    text += "\n" + "".join(f"- {described(one)}\n" for one in reversed(by_package.values()))
    text += "".join(f"- {client.name} {client.note()}.\n" for client in clients if client.note())
    played = [day for day in days if any((day.name, client.name) in rows for client in clients)]
    text += f"\n## All of the bad days\n\nThe sums of {len(played) - 1} days, without the good one.\n\n"
    sums = []
    for client in clients:
        own = [rows[day.name, client.name] for day in played[1:] if (day.name, client.name) in rows]
        counts = sum((row.counts for row in own), collections.Counter())
        if own:
            total = Row(counts, collections.Counter(), sum(row.seconds for row in own), sum(row.processor for row in own), "")
            sums.append([client.name, *numbers(total)])
    text += table(["client", *COUNTS, "seconds", "CPU s"], sums)
    for day in played:
        text += f"\n## Day: {day.name}\n\n{day.sentence}\n\n"
        own = [(client, rows[day.name, client.name]) for client in clients if (day.name, client.name) in rows]
        text += table(
            ["client", *COUNTS, "seconds", "CPU s", "failed or rejected, and how the program ended"],
            [[client.name, *numbers(row), row.remark()] for client, row in own])
    (ROOT / "Documentation/COMPARISON.md").write_text(text)

