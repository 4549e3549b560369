"""Options from the environment or a profile, and the environment's proxy."""

import contextlib
import socket
import threading

import pytest

TOKEN = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412"
TOPIC = "com.example.app"


@pytest.fixture
def profiles(tool, tmp_path):
    """Runs the tool with this text as the profile file."""
    folder = tmp_path / "home/apns"
    folder.mkdir(parents=True)

    def run(*words, text=None, env=None, **arguments):
        if text is not None:
            (folder / "config").write_text(text)
        return tool(*words, env={"XDG_CONFIG_HOME": str(tmp_path / "home")} | (env or {}), **arguments)

    run.file = folder / "config"
    return run


def settings(simulator, **others):
    named = {"p8": simulator.ready["token_key"], "key-id": simulator.ready["token_key_id"], "team-id": simulator.ready["token_team_id"],
             "ca": simulator.ready["ca"], "host": "127.0.0.1", "port": simulator.ready["http2_port"], "topic": TOPIC} | others
    return "".join(f"{name} = {value}\n" for name, value in named.items())


def topics(simulator):
    """The topics of the accepted pushes, newest last."""
    return [one["topic"] for one in simulator.control("GET", "/accepted?from=0&limit=100")[1]["notifications"]]


def test_a_whole_command(simulator, profiles):
    ran = profiles("send", "--alert", "Hello", TOKEN, text="# mine\n[default]\n" + settings(simulator))
    assert ran.returncode == 0, ran.stderr
    assert profiles("send", "-a", "Hello", "-t", "com.example.other", TOKEN).returncode == 0
    assert topics(simulator) == [TOPIC, "com.example.other"]


def test_options_override_the_environment_which_overrides_the_profile(simulator, profiles):
    text = "[default]\n" + settings(simulator, topic="of.the.profile") + "[work]\n" + settings(simulator, topic="of.work")
    for words, env, topic in (
            ([], {}, "of.the.profile"), ([], {"APNS_TOPIC": "of.the.environment"}, "of.the.environment"),
            (["--topic", "typed"], {"APNS_TOPIC": "of.the.environment"}, "typed"), (["-p", "work"], {}, "of.work"),
            (["--profile=work"], {"APNS_PROFILE": "default"}, "of.work"), ([], {"APNS_PROFILE": "work"}, "of.work")):
        profiles("send", "--alert", "Hello", *words, TOKEN, text=text, env=env)
        assert topics(simulator)[-1] == topic, (words, env)


def test_a_typed_key_or_service_is_not_mixed_with_another(simulator, profiles):
    """A profile's certificate is not combined with a typed .p8, nor its port with another host."""
    text = "[default]\ncertificate = x.pem\nkey = x.key\nhost = other.invalid\nport = 1\nteam-id = ABCDE12345\n"
    ran = profiles("send", "--p8", "AuthKey_ABCDE12345.p8", "--alert", "x", "--dry-run", TOKEN, text=text)
    assert "AuthKey_ABCDE12345.p8" in ran.stderr and "x.pem" not in ran.stderr and "--team-id" not in ran.stderr
    ran = profiles("send", "--host", "127.0.0.1", "--alert", "x", "--certificate", simulator.ready["provider"], "--ca",
                   simulator.ready["ca"], "--patience", "0", TOKEN)
    assert "other.invalid" not in ran.stderr and "127.0.0.1:443" in ran.stderr, ran.stderr
    ran = profiles("send", "--sandbox", "--alert", "x", "--dry-run", TOKEN)
    assert "--sandbox" not in ran.stderr
    # APNS_SANDBOX=false keeps the profile's host.
    ran = profiles("send", "--alert", "x", "--patience", "0", TOKEN, env={"APNS_SANDBOX": "false"},
                   text="[default]\nhost = 127.0.0.1\nport = 1\nsandbox = true\n")
    assert ran.returncode == 3 and "127.0.0.1:1" in ran.stderr, ran.stderr


def test_files_are_named_from_the_profiles_directory(profiles):
    ran = profiles("doctor", "--offline", text="[default]\ncertificate = provider.pem\n")
    assert str(profiles.file.parent / "provider.pem") in ran.stdout + ran.stderr


@pytest.mark.parametrize("text, said", [
    ("topic = x\n", ":1: before the first [PROFILE]"),
    ("[default]\ntopic x\n", ":2: a line is NAME = VALUE"),
    ("[default]\n\n# x\ntopik = x\n", ":4: not an option of a profile"),
    ("[default]\npassphrase = hunter2\n", ":2: a profile cannot have a passphrase"),
    ("[default]\nsandbox = yes\n", ":2: sandbox must be true or false"),
    ("[default]\ntopic = a\ntopic = b\n", ":3: duplicate option topic"),
    ("[default]\ntopic =\n", ":2: topic has no value"),
    ("[work]\n[work]\n", ":2: duplicate profile 'work'"),
    ("[]\n", ":1: a profile is [NAME]"),
])
def test_an_invalid_file_is_named_with_the_line(profiles, text, said):
    ran = profiles("send", "--alert", "x", TOKEN, text=text)
    assert ran.returncode == 2 and f"{profiles.file}{said}" in ran.stderr and "hunter2" not in ran.stderr


def test_a_missing_profile(profiles):
    ran = profiles("send", "-p", "wrok", "--alert", "x", TOKEN, text="[work]\n[home]\n")
    assert ran.returncode == 2 and f"{profiles.file}: profile 'wrok' does not exist; the file has: home, work" in ran.stderr
    profiles.file.unlink()
    ran = profiles("send", "--alert", "x", TOKEN, env={"APNS_PROFILE": "work"})
    assert ran.returncode == 2 and str(profiles.file) in ran.stderr
    # Without a chosen profile the file is optional.
    assert str(profiles.file) not in profiles("send", "--alert", "x", TOKEN).stderr


def test_an_error_in_an_option_not_typed_names_its_source(profiles):
    ran = profiles("send", "--alert", "x", TOKEN, text="[default]\nport = 70000\n", env={"APNS_TOPIC": TOPIC})
    assert ran.returncode == 2 and f"--topic (APNS_TOPIC), --port (profile default of {profiles.file})" in ran.stderr
    key = "[default]\np8 = -----BEGIN PRIVATE KEY-----MIGTAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBHkwdwIBAQQg-----END PRIVATE KEY-----\n"
    ran = profiles("send", "--alert", "x", TOKEN, text=key)
    assert ran.returncode == 2 and "--p8 needs a file name" in ran.stderr and "MIGT" not in ran.stderr


def test_channels_do_not_use_the_push_service_s_host(profiles):
    text = "[default]\nhost = push.invalid\nport = 1\n"
    assert "push.invalid" not in profiles("channel", "list", "--help", text=text).stdout
    ran = profiles("channel", "list", "--topic", TOPIC, "--connect-timeout", "0.001", text=text)
    assert "push.invalid" not in ran.stderr


# ---- The environment's proxy ---------------------------------------------------


@contextlib.contextmanager
def proxy():
    """Records each request and refuses it."""
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection = listener.accept()[0]
                    with connection:
                        asked.append(connection.recv(4096).decode())
                        connection.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1], asked
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def push(simulator, tool, env, *words):
    return tool("send", "--host", "push.example", "--certificate", simulator.ready["provider"], "--ca", simulator.ready["ca"], "--alert",
                "Hello", "--topic", TOPIC, "--patience", 0, *words, TOKEN, env=env)


def test_https_proxy_is_used(simulator, tool):
    with proxy() as (port, asked):
        for name, said in ("https_proxy", f"http://ann:p%40ss@127.0.0.1:{port}/"), ("HTTPS_PROXY", f"127.0.0.1:{port}"):
            ran = push(simulator, tool, {name: said})
            assert ran.returncode == 3 and "403" in ran.stderr and "p@ss" not in ran.stderr
        assert all(one.startswith("CONNECT push.example:443 HTTP/1.1\r\n") for one in asked)
        # ann:p@ss
        assert "Proxy-Authorization: Basic YW5uOnBAc3M=\r\n" in asked[0] and "Authorization" not in asked[1]


@pytest.mark.parametrize("env, words", [
    ({"no_proxy": "push.example"}, []), ({"no_proxy": "other, .example"}, []), ({"NO_PROXY": "*"}, []), ({}, ["--proxy", "none"])])
def test_no_proxy(simulator, tool, env, words):
    with proxy() as (port, asked):
        push(simulator, tool, {"https_proxy": f"http://127.0.0.1:{port}"} | env, *words)
        assert asked == []


def test_this_machine_needs_no_proxy(simulator, tool):
    ran = tool("send", "--host", "127.0.0.1", "--port", simulator.ready["http2_port"], "--certificate", simulator.ready["provider"],
               "--ca", simulator.ready["ca"], "--alert", "Hello", "--topic", TOPIC, TOKEN, env={"https_proxy": "http://nowhere.invalid:1"})
    assert ran.returncode == 0, ran.stderr


def test_an_unusable_proxy(simulator, tool):
    ran = push(simulator, tool, {"https_proxy": "socks5://ann:secret@127.0.0.1:1"})
    assert ran.returncode == 2 and "https_proxy in the environment must be http://" in ran.stderr and "secret" not in ran.stderr
