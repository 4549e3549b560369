"""Examples/python, and that it says what its README says."""

import pathlib
import subprocess
import sys

EXAMPLE = pathlib.Path(__file__).parents[2] / "Examples/python"


def test_provider(start, tmp_path):
    simulator = start("--feedback", write(tmp_path / "gone", f"1290000000 {'07' * 32}\n"), faults={"bad_tokens": ["ff"]})
    notifications = write(tmp_path / "notifications", '00ff\t{"aps":{}}\nff\t{"aps":{}}\n0g\t{}\n')
    shown = subprocess.run(
        [sys.executable, EXAMPLE / "provider.py", "127.0.0.1", str(simulator.gateway[1]),
         str(simulator.feedback[1]), simulator.ready["provider"], simulator.ready["ca"], notifications],
        check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    assert shown[0].startswith("line 3: refused: ")
    assert shown[1:] == [
        "line 2: rejected: invalid token",
        "lines 3 = accepted 1 + rejected 1 + refused 1 + unknown 0",
        f"gone since 1290000000: {'07' * 32}",
    ]
    assert shown[2] in (EXAMPLE / "README.md").read_text()


def write(path, text):
    path.write_text(text)
    return path
