"""Documentation/PHP.md, command by command, in a separate checkout: built, installed next to PHP's own files, loaded,
and a push whose outcome is printed."""

import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "Documentation/PHP.md"
sys.path += [str(ROOT / "Tests/Simulator"), str(ROOT / "Tests/Examples")]
from simulator import Simulator


def blocks():
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.S | re.M)


def test_php_page(tmp_path):
    checkout, installed, settings, bin = (tmp_path / name for name in ("checkout", "root", "conf.d", "bin"))
    for directory in (checkout / "build", settings, bin):
        directory.mkdir(parents=True)
    for name in ("Sources", "include", "build/release"):
        (checkout / name).symlink_to(ROOT / name)

    # Root's commands run with other directories than PHP's.
    def output_of(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    extensions = f"{installed}{output_of('php-config', '--extension-dir')}"
    programs = {name: output_of("sh", "-c", f"command -v {name}") for name in ("php", "php-config")}
    (bin / "php").write_text(f'#!/bin/sh\nexec {programs["php"]} -d extension_dir="{extensions}" "$@"\n')
    (bin / "php-config").write_text(
        f'#!/bin/sh\n[ "$*" != --ini-dir ] || exec echo "{settings}"\nexec {programs["php-config"]} "$@"\n')  # fmt: skip
    for program in bin.iterdir():
        program.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("APNS_")}
    environment |= {"PATH": f"{bin}:{os.environ['PATH']}", "PHP_INI_SCAN_DIR": str(settings),
                    "MAKEFLAGS": f"INSTALL_ROOT={installed}"}  # fmt: skip

    def paste(command):
        return subprocess.run(
            ["bash", "-e", "-c", command], cwd=checkout, env=environment, capture_output=True, text=True)  # fmt: skip

    simulator = None
    outcomes = []
    seen = []
    try:
        for language, text in blocks():
            if language == "php" and "push.php" not in seen:
                (checkout / "push.php").write_text(text)
                seen.append("push.php")
            elif language == "php" and text.startswith("<?php"):
                (checkout / "loop.php").write_text(text)
            if language != "sh":
                continue
            if "apns) simulate" in text:
                command = text.split("apns) simulate", 1)[1].split()
                assert command == [], command
                simulator = Simulator(checkout / "simulator-certificates", *Simulator.STRICT)
                continue
            if "AuthKey_" in text:
                # The key does not exist, and the message names it.
                ran = paste(text)
                assert ran.returncode != 0 and "token_key file AuthKey_ABC123DEFG.p8: No such file" in ran.stdout + ran.stderr
                continue
            if simulator:
                text = text.replace("8443", str(simulator.ready["http2_port"]))
            # Tests/run has already built the archive.
            ran = paste(text.replace("cmake --preset release && cmake --build --preset release", ":"))
            assert ran.returncode == 0, f"{text}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
            outcomes.append(ran.stdout)
        assert simulator.stop()["accepted"] == 2
    finally:
        if simulator:
            simulator.kill()
    assert re.search(r"^apns support => enabled$", outcomes[1], re.M), outcomes[1]
    assert re.search(r"^apns.port => 0 => 0$", outcomes[1], re.M), outcomes[1]
    token = re.search(r"\b[0-9a-f]{64}\b", PAGE.read_text())[0]
    assert outcomes[2:] == [f"{token} accepted (HTTP 200)\n"] * 2, outcomes
