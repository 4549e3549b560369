"""Kamailio pushes missed calls through the relay, and responds to its callers while APNs or the relay is away."""

import json
import re
import socket
import time

import pytest
from apns import BAD, COUNT, GOOD, token
from hosts import Host, need
from relayed import TOPIC, copy, except_for, push_while_away
from simulator import DEADLINE, until

LISTENER = 8200
GONE = 5999  # nobody listens there


class Phone:
    """Sends SIP requests over UDP, and reads their last responses."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.connect(("127.0.0.1", 5060))
        self.socket.settimeout(0.5)
        self.count, self.answers = 0, {}

    def send(self, method, user, *headers):
        """Returns the number of the call; its response is in `answers` once it is read."""
        self.count += 1
        port = self.socket.getsockname()[1]
        lines = [
            f"{method} sip:{'127.0.0.1' if method == 'REGISTER' else user + '@127.0.0.1'} SIP/2.0",
            f"Via: SIP/2.0/UDP 127.0.0.1:{port};branch=z9hG4bK{port}x{self.count}", "Max-Forwards: 70",
            f"From: <sip:{user if method == 'REGISTER' else 'caller'}@127.0.0.1>;tag={self.count}", f"To: <sip:{user}@127.0.0.1>",
            f"Call-ID: {port}x{self.count}", f"CSeq: 1 {method}", f"Contact: <sip:caller@127.0.0.1:{port}>", "Content-Length: 0"]
        lines = [line for line in lines if method != "REGISTER" or not line.startswith("Contact")] + list(headers)
        self.last = ("\r\n".join(lines) + "\r\n\r\n").encode()
        self.socket.send(self.last)
        return self.count

    def read(self, number):
        """Reads until this call has its last response; UDP may lose the request, which is then sent again."""
        deadline = time.monotonic() + DEADLINE
        while number not in self.answers:
            assert time.monotonic() < deadline
            try:
                text = self.socket.recv(65536).decode()
            except TimeoutError:
                self.socket.send(self.last)
                continue
            status = int(text.split()[1])
            if status >= 200:
                self.answers[int(re.search(r"(?m)^Call-ID: \d+x(\d+)", text)[1])] = status
        return self.answers[number]

    def ask(self, *arguments):
        return self.read(self.send(*arguments))

    def register(self, n, expires):
        contact = f"<sip:user{n}@127.0.0.1:{GONE};pn-provider=apns;pn-param=ABCDE12345.{TOPIC};pn-prid={token(n)}>"
        return self.ask("REGISTER", f"user{n}", f"Contact: {contact}", f"Expires: {expires}")


@pytest.fixture
def kamailio(tmp_path):
    program = need("kamailio", "kamailio", "kamailio-utils-modules", "kamailio-extra-modules")
    copy("kamailio/apns.cfg", tmp_path / "apns.cfg", {"http://127.0.0.1:8200": f"http://127.0.0.1:{LISTENER}"})
    configuration = copy("kamailio/kamailio.cfg", tmp_path / "kamailio.cfg", {'"fr_timer", 5000': '"fr_timer", 1000'})
    (tmp_path / "run").mkdir()
    command = [program, "-f", configuration, "-DD", "-E", "-m", "64", "-M", "8", "-Y", tmp_path / "run"]
    with Host(command, tmp_path / "kamailio.log", cwd=tmp_path) as one:
        yield one


def test_missed_calls(kamailio, relays, apns):
    relay = relays(port=LISTENER)
    phone = Phone()
    assert phone.ask("OPTIONS", "anybody") == 200
    # The registrations of most users end before they are called; the phones of the others do not respond.
    offline = range(COUNT - 8)
    for n in range(COUNT):
        assert phone.register(n, 1 if n in offline else 600) == 200
    ends = time.monotonic() + 2
    assert phone.ask("INVITE", "stranger") == 480
    while time.monotonic() < ends:
        time.sleep(0.1)

    def call(users):
        for n in users:
            assert phone.ask("INVITE", f"user{n}") == (480 if n in offline else 408)

    # Every caller has a response all the while.
    before = push_while_away(relay, apns, call, lambda: kamailio.said("the relay does not accept pushes"))
    until(lambda: len(kamailio.said("apns: pushed to")) >= len(GOOD) and len(kamailio.said("no device any more")) >= len(BAD),
          lambda: kamailio.text()[-2000:])

    def told(words):
        """Each user has one outcome."""
        users = [token(int(re.search(r"user(\d+)", line)[1])) for line in kamailio.said(words)]
        assert len(users) == len(set(users))
        return users

    apns.judge(told("apns: pushed to"), told("no device any more"), again=except_for(before))
    assert json.loads(apns.ledger()[-1]["payload"])["aps"]["alert"] == {"loc-key": "MISSED_CALL", "loc-args": ["caller"]}
    # A bad device is not pushed to again.
    rows = len(apns.ledger())
    assert phone.ask("INVITE", "user0") == phone.ask("INVITE", "user1") == 480
    apns.wait(rows + 1)
    assert [row["token"] for row in apns.ledger()[rows:]] == [token(1)]
    # A request that arrives again, as UDP does it, is one push.
    phone.answers.clear()
    phone.socket.send(phone.last)
    assert phone.read(phone.count) == 480
    # A user that ends its registration has no device.
    assert phone.register(5, 0) == 200 and phone.ask("INVITE", "user5") == 480
    assert phone.ask("INVITE", "user3") == 480
    apns.wait(rows + 2)
    assert [row["token"] for row in apns.ledger()[rows:]] == [token(1), token(3)]
    assert not kamailio.said("not pushed") and kamailio.said("accepts pushes again")
