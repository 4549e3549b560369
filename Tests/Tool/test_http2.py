"""apns send over HTTP/2, and the outcomes of its responses."""

import json
import re
import uuid

from conftest import http2, outcomes
from simulator import make_certificates
from terminal import same_screen

HEX = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412"
GONE = 1_700_000_000


def token_words(simulator):
    return ["--host", "127.0.0.1", "--port", simulator.ready["http2_port"], "--ca", simulator.ready["ca"],
            "--p8", simulator.ready["token_key"], "--key-id", simulator.ready["token_key_id"],
            "--team-id", simulator.ready["token_team_id"]]


def test_with_a_provider_token(tool, simulator):
    name = str(uuid.uuid4())
    terminal = tool.terminal("send", *token_words(simulator), "--topic", "com.example.app", "--alert", "Hello",
                             "--apns-id", name, "--collapse-id", "one", "--expires-in", 60, HEX, columns=140)
    assert terminal.end() == 0
    same_screen("send-http2", re.sub(r"(?<=unique id )[0-9a-f-]{36}", "<an id>", terminal.screen()))
    one = simulator.control("GET", "/accepted?from=0&limit=10")[1]["notifications"][0]
    assert one["token"] == HEX and name in json.dumps(one) and "com.example.app" in json.dumps(one)


def test_without_a_topic(tool, simulator):
    terminal = tool.terminal("send", *token_words(simulator), "--alert", "Hello", HEX, columns=100)
    assert terminal.end() in (1, 2)
    same_screen("send-http2-topic", terminal.screen())


def test_responses_in_the_results(tool, start, tmp_path):
    tokens = [f"{n:02x}" * 32 for n in range(1, 5)]
    (tmp_path / "gone").write_text(f"{GONE} {tokens[1]}\n{GONE} {tokens[3]}\n")
    (tmp_path / "bad").write_text(tokens[2] + "\n")
    simulator = start("--http2-port", 0, "--feedback", tmp_path / "gone", "--bad-tokens", tmp_path / "bad")
    (tmp_path / "list.csv").write_text("token,registered\n" + "".join(f"{token},{GONE + 10 * (n == 3)}\n" for n, token in enumerate(tokens)))
    ran = tool("send", *http2(simulator), "--tokens", "list.csv", "--topic", "com.example.app", "--alert", "Hello", "--results", "results", "--json")
    assert ran.returncode == 1, ran.stderr
    told = {one["n"]: one for one in outcomes(tmp_path / "results")}
    assert told[1]["outcome"] == "accepted" and uuid.UUID(told[1]["apns_id"])
    assert (told[2]["reason"], told[2]["http_status"], told[2]["timestamp"]) == ("Unregistered", 410, GONE)
    assert (told[3]["reason"], told[3]["http_status"], told[3]["status"]) == ("BadDeviceToken", 400, 8)
    assert json.loads(ran.stdout)["reasons"] == {"BadDeviceToken": 1, "Unregistered": 2}
    ran = tool("feedback", "--from", "results", "--prune", "list.csv", "--in-place")
    assert ran.returncode == 0, ran.stderr
    assert [line.split(",")[0] for line in (tmp_path / "list.csv").read_text().splitlines()] == [
        "token", tokens[0], tokens[2], tokens[3]]


def test_deferred_until_the_end(tool, shared):
    simulator = shared({"bad_every": 1, "bad_reason": "TooManyProviderTokenUpdates"})
    words = ["send", *token_words(simulator), "--topic", "com.example.app", "--alert", "Hello", "--drain", 1, HEX]
    ran = tool(*words)
    assert ran.returncode == 1 and "unknown: the service's last response was TooManyProviderTokenUpdates" in ran.stdout, ran
    told = json.loads(tool(*words, "--json").stdout.splitlines()[0])
    assert (told["outcome"], told["http_status"]) == ("unknown", 429) and "TooManyProviderTokenUpdates" in told["reason"]


def test_a_list(tool, start, tmp_path):
    simulator = start("--http2-port", 0, "--ledger", tmp_path / "ledger", faults={"goaway_after": 700})
    with open(tmp_path / "list.csv", "w") as file:
        file.writelines(f"{n:064x}\n" for n in range(1, 3001))
    ran = tool("send", *http2(simulator), "--tokens", "list.csv", "--topic", "com.example.app", "--alert", "Hello",
               "--results", "results", "--connections", 2)
    assert ran.returncode == 0, ran.stderr
    assert sorted(one["n"] for one in outcomes(tmp_path / "results")) == list(range(1, 3001))
    assert simulator.stop()["accepted"] == 3000


def test_wrong_key(tool, simulator, tmp_path):
    words = token_words(simulator)
    words[words.index("--key-id") + 1] = "ABCDE12345"
    ran = tool("send", *words, "--topic", "com.example.app", "--alert", "x", HEX)
    assert ran.returncode == 1 and "InvalidProviderToken" in ran.stdout + ran.stderr, ran


def test_a_certificate_for_voip(tool, start, tmp_path):
    """The push type is the certificate's, in the doctor's push too; any other is refused."""
    made = make_certificates(tmp_path / "own", "/UID=com.example.app.voip/CN=VoIP Services: com.example.app",
                             "extendedKeyUsage=clientAuth\n1.2.840.113635.100.6.3.4=ASN1:NULL\n")
    simulator = start("--http2-port", 0, "--control-port", 0, "--certificates", made)
    peer = [*http2(simulator), "--server-name", "localhost"]
    for words in ([], ["--topic", "com.example.app"], ["--topic", "com.example.app.voip"]):
        ran = tool("send", *peer, *words, "--alert", "A call", HEX)
        assert ran.returncode == 0, ran
        ran = tool("doctor", *peer, *words, "--token", HEX)
        assert ran.returncode == 0 and ran.stdout.endswith("No problems found.\n"), ran
    pushes = simulator.control("GET", "/accepted?from=0&limit=10")[1]["notifications"]
    assert [one["push_type"] for one in pushes] == ["voip"] * 6
    ran = tool("send", *peer, "--push-type", "alert", "--alert", "A call", HEX)
    assert ran.returncode == 1 and "refused: push_type is alert, but the certificate is for voip" in ran.stdout, ran
