"""apns send to a few devices and to lists, over the binary interface."""

import base64
import contextlib
import hashlib
import json
import re
import subprocess
import time

import pytest

import prometheus
from conftest import binary, http2, lines, mode, outcomes, provider
from setups import Services
from swallowing import Swallowing

HEX = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412"
BAD = "bad0" * 16


def accepted(simulator):
    """The notifications that the gateway accepted, in order."""
    page = simulator.control("GET", "/accepted?from=0&limit=100000")[1]
    return page["notifications"]


def payloads(simulator):
    return [json.loads(one["payload"]) if isinstance(one["payload"], str) else one["payload"] for one in accepted(simulator)]


@pytest.fixture
def bad(tmp_path):
    (tmp_path / "bad").write_text(BAD + "\n")
    return ["--bad-tokens", tmp_path / "bad"]


def test_one(tool, simulator):
    tool.shows("send", 0, "send", *binary(simulator), "--title", "Chess", "--alert", 'He said "hi"', "--badge", 9,
               "--custom", "game=4711", "--custom", "note=x y", HEX, columns=100)
    assert payloads(simulator) == [
        {"aps": {"alert": {"title": "Chess", "body": 'He said "hi"'}, "badge": 9}, "game": 4711, "note": "x y"}]


def test_a_bad_token(tool, start, bad):
    simulator = start(*bad)
    tool.shows("send-bad", 1, "send", *binary(simulator), "--alert", "Hello", HEX, BAD, HEX[:-1], columns=100)
    ran = tool("send", *binary(simulator), "--alert", "Hello", HEX, BAD, "--json")
    assert ran.returncode == 1
    first, second, totals = [json.loads(line) for line in ran.stdout.splitlines()]
    assert first == {"n": 1, "token": HEX, "outcome": "accepted"}
    assert abs(second.pop("time") - time.time()) < 600
    assert second == {"n": 2, "token": BAD, "outcome": "rejected", "reason": "invalid token", "status": 8}
    assert totals["done"] and totals["accepted"] == totals["rejected"] == 1


def test_verbose(tool, simulator):
    quiet = tool("send", *binary(simulator), "--alert", "A secret", HEX)
    assert "connection 1" not in quiet.stderr
    ran = tool("send", *binary(simulator), "--alert", "A secret", HEX, "--verbose")
    assert ran.returncode == 0
    assert re.search(r"^info: connection 1: connected to .* in \d+ ms$", ran.stderr, re.MULTILINE)
    assert "trace: " not in ran.stderr
    ran = tool("send", *binary(simulator), "--alert", "A secret", HEX, "-vv")
    assert re.search(rf"^trace: connection 1: > notification 1 to {HEX[:8]}…, \d+ bytes$", ran.stderr, re.MULTILINE)
    assert "secret" not in ran.stderr and HEX[:9] not in ran.stderr


def test_usage(tool):
    tool.shows("send-usage", 2, "send", "--alert", "Hello")
    for words, said in (
        (["--topic", "a.b", "--protocol", "binary"], "--topic is for HTTP/2"),
        (["--resume"], "--results"), (["--payload", "x", "--badge", "1"], "whole payload"),
        (["--badge", "nine"], "--badge must be a number"), (["--rate", "0"], "--rate"),
        (["--p8", "x.p8"], "--team-id"), (["--certificate", "none.pem"], "none.pem")):
        ran = tool("send", "--alert", "Hello", *words, HEX) if "--payload" not in words else tool("send", *words, HEX)
        assert ran.returncode == 2 and said in ran.stderr, (words, ran.stderr)


def test_unreachable_service(tool, simulator):
    words = binary(simulator)
    words[words.index("--port") + 1] = 1
    tool.shows("send-nobody", 3, "send", *words, "--alert", "Hello", HEX, columns=100)


def test_payload_from_a_file_and_from_standard_input(tool, simulator, tmp_path):
    (tmp_path / "push.json").write_text('{"aps":{"alert":"{{not filled in}}"}}\n')
    assert tool("send", *binary(simulator), "--payload", "push.json", HEX).returncode == 0
    assert tool("send", *binary(simulator), HEX, stdin='{"aps":{"badge":1}}').returncode == 0
    assert payloads(simulator) == [{"aps": {"alert": "{{not filled in}}"}}, {"aps": {"badge": 1}}]
    ran = tool("send", *binary(simulator), HEX, stdin='{"aps":{"badge":1}')
    assert ran.returncode == 2 and "payload:1:19:" in ran.stderr
    ran = tool("send", *binary(simulator), HEX, stdin='{"aps":{"bagde":1}}')
    assert ran.returncode == 0 and "Warning: payload:1:9:" in ran.stderr


def test_csv_filled_in(tool, simulator, tmp_path):
    (tmp_path / "list.csv").write_text(
        f"\ufeffname,token,badge,extra\r\n\"O\"\"Neil, \"\"J\"\"\",{HEX},3,\"[1,2]\"\r\n\"two\nlines\",<{HEX[:8]} {HEX[8:]}>,4,null\r\n\r\nbad badge,{HEX},x,1\r\nshort,{HEX}\r\nno token,zz,1,1\r\n")
    tool.shows("send-list", 1, "send", *binary(simulator), "--tokens", "list.csv", "--alert", "Hello {{name}}",
               "--badge", "{{badge}}", "--custom", "extra={{extra}}", columns=100)
    assert payloads(simulator) == [
        {"aps": {"alert": 'Hello O"Neil, "J"', "badge": 3}, "extra": [1, 2]},
        {"aps": {"alert": "Hello two\nlines", "badge": 4}, "extra": None}]


def test_json_lines_filled_in(tool, simulator, tmp_path):
    (tmp_path / "list").write_text(
        json.dumps({"token": HEX, "name": "Zoë \"Z\" \u2028", "n": 12345678901234567890, "p": {"aps": {"alert": [1.50]}}})
        + "\n\n  " + json.dumps({"n": 1, "token": HEX, "name": "b\\n", "p": 2}, indent=None) + "  \n{\"token\": 5}\n{\"token\n")
    (tmp_path / "template").write_text('{"aps":{"alert":"{{name}} {{n}}"},"n":{{n}},"p":{{p}}}')
    ran = tool("send", *binary(simulator), "--tokens", "list", "--payload", "template", "--results", "results")
    assert ran.returncode == 1, ran.stderr
    assert payloads(simulator) == [
        {"aps": {"alert": 'Zoë "Z" \u2028 12345678901234567890'}, "n": 12345678901234567890, "p": {"aps": {"alert": [1.5]}}},
        {"aps": {"alert": "b\\n 1"}, "n": 1, "p": 2}]
    told = {one["n"]: one for one in outcomes(tmp_path / "results")}
    assert [told[n]["outcome"] for n in (1, 2, 3, 4)] == ["accepted", "accepted", "refused", "refused"]
    assert told[3]["reason"].startswith("line 4: ") and told[4]["reason"].startswith("line 5:2: ")


def test_a_separate_payload_for_each(tool, simulator, tmp_path):
    (tmp_path / "list").write_text("".join(json.dumps({"token": HEX, "payload": {"aps": {"badge": n}}}) + "\n" for n in (1, 2)))
    ran = tool("send", *binary(simulator), "--tokens", "list", "--payload", "-", stdin="{{payload}}")
    assert ran.returncode == 0, ran.stderr
    assert payloads(simulator) == [{"aps": {"badge": 1}}, {"aps": {"badge": 2}}]


def test_invalid_lists(tool, simulator, tmp_path):
    (tmp_path / "list.csv").write_text(f"id,token\n1,{HEX}\n")
    ran = tool("send", *binary(simulator), "--tokens", "list.csv", "--alert", "{{nmae}}")
    assert ran.returncode == 2 and "{{nmae}} is not a column of list.csv, which has id, token" in ran.stderr
    (tmp_path / "other.csv").write_text(f"id,device\n1,{HEX}\n")
    ran = tool("send", *binary(simulator), "--tokens", "other.csv", "--alert", "x")
    assert ran.returncode == 2 and "no column 'token'" in ran.stderr
    assert tool("send", *binary(simulator), "--tokens", "other.csv", "--alert", "x", "--token-column", "device").returncode == 0
    assert tool("send", *binary(simulator), "--tokens", ".", "--alert", "x").returncode == 2
    # Read in one pass, however many lines the field has.
    (tmp_path / "list.csv").write_text(f'token,name\n{HEX},"x' + "\n" * 900_000)
    ran = tool("send", *binary(simulator), "--tokens", "list.csv", "--alert", "x")
    assert ran.returncode == 1 and "line 2: a quoted field has no end" in ran.stdout, ran


def test_too_long_for_one_device(tool, simulator, tmp_path):
    (tmp_path / "list.csv").write_text(f"token,text\n{HEX},short\n{HEX},{'long' * 600}\n")
    ran = tool("send", *binary(simulator), "--tokens", "list.csv", "--alert", "{{text}}", "--results", "results")
    assert ran.returncode == 1
    first, second = sorted(outcomes(tmp_path / "results"), key=lambda one: one["n"])
    assert first["outcome"] == "accepted" and second["outcome"] == "refused" and "2,048" in second["reason"].replace("2048", "2,048")


def test_dry_run_connects_to_nothing(tool, simulator, tmp_path):
    words = binary(simulator)
    (tmp_path / "list.csv").write_text(f"token,text\n{HEX},short\n{HEX},{'long' * 600}\nzz,x\n")
    tool.shows("send-dry-run", 1, "send", *words, "--tokens", "list.csv", "--alert", "{{text}}", "--dry-run", columns=120)
    ran = tool("send", *words, "--alert", "x", "--dry-run", "--json", HEX)
    assert ran.returncode == 0 and json.loads(ran.stdout) == {"dry_run": True, "ready": 1, "refused": 0}
    assert simulator.control("GET", "/counters")[1].get("connections", 0) == 0


def make_list(path, count, start=1):
    with open(path, "w") as file:
        file.write("token,number\n")
        file.writelines(f"{n:064x},{n}\n" for n in range(start, start + count))


def test_results_are_not_overwritten(tool, simulator, tmp_path):
    make_list(tmp_path / "list.csv", 10)
    words = ["send", *binary(simulator), "--tokens", "list.csv", "--alert", "{{number}}", "--results", "results"]
    assert tool(*words).returncode == 0
    ran = tool(*words)
    assert ran.returncode == 2 and "--resume" in ran.stderr
    ran = tool(*words, "--resume")
    assert ran.returncode == 0 and "Skipped: 10" in ran.stderr
    words[words.index("{{number}}")] = "other {{number}}"
    ran = tool(*words, "--resume")
    assert ran.returncode == 2 and "another run" in ran.stderr
    assert len(accepted(simulator)) == 10


def test_control_c_drains_and_reports(tool, simulator, tmp_path):
    make_list(tmp_path / "list.csv", 5000)
    words = ["send", *binary(simulator), "--tokens", "list.csv", "--alert", "{{number}}", "--results", "results"]
    terminal = tool.terminal(*words, "--rate", 500, columns=100)
    terminal.until(r"waiting").interrupt()
    assert terminal.end() == 1
    screen = terminal.screen()
    assert "Interrupted: waiting for " in screen
    assert "The list is not finished: continue with the same command and --resume" in screen
    done = outcomes(tmp_path / "results")
    assert 0 < len(done) < 5000 and {one["outcome"] for one in done} == {"accepted"}
    assert len(done) == len(accepted(simulator))
    ran = tool(*words, "--resume", "--json")
    assert ran.returncode == 0, ran.stderr
    totals = json.loads(ran.stdout)
    assert totals["again"] == totals["in_doubt"] == 0 and totals["passed_over"] == len(done)
    assert len(accepted(simulator)) == 5000


def test_progress_on_a_terminal(tool, simulator, tmp_path):
    make_list(tmp_path / "list.csv", 1000)
    words = ["send", *http2(simulator), "--tokens", "list.csv", "--alert", "{{number}}", "--rate", 1000]
    terminal = tool.terminal(*words, columns=100)
    assert terminal.end() == 0
    drawn = terminal.output.decode().split("\r")
    assert any(re.search(r"[█░]{8,} +\d+% [\d,]+ accepted.*, [\d,]+/s, \d:\d\d left", line) for line in drawn), drawn
    assert all(len(re.sub("\x1b.*", "", line)) < 100 for line in drawn[:-1])
    assert re.fullmatch(r"1,000 accepted in [\d.]+ s\n", terminal.screen())
    ran = tool(*words, "--progress", "0.2")
    assert ran.returncode == 0 and "\r" not in ran.stderr and "\x1b" not in ran.stderr
    assert re.search(r"^\d+%, \d+ accepted, .*/s", ran.stderr, re.M), ran.stderr
    assert ran.stdout == ""


@pytest.mark.parametrize("window", [16384, 1 << 20])
def test_progress_counts_outcomes_and_continues(tool, shared, tmp_path, window):
    """The responses come late. Whether the whole list was read or the window is full, the progress stays at 0%."""
    simulator = shared({"answer_delay_ms": 3000})
    make_list(tmp_path / "list.csv", 120)
    terminal = tool.terminal("send", *http2(simulator), "--tokens", "list.csv", "--alert", "{{number}}", "--window", window, "--payload-max", 1000, columns=100)
    assert terminal.end() == 0
    drawn = [line for line in terminal.output.decode().split("\r") if " 0 accepted" in line]
    assert len(drawn) >= 3, terminal.output
    assert all(re.search(r" 0% 0 accepted, \d+ waiting, 0/s\x1b", line) for line in drawn), drawn


@pytest.mark.parametrize("speaks", [http2, binary])
@pytest.mark.parametrize("window", [16384, 1 << 20])
def test_control_c_without_responses(tool, shared, tmp_path, speaks, window):
    """The first Ctrl-C immediately prints what the tool waits for; the second ends it in any state of the session."""
    simulator = shared({"no_answer": 1} if speaks is http2 else {"stall_after_bytes": 1})
    make_list(tmp_path / "list.csv", 2000)
    words = ["send", *speaks(simulator), "--tokens", "list.csv", "--alert", "{{number}}", "--window", window, "--payload-max", 1000, "--results", "results"]
    terminal = tool.terminal(*words, columns=120)
    terminal.until("waiting").interrupt()
    terminal.until(r"Interrupted: waiting for the outcomes of [\d,]+ notifications in flight; a second Ctrl-C ends immediately")
    began = time.monotonic()
    assert terminal.interrupt().end() == 1
    # within a second, with time for other programs on this machine
    assert time.monotonic() - began < 5
    assert "continue with the same command and --resume" in terminal.screen()


def test_control_c_before_connecting(tool, simulator):
    services = Services()
    try:
        words = [services.silent() if word == simulator.gateway[1] else word for word in binary(simulator)]
        terminal = tool.terminal("send", *words, "--connect-timeout", 100, "--alert", "Hello", HEX, "-vv", columns=120)
        terminal.until("connection 1").interrupt()
        assert terminal.end() == 1
    finally:
        services.close()


def test_outcomes_while_a_list_is_being_written(tool, simulator):
    """The outcome is printed without waiting for the next line."""
    running = subprocess.Popen(
        list(map(str, [tool.path, "send", *http2(simulator), "--tokens", "-", "--alert", "x", "--json"])),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with running:
        for number in (7, 8):
            running.stdin.write(f"{number:064x}\n")
            running.stdin.flush()
            assert json.loads(running.stdout.readline())["outcome"] == "accepted"
        running.stdin.close()
        assert json.loads(running.stdout.readline())["accepted"] == 2
    assert running.returncode == 0


def test_rate(tool, simulator, tmp_path):
    make_list(tmp_path / "list.csv", 300)
    began = time.monotonic()
    ran = tool("send", *binary(simulator), "--tokens", "list.csv", "--alert", "x", "--rate", 200, "--json")
    assert ran.returncode == 0 and json.loads(ran.stdout.splitlines()[-1])["seconds"] >= 1.4
    assert time.monotonic() - began >= 1.4


def encrypted(simulator, tmp_path):
    """The words with the provider's key in an encrypted file."""
    subprocess.run(["openssl", "pkcs12", "-export", "-in", simulator.ready["provider"], "-out", tmp_path / "who.p12",
                    "-passout", "pass:secret word"], check=True)
    words = binary(simulator)
    words[words.index("--certificate"):words.index("--certificate") + 2] = ["--p12", "who.p12"]
    return words


def test_passphrases(tool, simulator, tmp_path):
    words = ["send", *encrypted(simulator, tmp_path), "--alert", "Hello", HEX]
    (tmp_path / "word").write_text("secret word\n")
    assert tool(*words, "--passphrase-file", "word").returncode == 0
    assert tool(*words, env={"APNS_PASSPHRASE": "secret word"}).returncode == 0
    ran = tool(*words, env={"APNS_PASSPHRASE": "other"})
    assert ran.returncode == 2 and "passphrase" in ran.stderr and "other" not in ran.stderr
    assert tool(*words).returncode == 2  # without a terminal there is no prompt
    terminal = tool.terminal(*words, columns=100)
    terminal.until("Passphrase of who.p12: ").type("secret word\n")
    assert terminal.end() == 0
    assert "secret" not in terminal.output.decode()


def test_proxy_and_names(tool, simulator):
    ran = tool("send", *binary(simulator), "--alert", "x", "--proxy", "127.0.0.1:1", HEX)
    assert ran.returncode == 3
    ran = tool("send", *binary(simulator), "--alert", "x", "--proxy", "http://127.0.0.1:1/", HEX)
    assert ran.returncode == 3 and "the proxy" in ran.stderr, ran.stderr
    for proxy in "nothing", "https://127.0.0.1:1", "http://127.0.0.1:1/x":
        ran = tool("send", *binary(simulator), "--alert", "x", "--proxy", proxy, HEX)
        assert ran.returncode == 2 and "--proxy must be [USER@]HOST:PORT" in ran.stderr, ran.stderr
    ran = tool("send", *binary(simulator), "--alert", "x", "--server-name", "other.example", HEX)
    assert ran.returncode == 3 and "other.example" in ran.stderr


def test_a_gateway_that_fails_occasionally(tool, shared, tmp_path):
    simulator = shared({"bad_every": 100, "close": "reset"})
    make_list(tmp_path / "list.csv", 2000)
    ran = tool("send", *binary(simulator), "--tokens", "list.csv", "--alert", "{{number}}", "--results", "results", "--json")
    assert ran.returncode == 1, ran.stderr
    told = outcomes(tmp_path / "results")
    assert sorted(one["n"] for one in told) == list(range(1, 2001))
    totals = json.loads(ran.stdout)
    assert totals["rejected"] > 0 and totals["accepted"] + totals["rejected"] == 2000
    assert totals["reasons"] == {"invalid token": totals["rejected"]}


def test_a_gateway_that_stays_away(tool, start, tmp_path):
    simulator = start(control=True)
    make_list(tmp_path / "list.csv", 3000)
    words = ["send", *binary(simulator), "--tokens", "list.csv", "--alert", "{{number}}", "--results", "results"]
    running = tool.start(*words, "--rate", 1000, "--patience", 1, "--drain", 3)
    simulator.wait("/counters", lambda counters: counters["accepted"] > 200)
    simulator.process.kill()
    out, err = running.communicate(timeout=240)
    assert running.returncode == 3, (out, err)
    assert "with the same command and --resume" in err


@pytest.mark.parametrize("streams_max", [0, 1000])
def test_a_deadline(tool, shared, tmp_path, streams_max):
    """--resume sends expired notifications again, and those in doubt only without --at-most-once."""
    make_list(tmp_path / "list.csv", 5)
    simulator = shared({"no_answer": 1, "streams_max": streams_max})
    words = ["send", *http2(simulator), "--tokens", "list.csv", "--alert", "{{number}}", "--results", "results", "--deadline", 1]
    ran = tool(*words, "--json")
    assert ran.returncode == 1, ran.stderr
    totals = json.loads(ran.stdout)
    expired, unknown = totals["expired"], totals["unknown"]
    assert (expired + unknown, totals["accepted"], totals["done"]) == (5, 0, True)
    # On each of two connections one may be sent before SETTINGS arrive.
    assert expired >= 3 if streams_max == 0 else expired == 0
    told = outcomes(tmp_path / "results")
    assert sorted(one["outcome"] for one in told) == ["expired"] * expired + ["unknown"] * unknown
    for one in told:
        assert ("deadline passed before it was sent" if one["outcome"] == "expired" else "deadline") in one["reason"]
    shared({})
    ran = tool(*words, "--resume", "--at-most-once", "--json")
    assert ran.returncode == (1 if unknown else 0), ran.stderr
    totals = json.loads(ran.stdout)
    assert (totals["accepted"], totals["expired"], totals["unknown"], totals["passed_over"]) == (expired, 0, unknown, unknown)
    assert not any(one.get("again") for one in outcomes(tmp_path / "results"))
    ran = tool(*words, "--resume")
    assert ran.returncode == 0 and "5 accepted" in ran.stderr + ran.stdout, ran.stderr


def test_a_network_that_swallows_packets(tool, simulator):
    """Nothing was queued: it reports the service as unreachable, within the deadline and not after --connect-timeout."""
    with contextlib.closing(Swallowing()) as network:
        ran = tool("send", "--host", "127.0.0.1", "--port", network.port, *provider(simulator), "--alert", "x", "--topic", "com.example.app",
                   "--connect-timeout", 3600, "--deadline", 0.5, HEX)
    assert ran.returncode == 3 and f"127.0.0.1:{network.port}" in ran.stderr, ran


def test_with_or_without_http2(tool, simulator):
    """Either the library speaks HTTP/2, or the tool reports that it does not."""
    ran = tool("send", "--host", "127.0.0.1", "--port", simulator.ready["http2_port"], "--ca", simulator.ready["ca"],
               "--certificate", simulator.ready["provider"], "--alert", "Hello", HEX)
    assert ran.returncode in (0, 1, 2)
    if ran.returncode == 2:
        assert "HTTP/2" in ran.stderr


def test_pinned_keys_and_revocation_lists(tool, simulator, tmp_path):
    key = subprocess.run(["openssl", "x509", "-in", simulator.ready["ca"], "-noout", "-pubkey"], check=True, capture_output=True).stdout
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=key, check=True, capture_output=True).stdout
    pin = "sha256//" + base64.b64encode(hashlib.sha256(der).digest()).decode()
    other = "sha256//" + base64.b64encode(bytes(32)).decode()
    send = ["send", *binary(simulator), "--alert", "Hello", HEX]
    assert tool(*send, "--pin", other, "--pin", pin).returncode == 0
    ran = tool(*send, "--pin", other)
    assert ran.returncode == 3 and "no key in its chain is pinned; its own key is sha256//" in ran.stderr, ran.stderr
    ran = tool(*send, "--pin", pin[1:])
    assert ran.returncode == 2 and "pinned_keys[0]" in ran.stderr, ran.stderr
    for path in simulator.ready["ca"], "nowhere.crl":
        ran = tool(*send, "--crl", path)
        assert ran.returncode == 2 and f"crl file {path}" in ran.stderr, ran.stderr
    ran = tool(*send, "--crl", tmp_path)
    assert ran.returncode == 3 and "unable to get certificate CRL" in ran.stderr, ran.stderr


def test_no_payload(tool, shared, tmp_path):
    words = binary(shared())
    (tmp_path / "blank").write_text(" \n\t\r\n")
    for more, stdin, named in ([], "", "standard input is empty"), (["--payload", "-"], "\n", "standard input is empty"), (
            ["--payload", "blank"], "", "blank is empty"):
        ran = tool("send", *words, *more, HEX, stdin=stdin)
        assert ran.returncode == 2 and f"no payload: {named}" in ran.stderr and "--alert" in ran.stderr, ran.stderr


@pytest.mark.parametrize("form", ["{0}:{1}", "https://{0}:{1}", "https://{0}:{1}/", "HTTPS://{0}:{1}", "ssl://{0}:{1}", "tls://{0}:{1}"])
def test_a_host_with_its_port(tool, simulator, form):
    words = ["send", "--protocol", "binary", *provider(simulator), "--alert", "x", HEX]
    assert tool(*words, "--host", form.format(*simulator.gateway)).returncode == 0
    if form[0] == "{":
        assert tool(*words, "--host", form.format(*simulator.gateway), "--port", simulator.gateway[1]).returncode == 0
        assert tool(*words, "--host", "https://127.0.0.1", "--port", simulator.gateway[1]).returncode == 0


@pytest.mark.parametrize("host, said", [
    ("https://api.push.apple.com/3/device/", "'/3/device/' is a path"), ("api.push.apple.com/?x", "'/?x' is a path"),
    ("http://api.push.apple.com", "has no TLS"), ("ftp://x", "'ftp://'"), ("x:0", "':0' is not a port"), ("x:65536", "not a port"),
    ("x:", "not a port"), ("x:+1", "not a port"), ("", "has no host"), ("https://", "has no host"), ("https://:443", "has no host"), ("a b", "space"),
    ("me:secret@x", "a user before '@'"), ("[::1", "no ']'"), ("[::1]443", "after ']'"), ("[]:1", "has no host"),
    ("x:2197 --port 443", "--host has port 2197, but --port is 443")])
def test_invalid_hosts(tool, host, said):
    host, *more = host.split(" --") if " --" in host else [host]
    for command in (["send", "--alert", "x", HEX], ["doctor"], ["feedback"]):
        ran = tool(*command, "--host", host, *(word for option in more for word in f"--{option}".split()))
        assert ran.returncode == 2 and said in ran.stderr and "secret" not in ran.stderr, (command, ran.stderr)


def test_addresses_of_ipv6(tool):
    for host in ("::1", "[::1]", "[::1]:1"):
        ran = tool("send", "--host", host, "--port", 1, "--dangerously-accept-any-peer", "--alert", "x", HEX)
        assert ran.returncode == 3 and "cannot connect to ::1:1:" in ran.stderr, ran.stderr


def test_without_credentials(tool, start):
    """Without credentials, the message explains what each kind is for."""
    for words in (["send", "--alert", "x", HEX], ["send", "--alert", "x", "--dry-run", HEX], ["send", "--sandbox", "--alert", "x", HEX], ["feedback"]):
        ran = tool(*words)
        assert ran.returncode == 2 and "neither a certificate nor a key is given" in ran.stderr, ran.stderr
        assert "HTTP/2 and the binary interface" in ran.stderr and "HTTP/2 only" in ran.stderr
    simulator = start("--http2-port", 0)
    trust = ["--host", "127.0.0.1", "--ca", simulator.ready["ca"], "--alert", "x", HEX]
    ran = tool("send", "--protocol", "binary", "--port", simulator.gateway[1], *trust)
    assert ran.returncode == 3 and "Warning: neither a certificate nor a key is given" in ran.stderr
    assert "it requires a certificate and got none" in ran.stderr and "--certificate" in ran.stderr.splitlines()[-1], ran.stderr
    ran = tool("send", "--port", simulator.ready["http2_port"], "--topic", "a.b", *trust)
    assert ran.returncode == 1 and "Warning: neither" in ran.stderr and "MissingProviderToken" in ran.stdout
    ran = tool("send", "--p8", "AuthKey_ABCDE12345.p8", "--team-id", "TEAM123456", "--protocol", "binary", *trust)
    assert ran.returncode == 2 and "--p8 is for HTTP/2 only" in ran.stderr
    ran = tool("feedback", "--p8", "AuthKey_ABCDE12345.p8", "--team-id", "TEAM123456")
    assert ran.returncode == 2 and "the feedback service needs a certificate" in ran.stderr


def test_an_alert_is_explained(tool, shared):
    simulator = shared({"handshake_alert": "certificate_revoked"})
    ran = tool("send", *binary(simulator), "--alert", "x", HEX)
    assert ran.returncode == 3 and "the provider's certificate was revoked; have a new certificate issued" in ran.stderr, ran.stderr


def lost(tool, start, tmp_path):
    """The words of a long run, and a function that ends its gateway once some were accepted."""
    simulator = start(control=True)
    make_list(tmp_path / "list.csv", 100_000)
    words = ["send", *binary(simulator), "--tokens", "list.csv", "--alert", "{{number}}", "--rate", 200, "--patience", 5, "--drain", 1]

    def end():
        simulator.wait("/counters", lambda counters: counters["accepted"] > 20)
        simulator.process.kill()

    return words, end


def test_the_progress_line_says_what_it_waits_for(tool, start, tmp_path):
    words, end = lost(tool, start, tmp_path)
    terminal = tool.terminal(*words, columns=120)
    end()
    terminal.until(r"\r\d+% 0 accepted, [\d,]+ waiting; [^\r\n]*127\.0\.0\.1:\d+")
    assert terminal.end() == 3
    assert all(len(line) < 120 for line in re.findall("\r([^\r\n\x1b]*)", terminal.output.decode()))


def test_progress_lines_say_what_they_wait_for(tool, start, tmp_path):
    words, end = lost(tool, start, tmp_path)
    running = tool.start(*words, "--progress", "0.2")
    end()
    out, err = running.communicate(timeout=60)
    assert running.returncode == 3
    assert re.search(r"^\d+%, \d+ accepted.*/s.*; .*127\.0\.0\.1:\d+.*Connection refused", err, re.M), err


def test_metrics(tool, start, bad, tmp_path):
    """Complete at any time, readable by node_exporter, with no other file left next to it."""
    simulator = start("--http2-port", 0, *bad, control=True)
    path = tmp_path / "out" / "apns.prom"
    path.parent.mkdir()
    (tmp_path / "list").write_text("".join(f"{n:064x}\n" for n in range(2000)) + BAD + "\n")
    running = tool.start("send", *http2(simulator), "--alert", "Hello", "--tokens", "list", "--rate", 500, "--metrics", path)
    seen = []
    while running.poll() is None:
        if path.exists():
            samples = prometheus.read(path.read_text(encoding="ascii"))
            seen.append(prometheus.value(samples, "apns_notifications_queued_total"))
        time.sleep(0.02)  # sample until it has ended
    assert running.returncode == 1, running.communicate()
    assert seen == sorted(seen) and seen[0] == 0
    samples = prometheus.read(path.read_text(encoding="ascii"))
    assert prometheus.value(samples, "apns_notifications_total", outcome="accepted") == 2000
    assert prometheus.value(samples, "apns_rejected_total", reason="BadDeviceToken") == 1
    assert prometheus.value(samples, "apns_connections", state="open") == 0
    assert mode(path) == "0o644" and list(path.parent.iterdir()) == [path]
    ran = tool("send", *http2(simulator), "--alert", "Hello", "--metrics", tmp_path / "none" / "x.prom", HEX)
    assert ran.returncode == 2 and "--metrics: " in ran.stderr and "No such file" in ran.stderr
    assert simulator.control("GET", "/counters")[1]["accepted"] == 2000
