"""Feedback services that send an endless list, or stall in it."""

import time

from wire import Link, Peer


def tuple_of(length):
    return (1000000000).to_bytes(4, "big") + length.to_bytes(2, "big") + b"\x60" * length


class Hostile(Peer):
    def __init__(self, directory, options):
        super().__init__(directory, options)
        self.tls = self.context()

    def serve(self, plain, number):
        link, harm, pace = Link(plain, self.tls), self.option("harm"), self.number("pace_ms") / 1000
        self.ledger.felt_once()
        if harm == "huge token":
            link.out += tuple_of(65535)
            link.flush()
            link.end("close_notify")
        if harm == "half a tuple":
            link.out += tuple_of(32)[:20]
        blob = {
            "endless": tuple_of(32) * 1700,
            "bytes": b"\x60",
            "tuples": tuple_of(32),
            "half a tuple": b"",
        }[harm]
        due = time.monotonic()
        while True:
            if harm == "endless":
                link.fill(blob)
            elif pace and time.monotonic() >= due:
                due += pace
                link.out += blob
            link.step(0.01)
