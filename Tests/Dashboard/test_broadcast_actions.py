"""Repeating a broadcast from the page: with its button, and with the command that it shows."""

import json
import os
import re
import shutil
import subprocess
import time

import pytest
from http2 import jwt
from simulator import DEADLINE, TOKEN, tool
from test_activities import APP, SECOND, SERVICES, UUID, httpx, provide, state, subscribe  # noqa: F401
from test_reader import ROWS, pick

SHELLS = [shell for shell in ("bash", "dash", "sh", "zsh") if shutil.which(shell)]
# Characters special to a shell, a format or a terminal.
UNSAFE = "It's $(touch pwned) `touch pwned` ${HOME} \"é\" \\ %s %% ! # ; & | < > ~ * \n \u202e"


def fetched(page, number):
    return page.run(f"fetch('pushes/{number}').then((answer) => answer.json())")


def answered(page, words):
    page.wait(f"document.getElementById('said').textContent === {json.dumps(words)}")


def recorded(simulator):
    """Token, channel, devices and topic of each accepted broadcast."""
    lines = simulator.control("GET", "/accepted")[1]["notifications"]
    return [(line["token"], line["channel"], line["devices"], line["topic"]) for line in lines]


def signed(simulator):
    """A provider with a token and no certificate."""
    return httpx.Client(http2=True, verify=simulator.context(certificate=False), timeout=DEADLINE,
                        headers={"authorization": f"bearer {jwt(simulator)}"})


def test_repeat_broadcasts_again(start, show, provide):  # noqa: F811
    simulator = start(*SERVICES)
    page, provider, now = show(simulator), provide(simulator), int(time.time())
    channel = provider.awkward()
    subscribe(simulator, channel, TOKEN, SECOND)
    aps = state("update", now, {"score": UNSAFE})
    assert provider.broadcast(channel, aps, now + 3600, **{"apns-request-id": UUID, "apns-priority": "5"}).status_code == 200
    pick(page, 1)
    assert page.run(ROWS) == 1, "viewing a push must not send it"
    page.click("#repeat")
    answered(page, "push 1 sent again: accepted")
    page.wait(f"{ROWS} === 2")
    first, second = fetched(page, 1), fetched(page, 2)
    for name in ("protocol", "channel", "devices", "topic", "token", "payload", "outcome"):
        assert first[name] == second[name], name
    assert (second["channel"], second["devices"], second["token"], second["duplicate"]) == (channel, 2, "", True)
    assert json.loads(second["payload"]) == {"aps": aps}
    # The repeated broadcast has new IDs.
    for name in ("connection", "identifier", "unique_id"):
        assert second[name] and first[name] != second[name], name
    headers, again = dict(first["headers"]), dict(second["headers"])
    for name in (":method", ":path", "apns-channel-id", "apns-push-type", "apns-priority"):
        assert headers[name] == again[name], name
    assert int(again["apns-expiration"]) >= int(headers["apns-expiration"])
    # On the page, on the devices and in the record.
    page.click("#tab-channels")
    page.wait("document.querySelectorAll('#deliveries li.accepted').length === 2")
    line = page.text("#deliveries li")
    assert f"broadcast update App to channel {channel[:10]}…, 2 devices accepted" in line and second["unique_id"] in line
    assert [one["updates"] for one in simulator.control("GET", "/activities")[1]["activities"]] == [2, 2]
    assert recorded(simulator) == [("", channel, 2, APP)] * 2
    counters = simulator.control("GET", "/counters")[1]
    assert (counters["accepted"], counters["broadcasts"], counters["duplicates"]) == (2, 2, 1)
    # The channel's current state counts, not its state at the first push.
    assert provider.client.request("DELETE", provider.channels, headers={"apns-channel-id": channel}).status_code == 204
    page.click("#repeat")
    answered(page, "push 1 sent again: rejected, ChannelNotRegistered")


def test_repeat_uses_a_token_if_the_first_did(start, show, provide):  # noqa: F811
    simulator = start(*SERVICES)
    page, provider = show(simulator), provide(simulator)
    channel = provider.create(0)
    with signed(simulator) as provider.client:
        assert provider.broadcast(channel, state("end", 1, {})).status_code == 200
        pick(page, 1)
        page.click("#repeat")
        answered(page, "push 1 sent again: accepted")
        page.wait(f"{ROWS} === 2")
    assert "key SIMULATOR1" in dict(fetched(page, 2)["headers"])["authorization"]


@pytest.mark.parametrize("shows", ["certificate", "token"])
def test_the_command_broadcasts_again(start, show, provide, shows, tmp_path):  # noqa: F811
    """Unchanged, in each shell."""
    simulator = start(*SERVICES)
    page, provider, now = show(simulator), provide(simulator), int(time.time())
    channel = provider.awkward()
    subscribe(simulator, channel, TOKEN)
    if shows == "token":
        provider.client = signed(simulator)
    assert provider.broadcast(channel, state("update", now, {"score": UNSAFE}), now + 3600, **{"apns-priority": "5"}).status_code == 200
    provider.client.close()
    pick(page, 1)
    page.click("#copy")
    command = page.wait("document.querySelector('.command')?.textContent")
    assert re.fullmatch(r"[ -~]+", command), command
    programs, here = tmp_path / "programs", tmp_path / "here"
    programs.mkdir()
    here.mkdir()
    (programs / "apns").symlink_to(tool())
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    first = fetched(page, 1)
    for count, shell in enumerate(SHELLS, 2):
        done = subprocess.run([shell, "-c", command], capture_output=True, cwd=here, env=environment, timeout=DEADLINE)
        assert done.returncode == 0, (shell, done.stderr)
        page.wait(f"{ROWS} === {count}")
        again = fetched(page, count)
        for name in ("channel", "devices", "topic", "token", "payload", "outcome"):
            assert first[name] == again[name], (shell, name)
        headers, others = dict(first["headers"]), dict(again["headers"])
        for name in (":method", ":path", "apns-channel-id", "apns-push-type", "apns-priority"):
            assert headers[name] == others[name], (shell, name)
        assert int(others["apns-expiration"]) >= int(headers["apns-expiration"]), shell
        assert ("key SIMULATOR1" in others.get("authorization", "")) == (shows == "token"), shell
    assert recorded(simulator) == [("", channel, 1, APP)] * (1 + len(SHELLS))
    assert list(here.iterdir()) == []


def test_a_far_expiry_is_sent_again(start, show, provide):  # noqa: F811
    simulator = start(*SERVICES)
    page, provider = show(simulator), provide(simulator)
    channel = provider.create(1)
    assert provider.broadcast(channel, state("update", 1, {}), 2**63 - 1).status_code == 200
    pick(page, 1)
    page.click("#copy")
    assert " --expires-in=4294967295 " in page.wait("document.querySelector('.command')?.textContent")
    page.click("#repeat")
    answered(page, "push 1 sent again: accepted")
    page.wait(f"{ROWS} === 2")
    assert 0 <= int(dict(fetched(page, 2)["headers"])["apns-expiration"]) - time.time() - 2**32 + DEADLINE < 2 * DEADLINE


MALFORMED = [
    ({"apns-channel-id": ""}, "MissingChannelId"), ({"apns-channel-id": "no base64"}, "BadChannelId"),
    ({"apns-push-type": "alert"}, "InvalidPushType"), ({"apns-expiration": "soon"}, "BadExpirationDate"),
    ({"apns-priority": "7"}, "BadPriority"), ({"apns-request-id": "7"}, "BadMessageId"),
]


def test_a_malformed_broadcast_cannot_be_sent_again(start, show, provide):  # noqa: F811
    """The library would correct the request, so the repetition would differ."""
    simulator = start(*SERVICES)
    page, provider = show(simulator), provide(simulator)
    channel = provider.create()
    path, whole = f"{provider.pushes}/4/broadcasts/apps/{APP}", {"apns-channel-id": channel, "apns-push-type": "liveactivity"}
    for headers, reason in MALFORMED:
        assert provider.broadcast(channel, state("update", 1, {}), **headers).json() == {"reason": reason}
    assert provider.client.post(path, content=b"{}", headers=whole).json() == {"reason": "BadExpirationDate"}
    assert provider.client.post(path, headers=whole | {"apns-expiration": "0", "apns-priority": "10"}).json() == {"reason": "PayloadEmpty"}
    # This payload is longer than the part that is kept.
    long = provider.client.post(path, content=iter([b'{"aps":{}}', b" " * 8190]), headers=whole | {
        "apns-expiration": "0", "apns-priority": "10"})
    assert long.json() == {"reason": "PayloadTooLarge"}
    count = len(MALFORMED) + 3
    for number in range(1, count + 1):
        pick(page, number)
        assert page.run("document.getElementById('repeat').disabled && document.getElementById('copy').disabled"), number
        status, told = page.run(f"fetch('pushes/{number}/repeat', {{ method: 'POST' }}).then(async (answer) => [answer.status, await answer.json()])")
        assert status == 409 and told == {"error": fetched(page, number)["repetition_fault"]}, number
    assert fetched(page, 1)["repetition_fault"] == "push 1 is a malformed broadcast (MissingChannelId), which cannot be resent"
    assert fetched(page, count)["repetition_fault"] == f"push {count} has a payload that was truncated"
    assert page.run(ROWS) == count
