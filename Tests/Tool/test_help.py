"""The tool's information about itself: help, completions, manual pages, exit status."""

import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import http2, lines
from simulator import ROOT
from terminal import same_screen

COMMANDS = ["send", "channel", "feedback", "doctor", "payload", "token", "simulate", "record", "completions"]
OF_CHANNEL = [f"channel {one}" for one in ("create", "show", "list", "delete")]


def test_root(tool):
    terminal = tool.terminal()
    assert terminal.end() == 0
    same_screen("root", terminal.screen())


@pytest.mark.parametrize("typed, meant", [
    ("snd", "send"), ("Send", "send"), ("sned", "send"), ("feedbak", "feedback"), ("doc", "doctor"), ("pyaload", "payload"),
    ("tokens", "token"), ("simulator", "simulate"), ("completion", "completions"), ("push", "send"), ("channels", "channel"), ("version", "--version")])
def test_a_misspelt_subcommand(tool, typed, meant):
    for words in [typed], [typed, "--alert", "x"], ["help", typed]:
        ran = tool(*words)
        assert ran.returncode == 2 and ran.stdout == ""
        assert f"'{typed}' is not a subcommand. Did you mean '{meant}'?" in ran.stderr, ran.stderr


def test_words_unlike_any_subcommand(tool):
    ran = tool("frobnicate\x1b[2J")
    assert ran.returncode == 2 and "Did you mean" not in ran.stderr and "\x1b" not in ran.stderr
    for command in COMMANDS:
        assert command in ran.stderr
        assert tool("help", command).stdout == tool(command, "--help").stdout
    assert "Did you mean '--tokens'?" in tool("send", "--tokns", "x").stderr
    # The message about a misspelt operand does not call it a subcommand.
    assert "is not a subcommand" not in tool("send", "snd").stderr


def test_version(tool):
    version = re.search(r'APNS_VERSION_STRING "(.*)"', (ROOT / "include/apns/apns.h").read_text())[1]
    for words in ["--version"], ["send", "--version"]:
        ran = tool(*words)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"apns {version}\n", "")


def test_the_seed_is_random_by_default(tool):
    said, again = (" ".join(tool("simulate", "--help").stdout.split()) for _ in range(2))
    assert said == again and re.search(r"--seed <seed> [^-]*\(default: random, and printed\)", said), said


def test_every_member_of_the_results_is_explained(tool, start, tmp_path):
    """In the help, and so in the manual page."""
    (tmp_path / "gone").write_text(f"1700000000 {'cd' * 32}\n")
    simulator = start("--http2-port", 0, "--feedback", tmp_path / "gone")
    (tmp_path / "list").write_text(f"{'ab' * 32}\n{'cd' * 32}\nzz\n")
    assert tool("send", *http2(simulator), "--topic", "com.example.app", "--alert", "Hello", "--tokens", "list", "--results", "results").returncode == 1
    members = {member for line in lines(tmp_path / "results") for member in line}
    assert {"list", "run", "sending_to", "n", "token", "outcome", "reason", "timestamp", "time"} <= members
    told = tool("send", "--help").stdout
    told = told[told.index("RESULTS are"):]
    subprocess.run([ROOT / "Sources/Manual/tool-pages", "0", tmp_path, tool.path], check=True)
    page = (tmp_path / "man1/apns-send.1").read_text()
    for member in members | {"status", "http_status", "apns_id", "again", "retry_after"}:
        assert f'"{member}"' in told or re.search(rf"^    {member}$", told, re.M), member
        assert f'"{member}"' in page or f".It Li {member}\n" in page, member


@pytest.mark.parametrize("command", COMMANDS[:6])
def test_help_has_an_example_and_the_exit_status(tool, command):
    ran = tool(command, "--help")
    assert ran.returncode == 0 and ran.stderr == ""
    assert re.search(rf"^ +(echo .*|channel=\$\()?apns {command} \S", ran.stdout, re.M)
    for status in ("0 if", "1 if", "2 if", "3 if"):
        assert status in " ".join(ran.stdout.split())
    assert "--json" in ran.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions(tool, shell, tmp_path):
    ran = tool("completions", shell)
    script = ran.stdout
    assert ran.returncode == 0 and script == tool("--generate-completion-script", shell).stdout
    for command in [*COMMANDS, "create", "delete"]:
        assert command in script
    assert "--resume" in script or "resume" in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)
    if shell == "bash":
        words = "COMP_WORDS=(apns se); COMP_CWORD=1; COMP_LINE='apns se'; COMP_POINT=7; _apns apns se apns; printf '%s\\n' \"${COMPREPLY[@]}\""
        told = subprocess.run(["bash", "-c", f"source ./script; {words}"], cwd=tmp_path, capture_output=True, text=True)
        assert told.stdout.split() == ["send"], told


def test_completions_for_an_unknown_shell(tool):
    for words in ["completions"], ["completions", "tcsh"]:
        ran = tool(*words)
        assert ran.returncode == 2 and ran.stdout == "" and "shell" in ran.stderr


def test_manual_pages(tool, tmp_path):
    subprocess.run([ROOT / "Sources/Manual/tool-pages", "0", tmp_path, tool.path], check=True)
    for command in [*COMMANDS, *OF_CHANNEL]:
        page = (tmp_path / f"man1/apns-{command.replace(' ', '-')}.1").read_text()
        assert ".Sh EXIT STATUS" in page
        if command not in ("simulate", "record", "completions"):
            assert "could not be reached" in page.replace("\n", " ")


def test_simulate_names_its_build(tool):
    told = re.findall(r"This (?:is an|build is not) optimized", tool("simulate", "--help").stdout)
    assert len(told) == 1
    if pathlib.Path(tool.path).is_relative_to(ROOT / ".build"):
        assert told == ["This build is not optimized"]
