"""Prosody's users get notifications of messages while they are offline, by mod_cloud_notify, the example's module and the relay."""

import base64
import json
import os
import re
import socket

import pytest
from apns import BAD, COUNT, GOOD, token
from hosts import Host, need
from relayed import EXAMPLES, TOPIC, except_for, push_while_away
from simulator import DEADLINE, until

PORT, LISTENER = 5222, 8200
MODULES = "/usr/lib/prosody/modules/mod_cloud_notify"
PUSHED = "push_apns\tdebug\tPushed"

CONFIGURATION = """
run_as_root = true
pidfile = "{directory}/prosody.pid"
data_path = "{directory}/data"
plugin_paths = {{ "{example}" }}
log = {{ {{ levels = {{ min = "debug" }}, to = "file", filename = "{directory}/prosody.log" }} }}
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {port} }}
s2s_ports = {{ }}
http_ports = {{ }}
https_ports = {{ }}
authentication = "internal_plain"
allow_unencrypted_plain_auth = true
c2s_require_encryption = false
modules_enabled = {{ "saslauth", "disco", "roster", "offline", "ping", "cloud_notify" }}
-- The component reports an error only for a bad token.
push_max_errors = 1
push_notification_with_sender = true
VirtualHost "localhost"
Component "push.localhost" "push_apns"
    push_apns_relay = "http://127.0.0.1:{listener}"
    push_apns_topic = "{topic}"
"""


class Client:
    """An XMPP client without TLS."""

    def __init__(self, user):
        self.socket = socket.create_connection(("127.0.0.1", PORT), timeout=DEADLINE)
        self.text, self.count = "", 0
        self.open("")
        secret = base64.b64encode(f"\0{user}\0secret".encode()).decode()
        self.say(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{secret}</auth>", "<success[^>]*>")
        self.open("<bind")
        self.ask("set", "<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>")

    def open(self, feature):
        self.say("<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' to='localhost' version='1.0'>",
                 f"{feature}.*</stream:features>")

    def say(self, words, answer):
        """Returns the answer, which matches this expression; what comes before it is dropped."""
        self.socket.sendall(words.encode())
        while not (found := re.search(answer, self.text, re.S)):
            data = self.socket.recv(65536)
            assert data, self.text
            self.text += data.decode()
        self.text = self.text[found.end():]
        return found[0]

    def ask(self, kind, what, to=""):
        self.count += 1
        to = to and f" to='{to}'"
        answer = self.say(f"<iq type='{kind}' id='q{self.count}'{to}>{what}</iq>", f"<iq [^>]*id='q{self.count}'[^>]*>")
        return re.search("type='(\\w+)'", answer)[1]

    def write(self, n):
        """A message to a user. The server has handled it once it responds to the ping."""
        self.socket.sendall(f"<message type='chat' to='user{n}@localhost'><body>Hello</body></message>".encode())
        return self.ask("get", "<ping xmlns='urn:xmpp:ping'/>", to="localhost")

    def close(self):
        self.socket.sendall(b"</stream:stream>")
        while self.socket.recv(65536):
            pass
        self.socket.close()


@pytest.fixture
def prosody(tmp_path):
    program = need("prosody", "prosody", "prosody-modules")
    if not os.path.exists(MODULES):
        pytest.skip("mod_cloud_notify is not installed (Debian: prosody-modules)")
    accounts = tmp_path / "data/localhost/accounts"
    accounts.mkdir(parents=True)
    for user in ["sender", *(f"user{n}" for n in range(COUNT))]:
        (accounts / f"{user}.dat").write_text('return { ["password"] = "secret" };')
    configuration = tmp_path / "prosody.cfg.lua"
    configuration.write_text(CONFIGURATION.format(
        directory=tmp_path, example=EXAMPLES / "prosody", port=PORT, listener=LISTENER, topic=TOPIC))
    with Host([program, "-F", "--config", configuration], tmp_path / "prosody.log") as one:
        one.wait_for("Activated service 'c2s'")
        yield one


def test_messages_to_offline_users(prosody, relays, apns):
    relay = relays(port=LISTENER)
    for n in range(COUNT):
        user = Client(f"user{n}")
        assert user.ask("set", f"<enable xmlns='urn:xmpp:push:0' jid='push.localhost' node='{token(n)}'/>") == "result"
        user.close()
    sender = Client("sender")

    def write(users):
        for n in users:
            assert sender.write(n) == "result"

    # The server responds after each message all the while.
    before = push_while_away(relay, apns, write, lambda: prosody.said("The relay does not accept pushes"))
    until(lambda: len(prosody.said(PUSHED)) >= len(GOOD) and len(prosody.said("Disabling push")) >= len(BAD),
          lambda: (len(prosody.said(PUSHED)), len(prosody.said("Disabling push")), prosody.text()[-3000:]))
    # Each device has one outcome, and the server has disabled the bad devices.
    tokens = {row["apns_id"]: row["token"] for row in apns.ledger()}
    pushed = [tokens[line.split()[-1]] for line in prosody.said(PUSHED)]
    assert len(pushed) == len(GOOD)
    disabled = [re.search("push.localhost<([0-9a-f]+)", line)[1] for line in prosody.said("Disabling push")]
    apns.judge(pushed, disabled, again=except_for(before))
    assert prosody.said("The relay accepts pushes again") and not prosody.said("Not pushed")
    rows = len(apns.ledger())
    alert = json.loads(apns.ledger()[-1]["payload"])["aps"]["alert"]
    assert alert["body"] == "New Message!" and alert["title"].startswith("sender@localhost/")
    # A disabled device gets nothing more.
    write([0, 1])
    apns.wait(rows + 1)
    assert [row["token"] for row in apns.ledger()[rows:]] == [token(1)]
    sender.close()


def publish(node, body=""):
    field = f"<field var='last-message-body'><value>{body}</value></field>" if body else ""
    return (f"<pubsub xmlns='http://jabber.org/protocol/pubsub'><publish node='{node}'><item><notification xmlns='urn:xmpp:push:0'>"
            f"<x xmlns='jabber:x:data'>{field}</x></notification></item></publish></pubsub>")


def test_the_component(prosody, relays, apns):
    relays(port=LISTENER)
    client = Client("sender")
    assert client.ask("set", publish(token(1), "x" * 999 + "ä" * 3000), "push.localhost") == "result"
    assert client.ask("set", publish(token(2)), "push.localhost") == "result"
    assert client.ask("set", publish(token(10), "Hello"), "push.localhost") == "error"
    assert client.ask("set", publish("../1/apps", "Hello"), "push.localhost") == "error"
    assert client.ask("set", "<pubsub xmlns='http://jabber.org/protocol/pubsub'/>", "push.localhost") == "error"
    rows = {row["token"]: row for row in apns.ledger()}
    assert json.loads(rows[token(1)]["payload"])["aps"]["alert"]["body"] == "x" * 999 + "…"
    assert (rows[token(2)]["priority"], json.loads(rows[token(2)]["payload"])) == ("5", {"aps": {"content-available": 1}})
    assert len(rows) == 3
    client.close()
