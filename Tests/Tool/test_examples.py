"""The examples in each command's --help: they fit 80 columns and work when pasted into a shell."""

import re
import shlex
import subprocess

import pytest

from test_help import COMMANDS, OF_CHANNEL

HEX = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412"
GONE = 1_700_000_000


def examples(text):
    """The commands in a text: indented by 4 and continued after a backslash."""
    found = []
    for line in text.split("\n"):
        if found and found[-1].endswith("\\"):
            found[-1] += "\n" + line
        elif re.match(r" {4}(?! )(apns|echo|source|mkdir) ", line):
            found.append(line)
    return found


@pytest.mark.parametrize("command", ["", *COMMANDS, *OF_CHANNEL])
def test_help_is_80_columns_wide(tool, command):
    for words in [*command.split(), "--help"], ["help", *command.split()]:
        ran = tool(*filter(None, words), env={"COLUMNS": "80"})
        assert ran.returncode == 0
        assert [line for line in ran.stdout.split("\n") if len(line) > 80] == []
    if command:
        assert examples(ran.stdout), "there is no example"


def own(tool, path):
    """Each example of the command, with its words."""
    return [(text, shlex.split(text.replace("\\\n", " "))) for text in examples(tool(path, "--help", env={"COLUMNS": "80"}).stdout)]


def scripts(text):
    """The paragraphs to paste unchanged."""
    blocks = re.split(r"\n(?: *\n)+", text.split("\nUSAGE:")[0].removeprefix("OVERVIEW:"))
    return [block for block in blocks if re.match(r" {4}(?! )(apns|channel=)", block)]


class Shell:
    """Bash, in a directory with the examples' files. Its `apns` appends the service's address to each command,
    because Apple's service is unreachable here."""

    def __init__(self, tool, start, directory):
        self.tool, self.directory = tool, directory
        key = directory / "AuthKey_ABCDE12345.p8"
        subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-out", key],
                       check=True, capture_output=True)
        self.simulator = start("--http2-port", 0, "--channels-port", 0, "--provider-key", f"ABCDE12345:TEAM123456:{key}", "--feedback", self.write(
            "gone", f"{GONE} {'cd' * 32}\n"), control=True)
        ready = self.simulator.ready
        (directory / "simulator-certificates").symlink_to(ready["certificates"])
        (directory / "provider.pem").write_bytes(open(ready["provider"], "rb").read())
        self.write("passphrase", "secret\n")
        subprocess.run(["openssl", "pkcs12", "-export", "-in", ready["provider"], "-out", directory / "provider.p12",
                        "-passout", "pass:secret"], check=True, capture_output=True)
        self.write("devices.csv", f"token,name,registered\n{HEX},Ann,5\n{'ab' * 32},Bob,5\n")
        self.write("state.json", '{"score": "1 : 0"}')
        self.write("push.json", '{"aps":{"alert":{"loc-key":"HI"}}}')
        (directory / "fr.lproj").mkdir()
        self.write("fr.lproj/Localizable.strings", '"HI" = "Salut";\n')
        self.write("results.jsonl", f'{{"n":1,"token":"{HEX}","outcome":"accepted"}}\n{{"n":2,"token":"{"ab" * 32}",'
                                    f'"outcome":"rejected","reason":"BadDeviceToken","status":8,"time":{GONE}}}\n')
        for name in ("provider.pem", "provider.p12", "AuthKey_ABCDE12345.p8", "passphrase"):
            (directory / name).chmod(0o600)

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text)
        return path

    def paste(self, text, *more):
        script = f'apns() {{ "{self.tool.path}" "$@" {shlex.join(map(str, more))}; }}\n{text}\n'
        return subprocess.run(["bash", "-c", script], cwd=self.directory, capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin", "HOME": str(self.directory)})


@pytest.fixture
def shell(tool, start, tmp_path):
    return Shell(tool, start, tmp_path)


def service(shell, words):
    ready = shell.simulator.ready
    if "--offline" in words or "--from" in words or words[1] in ("payload", "token"):
        return []
    if words[1] == "feedback":
        port = ready["feedback_port"]
    else:
        port = ready["gateway_port"] if "binary" in words else ready["http2_port"]
    trust = [] if "--ca" in words else ["--ca", ready["ca"]]
    topic = ["--topic", "com.example.app"] if words[1] == "send" and "--topic" not in words and "binary" not in words else []
    # An example may name a host already; the last of an option counts.
    return ["--host", "127.0.0.1", "--port", port, *trust, *topic]


@pytest.mark.parametrize("command", ["send", "feedback", "doctor", "payload", "token"])
def test_examples_work(tool, shell, command):
    typed = own(tool, command)
    assert len(typed) >= 2
    for text, words in typed:
        if words[0] == "echo":
            ran = shell.paste(text)
            assert ran.returncode == 0 and "bagde" in ran.stdout, (text, ran)
            continue
        if "--relay" in words:  # Tests/Relay tests it with a relay; here doctor must notice that this is not a relay
            (shell.directory / "old-provider.pem").symlink_to("provider.pem")
            reached = text.replace("192.168.1.10", f"127.0.0.1:{shell.simulator.ready['http2_port']}")
            assert reached != text
            ran = shell.paste(reached, "--feedback-port", shell.simulator.ready["feedback_port"])
            assert ran.returncode in (1, 3) and "problem" in ran.stdout, (text, ran)
            continue
        if "--sandbox" in words:  # Apple's service is unreachable, so check only what is local
            ran = shell.paste(text, "--offline")
        else:
            if "--results" in words and "--resume" not in words:
                (shell.directory / "results.jsonl").unlink()
            ran = shell.paste(text, *service(shell, words))
        assert ran.returncode == 0, (text, ran)
        if command == "send":
            assert "Skipped: 2" in ran.stderr if "--resume" in words else "accepted in " in ran.stderr, (text, ran)
    if command == "send":
        assert len(shell.simulator.control("GET", "/accepted?from=0&limit=9")[1]["notifications"]) == 5


def test_channel_examples(tool, shell):
    """Runs each as a script, after the script that creates its channel."""
    ready = shell.simulator.ready
    trust = f"--host 127.0.0.1 --ca {ready['ca']}"
    own = f'case $1 in send) more="--port {ready["http2_port"]} --topic com.example.app";; *) more="--port {ready["channels_port"]}";; esac\n'
    typed = [(command, script) for command in ["channel", *OF_CHANNEL[:1], *OF_CHANNEL[1:]]
             for script in scripts(tool(*command.split(), "--help", env={"COLUMNS": "80"}).stdout)]
    assert [command for command, _ in typed] == ["channel", *OF_CHANNEL[:3], "channel list", OF_CHANNEL[3]]
    channel = None
    for command, script in typed:
        if channel:
            script = script.replace("dHN0LXNyY2gtY2hubA==", channel)
        ran = subprocess.run(["bash", "-c", f'set -o pipefail\napns() {{ {own} "{tool.path}" "$@" {trust} $more; }}\n{script}\n'],
                             cwd=shell.directory, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        assert ran.returncode == 0, (script, ran)
        if command == "channel create":
            channel = ran.stdout.rstrip()
        if command == "channel delete":
            assert ran.stdout == f"{channel}  deleted\n"
    assert len(shell.simulator.control("GET", "/accepted?from=0&limit=9")[1]["notifications"]) == 3


def test_simulator_examples_start(tool, start, tmp_path):
    typed = own(tool, "simulate")
    assert len(typed) >= 2
    for text, words in typed:
        more = words[2:]
        if "--dashboard-port" in more:  # any free port
            more[more.index("--dashboard-port") + 1] = "0"
        assert start(*more).ready["http2_port"] > 0, text


def test_completion_examples_write_valid_shell_scripts(tool, shell):
    typed = own(tool, "completions")
    for text, words in typed:
        ran = shell.paste(text)
        assert ran.returncode == 0 and ran.stderr == "", (text, ran)
    written = [path for path in (shell.directory / name for name in (
        ".local/share/bash-completion/completions/apns", ".zfunc/_apns", ".config/fish/completions/apns.fish"))]
    assert all("--resume" in path.read_text() or "resume" in path.read_text() for path in written)
