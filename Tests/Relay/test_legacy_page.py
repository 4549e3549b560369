"""Follows Documentation/LEGACY.md as a reader without other knowledge would."""

import pathlib
import shutil
import subprocess
import sys

import pytest
from test_doctor import namespace


def test_from_it_stopped_to_it_pushes_again(tmp_path):
    if not namespace():
        pytest.skip("this system allows no private network and /etc/hosts")
    if not shutil.which("php"):
        pytest.skip("there is no PHP")
    script = pathlib.Path(__file__).parent / "legacy_page.py"
    ran = subprocess.run([*namespace(), "--net", sys.executable, "-B", script, tmp_path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
