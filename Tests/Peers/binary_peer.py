"""Adversarial binary gateways, which read commands 0, 1 and 2 as Apple documents them.

A complete frame is delivered, and accepted unless the gateway names or discards it. One without a device token is the
provider's sentinel and gets status 2.
"""

import time

from wire import Link, Peer, number_in


def packet(status, identifier):
    return bytes([8, status]) + identifier.to_bytes(4, "big")


class Frames:
    """Parses a byte stream into frames: identifier and number, which is None for a frame without a token."""

    def __init__(self):
        self.come = bytearray()

    def read(self, came):
        self.come += came
        come, at, found = self.come, 0, []
        while True:
            one = self.next(come, at)
            if one is None:
                break
            at, identifier, token, payload = one
            found.append((identifier, number_in(payload) if token else None))
        del come[:at]
        return found

    def next(self, come, at):
        """The end of the frame that begins at `at` and its contents, or None if it is incomplete."""
        left = len(come) - at
        if not left:
            return None
        if come[at] == 2:
            if left < 5 or left < 5 + (length := int.from_bytes(come[at + 1 : at + 5], "big")):
                return None
            end, items, at = at + 5 + length, {}, at + 5
            while at < end:
                size = int.from_bytes(come[at + 1 : at + 3], "big")
                items[come[at]] = bytes(come[at + 3 : at + 3 + size])
                at += 3 + size
            return end, int.from_bytes(items.get(3, b""), "big"), items.get(1), items.get(2)
        assert come[at] in (0, 1), come[at]
        head = 9 if come[at] == 1 else 1
        if left < head + 2:
            return None
        token = at + head + 2
        token_end = token + int.from_bytes(come[token - 2 : token], "big")
        if len(come) < token_end + 2:
            return None
        end = token_end + 2 + int.from_bytes(come[token_end : token_end + 2], "big")
        if len(come) < end:
            return None
        identifier = int.from_bytes(come[at + 1 : at + 5], "big") if head == 9 else 0
        return end, identifier, bytes(come[token:token_end]), bytes(come[token_end + 2 : end])


class Hostile(Peer):
    def __init__(self, directory, options):
        super().__init__(directory, options)
        self.tls = self.context()
        self.harm = getattr(self, self.option("harm"))
        self.sent = 0

    def serve(self, plain, number):
        link = Link(plain, self.tls)
        self.harm(link, Frames())

    def deliver(self, n):
        with self.ledger.lock:
            self.ledger.deliveries[n] += 1
            self.ledger.accepted.add(n)

    def take(self, link, frames, seconds=0.02, reading=True):
        """Yields the notifications received in that time; a sentinel gets its error packet, which ends the
        connection."""
        found = frames.read(link.step(seconds, reading))
        for identifier, n in found:
            if n is None:
                self.reject(link, 2, identifier)
            yield identifier, n

    def reject(self, link, status, identifier):
        link.out += packet(status, identifier)
        link.flush()
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            link.step(0.01)
        link.end("close_notify")

    # ---- Some notifications end the connection when they arrive

    def poison(self, link, frames):
        poisonous, way = {int(n) for n in self.option("at").split("+")}, self.option("way")
        while True:
            for _, n in self.take(link, frames):
                if n in poisonous:
                    with self.ledger.lock:
                        self.ledger.deliveries[n] += 1
                    self.ledger.felt_once()
                    link.end(way)
                self.deliver(n)

    # ---- Sends status 0 for each; the connection stays, or ends after `after`

    def no_errors(self, link, frames):
        after, count = int(self.number("after", 1 << 30)), 0
        while True:
            for identifier, n in self.take(link, frames):
                self.deliver(n)
                self.ledger.felt_once()
                link.out += packet(0, identifier)
                count += 1
                if count == after:
                    link.flush()
                    link.end("fin")

    # ---- Accepts all silently and closes one connection after `after`

    def closing(self, link, frames):
        """Only one of all connections: what is proven must not be resent."""
        after, way, count = int(self.number("after")), self.option("way"), 0
        while True:
            for _, n in self.take(link, frames):
                self.deliver(n)
                self.sent += 1
                count += 1
                if self.sent == after:
                    self.ledger.felt_once()
                    link.end(way)

    # ---- Rejects one late, and discards what was received meanwhile

    def late_rejection(self, link, frames):
        at, delay = int(self.number("at")), self.number("delay_ms") / 1000
        while True:
            for identifier, n in self.take(link, frames):
                if n != at:
                    self.deliver(n)
                    continue
                self.ledger.felt_once()
                end, discarded = time.monotonic() + delay, 0
                while time.monotonic() < end:
                    discarded += len(link.step(0.01))
                with self.ledger.lock:
                    self.ledger.notes["discarded"] = discarded
                self.reject(link, 8, identifier)

    # ---- Endless bytes from the first notification on; with reading=0 stops reading then

    def flood(self, link, frames):
        kind, pace, reading = self.option("kind"), self.number("pace_ms"), self.option("reading") != "0"
        unit = {
            "garbage": b"\x2a",
            "packets of identifier 0": packet(8, 0),
            "packets of strangers": packet(8, 0x7FFFFFF1),
            "shutdown packets": packet(10, 0),
            "half packets": packet(8, 1)[:5],
        }[kind]
        seen = 0
        while not seen:
            for _, n in self.take(link, frames):
                seen += 1
                self.deliver(n)
        blob, due = unit * (65536 // len(unit)), time.monotonic()
        if kind == "half packets":
            link.out += unit
            self.ledger.felt_once()
            self.silent(link, frames)
        while True:
            if not pace:
                link.fill(blob)
                self.ledger.felt_once()
            elif time.monotonic() >= due:
                due += pace / 1000
                link.out += unit
                self.ledger.felt_once()
            for _, n in self.take(link, frames, 0.01, reading):
                if n is not None:
                    self.deliver(n)

    # ---- Silence

    def silent(self, link, frames):
        """Reads but answers nothing, not even sentinels."""
        while True:
            for _, n in frames.read(link.step(0.05)):
                if n is None:
                    self.ledger.felt_once()
                else:
                    self.deliver(n)

    def deaf(self, link, frames):
        self.ledger.felt_once()
        while True:
            link.step(0.05, reading=False)
