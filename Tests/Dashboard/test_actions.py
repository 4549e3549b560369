"""Actions on a push: delete, download and repeat, also by keyboard."""

import json
import os
import re
import subprocess

import pytest
from simulator import PAYLOAD, TOKEN, finish, framed, item
from test_reader import ROWS, many, pick, shown


def test_a_push_is_deleted_on_every_page(simulator, show):
    many(simulator, 5)
    page, other = show(simulator), show(simulator)
    for one in (page, other):
        one.wait(f"{ROWS} === 5")
    pick(page, 3)
    page.click("#delete")
    for one in (page, other):
        one.wait(f"{ROWS} === 4")
        assert shown(one) == [5, 4, 2, 1]
    assert "Push 3 was deleted" in page.text("#inspector")
    page.call("Page.reload")
    page.wait(f"{ROWS} === 4")
    # It still counts as accepted.
    assert simulator.control("GET", "/counters")[1]["accepted"] == 5


def test_payload_and_frame_are_downloaded(simulator, show, browser, tmp_path):
    payload = b"\xff\x00 not json\n"
    frame = framed(item(1, TOKEN), item(2, payload))
    finish(simulator.connect(), frame)
    page = show(simulator)
    pick(page, 1)
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), eventsEnabled=False)
    for link, name, data in ((".download", "push-1-payload.bin", payload), (".download + .download", "push-1-frame.bin", frame)):
        page.click(link)
        path = tmp_path / name
        for _ in range(500):
            if path.exists() and path.stat().st_size == len(data):
                break
            page.run("new Promise((done) => setTimeout(done, 20))")
        assert path.read_bytes() == data


def test_repeat_sends_again_when_pressed(simulator, show):
    payload = json.dumps({"aps": {"alert": "It's me"}}).encode()
    finish(simulator.connect(), framed(item(1, TOKEN), item(2, payload), item(5, b"\5")))
    page = show(simulator)
    pick(page, 1)
    assert page.run(ROWS) == 1, "viewing a push must not send it"
    page.click("#repeat")
    page.wait("document.getElementById('said').textContent === 'push 1 sent again: accepted'")
    page.wait(f"{ROWS} === 2")
    first, second = (page.run(f"fetch('pushes/{number}').then((answer) => answer.json())") for number in (1, 2))
    for name in ("protocol", "command", "priority", "token", "payload", "expiry"):
        assert first[name] == second[name], name
    assert second["duplicate"] and second["connection"] != first["connection"]
    simulator.control("PATCH", "/faults", {"bad_every": 1})
    page.click("#repeat")
    page.wait("document.getElementById('said').textContent === 'push 1 sent again: rejected, invalid token'")


def test_repeat_sends_again_over_http2(start, show):
    httpx = pytest.importorskip("httpx")
    simulator = start("--http2-port", 0)
    url = f"https://127.0.0.1:{simulator.ready['http2_port']}/3/device/{TOKEN.hex()}"
    with httpx.Client(http2=True, verify=simulator.context()) as client:
        client.post(url, content=PAYLOAD, headers={"apns-topic": "com.example", "apns-collapse-id": "a b", "apns-priority": "5", "apns-push-type": "alert"})
    page = show(simulator)
    pick(page, 1)
    page.click("#repeat")
    page.wait(f"{ROWS} === 2 && document.getElementById('said').textContent.startsWith('push 1 sent again: ')")
    first, second = (dict(page.run(f"fetch('pushes/{number}').then((answer) => answer.json())")["headers"]) for number in (1, 2))
    for name in ("apns-topic", "apns-collapse-id", "apns-priority", "apns-push-type", ":path"):
        assert first[name] == second[name], name


UNSAFE = [
    b"it's", b"$(touch pwned)`touch pwned`${HOME}", b"a\nb\r\n", b"\n", b'{"aps":{"alert":"\\u0041 \\\\ \\n"}}', b"\xff\xfe\xc3\x28",
    bytes(range(256)), b"%s %d %% %n", b"-n", b"--", b"\x1b[201~; touch pwned\n", "\u202eevil \u2028 é".encode(), b"!! !-1 ^a^b", b"\\", b"'; touch pwned; '",
    b"\x0012", b"~ * ? [a] {a,b} # ; & | < > ( )",
]


@pytest.mark.parametrize("payload", UNSAFE)
def test_the_command_is_safe_to_paste(simulator, show, payload, tmp_path):
    finish(simulator.connect(), framed(item(1, TOKEN), item(2, payload), item(5, b"\5")))
    page = show(simulator)
    pick(page, 1)
    page.click("#copy")
    command = page.wait("document.querySelector('.command')?.textContent")
    # A terminal sees part of a line and no control characters.
    assert re.fullmatch(r"[ -~]+", command), command
    sender, _, tool = command.rpartition(" | ")
    for shell in ("bash", "dash", "sh", "zsh"):
        if subprocess.run(["which", shell], capture_output=True).returncode != 0:
            continue
        done = subprocess.run([shell, "-c", f"{sender} | cat; printf '%s\\0' {tool} >words"], capture_output=True, cwd=tmp_path, check=True)
        assert done.stdout == payload, shell
        words = (tmp_path / "words").read_bytes().decode().split("\0")[:-1]
        assert words[:2] == ["apns", "send"] and words[-1] == TOKEN.hex() and f"--port={simulator.gateway[1]}" in words
    assert os.listdir(tmp_path) == ["words"]


def test_headers_in_the_command_are_words(simulator, show):
    """A header may contain characters special to a shell, or begin like an option."""
    page = show(simulator)
    gateway = simulator.ready | {"http2_port": 8443, "ca": "/tmp/it's/é.pem"}
    value = "-x $(touch pwned) `b` ' \" \\ ! \u202e\u0007"
    made = {
        "protocol": "http2", "bytes": "7b7d", "payload_offset": 0, "payload_length": 2, "token": "5f79", "channel": None, "time": 0,
        "headers": [["apns-topic", value], ["apns-expiration", "$(touch pwned)"]],
    }
    command = page.run(f"import('./repeat.js').then(({{ repeatCommand }}) => repeatCommand({json.dumps(made)}, {json.dumps(gateway)}))")
    assert re.fullmatch(r"[ -~]+", command)
    words = subprocess.run(["bash", "-c", "printf '%s\\0' " + command.partition(" | ")[2]], capture_output=True, check=True).stdout
    words = words.decode().split("\0")[:-1]
    assert f"--topic={value}" in words and "--ca=/tmp/it's/é.pem" in words and "--expires-in=0" in words


def test_keys_move_through_the_pushes(simulator, show):
    many(simulator, 150)
    page = show(simulator)
    page.wait(f"{ROWS} === 150")
    current = "document.querySelector('.row[aria-current]')?.parentElement.dataset.key"
    for key, number in (("j", "150"), ("j", "149"), ("j", "148"), ("k", "149")):
        page.press(key)
        page.wait(f"{current} === '{number}'")
    page.press("Delete")
    page.wait("!document.querySelector('[data-key=\"149\"]')")
    page.press("/")
    assert page.run("document.activeElement.id") == "search"
    page.press("j")
    page.press("Escape")
    page.press("Escape")
    page.wait("!location.hash.includes('push')")
    # They can be switched off, for people whose speech software types letters.
    page.run("document.getElementById('help').open = true; document.getElementById('keys-on').click(); document.activeElement.blur()")
    page.press("/")
    assert page.run("document.activeElement.id") != "search"
    page.run("document.getElementById('keys-on').click()")
