"""What the tool says of itself: help, completions, manual pages, exit status."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from simulator import ROOT
from terminal import same_screen

COMMANDS = ["send", "feedback", "doctor", "payload", "token", "simulate"]


def test_root(tool):
    terminal = tool.terminal()
    assert terminal.end() == 0
    same_screen("root", terminal.screen())
    ran = tool("snd")
    assert ran.returncode == 2 and "snd" in ran.stderr and ran.stdout == ""


@pytest.mark.parametrize("command", COMMANDS[:5])
def test_help_has_an_example_and_the_exit_status(tool, command):
    ran = tool(command, "--help")
    assert ran.returncode == 0 and ran.stderr == ""
    assert re.search(rf"^ +(echo .*)?apns {command} \S", ran.stdout, re.M)
    for status in ("0 where", "1 where", "2 where", "3 where"):
        assert status in " ".join(ran.stdout.split())
    assert "--json" in ran.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions(tool, shell, tmp_path):
    script = tool("--generate-completion-script", shell).stdout
    for command in COMMANDS:
        assert command in script
    assert "--resume" in script or "resume" in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)
    if shell == "bash":
        words = "COMP_WORDS=(apns se); COMP_CWORD=1; COMP_LINE='apns se'; COMP_POINT=7; _apns apns se apns; printf '%s\\n' \"${COMPREPLY[@]}\""
        told = subprocess.run(["bash", "-c", f"source ./script; {words}"], cwd=tmp_path, capture_output=True, text=True)
        assert told.stdout.split() == ["send"], told


def test_manual_pages(tool, tmp_path):
    subprocess.run([ROOT / "Sources/Manual/tool-pages", "0", tmp_path, tool.path], check=True)
    for command in COMMANDS:
        page = (tmp_path / f"man1/apns-{command}.1").read_text()
        assert ".Sh EXIT STATUS" in page
        if command != "simulate":
            assert "could not be reached" in page.replace("\n", " ")


def test_simulate_says_which_build_it_is(tool):
    said = re.findall(r"This is a (\w+) build", " ".join(tool("simulate", "--help").stdout.split()))
    assert said in (["debug"], ["release"])
    built = pathlib.Path(tool.path).resolve().parent.name
    if built in ("debug", "release"):
        assert said == [built]
