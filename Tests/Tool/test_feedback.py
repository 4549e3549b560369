"""apns feedback: printing the list, and pruning lists."""

import json
import os

import pytest

from conftest import lines, mode, provider

GONE = 1_700_000_000
TOKENS = [f"{n:02x}" * 32 for n in range(1, 7)]


@pytest.fixture
def service(start, tmp_path):
    (tmp_path / "gone").write_text(f"{GONE} {TOKENS[0]}\n{GONE + 60} {TOKENS[1]}\n{GONE + 30} {TOKENS[1]}\n{GONE} {TOKENS[2]}\n")
    simulator = start("--feedback", tmp_path / "gone")
    return ["--host", "127.0.0.1", "--port", simulator.feedback[1], *provider(simulator)]


def test_table(tool, service):
    tool.shows("feedback", 0, "feedback", *service, columns=100)
    terminal = tool.terminal("feedback", *service)  # the first read cleared the list
    assert terminal.end() == 0 and terminal.screen() == "No gone devices.\n"


def test_usage(tool):
    tool.shows("feedback-usage", 2, "feedback", "--output", "somewhere")


def test_for_machines(tool, service):
    ran = tool("feedback", *service, "--json", "--save", "saved")
    assert ran.returncode == 0
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    assert told[1] == {"token": TOKENS[1], "timestamp": GONE + 60, "gone_since": "2023-11-14T22:14:20Z"}
    assert lines(tool.directory / "saved") == told
    assert tool("feedback", "--from", "saved", "--csv").stdout.splitlines()[:2] == [
        "token,timestamp", f"{TOKENS[0]},{GONE}"]


LIST = "Token;name;registered\r\n" + "".join(
    f"{token};{name};{registered}\r\n" for token, name, registered in [
        (TOKENS[0], "gone, registered before", GONE - 1),
        (TOKENS[0].upper(), "gone, registered after", GONE + 1),
        (TOKENS[0], "gone, registered in that second", GONE),
        (TOKENS[1], "registered between two tuples", GONE + 45),
        (TOKENS[1], "registered after both", "2023-11-14T23:15:00+01:00"),
        (TOKENS[2], '"gone; ""when"" is not said"', ""),
        (TOKENS[3], "there", GONE - 1000),
        ("no token", "kept", 1)])
STAYS = ["gone, registered after", "registered after both", '"gone; ""when"" is not said"', "there", "kept"]


def test_pruning_respects_the_time_of_registration(tool, service, tmp_path):
    (tmp_path / "list.csv").write_bytes(LIST.encode())
    ran = tool("feedback", *service, "--prune", "list.csv", "--output", "new.csv", "--json")
    assert ran.returncode == 0, ran.stderr
    kept = (tmp_path / "new.csv").read_bytes().decode()
    rows = LIST.split("\r\n")
    assert kept.split("\r\n") == [rows[0], *[row for row in rows[1:] if any(name in row.split(";", 1)[-1] for name in STAYS) and (row.split(";", 1)[-1].rsplit(";", 1)[0] in STAYS)], ""]
    assert json.loads(ran.stdout.splitlines()[-1]) == {
        "kept": 5, "removed": 3, "registered_later": 2, "registration_unknown": 1, "not_read": 1}
    assert (tmp_path / "list.csv").read_bytes().decode() == LIST


def test_pruning_in_place_without_times(tool, service, tmp_path):
    (tmp_path / "list").write_text("\n".join(TOKENS) + "\n")
    ran = tool("feedback", *service, "--prune", "list", "--in-place")
    assert ran.returncode == 2 and "the column 'registered'" in ran.stderr
    # The tool sent no request, so the service still has the list.
    tool.shows("feedback-prune", 0, "feedback", *service, "--prune", "list", "--in-place", "--ignore-registration", columns=100)
    assert (tmp_path / "list").read_text() == "\n".join(TOKENS[3:]) + "\n"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("list")] == ["list"]


def test_pruning_json_lines_by_what_send_wrote(tool, tmp_path):
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [
        {"list": "x", "bytes": 9, "run": "0"}, {"sending_to": 1024},
        {"n": 1, "token": TOKENS[0], "outcome": "accepted"},
        {"n": 2, "token": TOKENS[1], "outcome": "rejected", "reason": "Unregistered", "http_status": 410, "timestamp": GONE},
        {"n": 3, "token": TOKENS[2], "outcome": "rejected", "reason": "Unregistered", "http_status": 410, "timestamp": GONE}]))
    rows = [{"token": TOKENS[0], "registered": 5}, {"token": TOKENS[1], "seen": "2023-01-01"}, {"token": TOKENS[2], "seen": "2024-01-01 00:00:00"}]
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = tool("feedback", "--from", "results.jsonl", "--prune", "list.jsonl", "--registered-column", "seen")
    assert ran.returncode == 0, ran.stderr
    assert [json.loads(line) for line in ran.stdout.splitlines()] == [rows[0], rows[2]]
    assert "1 removed, 2 kept, 1 of them gone but registered again since" in ran.stderr


def test_no_service(tool, service):
    port = service.index("--port") + 1
    service[port] = 1
    ran = tool("feedback", *service)
    assert ran.returncode == 3 and "refused" in ran.stderr.lower(), ran.stderr


def test_a_truncated_list(tool, start, tmp_path):
    (tmp_path / "gone").write_text(f"{GONE} {TOKENS[0]}\n{GONE} {TOKENS[1]}\n")
    simulator = start("--feedback", tmp_path / "gone", faults={"feedback_cut_bytes": 50})
    ran = tool("feedback", "--host", "127.0.0.1", "--port", simulator.feedback[1], *provider(simulator), "--csv")
    assert ran.returncode == 3 and "was truncated" in ran.stderr
    assert ran.stdout.splitlines() == ["token,timestamp", f"{TOKENS[0]},{GONE}"]


def test_only_the_owner_reads_files_with_tokens(tool, start, tmp_path, open_umask):
    (tmp_path / "gone").write_text(f"{GONE} {TOKENS[0]}\n")
    (tmp_path / "list").write_text("\n".join(TOKENS) + "\n")
    simulator = start("--feedback", tmp_path / "gone")
    service = ["--host", "127.0.0.1", "--port", simulator.feedback[1], *provider(simulator)]
    ran = tool("feedback", *service, "--save", "saved", "--prune", "list", "--output", "new", "--ignore-registration")
    assert ran.returncode == 0, ran.stderr
    assert mode(tmp_path / "saved") == mode(tmp_path / "new") == "0o600"
    # A replaced list keeps the mode that its owner set.
    (tmp_path / "list").chmod(0o640)
    prune = ["feedback", "--from", "saved", "--prune", "list", "--ignore-registration"]
    assert tool(*prune, "--in-place").returncode == 0
    assert mode(tmp_path / "list") == "0o640" and TOKENS[0] not in (tmp_path / "list").read_text()

    # The target of a link is not written, and the link stays.
    (tmp_path / "elsewhere").write_text("kept")
    (tmp_path / "link").symlink_to("elsewhere")
    ran = tool(*prune, "--output", "link")
    assert ran.returncode == 2 and "link: is a symbolic link, which is not followed" in ran.stderr, ran.stderr
    assert (tmp_path / "elsewhere").read_text() == "kept" and (tmp_path / "link").is_symlink()
    os.link(tmp_path / "elsewhere", tmp_path / "hard")
    ran = tool(*prune, "--output", "hard")
    assert ran.returncode == 2 and "several names" in ran.stderr, ran.stderr
    if os.geteuid() == 0:
        os.unlink(tmp_path / "hard")
        os.chown(tmp_path / "elsewhere", 65534, 65534)
        ran = tool(*prune, "--output", "elsewhere")
        assert ran.returncode == 2 and "belongs to another user" in ran.stderr, ran.stderr
    assert (tmp_path / "elsewhere").read_text() == "kept"


def results(path, accepted, *rejected):
    rows = [{"list": "x", "bytes": 9, "run": "0"}, *({"n": n + 1, "token": f"{n + 99:064x}", "outcome": "accepted"} for n in range(accepted))]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, *rejected]))


def rejected(token, reason="BadDeviceToken", status=8, **more):
    return {"n": 7, "token": token, "outcome": "rejected", "reason": reason, "status": status} | more


def test_also_rejected(tool, tmp_path):
    results(tmp_path / "results", 5,
            rejected(TOKENS[0], time=GONE), rejected(TOKENS[1], "DeviceTokenNotForTopic", time=GONE), rejected(TOKENS[2]),
            rejected(TOKENS[3], "TopicDisallowed", 10, time=GONE), rejected(TOKENS[4], "invalid token", time=GONE),
            {"n": 8, "token": TOKENS[4], "outcome": "accepted"},  # accepted later
            {"n": 9, "token": TOKENS[5], "outcome": "rejected", "reason": "Unregistered", "http_status": 410, "timestamp": GONE, "time": GONE})
    (tmp_path / "list.csv").write_text("token,registered\n" + "".join(f"{token},{GONE + (n == 1)}\n" for n, token in enumerate(TOKENS)))
    words = ["feedback", "--from", "results", "--prune", "list.csv"]
    # Without the option, such a reason removes no device, and there is no warning.
    ran = tool(*words)
    assert ran.returncode == 0 and ran.stdout.split() == ["token,registered", *(
        f"{token},{GONE + (n == 1)}" for n, token in enumerate(TOKENS[:5]))] and "Warning" not in ran.stderr
    # A device that registered after its rejection stays, and so does one without a time of rejection.
    ran = tool(*words, "--also-rejected", "--in-place")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "list.csv").read_text().split()[1:] == [
        f"{token},{GONE + (n == 1)}" for n, token in enumerate(TOKENS) if n in (1, 2, 3, 4)]
    assert "Warning: 3 rejected tokens are removed as if they were gone" in ran.stderr
    assert "sandbox and production" in ran.stderr and "topic" in ran.stderr and "apns doctor --token" in ran.stderr
    assert tool(*words, "--also-rejected", "--in-place", "--ignore-registration").returncode == 0
    assert [line[:64] for line in (tmp_path / "list.csv").read_text().split()[1:]] == TOKENS[3:5]
    told = [json.loads(line) for line in tool("feedback", "--from", "results", "--also-rejected", "--json").stdout.splitlines()]
    assert told == [
        {"token": TOKENS[5], "timestamp": GONE, "gone_since": "2023-11-14T22:13:20Z"},
        {"token": TOKENS[0], "outcome": "rejected", "reason": "BadDeviceToken", "status": 8, "time": GONE},
        {"token": TOKENS[1], "outcome": "rejected", "reason": "DeviceTokenNotForTopic", "status": 8, "time": GONE},
        {"token": TOKENS[2], "outcome": "rejected", "reason": "BadDeviceToken", "status": 8}]
    tool.shows("feedback-also-rejected", 0, "feedback", "--from", "results", "--also-rejected", columns=120)


def test_a_wrong_service_does_not_empty_a_list(tool, tmp_path):
    """The wrong service reports every token as bad."""
    results(tmp_path / "results", 1, *(rejected(token, time=GONE) for token in TOKENS))
    text = "".join(token + "\n" for token in TOKENS)
    (tmp_path / "list").write_text(text)
    words = ["feedback", "--from", "results", "--also-rejected", "--prune", "list", "--ignore-registration"]
    ran = tool(*words, "--in-place")
    assert ran.returncode == 2 and "6 such rejections and 1 accepted" in ran.stderr and "The list is unchanged" in ran.stderr
    assert (tmp_path / "list").read_text() == text and sorted(path.name for path in tmp_path.iterdir()) == ["list", "results"]
    # Writing a new list is allowed, because the old one stays.
    ran = tool(*words, "--output", "new")
    assert ran.returncode == 0 and "Warning: 6 rejected tokens" in ran.stderr and (tmp_path / "new").read_text() == ""


def test_also_rejected_needs_results(tool):
    ran = tool("feedback", "--also-rejected", "--certificate", "x.pem")
    assert ran.returncode == 2 and "--also-rejected needs results of apns send" in ran.stderr
    ran = tool("feedback", "--also-rejected", "--from", "results", "--csv")
    assert ran.returncode == 2 and "--csv" in ran.stderr


@pytest.mark.parametrize("head", ["token,registered\r\n", ""])
def test_a_byte_order_mark_stays(tool, tmp_path, head):
    """Without the mark a spreadsheet reads the list in another encoding."""
    lines = [f"{n:02x}" * 32 + ",1\r\n" for n in (1, 2)]
    (tmp_path / "gone").write_text(f"token,timestamp\n{'01' * 32},2000000000\n")
    (tmp_path / "list").write_bytes(("\ufeff" + head + "".join(lines)).encode())
    ran = tool("feedback", "--from", "gone", "--prune", "list", "--output", "new", "--ignore-registration")
    assert ran.returncode == 0, ran
    assert (tmp_path / "new").read_bytes() == ("\ufeff" + head + lines[1]).encode()
