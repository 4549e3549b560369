"""apns send for Live Activities: by token to a device, and to channels."""

import json
import re
import subprocess
import time
import uuid

import pytest

from conftest import http2, outcomes
from setups import Services
from test_http2 import token_words

HEX = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412"
APP = "com.example.app"
NEW = "dHN0LXNyY2gtY2hubA=="
STATE = {"score": "1 : 0", "note": 'a "b" \\ { c'}
CONSOLE = "https://icloud.developer.apple.com/dashboard/notifications"
MANAGED = ["--http2-port", 0, "--channels-port", 0]


@pytest.fixture
def state(tmp_path):
    """A content state as people write it, with white space."""
    (tmp_path / "state.json").write_text(json.dumps(STATE, indent=2) + "\n")
    return ["--content-state", "state.json"]


@pytest.fixture
def made(start, shared):
    """Makes a simulator and a channel in it, with the command that the simulator prints."""
    def make(*options, running=None):
        simulator = running or (start(*MANAGED, *options, control=True) if options else shared())
        told = subprocess.run(
            ["curl", "--silent", "--http2", "--cacert", simulator.ready["ca"], "--cert", simulator.ready["provider"], "--include",
             "-d", json.dumps({"message-storage-policy": 1, "push-type": "LiveActivity"}),
             f"https://127.0.0.1:{simulator.ready['channels_port']}/1/apps/{APP}/channels"], check=True, capture_output=True, text=True)
        return simulator, re.search(r"^apns-channel-id: (\S+)", told.stdout, re.M)[1]

    return make


def accepted(simulator):
    return simulator.control("GET", "/accepted?from=0&limit=1000")[1]["notifications"]


def pushes(simulator):
    """Each accepted payload, and its whole record."""
    return [(json.loads(one["payload"]), json.dumps(one)) for one in accepted(simulator)]


def test_an_update(tool, simulator, state):
    began = int(time.time())
    ran = tool("send", *token_words(simulator), "--topic", APP, "--live-activity", "update", *state, "--stale-date", "+900",
               "--relevance-score", "75", "--title", "Goal", "--alert", "1 : 0", "--sound", "goal.aiff", HEX)
    assert ran.returncode == 0, ran
    payload, told = pushes(simulator)[0]
    aps = payload.pop("aps")
    assert payload == {} and began <= aps["timestamp"] <= time.time() and aps["stale-date"] - aps["timestamp"] == 900
    del aps["timestamp"], aps["stale-date"]
    assert aps == {"event": "update", "content-state": STATE, "relevance-score": 75,
                   "alert": {"title": "Goal", "body": "1 : 0", "sound": "goal.aiff"}}
    assert "liveactivity" in told and APP + ".push-type.liveactivity" in told
    # Without the file's white space.
    assert json.dumps(STATE, separators=(",", ":")) in json.loads(told)["payload"]


def test_a_start_and_an_end(tool, simulator, state, tmp_path):
    words = ["send", *token_words(simulator), "--topic", APP + ".push-type.liveactivity"]
    ran = tool(*words, "--live-activity", "start", *state, "--attributes-type", "Match", "--attributes", '{"home": "A", "away": "B"}',
               "--input-push-channel", NEW, "--timestamp", "2026-11-23T12:00:00Z", "--title-loc-key", "START", "--title-loc-arg", "A",
               "--title-loc-arg", "B", "--alert", "It begins", HEX)
    assert ran.returncode == 0, ran
    ran = tool(*words, "--live-activity", "end", "--dismissal-date", "1700000000", HEX)
    assert ran.returncode == 0, ran
    (begun, told), (ended, _) = pushes(simulator)
    assert begun == {"aps": {
        "timestamp": 1795435200, "event": "start", "content-state": STATE, "attributes-type": "Match",
        "attributes": {"home": "A", "away": "B"}, "input-push-channel": NEW,
        "alert": {"title": {"loc-key": "START", "loc-args": ["A", "B"]}, "body": "It begins"}}}
    assert told.count(".push-type.liveactivity") == 1
    del ended["aps"]["timestamp"]
    assert ended == {"aps": {"event": "end", "dismissal-date": 1700000000}}


def test_the_certificate_names_the_app(tool, simulator, state):
    ran = tool("send", *http2(simulator), "--live-activity", "update", *state, HEX)
    assert ran.returncode == 0, ran
    assert APP + ".push-type.liveactivity" in pushes(simulator)[0][1]


def test_a_separate_state_for_each_device(tool, simulator, tmp_path):
    with open(tmp_path / "list.jsonl", "w") as file:
        for number in range(3):
            file.write(json.dumps({"token": f"{number:064x}", "state": {"score": number}, "until": 1_900_000_000 + number}) + "\n")
    ran = tool("send", *token_words(simulator), "--topic", APP, "--tokens", "list.jsonl", "--live-activity", "update",
               "--content-state", "{{state}}", "--stale-date", "{{until}}")
    assert ran.returncode == 0, ran
    told = sorted((one["aps"]["content-state"]["score"], one["aps"]["stale-date"]) for one, _ in pushes(simulator))
    assert told == [(number, 1_900_000_000 + number) for number in range(3)]


def test_a_list_is_resumed_later(tool, simulator, state, tmp_path):
    """A later timestamp in the payload does not prevent resuming; another state does."""
    (tmp_path / "list").write_text(HEX + "\n")
    words = ["send", *token_words(simulator), "--topic", APP, "--tokens", "list", "--live-activity", "update", *state, "--stale-date", "+900",
             "--results", "results"]
    assert tool(*words).returncode == 0
    began = time.time()
    while int(time.time()) == int(began):
        time.sleep(0.05)  # the timestamps must differ
    ran = tool(*words, "--resume")
    assert ran.returncode == 0 and "Skipped: 1" in ran.stderr, ran
    (tmp_path / "state.json").write_text("{}")
    ran = tool(*words, "--resume")
    assert ran.returncode == 2 and "another run" in ran.stderr, ran


START = ["--live-activity", "start", "--content-state", "{}", "--attributes-type", "Match", "--attributes", "{}"]
UPDATE = ["--live-activity", "update", "--content-state", "{}"]


@pytest.mark.parametrize("words, said", [
    (["--live-activity", "update"], "needs --content-state"),
    (["--live-activity", "updat", "--content-state", "{}"], "one of 'start', 'update' or 'end'"),
    (["--content-state", "{}"], "add --live-activity"), (["--stale-date", "+1"], "add --live-activity"),
    (["--input-push-token"], "add --live-activity"),
    (START[:4], "needs --attributes-type"), (START[:6], "needs --attributes"),
    ([*UPDATE, "--attributes", "{}"], "--attributes is for --live-activity start only"),
    ([*UPDATE, "--dismissal-date", "0"], "--dismissal-date is for --live-activity end only"),
    ([*START, "--input-push-token", "--input-push-channel", NEW], "either --input-push-token or"),
    ([*START, "--input-push-channel", "match 1"], "'match 1' is not a channel ID"),
    ([*UPDATE, "--stale-date", "tomorrow"], "--stale-date must be UNIX seconds"),
    ([*UPDATE, "--stale-date", "1800000000000"], "looks like milliseconds"),
    ([*UPDATE, "--stale-date", "900"], "'900' looks like a duration: give +900, from now"),
    ([*UPDATE, "--stale-date", "817292800"], "looks like seconds since 2001: give 1795600000"),
    ([*UPDATE, "--relevance-score", "high"], "--relevance-score must be a number"),
    ([*UPDATE, "--badge", "1"], "has no --badge"), ([*UPDATE, "--subtitle", "x"], "has no --subtitle"),
    ([*UPDATE, "--payload", "x"], "--payload is the whole payload"),
    ([*UPDATE, "--push-type", "alert"], "cannot have --push-type alert"),
    ([*UPDATE, "--protocol", "binary"], "--live-activity is for HTTP/2 only"),
    (["--live-activity", "update", "--content-state", "none.json"], "--content-state: none.json: No such file"),
    (["--live-activity", "update", "--content-state", '{"a":}'], "--content-state: the object:1:6: "),
    (["--live-activity", "update", "--content-state", "list.json"], "--content-state: list.json:1:1: expected an object"),
])
def test_usage(tool, tmp_path, words, said):
    (tmp_path / "list.json").write_text("[1]")
    ran = tool("send", *words, "--host", "127.0.0.1", HEX)
    assert ran.returncode == 2 and said in " ".join(ran.stderr.split()), ran.stderr


# Broadcasts.


@pytest.mark.parametrize("words, said", [
    ([HEX], "to devices or to a channel, not both: leave out the tokens"),
    (["--tokens", "x"], "not both: leave out --tokens"), (["--channels", "x"], "either --channel or --channels"),
    (["--collapse-id", "x"], "a broadcast cannot have it"), (["--push-type", "alert"], "cannot have --push-type alert"),
    (START, "cannot start a Live Activity"), (["--protocol", "binary"], "--channel is for HTTP/2 only"),
    (["--channel", "no channel"], "'no channel' is not a channel ID"),
    (["--p8", "AuthKey_ABCDE12345.p8", "--team-id", "TEAM123456"], "needs --topic"),
])
def test_usage_of_broadcasts(tool, words, said):
    more = [] if "--live-activity" in words or "binary" in words else UPDATE
    ran = tool("send", "--channel", NEW, *more, "--host", "127.0.0.1", *words)
    assert ran.returncode == 2 and said in " ".join(ran.stderr.split()), ran.stderr


def test_a_broadcast_cannot_start_an_activity(tool, tmp_path):
    """However the payload is made."""
    (tmp_path / "start.json").write_text(json.dumps({"aps": {
        "timestamp": 1800000000, "event": "start", "content-state": {}, "attributes-type": "A", "attributes": {}, "alert": {"title": "A"}}}))
    ran = tool("send", "--channel", NEW, "--payload", "start.json", "--host", "127.0.0.1", "--topic", APP, "--dry-run")
    assert ran.returncode == 1 and "cannot start a Live Activity" in ran.stdout, ran


def test_a_broadcast(tool, start, state, made):
    simulator, channel = made()
    name = str(uuid.uuid4())
    words = ["send", *token_words(simulator), "--topic", APP, "--channel", channel, "--live-activity", "update", *state]
    ran = tool(*words, "--apns-id", name)
    assert ran.returncode == 0, ran
    line = re.fullmatch(rf"{re.escape(channel)}  accepted  \(request {name}, unique id ([0-9a-f-]+)\)\n", ran.stdout)
    # The console does not know a push to a local service.
    assert line and CONSOLE not in ran.stderr, ran
    outcome, totals = [json.loads(one) for one in tool(*words, "--json", "--expires-in", "60").stdout.splitlines()]
    assert uuid.UUID(outcome.pop("request_id")) and outcome.pop("unique_id")
    assert outcome == {"n": 1, "channel": channel, "outcome": "accepted", "http_status": 200} and "console" not in totals
    assert [one[0]["aps"]["content-state"] for one in pushes(simulator)] == [STATE] * 2


def test_where_apple_shows_deliveries(tool, state, made):
    """A proxy leads to the simulator instead of Apple."""
    simulator, channel = made()
    services = Services()
    try:
        words = ["send", *token_words(simulator), "--topic", APP, "--channel", channel, "--live-activity", "update", *state,
                 "--host", "api.sandbox.push.apple.com", "--port", 443, "--server-name", "localhost",
                 "--proxy", f"127.0.0.1:{services.proxy(to=simulator.ready['http2_port'])}"]
        ran = tool(*words)
        assert ran.returncode == 0 and f"under their unique IDs: {CONSOLE}\n" in ran.stderr, ran
        assert json.loads(tool(*words, "--json").stdout.splitlines()[-1])["console"] == CONSOLE
    finally:
        services.close()


def test_production_gives_no_unique_id(tool, start, state, made):
    simulator, channel = made("--environment", "production")
    words = ["send", *token_words(simulator), "--topic", APP, "--channel", channel, "--live-activity", "update", *state]
    ran = tool(*words)
    assert ran.returncode == 0 and "unique" not in ran.stdout + ran.stderr and CONSOLE not in ran.stderr and "(request " in ran.stdout, ran
    assert "console" not in tool(*words, "--json").stdout


def test_broadcasts_of_a_list(tool, start, made, tmp_path):
    """Two channels, a gone one and an invalid one; by column name, or a list of channels only."""
    simulator, first = made()
    second, gone = made(running=simulator)[1], "AAAAAAAAAAAAAAAAAAAAAA=="
    (tmp_path / "matches.csv").write_text(f"score,channel\n1 : 0,{first}\n2 : 2,{second}\n0 : 0,{gone}\n,no channel\n")
    words = ["send", *token_words(simulator), "--topic", APP, "--live-activity", "update"]
    ran = tool(*words, "--channels", "matches.csv", "--content-state", '{"score": "{{score}}"}', "--results", "results", "--json")
    assert ran.returncode == 1, ran
    told = {one["n"]: one for one in outcomes(tmp_path / "results")}
    assert [(one.get("channel"), one["outcome"]) for _, one in sorted(told.items())] == [
        (first, "accepted"), (second, "accepted"), (gone, "rejected"), (None, "refused")]
    assert told[3]["reason"] == "ChannelNotRegistered" and uuid.UUID(told[3]["request_id"]) and "line 5: 'no channel'" in told[4]["reason"]
    assert sorted(one[0]["aps"]["content-state"]["score"] for one in pushes(simulator)) == ["1 : 0", "2 : 2"]
    ran = tool(*words, "--channels", "matches.csv", "--content-state", '{"score": "{{score}}"}', "--results", "results", "--resume")
    assert ran.returncode == 1 and "Skipped: 4" in ran.stderr, ran
    ran = tool(*words, "--channels", "-", "--content-state", "{}", stdin=f"{first}\n{second}\n")
    assert ran.returncode == 0 and "2 accepted" in ran.stderr, ran
    ran = tool(*words, "--channels", "-", "--content-state", "{}", stdin=f"{HEX}x\n")
    assert ran.returncode == 2 and "no column 'channel'" in ran.stderr, ran
    # Results of a broadcast do not name gone devices.
    assert tool("feedback", "--from", "results").stdout.count(gone) == 0


def test_a_long_broadcast(tool, start, made):
    simulator, channel = made()
    words = ["send", *token_words(simulator), "--topic", APP, "--channel", channel, "--live-activity", "update"]
    assert tool(*words, "--content-state", json.dumps({"a": "x" * 5000})).returncode == 0
    ran = tool(*words, "--content-state", json.dumps({"a": "x" * 5200}))
    assert ran.returncode == 2 and "5,120" in ran.stderr.replace("5120", "5,120"), ran
