"""Runs Examples/python and the Python code in README.md and Documentation, and checks the output that
they promise."""

import hashlib
import json
import pathlib
import re
import subprocess
import sys

import libapns
import pytest

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "Examples/python"
PAGE = ROOT / "Documentation/PYTHON.md"
BROADCASTS = ROOT / "Documentation/BROADCASTS.md"
MOVING = ROOT / "Documentation/MIGRATION.md"
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
def test_provider_over_http2(start, tmp_path):
    simulator = start("--feedback", write(tmp_path / "gone", "1290000000 00ff\n"), "--http2-port", "0", faults={"bad_tokens": ["ff"]})
    notifications = write(tmp_path / "notifications", readme.blocks(EXAMPLE / "README.md", "tsv")[0])
    shown = subprocess.run(
        [sys.executable, EXAMPLE / "provider.py", "127.0.0.1", str(simulator.ready["http2_port"]),
         simulator.ready["provider"], simulator.ready["ca"], notifications],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    readme.check(shown.stdout, EXAMPLE / "README.md", 1)
    assert set(re.findall("rejected: (.*)", shown.stdout)) == {"BadDeviceToken", "Unregistered"}, shown.stdout


KEY = '="AuthKey_ABC123DEFG.p8", key_id="ABC123DEFG", team_id="DEF123GHIJ"'


def run_program(program, simulator, certificates):
    """Runs the program with the page's options for the simulator instead of the key."""
    local = readme.blocks(PAGE, "py")[0].replace("simulator-certificates", str(certificates))
    local = local.replace("8443", str(simulator.ready["http2_port"]))
    who, where = re.search(r"Client\(key(.*?), topic=.*?, (host=.*?)\)\n", local, re.S).groups()
    assert program.count(KEY) == 1
    program = program.replace(KEY, who if "Credentials(" in program else f"{who}, {where}")
    shown = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=240)
    return shown.stdout


@needs_http2
def test_the_page_s_first_program(start, certificates):
    program = readme.blocks(PAGE, "python")[0]
    said = run_program(program, start("--http2-port", "0"), certificates)
    assert said == readme.blocks(PAGE)[0]


@needs_http2
def test_the_page_s_first_program_rejected(start, certificates):
    simulator = start("--http2-port", "0", faults={"bad_every": 1, "bad_reason": "TopicDisallowed"})
    said = run_program(readme.blocks(PAGE, "python")[0], simulator, certificates)
    assert f"`{said.strip()}`" in PAGE.read_text()


@needs_http2
def test_the_page_s_program_for_channels(start, certificates):
    simulator = start("--http2-port", "0", "--channels-port", "0", control=True)
    (program,) = readme.blocks(BROADCASTS, "python")
    for line, port in (("libapns.Channels(who, ", "channels_port"), ("libapns.Client(credentials=who, ", "http2_port")):
        assert program.count(line) == 1
        program = program.replace(line, f'{line}host="localhost", port={simulator.ready[port]}, ')
    said = run_program(program, simulator, certificates)
    assert re.fullmatch(
        r"\['(.*)'\] ChannelDescription\(storage=<Storage.LATEST: 1>, push_type=.*LIVEACTIVITY.*\)\n", said
    ), said
    (line,) = simulator.control("GET", "/accepted")[1]["notifications"]
    assert f"['{line['channel']}']" in said
    assert simulator.control("GET", "/channels")[1]["channels"] == []


@needs_http2
def test_the_page_s_program_for_asyncio(start, certificates):
    said = run_program(readme.blocks(PAGE, "python")[1], start("--http2-port", "0"), certificates)
    assert said == readme.blocks(PAGE)[1]


@needs_http2
@pytest.mark.parametrize("faults, promised", [
    ({}, "accepted\n"), ({"bad_every": 1}, "rejected: BadDeviceToken (HTTP 400)\n"),
])  # fmt: skip
def test_one_push(start, certificates, faults, promised):
    """README.md shows the same program; Tests/Examples/providers compares them."""
    simulator = start("--http2-port", "0", faults=faults)
    program = (EXAMPLE / "push.py").read_text()
    there = f'ca_file="ca.pem", host="localhost", port={simulator.ready["http2_port"]})\n'
    assert program.count('"provider.pem")\n') == 1
    program = program.replace('"provider.pem")\n', f'"provider.pem", {there}')
    shown = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=certificates)
    assert shown.stdout == promised


@needs_http2
def test_the_page_about_moving(start, certificates):
    simulator = start("--http2-port", "0", faults={"bad_every": 1})
    (program,) = readme.blocks(MOVING, "python")
    token = "token = '5f79cfda4d01aa3a'\n"
    said = run_program("import libapns\n" + token + program, simulator, certificates)
    assert said.startswith("5f79cfda4d01aa3a rejected: BadDeviceToken (HTTP 400): "), said


@needs_http2
def test_recorder(start, tmp_path):
    """The simulator plays its recording."""
    sys.path.append(str(EXAMPLE))
    from recorder import Recorder

    def session(simulator, **options):
        who = libapns.Credentials(certificate_file=simulator.ready["provider"], ca_file=simulator.ready["ca"])
        return libapns.Session(who, host="127.0.0.1", port=simulator.ready["http2_port"], **options)

    bad, good, payload = "ba" * 32, "0d" * 32, b'{"aps":{"alert":"Hello"}}'
    simulator = start("--http2-port", "0", faults={"bad_tokens": [bad], "bad_reason": "Unregistered"})
    recorder = Recorder(str(tmp_path / "day.jsonl"))
    with session(simulator, log=recorder.line) as pushing:
        for token in (bad, good):
            pushing.send(token, payload, user_data=recorder.sending(token, payload))
        for event in pushing.events(None):
            recorder.outcome(event)
    lines = [json.loads(line) for line in (tmp_path / "day.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines[1:]][:1] == ["opened"]
    told = {line["device"]: line["status"] for line in lines[1:] if line["event"] == "push"}
    assert sorted(told.values()) == [200, 410] and not {bad, good} & set(told)
    with session(start("--http2-port", "0", "--replay", tmp_path / "day.jsonl")) as pushing:
        for device in told:
            pushing.send(hashlib.sha256(device.encode()).digest(), payload, user_data=device)
        assert {event.user_data: event.http_status for event in pushing.events(None)} == told


def write(path, text):
    path.write_text(text)
    return path
