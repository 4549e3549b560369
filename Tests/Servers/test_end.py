"""C and C++ programs that push and exit: everything is delivered, or the number of unresolved notifications is
printed."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ["-lnghttp2", "-lcares", "-lssl", "-lcrypto"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    made = tmp_path_factory.mktemp("program") / "push_and_end"
    source = pathlib.Path(__file__).with_name("push_and_end.cpp")
    command = ["c++", "-std=c++17", f"-I{ROOT}/include", source, ROOT / "build/release/libapns.a", *LIBRARIES, "-o", made]
    subprocess.run([str(word) for word in command], check=True)
    return made


@pytest.mark.parametrize("count", [300, 2000])
@pytest.mark.parametrize("how", ["local", "throw", "static", "late", "c"])
def test_exit_without_close(start, program, how, count):
    simulator = start("--http2-port", 0)
    ready = simulator.ready
    command = [program, how, count, ready["http2_port"], ready["provider"], ready["ca"]]
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=240)
    lost = int(ended.stderr.split(" notifications")[0].split()[-1]) if ended.stderr else 0
    assert ended.returncode == 0 and (lost == 0 or how == "late" and "no outcome" in ended.stderr)
    accepted = simulator.stop()["accepted"]
    assert accepted >= count - lost and (how == "late" or accepted == count)
