"""The driver for Dovecot's push-notification plugin: new mail pushes to each registered device, and the log and the
registrations are what APNs decided."""

import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import smtplib
import subprocess
import tempfile

import pytest
from apns import BAD, COUNT, GOOD, PORT, token
from hosts import Host, need
from native import assert_undisturbed, assert_valgrind_is_quiet, compiled, durations, silent_apns, valgrind
from simulator import DEADLINE, until

LMTP_PORT = 2424
DEVICES = 10
USERS = [f"user{n}" for n in range(COUNT // DEVICES)]
TOKENS = {user: [token(n * DEVICES + at) for at in range(DEVICES)] for n, user in enumerate(USERS)}
ACCOUNT = "0715A26B-CA09-4730-A419-793000CA982E"
INBOX = hashlib.md5(b"INBOX").hexdigest()
MODULES = pathlib.Path("/usr/lib/dovecot/modules")
NOBODY = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="Dovecot needs root for its users")


@pytest.fixture(scope="session")
def plugin(tmp_path_factory):
    need("dovecot", "dovecot-core")
    need("lmtp", "dovecot-lmtpd")
    if not pathlib.Path("/usr/include/dovecot/push-notification-drivers.h").exists():
        pytest.skip("dovecot-dev is not installed")
    output = tmp_path_factory.mktemp("dovecot") / "lib22_push_notification_apns_plugin.so"
    return compiled("cc", "Examples/integrations/dovecot/push-notification-apns-plugin.c", output,
                    "-std=gnu99", "-DHAVE_CONFIG_H", "-isystem", "/usr/include/dovecot")


class Dovecot(Host):
    """Dovecot, with a directory that its users may read."""

    def __init__(self, directory, log):
        self.directory = directory
        super().__init__([need("dovecot"), "-F", "-c", directory / "dovecot.conf"], log)
        self.listens(LMTP_PORT)

    def admin(self, *arguments):
        done = subprocess.run(["doveadm", "-c", self.directory / "dovecot.conf", *arguments], capture_output=True, text=True, timeout=DEADLINE)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self):
        if self.process.poll() is None:
            self.end()
        self.kill()

    def text(self):
        log = self.directory / "log"
        return super().text() + (log.read_text(errors="replace") if log.exists() else "")

    def register(self, user, *tokens, value=ACCOUNT):
        """As a program for registrations would: into the user's dict."""
        path = self.dict(user)
        with open(path, "a") as file:
            file.writelines(f"priv/apns/{one}\n{value}\n" for one in tokens)
        os.chown(path, NOBODY, NOBODY)

    def dict(self, user):
        home = self.directory / "homes" / user
        home.mkdir(parents=True, exist_ok=True)
        os.chown(home, NOBODY, NOBODY)
        return home / "apns"

    def registered(self, user):
        lines = self.dict(user).read_text().splitlines()
        return {key.removeprefix("priv/apns/") for key in lines[::2]}


@pytest.fixture
def dovecot(apns, plugin, tmp_path):
    """Starts Dovecot with LMTP, where each user exists, and with the driver or without it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as path, contextlib.ExitStack() as running:
        directory, numbers = pathlib.Path(path), itertools.count()
        directory.chmod(0o755)
        (directory / "modules").mkdir()
        for module in MODULES.glob("*.so"):
            (directory / "modules" / module.name).symlink_to(module)
        shutil.copy(plugin, directory / "modules")
        (directory / "homes").mkdir()
        os.chown(directory / "homes", NOBODY, NOBODY)
        for name in "provider", "ca":
            shutil.copy(apns.ready[name], directory / name)
            (directory / name).chmod(0o644)

        def start(with_driver=True, executable="lmtp", dict="file:%h/apns", more="", **options):
            who = {"certificate_file": directory / "provider", "ca_file": directory / "ca", "host": "127.0.0.1", "port": PORT,
                   "dict": dict, **options}
            driver = " ".join(f"{name}={value}" for name, value in who.items() if value)
            (directory / "dovecot.conf").write_text(f"""
base_dir = {directory}/run
state_dir = {directory}/state
log_path = {directory}/log
auth_debug = no
mail_debug = no
ssl = no
protocols = lmtp
mail_location = maildir:~/Maildir
mail_plugin_dir = {directory}/modules
mail_plugins = notify push_notification {"push_notification_apns" if with_driver else ""}
first_valid_uid = 1
lda_mailbox_autocreate = yes
lmtp_save_to_detail_mailbox = yes
recipient_delimiter = +
userdb {{
  driver = static
  args = uid={NOBODY} gid={NOBODY} home={directory}/homes/%u allow_all_users=yes
}}
passdb {{
  driver = static
  args = password=secret
}}
plugin {{
  push_notification_driver = {f"apns:{driver}" if with_driver else "dlog"}
}}
service lmtp {{
  executable = {executable}
  inet_listener lmtp {{
    address = 127.0.0.1
    port = {LMTP_PORT}
  }}
}}
{more}
""")
            return running.enter_context(contextlib.closing(Dovecot(directory, tmp_path / f"dovecot-{next(numbers)}.log")))

        yield start


class LMTP(smtplib.LMTP):
    def __init__(self):
        super().__init__("127.0.0.1", LMTP_PORT, timeout=DEADLINE)

    def deliver(self, user, text="hello"):
        assert self.sendmail("bob@example.com", [user], f"From: bob@example.com\r\nSubject: {text}\r\n\r\n{text}\r\n") == {}


    def deliver_to(self, users, text):
        """LMTP answers for each user, which smtplib does not expect."""
        for command in "MAIL FROM:<bob@example.com>", *(f"RCPT TO:<{user}>" for user in users):
            assert self.docmd(command)[0] == 250
        assert self.docmd("DATA")[0] == 354
        self.send(f"Subject: large\r\n\r\n{text}\r\n.\r\n")
        assert [self.getreply()[0] for _ in users] == [250] * len(users)


def expected(account, mailbox=INBOX):
    return {"aps": {"account-id": account, "m": [mailbox]}}


def test_apns_away(apns, dovecot):
    """Mail to each user is a push to ten devices. Half of the users get theirs while APNs is away. Each device has one outcome in
    the log, and gets one push, also those in flight at the crash."""
    host = dovecot(with_driver=False)
    with LMTP() as lmtp:
        lmtp.deliver("other")
        before = durations(50, lambda _: lmtp.deliver("other"))
    assert host.end() == 0

    host = dovecot(more="log_debug = category=push-notification")
    for user in USERS:
        host.register(user, *TOKENS[user])

    def told(outcome):
        return re.findall(rf"user (user\d+), device 00000000\.\.\.: {outcome}", host.text())

    with LMTP() as lmtp:
        half = len(USERS) // 2
        lmtp.deliver(USERS[0])
        until(lambda: len(told("accepted")) == DEVICES - 1 and len(told("rejected: BadDeviceToken")) == 1, host.text)
        apns.wait(DEVICES)
        apns.stop()
        for user in USERS[1:half]:
            lmtp.deliver(user)
        apns.kill()
        with silent_apns():
            during = durations(len(USERS) - half, lambda n: lmtp.deliver(USERS[half + n]))
            during += durations(40, lambda _: lmtp.deliver("other"))
        apns.start()
        until(lambda: len(told("accepted")) + len(told("rejected")) == COUNT, host.text)
        assert_undisturbed(before, during)
        assert sorted(told("rejected: BadDeviceToken")) == sorted(user for user in USERS for one in TOKENS[user] if one in BAD)
        apns.wait(COUNT)
        apns.judge(GOOD, BAD)
        assert all(json.loads(row["payload"]) == expected(ACCOUNT) for row in apns.ledger())

        # With the next mail the bad ones are gone.
        rows = len(apns.ledger())
        for user in USERS:
            lmtp.deliver(user)
        apns.wait(rows + len(GOOD))
        until(lambda: len(told("accepted")) + len(told("rejected")) == COUNT + len(GOOD), host.text)
        assert not {row["token"] for row in apns.ledger()[rows:]} & BAD
        assert set().union(*map(host.registered, USERS)) == GOOD
    assert host.end() == 0
    assert "Panic" not in host.text() and "leak" not in host.text()


def hostile(apns, dovecot, **options):
    host = dovecot(**options)
    with LMTP() as lmtp:
        def pushes(user, count, text="hello"):
            """The payloads of these pushes; others fail the test."""
            rows = len(apns.ledger())
            lmtp.deliver(user, text)
            lmtp.deliver("last")
            apns.wait(rows + count + 1)
            found = apns.ledger()[rows:]
            assert [row["token"] for row in found][-1] == token(999), found
            assert len(found) == count + 1
            return [(row["token"], json.loads(row["payload"])) for row in found[:-1]]

        host.register("last", token(999))
        # No registrations, and registrations that are wrong.
        assert pushes("nobody", 0) == []
        host.register("broken", "5u79", "", "ab" * 101, "x" * 5000)
        host.register("broken", token(1), value="")
        host.register("broken", token(2), value="\x01t\x01tINBOX")
        host.register("broken", token(3), value="x" * 5000)
        assert pushes("broken", 0) == []
        assert host.text().count("not pushed to device") == 5, host.text()
        host.dict("noise").write_bytes(os.urandom(3000))
        assert pushes("noise", 0) == []
        host.dict("directory").mkdir()
        assert pushes("directory", 0) == []
        host.register("secret", token(8))
        os.chown(host.dict("secret"), 0, 0)
        host.dict("secret").chmod(0)
        assert pushes("secret", 0) == []
        assert "push-notification-apns: dict_iterate" in host.text()

        # Mailboxes, and an account that needs escapes.
        host.register("alice", token(5))
        host.register("alice", token(6), value=f"{ACCOUNT}\x01tNotes\x01tINBOX")
        host.register("alice", token(7), value=f'a"\\b\x01tNotes')
        assert sorted(pushes("alice", 2)) == [(token(5), expected(ACCOUNT)), (token(6), expected(ACCOUNT))]
        notes = hashlib.md5(b"Notes").hexdigest()
        assert sorted(pushes("alice+Notes", 2)) == [(token(6), expected(ACCOUNT, notes)), (token(7), expected('a"\\b', notes))]
        host.register("many", *(token(n) for n in range(100, 150)))
        assert len(pushes("many", 20)) == 20
        assert "more than 20 devices" in host.text()
        # One mail to several users, and a large one.
        rows = len(apns.ledger())
        lmtp.deliver_to(["alice", "last"], "x\r\n" * 500_000)
        apns.wait(rows + 3)

        # The end, with pushes in flight. LMTP's process ends by itself, and then its log is complete.
        apns.kill()
        with silent_apns():
            for _ in range(3):
                lmtp.deliver("alice")
            assert host.end() == 0
            lmtp.close()
            until(lambda: len(re.findall(r"user alice, device \w+\.\.\.: (?:cancelled|unknown)", host.text())) == 6, host.text)
    apns.start()
    assert "Panic" not in host.text() and "leak" not in host.text()
    return host


def test_hostile_registrations(apns, dovecot):
    hostile(apns, dovecot)


def test_hostile_registrations_with_valgrind(apns, dovecot, tmp_path):
    """Dovecot's wrapper for its processes."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as path:
        os.chmod(path, 0o777)
        script = pathlib.Path(path) / "lmtp"
        script.write_text(f"#!/bin/sh\nexec {shlex.join(valgrind(f'{path}/valgrind.%p'))} {need('lmtp')} \"$@\"\n")
        script.chmod(0o755)
        hostile(apns, dovecot, executable=script)
        logs = list(pathlib.Path(path).glob("valgrind.*"))
        until(lambda: all("ERROR SUMMARY" in log.read_text() for log in logs))
        assert logs
        for log in logs:
            assert_valgrind_is_quiet(log, "push-notification-apns-plugin", "apns_")


def test_an_idle_process_ends(apns, dovecot):
    """Each delivery may be the last one of its process, which waits for the outcomes."""
    host = dovecot(more="service lmtp {\n  service_count = 1\n}\nlog_debug = category=push-notification")
    host.register("alice", token(1))
    for n in range(3):
        with LMTP() as lmtp:
            lmtp.deliver("alice")
        until(lambda n=n: len(re.findall("user alice, device 00000000...: accepted", host.text())) == n + 1, host.text)
    until(lambda: apns.accepted() == {token(1): 3})
    assert host.end() == 0


def test_registered_by_doveadm(apns, dovecot):
    """As README.md does it, and with mail from dovecot-lda, whose process ends with each mail."""
    host = dovecot(more="log_debug = category=push-notification")
    host.dict("alice")
    host.admin("dict", "set", "-u", "alice", f"file:{host.dict('alice')}", f"priv/apns/{token(1)}", ACCOUNT)
    host.admin("dict", "set", "-u", "alice", f"file:{host.dict('alice')}", f"priv/apns/{token(2)}", f"{ACCOUNT}\tNotes")
    command = [need("dovecot-lda", "dovecot-core"), "-c", host.directory / "dovecot.conf", "-d", "alice"]
    subprocess.run(command, input="Subject: x\n\nx\n", text=True, check=True, timeout=DEADLINE)
    until(lambda: apns.accepted() == {token(1): 1})

    # The user's next mail removes a bad one, though root has registered it.
    host.admin("dict", "set", "-u", "alice", f"file:{host.dict('alice')}", f"priv/apns/{token(0)}", ACCOUNT)
    with LMTP() as lmtp:
        lmtp.deliver("alice")
        until(lambda: "the registration ends" in host.text(), host.text)
        lmtp.deliver("alice")
    assert host.registered("alice") == {token(1), token(2)}, host.text()
    assert host.end() == 0


@pytest.mark.parametrize("options", [{"certificate_file": None}, {"certificate_file": "/nonexistent"}, {"port": "http"}, {"port": "70000"},
                                     {"environment": "moon"}, {"dict": None}, {"dict": "nothing:x"}])  # fmt: skip
def test_wrong_settings(apns, dovecot, options):
    """Mail arrives all the same, and the log has the reason."""
    host = dovecot(**options)
    host.register("alice", token(1))
    with LMTP() as lmtp:
        lmtp.deliver("alice")
        until(lambda: re.search("Error: .*apns.*: ", host.text()), host.text)
    assert len(list((host.directory / "homes/alice/Maildir/new").iterdir())) == 1
    assert host.end() == 0
    assert apns.ledger() == []
