"""Examples/python, and that it says what its README says."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "Examples/python"
sys.path.append(str(ROOT / "Tests/Examples"))
import readme  # noqa: E402


def test_provider(start, tmp_path):
    simulator = start("--feedback", write(tmp_path / "gone", f"1290000000 {'07' * 32}\n"), faults={"bad_tokens": ["ff"]})
    notifications = write(tmp_path / "notifications", readme.blocks(EXAMPLE / "README.md", "tsv")[0])
    shown = subprocess.run(
        [sys.executable, EXAMPLE / "provider.py", "127.0.0.1", str(simulator.gateway[1]),
         str(simulator.feedback[1]), simulator.ready["provider"], simulator.ready["ca"], notifications],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    readme.check(shown.stdout, EXAMPLE / "README.md", 1)


def test_provider_by_http2(start, tmp_path):
    simulator = start("--feedback", write(tmp_path / "gone", "1290000000 00ff\n"), "--http2-port", "0", faults={"bad_tokens": ["ff"]})
    notifications = write(tmp_path / "notifications", readme.blocks(EXAMPLE / "README.md", "tsv")[0])
    shown = subprocess.run(
        [sys.executable, EXAMPLE / "provider.py", "--protocol", "http2", "127.0.0.1", str(simulator.ready["http2_port"]),
         "0", simulator.ready["provider"], simulator.ready["ca"], notifications],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    readme.check(shown.stdout, EXAMPLE / "README.md", 2)
    assert set(re.findall("rejected: (.*)", shown.stdout)) == {"BadDeviceToken", "Unregistered"}, shown.stdout


def write(path, text):
    path.write_text(text)
    return path
