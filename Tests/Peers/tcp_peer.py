"""Peers without a TLS handshake, and faults between the provider and a healthy peer.

The handshake's first messages are plain text: `offers` counts the ClientHellos that offer an earlier session. Such an
offer can be rejected with an alert, like OpenSSL servers do that request certificates and set no session ID context.
"""

import socket
import ssl
import struct
import threading
import time

from wire import Ended, Link, Peer

ALERT = b"\x15\x03\x03\x00\x02\x02"
HANDSHAKE_FAILURE, INTERNAL_ERROR = b"\x28", b"\x50"
SESSION_TICKET, PRE_SHARED_KEY, NEW_SESSION_TICKET = 35, 41, 4


def offers_session(hello):
    """Whether a ClientHello, record header included, has a ticket or a pre-shared key."""
    at = 5 + 4 + 2 + 32
    at += 1 + hello[at]
    at += 2 + int.from_bytes(hello[at : at + 2], "big")
    at += 1 + hello[at]
    end = at + 2 + int.from_bytes(hello[at : at + 2], "big")
    at += 2
    while at < end:
        kind, length = (int.from_bytes(hello[at + each : at + each + 2], "big") for each in (0, 2))
        if kind == PRE_SHARED_KEY or kind == SESSION_TICKET and length:
            return True
        at += 4 + length
    return False


class Hostile(Peer):
    def __init__(self, directory, options):
        super().__init__(directory, options)
        self.harm = getattr(self, self.option("harm"))
        self.behind = None
        if self.option("behind"):
            protocol, *given = self.option("behind").split("/")
            module = __import__(f"{protocol}_peer")
            self.behind = module.Hostile(directory, dict(each.split("=", 1) for each in given))
            if self.option("newest") == "1.2":
                self.behind.tls.maximum_version = ssl.TLSVersion.TLSv1_2
            # The ledger counts the notifications of the peer behind this one, and this one's connections.
            for name in ("lock", "deliveries", "refused", "accepted", "failures"):
                setattr(self.ledger, name, getattr(self.behind.ledger, name))
            self.behind.start()

    def start(self):
        if self.option("harm") == "blackhole":
            self.fill()
        else:
            super().start()

    def fill(self):
        """Fills the connection queue, so that the kernel no longer answers SYNs."""
        self.listener.listen(0)
        self.waiting = []
        for _ in range(8):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", self.port))
            self.waiting.append(one)
        self.ledger.felt_once()

    def serve(self, plain, number):
        self.ledger.felt_once()
        self.harm(plain)

    def blackhole(self, plain):
        raise NotImplementedError

    # ---- No handshake

    def accept_and_close(self, plain):
        Link(plain).end(self.option("way", "fin"))

    def alert(self, plain):
        plain.recv(1 << 14)
        plain.sendall(ALERT + HANDSHAKE_FAILURE)
        Link(plain).end("fin")

    def bytes_of_handshake(self, plain):
        """The header of a large handshake record, then a byte at a time."""
        link, due = Link(plain), time.monotonic()
        link.out += b"\x16\x03\x03\x3f\x00\x02\x00\x3e\xfc\x03\x03"
        while True:
            if time.monotonic() >= due:
                due += self.number("pace_ms") / 1000
                link.out += b"\0"
            link.step(0.01)

    def flood_of_handshake(self, plain):
        """Endless records instead of a ServerHello."""
        link = Link(plain)
        unit = {
            "warnings": b"\x15\x03\x03\x00\x02\x01\x5a",
            "change cipher spec": b"\x14\x03\x03\x00\x01\x01",
            "hello requests": b"\x16\x03\x03\x00\x04\0\0\0\0",
            "empty records": b"\x16\x03\x03\x00\x00",
        }[self.option("kind")]
        while True:
            link.fill(unit * 8192)
            link.step(0.01)

    def silence(self, plain):
        link = Link(plain)
        while True:
            link.step()

    # ---- Between the provider and a healthy service

    def hello(self, plain):
        plain.settimeout(5)
        come = b""
        while len(come) < 5 or len(come) < 5 + int.from_bytes(come[3:5], "big"):
            if not (more := plain.recv(1 << 14)):
                raise Ended
            come += more
        if offered := offers_session(come):
            with self.ledger.lock:
                self.ledger.offers += 1
        return come, offered

    def alert_to_resumption(self, plain):
        """Rejects any offered session with a fatal alert."""
        hello, offered = self.hello(plain)
        if offered:
            plain.sendall(ALERT + INTERNAL_ERROR)
            Link(plain).end("fin")
        self.relay(plain, hello)

    def reset_to_resumption(self, plain):
        hello, offered = self.hello(plain)
        if offered:
            Link(plain).end("reset")
        self.relay(plain, hello)

    def reset_after_ticket(self, plain):
        """TLS 1.2: resets the first handshake after its ticket, before it is finished."""
        hello, offered = self.hello(plain)
        if offered:
            plain.sendall(ALERT + HANDSHAKE_FAILURE)
            Link(plain).end("fin")
        is_first = self.ledger.felt == 1
        self.relay(plain, hello, self.ends_with_ticket if is_first else None)

    def ends_with_ticket(self, passed):
        """Whether the server's records so far contain a complete NewSessionTicket."""
        at = 0
        while at + 5 <= len(passed):
            length = int.from_bytes(passed[at + 3 : at + 5], "big")
            end = at + 5 + length
            if (
                passed[at] == 22
                and passed[at + 5 : at + 6] == bytes([NEW_SESSION_TICKET])
                and end <= len(passed)
            ):
                return end
            at = end
        return None

    def relay(self, plain, first, until=None):
        other = socket.create_connection(("127.0.0.1", self.behind.port))
        other.sendall(first)

        def forward(source, target):
            try:
                while came := source.recv(1 << 16):
                    target.sendall(came)
                target.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        up = threading.Thread(target=forward, args=(plain, other), daemon=True)
        plain.settimeout(None)
        up.start()
        passed = b""
        while came := other.recv(1 << 16):
            passed += came if until else b""
            end = until(passed) if until else None
            if end is not None:
                plain.sendall(came[: len(came) - (len(passed) - end)])
                time.sleep(0.05)
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                with self.ledger.lock:
                    self.ledger.notes["planted"] = True
                plain.shutdown(socket.SHUT_RD)
                up.join(1)
                raise Ended
            plain.sendall(came)
        plain.shutdown(socket.SHUT_WR)
        up.join(2)
