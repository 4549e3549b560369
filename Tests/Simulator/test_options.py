"""Errors in an option or a file are reported with name, line and column."""

import json
import re
import shlex
import shutil
import socket
import subprocess

import pytest
from simulator import ROOT, tool

PAGE = (ROOT / "Documentation/SIMULATOR.md").read_text()
RECORDINGS = (ROOT / "Documentation/RECORDINGS.md").read_text()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--fault", "nonsense=1"], "--fault nonsense=1: unknown fault nonsense"),
        (["--fault", "bad_every=0"], "bad_every: expected a whole number of at least 1"),
        (["--fault", "cut=softly"], "cut: expected one of close_notify, fin, reset"),
        (["--fault", "tls_min=1.3", "--fault", "tls_max=1.2"], "tls_min 1.3 is above tls_max 1.2"),
        (["--fault", "bad_every"], "expected name=value"),
        (["--rules", "/nonexistent"], "--rules: /nonexistent: No such file or directory"),
        (["--bad-tokens", "/nonexistent"], "--bad-tokens: /nonexistent: No such file or directory"),
        (["--ledger", "/nonexistent/x"], "--ledger: /nonexistent/x: No such file or directory"),
        (["--binary", "--control-port", "2195"], "--control-port 2195 is already used for another service"),
        (["--binary", "--http2-port", "2196"], "--http2-port 2196 is already used for another service"),
        (["--gateway-port", "7", "--feedback-port", "7"], "--feedback-port 7 is already used for another service"),
        (["--control-port", "8443"], "--control-port 8443 is already used for another service"),
        (["--control-port", "7", "--http2-port", "7"], "--control-port 7 is already used for another service"),
        (["--http2-port", "7", "--channels-port", "7"], "--channels-port 7 is already used for another service"),
        (["--channels-max", "-1"], "--channels-max"),
        (["--worlds-max", "-1"], "--worlds-max"),
        (["--environment", "staging"], "--environment"),
        (["--fault", "services=none"], "services: expected one of all, pushes, channels"),
        (["--subscriptions", "/nonexistent"], "--subscriptions: /nonexistent: No such file or directory"),
        (["--http2-port", "0", "--provider-key", "a:b:c"], "--provider-key: a:b:c: expected KEYID:TEAMID:FILE"),
        (["--http2-port", "0", "--provider-key", "KEY0000001:TEAM000001:/nonexistent"],
         "--provider-key: /nonexistent: No such file or directory"),
        (["--http2-port", "0", "--provider-key", "KEY0000001:TEAM000001:/dev/null"], "/dev/null: no P-256 key in PEM"),
        (["--fault", "bad_reason=Nonsense"], "bad_reason: expected one of BadCertificate, "),
        (["--fault", "goaway=soon"], "goaway: expected one of graceful, immediate, open"),
        (["--topic", ""], "--topic is empty"),
        (["--topic", "com.example.app,"], "--topic is empty"),
        (["--team-topic", ""], "--team-topic is empty"),
        (["--topic", "any", "--topic", "com.example.app"], "--topic any cannot be used with other topics"),
        (["--fault", "cut_after_bytes=20-10"], "cut_after_bytes: 20 is above 10"),
        (["--fault", "cut_after_bytes=10-x"], "cut_after_bytes: expected a number, or a range such as 10-20"),
        (["--fault", "sentinel_status=256"], "sentinel_status: expected a number from 0 to 255"),
        (["--framed-payload-max", "1"], "--framed-payload-max <bytes>"),
        (["--like", "staging"], "--like <name>"),
        (["--like", "production", "--rules", "rules.json"], "give either --like or --rules: both set the faults"),
        (["--speed", "2"], "--speed needs --replay"),
        (["--replay", "day.jsonl", "--speed", "0"], "--speed must be above 0, and at most 1000000000"),
        (["--replay", "/nonexistent"], "--replay: /nonexistent: No such file or directory"),
    ],
)
def test_wrong_options(certificates, arguments, words):
    assert words in refusal(certificates, arguments)


@pytest.mark.parametrize(
    "text, place",
    [
        ('{\n  "bad_every": 2,\n  "no_such": 1\n}', ":3:3: unknown fault no_such"),
        ('{"bad_share": "x"}', ":1:15: bad_share: expected a number from 0 to 1"),
        ('{"bad_every": 2', ":1:16: "),
        ("[]", ":1:1: expected an object of faults"),
        ('[{"times": 1},\n {"close": "bang"}]', ":2:12: close: expected one of close_notify, fin, reset, stall"),
        ('[{}, 7]', ":1:6: expected an object of faults"),
    ],
)
def test_wrong_rules(certificates, tmp_path, text, place):
    path = tmp_path / "rules.json"
    path.write_text(text)
    assert f"--rules: {path}{place}" in refusal(certificates, ["--rules", path])


@pytest.mark.parametrize(
    "option, text, place",
    [
        *[("--bad-tokens", *case) for case in (
            ("ab\n  xy", ":2:3: "), ("abc", ":1:3: "), ("aé", ":1:2: "), ("\n<>\n", ":2:3: "), ("ab" * 101, ":1:201: "))],
        *[("--feedback", *case) for case in (
            ("x ff", ":1:1: "), ("4294967296 ff", ":1:1: "), ("7", ":1:2: "), (" 12 fg", ":1:6: "))],
    ],
)
def test_wrong_lists(certificates, tmp_path, option, text, place):
    path = tmp_path / "list"
    path.write_text(text)
    assert f"{option}: {path}{place}" in refusal(certificates, [option, path])


@pytest.mark.parametrize("name, text", [
    ("server.key", None), ("server.key", b"nonsense"), ("server.key", "provider-key.pem"), ("ca.pem", b"-----BEGIN CERTIFICATE-----\nAAAA")])
def test_wrong_certificates(certificates, tmp_path, name, text):
    """Missing, not PEM, another key, or truncated: the message names the file."""
    own = shutil.copytree(certificates, tmp_path / "own")
    (own / name).unlink()
    if text:
        (own / name).write_bytes((own / text).read_bytes() if isinstance(text, str) else text)
    assert str(own / name) in refusal(own, [])


OPTIONS = [
    ("bad_every=3", 3), ("bad_tokens=0102,AB", ["0102", "ab"]), ("bad_prefixes=1234", ["1234"]), ("bad_status=1,8", [1, 8]),
    ("error_delay_ms=5,9", [5, 9]), ("close=reset", "reset"), ("tls_max=1.3", "1.3"), ("handshake_alert=unknown_ca", 48),
    ("no_packet=true", 1.0), ("cut_after=10", 10), ("shutdown_after=2,4", [2, 4]), ("cut=stall", "stall"),
    ("count_over=run", "run"), ("times=1", 1), ("bad_reason=Unregistered,Shutdown", ["Unregistered", "Shutdown"]),
    ("streams_max=0", 0), ("goaway=open", "open"), ("goaway_reason=Shutdown", "Shutdown"), ("token_age_max_s=0", 0),
    ("answers=each", "each"), ("reset_code=7", None), ("token_renewal_min_s=1200", None), ("credit_share=0.5", None),
    ("connection_share=1", None), ("sentinel=own", None), ("cut_after_bytes=null", None),
]
OTHERS = [("error_delay_ms=[5,5]", 5), ("bad_reason=418 Teapot", "418 Teapot"), ("count_over=connection", "connection")]


@pytest.mark.parametrize("options", [OPTIONS, OTHERS, [("bad_reason=BadDeviceToken", None)]])
def test_options_as_json(start, options):
    """The control API shows options as JSON and reads them in that form. It leaves defaults out."""
    simulator = start(*(word for option, _ in options for word in ("--fault", option)), control=True)
    told = {option.split("=")[0]: value for option, value in options if value is not None}
    assert simulator.control("GET", "/faults")[1]["faults"] == told
    assert simulator.control("PUT", "/faults", told)[1]["faults"] == told


@pytest.mark.parametrize("text", ["10-20", "10..20", "10...20", "10 - 20", "10,20", "[10,20]"])
def test_common_notations_of_ranges(start, tmp_path, text):
    simulator = start("--fault", f"cut_after_bytes={text}", "--fault", "connections=1-3", control=True)
    rules = {"connections": [1, 3], "cut_after_bytes": [10, 20]}
    assert simulator.control("GET", "/faults")[1]["faults"] == rules
    assert simulator.control("PUT", "/faults", {"cut_after_bytes": "7-9"})[1]["faults"] == {"cut_after_bytes": [7, 9]}


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_ready_has_every_port(certificates, host):
    services = ["gateway", "feedback", "http2", "channels", "control", "dashboard"]
    ports = [word for name in services for word in (f"--{name}-port", "0")]
    command = [tool(), "simulate", "--host", host, "--dashboard-host", host, *ports, "--certificates", certificates]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        text = [next(run.stdout)]
        while not text[-1].startswith("ready "):
            text.append(next(run.stdout))
        line = text[-1]
        told = dict(word.split("=", 1) for word in line.split()[1:])
        try:
            assert list(told) == [*services, "certificates"]
            for name in services:
                at, port = told[name].rsplit(":", 1)
                wanted = "127.0.0.1" if name == "control" else host
                assert at.strip("[]") == wanted and at.startswith("[") == (":" in wanted)
                socket.create_connection((at.strip("[]"), int(port)), timeout=20).close()
        finally:
            run.terminate()
    # The lines for a C program compile.
    lines = re.findall(r"^  (\w+_options\..*;)$", "".join(text), re.M)
    assert len(lines) == 9, text
    kinds = "".join(f"apns_{kind}_options_t {kind}_options; " for kind in ("credentials", "session", "feedback"))
    program = f"#include <apns/binary.h>\n{kinds}int main(void) {{ {' '.join(lines)} return 0; }}\n"
    subprocess.run(["cc", "-fsyntax-only", "-Werror", "-I", ROOT / "include", "-xc", "-"], input=program, text=True, check=True)


def test_http2_alone(certificates):
    """HTTP/2 alone leaves the ports of the binary interface to others, unless an option requests them."""
    for options, open_ports in (
        ([], {"http2"}), (["--feedback-port", "0"], {"http2", "feedback"}), (["--gateway-port", "0"], {"http2", "gateway"})):
        command = [tool(), "simulate", "--http2-port", "0", "--json", *options, "--certificates", certificates]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            ready = json.loads(run.stdout.readline())
            run.terminate()
        assert {name for name in ("gateway", "feedback", "http2") if ready[f"{name}_port"] is not None} == open_ports


@pytest.mark.parametrize("service", ["http2", "gateway", "feedback", "channels", "control", "dashboard"])
def test_a_port_in_use(certificates, service):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = refusal(certificates, ["--http2-port", "0", f"--{service}-port", str(port)])
    assert said == (
        f"Error: --{service}-port: port {port} of 127.0.0.1 is in use already: give another one with --{service}-port, "
        "or end the program that listens there ('ss -ltnp' names it)\n")


def refusal(certificates, arguments):
    ran = subprocess.run(
        [tool(), "simulate", "--certificates", certificates, *arguments],
        capture_output=True, text=True, timeout=240,
    )
    assert ran.returncode == 2 and ran.stdout == ""
    return ran.stderr


def test_every_fault_is_documented():
    ran = subprocess.run([tool(), "simulate", "--help"], check=True, capture_output=True, text=True)
    told = re.findall(r"^    (\w+)=\S+\n      \S", ran.stdout, re.MULTILINE)
    assert len(told) > 30 and len(set(told)) == len(told)
    # The terminal need not break a line.
    assert max(map(len, ran.stdout.splitlines())) <= 80
    assert [name for name in told if f"`{name}`" not in PAGE] == []
    named = re.findall(r"`(\w+)`(?=[^|]*\|)", PAGE[PAGE.index("| faults |") : PAGE.index("Everything random")])
    assert sorted(named) == sorted(told)


def test_page_rules(start, tmp_path):
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "rules.json"
    path.write_text(text)
    simulator = start("--rules", path, control=True)
    assert simulator.control("GET", "/faults")[1]["faults"] == json.loads(text)


def test_page_commands(certificates, tmp_path):
    """Unchanged except for the ports."""
    commands = [line.split("#")[0].split() for line in re.findall(r"^apns simulate.*", PAGE, re.MULTILINE)]
    assert len(commands) == 10
    (tmp_path / "day.jsonl").write_text(re.findall(r"```json\n(.*?)```", RECORDINGS, re.DOTALL)[0])
    (tmp_path / "MyApp" / "fr.lproj").mkdir(parents=True)
    (tmp_path / "MyApp" / "fr.lproj" / "Localizable.strings").write_text('"KEY" = "texte";')
    (tmp_path / "rules.json").write_text(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
    for _, *words in commands:
        ports = "--gateway-port 0 --feedback-port 0".split() if "--binary" in words else []
        words = [re.sub("8190|8191|8444", "0", word) for word in words] + (
            [] if "--help" in words else ["--http2-port", "0", *ports, "--certificates", certificates])
        with subprocess.Popen([tool(), *words], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as run:
            for line in run.stdout:
                if line.startswith("ready "):
                    run.terminate()
        assert run.returncode == 0, words
    assert json.loads((tmp_path / "ledger").read_text())["summary"]["received"] == 0


def test_page_in_tests():
    """The options recommended for tests, as a shell parses them."""
    (options,) = re.findall(r"^In tests: `(.*?)`", PAGE, re.MULTILINE)
    ran = subprocess.run(
        f"exec {tool()} simulate {options} --help", shell=True, check=True, capture_output=True, text=True)
    assert all(word in ran.stdout for word in options.split() if word.startswith("--"))


def test_page_curl(start):
    """Unchanged, in sequence."""
    simulator, shown = start(control=True), start("--dashboard-port", 0)
    ports = {"8190": simulator.ready["control_port"], "8191": shown.ready["dashboard_port"]}
    with simulator.connect():
        simulator.wait("/connections", lambda answer: answer["connections"] != [])
        lines = [line for line in re.findall(r"^curl (?!--http2).*", PAGE, re.MULTILINE) if "$" not in line]
        assert len(lines) >= 10
        for line in lines:
            port = re.search(r":(\d+)/", line)[1]
            words = shlex.split(line.replace(port, str(ports[port])), comments=True)
            ran = subprocess.run([*words, "--silent", "--fail"], check=True, capture_output=True, text=True)
            json.loads(ran.stdout)
    assert simulator.process.wait(20) == 0
