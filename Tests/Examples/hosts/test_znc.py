"""The module for ZNC: a user's devices get each push, and the user learns each outcome of the simulator's ledger."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading

import pytest
from apns import BAD, COUNT, PORT, token
from hosts import Host, need
from native import assert_undisturbed, assert_valgrind_is_quiet, compiled, durations, silent_apns, valgrind
from simulator import DEADLINE, until

ZNC_PORT, IRC_PORT = 6660, 6667
DEVICES = 20  # of one user, at most
USERS = [f"user{n}" for n in range(COUNT // DEVICES)]
APP = "com.example.app"
# ZNC waits half a minute before it runs as root.
NOT_ROOT = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}


class IRCServer:
    """As much of an IRC server as ZNC needs."""

    def __init__(self):
        self.users, self.listener = {}, socket.create_server(("127.0.0.1", IRC_PORT))
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError):
            self._converse(connection)

    def _converse(self, connection):
        nick = None
        for line in connection.makefile("r", errors="replace"):
            command, _, rest = line.strip().partition(" ")
            if command == "NICK":
                nick = rest.lstrip(":")
            elif command == "USER":
                for number, text in ("001", "Welcome"), ("376", "End of MOTD"):
                    connection.sendall(f":irc.test {number} {nick} :{text}\r\n".encode())
            elif command == "JOIN":
                name = rest.split()[0]
                connection.sendall(f":{nick}!u@h JOIN {name}\r\n:irc.test 353 {nick} = {name} :{nick} bob\r\n"
                                   f":irc.test 366 {nick} {name} :End\r\n".encode())
                self.users[nick] = connection
            elif command == "PING":
                connection.sendall(f":irc.test PONG irc.test {rest}\r\n".encode())

    def say(self, user, text, to=None, sender="bob", command="PRIVMSG"):
        text = text if isinstance(text, bytes) else text.encode()
        self.users[user].sendall(f":{sender}!u@h {command} {to or user} :".encode() + text + b"\r\n")

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()


class Client:
    """A client of ZNC. Each reply of a module ends with the answer to a PING."""

    def __init__(self, user):
        self.socket = socket.create_connection(("127.0.0.1", ZNC_PORT), timeout=DEADLINE)
        self.file, self.number = self.socket.makefile("r", errors="replace"), 0
        self.send(f"PASS {user}/net:secret", f"NICK {user}", f"USER {user} 0 * :{user}")
        self.ping()

    def send(self, *lines):
        self.socket.sendall("".join(line + "\r\n" for line in lines).encode())

    def ping(self):
        """What came before the answer to this PING."""
        self.number += 1
        self.send(f"PING :{self.number}")
        lines = []
        while True:
            line = self.file.readline()
            assert line, "ZNC closed the connection"
            if " PONG " in line and line.rstrip().endswith(str(self.number)):
                return lines
            lines.append(line.rstrip("\r\n"))

    def ask(self, *commands):
        self.send(*(f"PRIVMSG *apns :{command}" for command in commands))
        return [line.split(" :", 1)[1] for line in self.ping() if line.startswith(":*apns!")]

    def devices(self):
        """The last outcome by device token."""
        found = (re.match(r"^(?:.*?)([0-9a-f]{64,})\W+(.*)$", line) for line in self.ask("ListDevices"))
        return {one[1]: one[2].strip(" |") for one in found if one}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.send("QUIT")
        while self.file.readline():
            pass
        self.socket.close()


@pytest.fixture(scope="session")
def module(tmp_path_factory):
    need("znc", "znc", "znc-dev")
    flags = subprocess.run(["pkg-config", "--cflags", "znc"], capture_output=True, text=True)
    if flags.returncode:
        pytest.skip("znc-dev is not installed")
    return compiled("g++", "Examples/integrations/znc/apns.cpp", tmp_path_factory.mktemp("znc") / "apns.so", "-std=c++17", *flags.stdout.split())


@pytest.fixture
def irc():
    server = IRCServer()
    yield server
    server.close()


@pytest.fixture
def directory():
    """For ZNC's user, who may not look into those of pytest."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as path:
        if NOT_ROOT:
            os.chown(path, NOT_ROOT["user"], NOT_ROOT["group"])
        yield pathlib.Path(path)


@pytest.fixture
def znc(apns, module, irc, directory, tmp_path, keep):
    """Starts ZNC with these users, and waits until all are on the channel."""

    def own(path, data=None):
        if data is None:
            path.mkdir(parents=True)
        else:
            path.write_bytes(data)
        if NOT_ROOT:
            os.chown(path, NOT_ROOT["user"], NOT_ROOT["group"])
        return path

    def start(*users, before=(), foreground=True, arguments=None):
        for name in "configs", "modules", "users", "moddata", "moddata/apns":
            own(directory / name)
        own(directory / "modules/apns.so", module.read_bytes())
        key = own(directory / "AuthKey.p8", pathlib.Path(apns.ready["token_key"]).read_bytes())
        ca = own(directory / "ca.pem", pathlib.Path(apns.ready["ca"]).read_bytes())
        if arguments is None:
            arguments = (f"key_file={key} key_id={apns.ready['token_key_id']} team_id={apns.ready['token_team_id']} "
                         f"topic={APP} ca_file={ca} host=127.0.0.1 port={PORT}")
        blocks = "".join(f"""
<User {user}>
  Admin = {str(user == "admin").lower()}
  Pass = plain#secret
  Nick = {user}
  <Network net>
    Server = 127.0.0.1 {IRC_PORT}
    <Chan #chan>
    </Chan>
  </Network>
</User>""" for user in users)  # fmt: skip
        configuration = (
            f"Version = 1.8.2\nConnectDelay = 1\nServerThrottle = 1\nAnonIPLimit = 1000\nLoadModule = apns {arguments}\n"
            f"<Listener one>\n  Port = {ZNC_PORT}\n  IPv4 = true\n  IPv6 = false\n</Listener>\n{blocks}\n")
        own(directory / "configs/znc.conf", configuration.encode())
        command = [*before, need("znc"), "--datadir", directory, *(["--foreground"] if foreground else [])]
        host = keep(Host(command, tmp_path / "log", **NOT_ROOT))
        host.arguments = arguments
        if users and foreground:
            until(lambda: host.alive() and irc.users.keys() >= set(users), host.text)
        return host

    return start


def add(user, tokens):
    with Client(user) as client:
        assert client.ask(*(f"AddDevice {one}" for one in tokens)) == ["Added."] * len(tokens)


def test_apns_away(apns, znc, irc):
    """A message to each user is a push to 20 devices. Half of the users get theirs while APNs is away. Each device has one
    outcome, and gets one push, also those in flight at the crash."""
    host = znc(*USERS, "watcher")
    tokens = {user: [token(n * DEVICES + at) for at in range(DEVICES)] for n, user in enumerate(USERS)}
    with Client("watcher") as watcher:
        for user in USERS:
            add(user, tokens[user])
        before = durations(100, lambda _: watcher.ping())

        def outcomes(*users):
            """Logs each user in and out again, and returns the outcomes by device."""
            found = {}
            for user in users:
                with Client(user) as client:
                    found |= client.devices()
            return {one: outcome for one, outcome in found.items() if outcome}

        half = len(USERS) // 2
        irc.say(USERS[0], "hello")
        until(lambda: len(outcomes(USERS[0])) == DEVICES, host.text)
        apns.wait(DEVICES)
        apns.stop()
        for user in USERS[1:half]:
            irc.say(user, f"{user.upper()}: hello", "#chan")
        watcher.ping()
        apns.kill()
        with silent_apns():
            for user in USERS[half:]:
                irc.say(user, "hello")
            during = durations(200, lambda _: watcher.ping())
        apns.start()
        told = {}

        def all_told():
            for user in USERS:
                if sum(one in told for one in tokens[user]) < DEVICES:
                    told.update(outcomes(user))
            return len(told) == COUNT

        until(all_told, lambda: (len(told), host.text()))
        assert_undisturbed(before, during)
        apns.wait(COUNT)
        apns.judge({one for one, outcome in told.items() if outcome == "accepted"},
                   {one for one, outcome in told.items() if outcome == "no more pushes: BadDeviceToken"})

        # Bad devices get no more pushes.
        rows = len(apns.ledger())
        irc.say(USERS[0], "hello again")
        apns.wait(rows + DEVICES - len(BAD & set(tokens[USERS[0]])))
        assert not {row["token"] for row in apns.ledger()[rows:]} & BAD
    assert host.end() == 0


def hostile(apns, znc, irc, **options):
    host = znc("admin", "alice", **options)
    with Client("admin") as admin:
        # Commands with anything.
        for text in "", "5u79", "ab" * 101, "x" * 400, "\x01\x02", "%s%n{1}{9}":
            assert "Not a device token" in admin.ask(f"AddDevice {text}")[0]
        assert admin.ask(f"DelDevice {token(1)}") == ["You have no device with this token."]
        assert admin.ask("ListDevices") == ["You have no devices."]
        assert admin.ask("Test") == ["Pushed to 0 devices."]
        assert admin.ask(*(f"AddDevice {token(n + 100)}" for n in range(DEVICES + 1)))[-1].startswith("You have 20 devices")
        assert admin.ask(f"AddDevice <{token(100).upper()}>") == ["Added."]
        assert len(admin.devices()) == DEVICES
        for n in range(DEVICES):
            assert admin.ask(f"DelDevice {token(n + 100)}") == ["Removed."]

        # Only for users who are absent, and only highlights.
        add("alice", [token(1)])
        pushed = []

        def pushes(count):
            apns.wait(len(pushed) + count)
            pushed[:] = apns.ledger()
            return [row for row in pushed[-count:]]

        with Client("alice") as alice:
            irc.say("alice", "not pushed")
            until(lambda: any("not pushed" in line for line in alice.ping()))
            alice.send("AWAY :gone")
            irc.users["alice"].sendall(b":irc.test 306 alice :You are away\r\n")
            until(lambda: any(" 306 " in line for line in alice.ping()))
            irc.say("alice", "away")
            pushes(1)
            irc.users["alice"].sendall(b":irc.test 305 alice :You are back\r\n")
            until(lambda: any(" 305 " in line for line in alice.ping()))
        for text in "malice", "alice2", "alice`", "ali ce", "":
            irc.say("alice", text, "#chan")
        texts = ["ALICE", "hi \x02alice\x02: \x0304,05red\x03", b"alice \xff\xfe\x80 latin", b"alice \x00 nul", "alice \\\"{}[]\u2028 \U0001f600", "alice " + "x" * 800,
                 "\x01ACTION waves at alice\x01", "alice"]  # fmt: skip
        for text in texts:
            irc.say("alice", text, "#chan")
        irc.say("alice", "me", sender="alice")
        irc.say("alice", "from afar", sender="n" * 400)
        pushes(len(texts) + 1)
        # A flood is limited to 30 in a minute, and a last push says so.
        for n in range(100):
            irc.say("alice", f"flood {n}")
        total = 1 + len(texts) + 1
        apns.wait(31)
        admin.ping()
        assert total < 30 and 31 <= len(apns.ledger()) <= 31 + 31  # a minute may end meanwhile
        with Client("alice") as alice:
            assert until(alice.devices, host.text) == {token(1): "accepted"}
            assert alice.ask("Test") == ["Pushed to 1 devices."]
        # Loaded again.
        assert any("Reloaded" in line for line in status(admin, f"ReloadMod --type=global apns {host.arguments}"))
        add("alice", [token(2)])
        with Client("alice") as alice:
            assert alice.ask("Test") == ["Pushed to 2 devices."]
            until(lambda: alice.devices() == dict.fromkeys([token(1), token(2)], "accepted"), lambda: alice.ask("ListDevices", "Status"))

        # The end of the module, and of ZNC, with pushes in flight.
        apns.kill()
        with silent_apns():
            with Client("alice") as alice:
                alice.ask("Test", "Test")
            status(admin, "UnloadMod --type=global apns")
            until(lambda: "4 pushes have no outcome" in host.text(), host.text)
            assert any("key_file" in line or "argument" in line for line in status(admin, "LoadMod --type=global apns colour=red"))
            assert any("nonexistent" in line for line in status(admin, "LoadMod --type=global apns key_file=/nonexistent key_id=ABCDEFGHIJ team_id=ABCDEFGHIJ topic=a"))
            assert "Loaded" in " ".join(status(admin, f"LoadMod --type=global apns {host.arguments}"))
            unload_in_flight(host, admin, 2)
    assert host.end() == 0
    apns.start()


def status(client, command):
    client.send(f"PRIVMSG *status :{command}")
    return [line.split(" :", 1)[1] for line in client.ping() if line.startswith(":*status!")]


def unload_in_flight(host, admin, rounds):
    """Again and again the module is reloaded and unloaded with a push in flight. Every other time ZNC reads the command in the
    round in which the session begins to connect, and otherwise while it waits for APNs."""

    def end(n, command):
        if n % 2:
            assert admin.ask("Test") == ["Pushed to 1 devices."]
            assert admin.ask("Status") == ["0 accepted, 0 rejected, 1 without an outcome yet."]
        else:
            admin.send("PRIVMSG *apns :Test")
        return " ".join(status(admin, command))

    lost = "apns: 1 pushes have no outcome"
    before = host.text().count(lost)
    assert admin.ask(f"AddDevice {token(1)}") == ["Added."]
    for n in range(rounds):
        assert "Reloaded" in end(n, f"ReloadMod --type=global apns {host.arguments}")
        assert "unloaded" in end(n, "UnloadMod --type=global apns")
        assert "Loaded" in " ".join(status(admin, f"LoadMod --type=global apns {host.arguments}"))
    until(lambda: host.text().count(lost) == before + 2 * rounds, host.text)


def test_hostile_users(apns, znc, irc):
    hostile(apns, znc, irc)


def test_hostile_users_with_valgrind(apns, znc, irc, directory):
    log = directory / "valgrind"
    hostile(apns, znc, irc, before=valgrind(log))
    assert_valgrind_is_quiet(log, "apns.cpp", "apns_", "CApns")


def test_unloaded_in_flight(apns, znc):
    host = znc("admin")
    apns.kill()
    with silent_apns(), Client("admin") as admin:
        unload_in_flight(host, admin, 20)
    assert host.end() == 0
    apns.start()


def test_after_a_fork(apns, znc, irc):
    """ZNC loads its modules, and then forks into the background."""
    host = znc("alice", foreground=False)
    assert host.process.wait(DEADLINE) == 0
    pid = int(re.search(r"pid: (\d+)", host.text())[1])
    try:
        until(lambda: "alice" in irc.users, host.text)
        add("alice", [token(1)])
        irc.say("alice", "hello")
        until(lambda: apns.accepted()[token(1)] == 1)
        with Client("alice") as alice:
            until(lambda: alice.devices() == {token(1): "accepted"})
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("arguments", ["key_file=/nonexistent topic=a", "key_file=/nonexistent", "", "port=http", "colour=red", "environment=moon"])
def test_wrong_arguments(apns, znc, irc, arguments):
    """ZNC does not start with a module that cannot be loaded."""
    host = znc(arguments=arguments)
    assert host.process.wait(DEADLINE) != 0
