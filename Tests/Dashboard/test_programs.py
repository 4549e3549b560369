"""`Copy as`: the programs that the page shows send the same push again."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from http2 import Client
from simulator import DEADLINE, ROOT, TOKEN
from test_activities import SERVICES, provide, state  # noqa: F401
from test_broadcast_actions import UNSAFE, fetched, recorded, signed
from test_page import ROWS
from test_reader import pick

PAYLOAD = {"aps": {"alert": {"title": UNSAFE, "body": "Your turn???/ \x07 \U0001f600"}}, "path": "C:\\new\\1"}
HEADERS = {"apns-topic": "com.example.app", "apns-push-type": "alert", "apns-priority": "5", "apns-collapse-id": UNSAFE[:20].strip()}


def run_curl(text, folder):
    return subprocess.run(["sh", "-c", text], capture_output=True, cwd=folder, timeout=DEADLINE)


def run_c(text, folder):
    library = ROOT / "build" / "release"
    if shutil.which("cc") is None or not (library / "libapns.so").exists():
        pytest.skip("no C compiler, or no build/release/libapns.so")
    (folder / "push.c").write_text(text)
    subprocess.run(["cc", "-Wall", "-Werror", f"-I{ROOT / 'include'}", "push.c", f"-L{library}", "-lapns", f"-Wl,-rpath,{library}", "-o", "push"],
                   cwd=folder, check=True, timeout=DEADLINE)
    return subprocess.run([folder / "push"], capture_output=True, timeout=DEADLINE)


def run_php(text, folder):
    module = ROOT / "build" / "php" / "modules" / "apns.so"
    if shutil.which("php") is None or not module.exists():
        pytest.skip("no PHP, or no build/php/modules/apns.so")
    (folder / "push.php").write_text(text)
    return subprocess.run(["php", "-d", f"extension={module}", folder / "push.php"], capture_output=True, timeout=DEADLINE)


def run_python(text, folder):
    packages = glob.glob(str(ROOT / "build/python/environment/lib/python3*/site-packages/libapns"))
    if not packages:
        pytest.skip("no wheel in build/python/environment")
    (folder / "push.py").write_text(text)
    return subprocess.run([sys.executable, folder / "push.py"], capture_output=True, timeout=DEADLINE,
                          env=os.environ | {"PYTHONPATH": os.path.dirname(packages[0])})


def copied(page, form):
    page.run(f"document.getElementById('form').value = '{form}'")
    page.click("#copy")
    return page.wait("document.querySelector('.command:not([hidden])')?.textContent")


PROGRAMS = [("curl", run_curl), ("C", run_c), ("PHP", run_php), ("Python", run_python)]


@pytest.mark.parametrize("form, run", PROGRAMS)
@pytest.mark.parametrize("shows", ["certificate", "token"])
def test_a_program_pushes_again(start, show, provide, tmp_path, form, run, shows):  # noqa: F811
    simulator = start(*SERVICES)
    page, provider = show(simulator), provide(simulator)
    if shows == "token":
        provider.client = signed(simulator)
    content = json.dumps(PAYLOAD, ensure_ascii=False).encode()
    assert provider.client.post(f"{provider.pushes}/3/device/{TOKEN.hex()}", content=content, headers={
        name: value.encode() for name, value in HEADERS.items()}).status_code == 200
    pick(page, 1)
    text = copied(page, form)
    # The content of a push is only ever a literal: a terminal and a compiler see printable ASCII.
    assert re.fullmatch(r"[ -~\n]+", text) and (form != "curl" or "\n" not in text), text
    done = run(text, tmp_path)
    assert done.returncode == 0, (text, done)
    page.wait(f"{ROWS} === 2")
    first, second = fetched(page, 1), fetched(page, 2)
    assert second["outcome"] == "accepted" and second["duplicate"], second
    for name in ("token", "topic", "payload"):
        assert first[name] == second[name], name
    before, after = dict(first["headers"]), dict(second["headers"])
    for name in (":path", *HEADERS):
        assert before[name] == after[name], name
    assert ("key SIMULATOR1" in after.get("authorization", "")) == (shows == "token" and form != "curl")
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("push", "push.c", "push.php", "push.py")] == []


@pytest.mark.parametrize("name, value", [("apns-collapse-id", ""), ("apns-expiration", "4102444800.5"), ("apns-expiration", "1e300")])
def test_curl_repeats_what_is_odd(start, show, tmp_path, name, value):
    simulator = start(*SERVICES)
    with Client(simulator) as client:
        client.push(headers=[(name, value)])
    page = show(simulator)
    pick(page, 1)
    done = run_curl(copied(page, "curl"), tmp_path)
    assert done.returncode == 0, done
    page.wait(f"{ROWS} === 2")
    before, after = (dict(fetched(page, number)["headers"]) for number in (1, 2))
    # An expiry keeps its distance, as a whole number of seconds.
    assert before[name] == value and (after[name] == value or after[name].isdecimal())


@pytest.mark.parametrize("form, run", PROGRAMS)
def test_a_program_broadcasts_again(start, show, provide, tmp_path, form, run):  # noqa: F811
    simulator = start(*SERVICES)
    page, provider = show(simulator), provide(simulator)
    channel = provider.awkward()
    expiration = 2**31
    assert provider.broadcast(channel, state("update", 1, {"score": UNSAFE}), expiration).status_code == 200
    pick(page, 1)
    done = run(copied(page, form), tmp_path)
    assert done.returncode == 0, done
    page.wait(f"{ROWS} === 2")
    first, second = fetched(page, 1), fetched(page, 2)
    assert (second["outcome"], second["channel"], second["payload"]) == ("accepted", channel, first["payload"])
    assert int(dict(second["headers"])["apns-expiration"]) >= expiration
    assert len(recorded(simulator)) == 2


def test_a_binary_push_has_only_the_tool_s_command(simulator, show):
    from test_reader import many

    many(simulator, 1)
    page = show(simulator)
    pick(page, 1)
    assert page.run("[...document.getElementById('form').options].map((option) => option.value)") == ["apns send"]
