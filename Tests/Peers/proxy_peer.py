"""Adversarial proxies: their answers to CONNECT."""

import time

from wire import Link, Peer

# Bells, escapes, C1, bidirectional overrides and isolates, a line separator, invalid UTF-8.
STATUS = (
    b"HTTP/1.1 403 \x07\x1b[31mred\x1b[0m \xc2\x9bC1 \x9b "
    b"\xe2\x80\xaeoverride\xe2\x80\xac \xe2\x81\xa6isolate\xe2\x81\xa9 \xe2\x80\xa8line \xed\xa0\x80 \xff\xfe\tend"
)


class Hostile(Peer):
    def serve(self, plain, number):
        link, harm = Link(plain), self.option("harm")
        come = b""
        while b"\r\n\r\n" not in come:
            come += link.step()
        self.ledger.felt_once()
        once = {
            "control characters": STATUS + b"\r\n\r\n",
            "8 KB line": b"HTTP/1.1 200 " + b"x" * 8192 + b"\r\n\r\n",
            "200, then garbage": b"HTTP/1.1 200 OK\r\n\r\n" + bytes(range(256)) * 64,
            "silence": b"",
            "200, then silence": b"HTTP/1.1 200 OK\r\n\r\n",
            "half a line, then end": b"HTTP/1.1 20",
            "no HTTP": b"SSH-2.0-hostile\r\n",
        }
        slow = {
            "byte by byte": b"HTTP/1.1 200 OK\r\nServer: hostile\r\n\r\n",
            "header by header": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 10000,
        }
        endless = {"endless header": b"X-Header: hostile\r\n" * 3000, "endless line": b"x" * 60000}
        if harm in once:
            link.out += once[harm]
            link.flush()
            if harm in ("half a line, then end", "control characters"):
                link.end("fin")
        elif harm == "endless header":
            link.out += b"HTTP/1.1 200 OK\r\n"
        pace, due, at = self.number("pace_ms", 1000) / 1000, time.monotonic(), 0
        while True:
            if harm in slow and time.monotonic() >= due:
                due += pace
                link.out += slow[harm][at : at + 1]
                at += 1
            if harm in endless:
                link.fill(endless[harm])
            link.step(0.01)
