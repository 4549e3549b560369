"""apns token: converting text to bytes and back, hints, and lists."""

import json


HEX = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412"
NSDATA = "<5f79cfda 4d01aa3a 11c833f9 7b52df2a 7a210252 e21b01fa a73d3463 9ee0e412>"


def test_every_notation(tool):
    tool.shows("token", 0, "token", NSDATA, columns=120)


def test_a_typing_error(tool):
    tool.shows("token-slip", 1, "token", HEX[:20] + "u" + HEX[21:])


def test_usage(tool):
    tool.shows("token-usage", 2, "token")


def test_bytes_and_back(tool, tmp_path):
    ran = tool("token", "--as", "raw", NSDATA, stdin=b"")
    assert ran.returncode == 0 and ran.stdout == bytes.fromhex(HEX)
    (tmp_path / "token.bin").write_bytes(ran.stdout)
    for form, said in (("hex", HEX), ("nsdata", NSDATA), ("base64", "X3nP2k0BqjoRyDP5e1LfKnohAlLiGwH6pz00Y57g5BI=")):
        assert tool("token", "--raw", "token.bin", "--as", form).stdout == said + "\n"
    assert json.loads(tool("token", "--json", "X3nP2k0BqjoRyDP5e1LfKnohAlLiGwH6pz00Y57g5BI=").stdout)["token"] == HEX
    assert tool("token", "--raw", "-", "--as", "c", stdin="\x01A").stdout == '"\\x01\\x41"\n'


def test_hints(tool):
    def hints(token):
        return " / ".join(json.loads(tool("token", "--json", token).stdout)["hints"])

    twice = HEX.encode().hex()
    assert f"the token is {HEX}" in hints(twice)
    assert "made up" in hints("00" * 32)
    assert "cut off" in hints(HEX[:40])
    assert "longer than 32" in hints("5f79" * 40)
    assert "Xcode" in hints(HEX)
    for wrong, hint in (
        ("6B29FC40-CA47-1067-B31D-00DD010662DA", "UUID"),
        ("c" * 22 + ":APA91b" + "x" * 120, "Firebase"),
        (HEX[:-1], "digit"),
    ):
        ran = tool("token", "--json", wrong)
        assert ran.returncode == 1 and hint in json.loads(ran.stdout)["error"], ran.stdout


def test_duplicates_in_a_list(tool, tmp_path):
    (tmp_path / "list.csv").write_text(
        f"name,token\nAnn,{HEX}\n\"Bob, B.\",{'ab' * 32}\nCid,{NSDATA.upper()}\nDan,nothing\nEve\n")
    tool.shows("token-list", 1, "token", "--list", "list.csv")
    told = [json.loads(line) for line in tool("token", "--list", "list.csv", "--json").stdout.splitlines()]
    assert {"line": 4, "duplicate_of_line": 2, "token": HEX} in told
    assert told[-1] == {"tokens": 3, "devices": 2, "duplicates": 1, "not_tokens": 2}
    (tmp_path / "clean.csv").write_text(f"{HEX}\n{'ab' * 32}\n")
    assert tool("token", "--list", "clean.csv").returncode == 0
    assert tool("token", "--list", "none.csv").returncode == 2


def test_several_tokens_in_a_line(tool, tmp_path):
    one, two = "ab" * 32, "cd" * 32
    for line in (f"{one} {two}", f"{one},{two}", f"{one};{two}", f"{one}\t{two}", f"{one} {two} {one}"):
        (tmp_path / "list").write_text(f"{line}\n{one}\n")
        ran = tool("token", "--list", "list")
        assert ran.returncode == 1 and "line 1: " in ran.stdout and "tokens in one line: write one per line" in ran.stdout, (line, ran)
    for fine in (" ".join(one[at:at + 8] for at in range(0, 64, 8)), f"<{one}>", f"{one},Anna,12"):
        (tmp_path / "list").write_text(f"{fine}\n")
        assert tool("token", "--list", "list").returncode == 0, fine
    (tmp_path / "list").write_text(f"token,before\n{one},{two}\n")
    assert tool("token", "--list", "list").returncode == 0


def test_how_a_list_is_encoded(tool, tmp_path):
    token = "ab" * 32
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        (tmp_path / "list").write_text(f"token\n{token}\n", encoding=encoding)
        ran = tool("token", "--list", "list")
        assert ran.returncode == 2 and "list:1: is in UTF-16: save it as UTF-8" in ran.stderr, ran
    (tmp_path / "list").write_text(f"token\n{token}\n", encoding="utf-8-sig")
    assert tool("token", "--list", "list").returncode == 0


def test_what_data_prints(tool):
    for text in ("{length = 32, bytes = 0x5f79cfda 4d01aa3a ... 9ee0e412 }", "32 bytes"):
        ran = tool("token", text)
        assert ran.returncode == 1 and "this is how Swift and iOS 13 print Data, and not the token" in ran.stderr, ran
