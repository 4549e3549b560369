"""apns channel: create, show, list and delete, and broadcasts to the channels created."""

import json
import re
import subprocess
import uuid

import pytest

from conftest import provider
from terminal import DEADLINE
from test_http2 import token_words
from test_live_activities import MANAGED, accepted

APP = "com.example.app"
ID = re.compile(r"[A-Za-z0-9+/]{22}==")
NEW = json.dumps({"message-storage-policy": 1, "push-type": "LiveActivity"})
STRANGER = "AAAAAAAAAAAAAAAAAAAAAA=="


def managed(simulator):
    return ["--host", "127.0.0.1", "--port", simulator.ready["channels_port"], *provider(simulator)]


def json_lines(ran):
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_a_channel_s_life(tool, start):
    """The whole life of a channel, with a signing key."""
    simulator = start(*MANAGED, control=True)
    words = token_words(simulator) + ["--topic", APP]
    words[words.index("--port") + 1] = simulator.ready["channels_port"]
    ran = tool("channel", "create", *words, "--storage", "latest")
    channel = ran.stdout.rstrip("\n")
    assert (ran.returncode, ran.stderr) == (0, "") and ID.fullmatch(channel), ran
    ran = tool("channel", "show", *words, channel)
    assert (ran.returncode, ran.stdout) == (0, f"{channel}  liveactivity, storage latest\n"), ran
    ran = tool("send", *token_words(simulator), "--topic", APP, "--channel", channel, "--live-activity", "end")
    assert ran.returncode == 0 and json.loads(accepted(simulator)[0]["payload"])["aps"]["event"] == "end", ran
    assert tool("channel", "list", *words).stdout == channel + "\n"
    ran = tool("channel", "delete", *words, channel)
    assert (ran.returncode, ran.stdout) == (0, f"{channel}  deleted\n"), ran
    ran = tool("channel", "list", *words)
    assert (ran.returncode, ran.stdout) == (0, ""), ran


def test_json(tool, start):
    simulator = start(*MANAGED)
    words = [*managed(simulator), "--json"]
    made, = json_lines(tool("channel", "create", *words))
    channel, request = made.pop("channel"), made.pop("request_id")
    assert ID.fullmatch(channel) and uuid.UUID(request)
    assert made == {"storage": "none", "outcome": "accepted", "http_status": 201}
    shown, missing = json_lines(tool("channel", "show", *words, channel, STRANGER))
    assert uuid.UUID(shown.pop("request_id")) and uuid.UUID(missing.pop("request_id"))
    assert shown == {"channel": channel, "storage": "none", "push_type": "liveactivity", "outcome": "accepted", "http_status": 200}
    assert missing == {"channel": STRANGER, "outcome": "rejected", "reason": "ChannelNotRegistered", "http_status": 400}
    one, totals = json_lines(tool("channel", "list", *words))
    assert uuid.UUID(totals.pop("request_id")) and one == {"channel": channel}
    assert totals == {"channels": 1, "outcome": "accepted", "http_status": 200}
    gone, = json_lines(tool("channel", "delete", *words, channel))
    assert uuid.UUID(gone.pop("request_id")) and gone == {"channel": channel, "outcome": "accepted", "http_status": 204}


def test_every_json_member_is_explained(tool, start):
    simulator = start(*MANAGED)
    words = [*managed(simulator), "--json"]
    channel = json_lines(tool("channel", "create", *words))[0]["channel"]
    told = tool("channel", "--help").stdout
    for one in json_lines(tool("channel", "show", *words, channel, STRANGER)):
        for member in one:
            assert re.search(rf"^    {member}$", told, re.M), member


def test_unknown_channels(tool, start):
    """The remaining channels are processed anyway."""
    simulator = start(*MANAGED)
    words = managed(simulator)
    channel = tool("channel", "create", *words).stdout.rstrip()
    ran = tool("channel", "delete", *words, STRANGER, channel)
    assert ran.returncode == 1 and ran.stdout == f"{channel}  deleted\n", ran
    assert f"Error: {STRANGER}: " in ran.stderr and "ChannelNotRegistered" in ran.stderr and "(request " in ran.stderr
    assert "give a channel of this app and this service" in ran.stderr


def test_rejections_are_explained(tool, start):
    simulator = start(*MANAGED, "--channels-max", 1)
    words = managed(simulator)
    assert tool("channel", "create", *words).returncode == 0
    ran = tool("channel", "create", *words)
    assert ran.returncode == 1 and ran.stdout == "" and "CannotCreateChannelConfig" in ran.stderr and "10,000" in ran.stderr, ran
    ran = tool("channel", "list", *managed(start(*MANAGED, "--no-broadcasts", APP)), "--json")
    assert ran.returncode == 1 and json_lines(ran)[0]["reason"] == "FeatureNotEnabled" and "enable Broadcast" in ran.stderr, ran


def test_a_long_list(tool, start):
    """The list's lines serve as input for a broadcast to each channel."""
    simulator = start(*MANAGED, control=True)
    ready, number = simulator.ready, 1500
    # More than fits one HTTP/2 frame.
    subprocess.run(["curl", "--silent", "--http2", "--cacert", ready["ca"], "--cert", ready["provider"], "-d", NEW]
                   + [f"https://127.0.0.1:{ready['channels_port']}/1/apps/{APP}/channels"] * number, check=True, timeout=DEADLINE)
    ran = tool("channel", "list", *managed(simulator))
    listed = ran.stdout.splitlines()
    assert ran.returncode == 0 and len(set(listed)) == len(listed) == number and all(map(ID.fullmatch, listed))
    assert json_lines(tool("channel", "list", *managed(simulator), "--json"))[-1]["channels"] == number
    words = managed(simulator)
    words[words.index("--port") + 1] = simulator.ready["http2_port"]
    ran = tool("send", *words, "--topic", APP, "--channels", "-", "--live-activity", "end", stdin="\n".join(listed[:500]) + "\n")
    assert ran.returncode == 0 and "500 accepted" in ran.stderr, ran


def test_a_lost_response(tool, start):
    """The tool neither creates the channel again nor denies that it may exist."""
    simulator = start(*MANAGED, faults={"reset_every": 1, "reset_code": 2})
    ran = tool("channel", "create", *managed(simulator), "--json")
    assert ran.returncode == 1 and json_lines(ran) == [{"outcome": "unknown"}] and "apns channel list" in ran.stderr, ran


def test_unreachable_service(tool, start):
    simulator = start(*MANAGED)
    words = managed(simulator)
    words[words.index("--port") + 1] = 1
    for command in ["create"], ["list"], ["show", STRANGER], ["delete", STRANGER]:
        ran = tool("channel", *command, *words)
        assert ran.returncode == 3 and ran.stdout == "" and "Error: " in ran.stderr, ran


@pytest.mark.parametrize("words, said", [
    (["show"], "Missing expected argument '<channel> ...'"), (["delete"], "Missing expected argument"),
    (["show", "match 1"], "'match 1' is not a channel ID"), (["delete", "x y"], "is not a channel ID"),
    (["create", "--storage", "all"], "one of 'none' and 'latest'"),
    (["list", "--p8", "AuthKey_ABCDE12345.p8", "--team-id", "TEAM123456"], "--p8 needs --topic"),
    (["list"], "neither a certificate nor a key"),
    (["creat"], "'creat' is not a subcommand of channel. Did you mean 'create'?"), (["rm", STRANGER], "Did you mean 'delete'?"),
])
def test_usage(tool, words, said):
    ran = tool("channel", *words)
    assert ran.returncode == 2 and said in " ".join(ran.stderr.split()), ran.stderr


def test_without_a_subcommand_it_lists_them(tool):
    ran = tool("channel")
    assert all(command in ran.stdout + ran.stderr for command in ("create", "show", "list", "delete")), ran
