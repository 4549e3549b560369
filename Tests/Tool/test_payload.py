"""apns payload: errors, size, and how a device shows the payload."""

import json


GAME = {"aps": {
    "alert": {"title": "Chess", "subtitle": "Round 3", "loc-key": "PLAY", "loc-args": ["Jenna", "Frank"]},
    "badge": 9, "sound": "bingbong.aiff", "category": "INVITE", "thread-id": "game-7"}, "game": 4711}
FRENCH = '/* A game */\n"PLAY" = "%2$@ et %1$@ vous invitent à jouer au Monopoly ce soir chez Frédérique ✨";\n"TOO_MANY" = "%@ %@ %@";\n'


def test_as_a_french_device_shows_it(tool, tmp_path):
    (tmp_path / "push.json").write_text(json.dumps(GAME))
    (tmp_path / "fr.lproj").mkdir()
    (tmp_path / "fr.lproj/Localizable.strings").write_text(FRENCH)
    tool.shows("payload", 0, "payload", "push.json", "--strings", "fr.lproj/Localizable.strings", "--app", "Échecs")
    shown = json.loads(tool("payload", "push.json", "--strings", "fr.lproj/Localizable.strings", "--json").stdout)
    assert shown["shown"]["body"].startswith("Frank et Jenna vous invitent") and shown["findings"] == []
    tool.shows("payload-ascii", 0, "payload", "push.json", unicode=False, columns=44)


def test_errors_have_line_and_column(tool, tmp_path):
    (tmp_path / "push.json").write_text('{\n  "aps": {\n    "alert": "Hi",\n    "bagde": 9,\n    "badge": "9"\n  }\n}\n')
    tool.shows("payload-mistakes", 1, "payload", "push.json")
    found = json.loads(tool("payload", "push.json", "--json").stdout)["findings"]
    assert [(one["severity"], one["line"], one["column"]) for one in found] == [("warning", 4, 5), ("error", 5, 14)]
    ran = tool("payload", stdin='{"aps":{"alert":"Hello"}')
    assert ran.returncode == 1 and ran.stdout.startswith("payload:1:25: error: ")


def test_usage(tool):
    tool.shows("payload-usage", 2, "payload", "none.json")


def test_limits(tool):
    long = json.dumps({"aps": {"alert": "x" * 3000}})
    ran = tool("payload", stdin=long)
    assert ran.returncode == 0 and "2,048  too long by 974  (binary)" in ran.stdout
    assert "4,096  fits, 1,074 left  (HTTP/2)" in ran.stdout
    ran = tool("payload", "--limit", 2048, stdin=long)
    assert ran.returncode == 1 and "error" in ran.stdout


def test_keys_missing_from_the_strings(tool, tmp_path):
    (tmp_path / "a.strings").write_text(FRENCH)

    def shown(alert):
        ran = tool("payload", "--strings", "a.strings", "--json", stdin=json.dumps({"aps": {"alert": alert}}))
        return ran.returncode, json.loads(ran.stdout)["shown"]

    status, told = shown({"loc-key": "NOWHERE"})
    assert (status, told["body"], told["missing_keys"]) == (0, "NOWHERE", ["NOWHERE"])
    status, told = shown({"title-loc-key": "TOO_MANY", "title-loc-args": ["one"], "body": "b"})
    assert status == 1 and "TOO_MANY" in told["problems"][0] and told["body"] == "b"
    (tmp_path / "a.strings").write_text('"PLAY" = "never closed;\n')
    ran = tool("payload", "--strings", "a.strings", stdin='{"aps":{}}')
    assert ran.returncode == 2 and "a.strings" in ran.stderr and "line 1" in ran.stderr


def test_a_silent_push(tool):
    ran = tool("payload", stdin='{"aps":{"content-available":1}}')
    assert ran.returncode == 0 and "No banner: the app is woken" in ran.stdout


def test_foreign_text_cannot_control_the_terminal(tool, tmp_path):
    body = "a\x1b[2J\x1b]0;x\x07b\u202eevil\u2066c\u0085d"
    (tmp_path / "push.json").write_text(json.dumps({"aps": {"alert": {"title": body, "body": body}, "sound": body}}))
    terminal = tool.terminal("payload", "push.json", "--app", "A\u202ep\x1bp")
    assert terminal.end() == 0
    screen = terminal.screen()  # screen() fails on escape sequences and control characters
    assert "\\u{1b}" in screen and not set("\u202e\u2066\u0085\x1b") & set(screen)


def test_how_a_payload_is_encoded(tool, tmp_path):
    (tmp_path / "push.json").write_text('{"aps":{"alert":"x"}}', encoding="utf-8-sig")
    ran = tool("payload", "push.json", "--json")
    assert ran.returncode == 0 and json.loads(ran.stdout)["bytes"] == 21 and json.loads(ran.stdout)["findings"] == [], ran
    (tmp_path / "push.json").write_text('{"aps":{"alert":"x"}}', encoding="utf-16")
    ran = tool("payload", "push.json")
    assert ran.returncode == 2 and "is in UTF-16: save it as UTF-8" in ran.stderr, ran


def test_invalid_strings_files(tool, tmp_path):
    (tmp_path / "push.json").write_text('{"aps":{"alert":{"loc-key":"k"}}}')
    for text, said in (('{"sourceLanguage" : "en"}', "string catalog (.xcstrings)"), ("<?xml ?>", "property list in XML; give the strings file"),
                       ("bplist00", "STRINGS_FILE_OUTPUT_ENCODING=UTF-8")):  # fmt: skip
        (tmp_path / "a").write_text(text)
        ran = tool("payload", "push.json", "--strings", "a")
        assert ran.returncode == 2 and said in ran.stderr and "plutil" not in ran.stderr, ran
