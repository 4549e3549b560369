"""Examples/python and the README's section: that they say what they promise."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "Examples/python"
sys.path.append(str(ROOT / "Tests/Examples"))
import readme  # noqa: E402

from test_http2 import needs_http2  # noqa: E402


def test_provider(start, tmp_path):
    simulator = start("--feedback", write(tmp_path / "gone", f"1290000000 {'07' * 32}\n"), faults={"bad_tokens": ["ff"]})
    notifications = write(tmp_path / "notifications", readme.blocks(EXAMPLE / "README.md", "tsv")[0])
    shown = subprocess.run(
        [sys.executable, EXAMPLE / "provider.py", "127.0.0.1", str(simulator.gateway[1]),
         str(simulator.feedback[1]), simulator.ready["provider"], simulator.ready["ca"], notifications],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    readme.check(shown.stdout, EXAMPLE / "README.md", 2)


@needs_http2
def test_provider_by_http2(start, tmp_path):
    simulator = start("--feedback", write(tmp_path / "gone", "1290000000 00ff\n"), "--http2-port", "0", faults={"bad_tokens": ["ff"]})
    notifications = write(tmp_path / "notifications", readme.blocks(EXAMPLE / "README.md", "tsv")[0])
    shown = subprocess.run(
        [sys.executable, EXAMPLE / "provider.py", "127.0.0.1", str(simulator.ready["http2_port"]),
         simulator.ready["provider"], simulator.ready["ca"], notifications],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    readme.check(shown.stdout, EXAMPLE / "README.md", 1)
    assert set(re.findall("rejected: (.*)", shown.stdout)) == {"BadDeviceToken", "Unregistered"}, shown.stdout


def first_program():
    """The README's: the program, its output, and what makes it one for the simulator."""
    section = re.search(r"^## From Python\n(.*?)^## ", (ROOT / "README.md").read_text(), re.S | re.M)[1]
    program, local = re.findall(r"^```python\n(.*?)^```$", section, re.S | re.M)
    (promised,) = re.findall(r"^```text\n(.*?)^```$", section, re.S | re.M)
    return program, local, promised


def run_first_program(simulator, certificates, **changes):
    program, local, promised = first_program()
    local = local.replace("simulator-certificates", str(certificates)).replace("8443", str(simulator.ready["http2_port"]))
    program = re.sub(r"^who = .*\nwhere = .*\n", lambda _: local, program, flags=re.M)
    for before, after in changes.items():
        assert before in program
        program = program.replace(before, after)
    shown = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=120)
    return shown.stdout, promised


@needs_http2
def test_the_readme_s_first_program(start, certificates):
    said, promised = run_first_program(start("--http2-port", "0"), certificates)
    assert said == promised


@needs_http2
def test_the_readme_s_first_program_where_it_is_refused(start, certificates):
    simulator = start("--http2-port", "0", faults={"bad_every": 1, "bad_reason": "TopicDisallowed"})
    said, _ = run_first_program(simulator, certificates)
    assert f"`{said.strip()}`" in (ROOT / "README.md").read_text()


def write(path, text):
    path.write_text(text)
    return path
