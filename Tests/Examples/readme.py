"""readme.py README N <OUTPUT: compares a program's output with the README's N-th text block.

In the README … stands for anything within a line, and a line of only … for any lines."""

import pathlib
import re
import sys


def blocks(readme, language="text"):
    return re.findall(rf"^```{language}\n(.*?)^```$", pathlib.Path(readme).read_text(), re.S | re.M)


def agrees(output, promised):
    pattern = "".join(
        r"(?:.*\n)*?" if line == "…" else ".*?".join(map(re.escape, line.split("…"))) + r"\n"
        for line in promised.splitlines()
    )
    return re.fullmatch(pattern, output) is not None


def check(output, readme, number):
    promised = blocks(readme)[number - 1]
    assert promised.strip("…\n"), f"{readme}: block {number} is empty"
    if not agrees(output, promised):
        raise AssertionError(f"{readme} says\n\n{promised}\nbut the output is\n\n{output}")


if __name__ == "__main__":
    try:
        check(sys.stdin.read(), sys.argv[1], int(sys.argv[2]))
    except AssertionError as failure:
        sys.exit(f"FAILED: {failure}")
    print(f"ok: the output is that of {sys.argv[1]}, block {sys.argv[2]}")
