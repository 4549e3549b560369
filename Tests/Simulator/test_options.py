"""What is wrong with an option or a file is said with its name, line and column."""

import subprocess

import pytest
from simulator import tool


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--fault", "nonsense=1"], "--fault nonsense=1: no fault is called nonsense"),
        (["--fault", "bad_every=0"], "bad_every: expected a whole number from 1 on"),
        (["--fault", "cut=softly"], "cut: expected one of close_notify, fin, reset"),
        (["--fault", "tls_min=1.3", "--fault", "tls_max=1.2"], "tls_min 1.3 is above tls_max 1.2"),
        (["--rules", "/nonexistent"], "--rules: /nonexistent: No such file or directory"),
        (["--ledger", "/nonexistent/x"], "--ledger: /nonexistent/x: No such file or directory"),
        (["--control-port", "2195"], "--control-port 2195 is another service's"),
        (["--topic", ""], "--topic is empty"),
    ],
)
def test_wrong_options(certificates, arguments, words):
    assert words in refusal(certificates, arguments)


@pytest.mark.parametrize(
    "text, place",
    [
        ('{\n  "bad_every": 2,\n  "no_such": 1\n}', ":3:3: no fault is called no_such"),
        ('{"bad_share": "x"}', ":1:15: bad_share: expected a number from 0 to 1"),
        ('{"bad_every": 2', ":1:16: "),
        ("[]", ":1:1: expected an object of faults"),
    ],
)
def test_wrong_rules(certificates, tmp_path, text, place):
    path = tmp_path / "rules.json"
    path.write_text(text)
    assert f"--rules: {path}{place}" in refusal(certificates, ["--rules", path])


def refusal(certificates, arguments):
    ran = subprocess.run(
        [tool(), "simulate", "--certificates", certificates, *arguments],
        capture_output=True, text=True, timeout=20,
    )
    assert ran.returncode == 64 and ran.stdout == ""
    return ran.stderr
