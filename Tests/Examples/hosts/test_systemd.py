"""The drop-ins for Debian's unit: systemd accepts them, and a relay pushes with secrets that systemd-creds encrypted."""

import contextlib
import os
import re
import shlex
import shutil
import socket
import subprocess

import pytest
from activated import Activated, listening
from apns import COUNT, token
from hosts import need
from relayed import BEARER, EXAMPLES, Bearing, Crowd, ask, copy, for_this_test
from simulator import ROOT

PLACE = EXAMPLES / "systemd"
DROP_INS = ("credentials.conf", "socket.conf")
SOCKET = "apns-relay.socket"


@pytest.fixture
def unit(tmp_path):
    """The unit with the drop-ins, as systemd finds them."""
    need("systemd-analyze", "systemd")
    place = tmp_path / "units"
    (place / "apns-relay.service.d").mkdir(parents=True)
    text = (ROOT / "debian/apns-relay.service").read_text().replace("/usr/bin/apns-relay", os.environ["APNS_RELAY_TOOL"])
    (place / "apns-relay.service").write_text(text)
    for name in DROP_INS:
        shutil.copy(PLACE / name, place / "apns-relay.service.d")
    shutil.copy(PLACE / SOCKET, place)
    return place / "apns-relay.service"


def verify(unit):
    said = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, env=os.environ | {"SYSTEMD_LOG_LEVEL": "info"})
    return said.returncode, [line for line in said.stderr.splitlines() if unit.name in line]


def test_systemd_accepts_the_drop_ins(unit):
    assert verify(unit) == (0, [])
    # It has read them.
    drop_in = unit.parent / "apns-relay.service.d/credentials.conf"
    drop_in.write_text(drop_in.read_text().replace("LoadCredentialEncrypted=apns.p8:", "LoadCredentialEncrypted=apns/p8:"))
    assert "apns/p8" in verify(unit)[1][0]


def test_systemd_accepts_the_socket(unit):
    socket_unit = unit.parent / SOCKET
    assert verify(socket_unit) == (0, [])
    text = socket_unit.read_text()
    socket_unit.write_text(text.replace("ListenStream=/", "ListenStream="))
    assert verify(socket_unit) != (0, [])
    # The comments are alternatives.
    socket_unit.write_text(text.replace("#ListenStream=", "ListenStream="))
    assert verify(socket_unit) == (0, [])
    name = re.search(r"(?m)^FileDescriptorName=(.*)$", text)[1]
    assert f"port: systemd:{name} " in (PLACE / "relay.yaml").read_text()


def test_a_relay_with_encrypted_secrets(apns, tmp_path, keep):
    need("systemd-creds", "systemd")
    environment = os.environ | {"SYSTEMD_CREDENTIAL_SECRET": str(tmp_path / "credential.secret")}
    store, loaded = tmp_path / "credstore.encrypted", tmp_path / "credentials/apns-relay.service"
    for each in store, loaded:
        each.mkdir(parents=True)
    clients = tmp_path / "apns-clients"
    clients.write_text(f"{BEARER} shop\n")
    # The commands of the README, with this test's places and a key of this machine.
    commands = re.findall(r"(?m)^systemd-creds encrypt .*$", (PLACE / "README.md").read_text())
    assert len(commands) == 2
    places = {"AuthKey_ABC123DEFG.p8": apns.ready["token_key"], " apns-clients ": f" {clients} ", "/etc/credstore.encrypted": store}
    for command in commands:
        for old, new in places.items():
            command = command.replace(old, str(new))
        encrypted = subprocess.run([*shlex.split(command), "--with-key=host"], env=environment, capture_output=True, text=True)
        assert encrypted.returncode == 0, encrypted.stderr
    # As systemd does it for each credential of the drop-in.
    listed = re.findall(r"(?m)^LoadCredentialEncrypted=(.*):(.*)$", (PLACE / "credentials.conf").read_text())
    assert len(listed) == 2
    for name, path in listed:
        place = path.replace("/etc/credstore.encrypted", str(store))
        assert BEARER not in open(place).read() and "PRIVATE" not in open(place).read()
        subprocess.run(["systemd-creds", "decrypt", f"--name={name}", place, loaded / name], env=environment, check=True, capture_output=True)
    place = str(tmp_path / "web.sock")
    relay = keep(Activated(tmp_path, apns, sockets=[("web", listening(socket.AF_UNIX, place))]))
    copy("systemd/relay.yaml", relay.file, {
        "/var/lib/apns-relay": tmp_path,
        "apps:\n": f"status: {{port: 0, port_file: {relay.port_file}}}\napps:\n"} | for_this_test(apns))
    relay.start(CREDENTIALS_DIRECTORY=str(loaded)).wait_ready()
    relay.wait_said("the listener web is open")
    crowd = Crowd(lambda part: contextlib.closing(Bearing(place)))
    before = crowd.until_apns_dies(apns, more=COUNT - COUNT // 2, waiting=16)
    apns.start()
    crowd.finish(apns, before)
    # A client that connects after a crash waits for the next start of the service.
    relay.kill()
    with contextlib.closing(Bearing(place)) as one:
        one.connect()
        relay.start(CREDENTIALS_DIRECTORY=str(loaded))
        assert ask(one, token(1))[0] == 200
    relay.wait_ready()
    relay.stop()
