"""Adversarial HTTP/2 services. Frames are raw bytes, because no library would send these.

`harm` names the misbehaviour; otherwise the service is healthy: it reads requests, counts each by the number in its
payload, and answers 200. A notification counts as accepted if a complete header block with a single status 200 and
the end of the stream was sent, with no error after it.
"""

import contextlib
import os
import time

from wire import Link, Peer, number_in

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    range(10)
)
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL = 0, 2, 7, 8


def frame(kind, flags=0, stream=0, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def field(name, value):
    """A literal that enters no table (RFC 7541, 6.2.2), shorter than 127 bytes each."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def status(text):
    """:status by its index in the static table, as a literal."""
    return b"\x08" + bytes([len(text)]) + text


OK = b"\x88"  # :status 200 in the static table
JSON_400 = b'{"reason":"BadDeviceToken"}'


def goaway(last, code=NO_ERROR, text=b""):
    return frame(GOAWAY, 0, 0, last.to_bytes(4, "big") + code.to_bytes(4, "big") + text)


def settings(**values):
    numbers = {"streams": 3, "window": 4, "frame": 5, "table": 1}
    payload = b"".join(
        numbers[name].to_bytes(2, "big") + value.to_bytes(4, "big") for name, value in values.items()
    )
    return frame(SETTINGS, 0, 0, payload)


def answer(stream, code=200, reason=None):
    if code == 200:
        return frame(HEADERS, END_HEADERS | END_STREAM, stream, OK)
    body = b'{"reason":"%s"}' % reason.encode()
    head = frame(HEADERS, END_HEADERS, stream, status(b"%d" % code))
    return head + frame(DATA, END_STREAM, stream, body)


# Floods: bytes for one open stream, sent repeatedly. `first` opens a block that they continue.
BIG = field(b"x-long", b"y" * 120) * 120
FLOODS = {
    "window_update": lambda stream: frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1"),
    "window_update, stream": lambda stream: frame(WINDOW_UPDATE, 0, stream, b"\0\0\0\1"),
    "unknown": lambda stream: frame(0xFA, 0, 0, b""),
    "unknown, 16 KB": lambda stream: frame(0xFA, 0, 0, b"\0" * 16384),
    "altsvc": lambda stream: frame(10, 0, stream, b'\0\0h2=":1"'),
    "priority": lambda stream: frame(PRIORITY, 0, stream, b"\0\0\0\0\1"),
    "priority_update": lambda stream: frame(16, 0, 0, stream.to_bytes(4, "big") + b"u=1"),
    "ping": lambda stream: frame(PING, 0, 0, b"hostile!"),
    "ping, acknowledged": lambda stream: frame(PING, ACK, 0, b"hostile!"),
    "settings": lambda stream: frame(SETTINGS),
    "settings, values": lambda stream: settings(streams=100, window=65535),
    "empty data": lambda stream: frame(DATA, 0, stream),
    "padded data": lambda stream: frame(DATA, PADDED, stream, b"\xff" + b"\0" * 255),
    "informational": lambda stream: frame(HEADERS, END_HEADERS, stream, status(b"103")),
    "continuation": lambda stream: frame(CONTINUATION, 0, stream, field(b"x", b"y")),
    "empty continuation": lambda stream: frame(CONTINUATION, 0, stream),
    "huge header block": lambda stream: frame(CONTINUATION, 0, stream, BIG),
    "rst of idle streams": lambda stream: frame(RST_STREAM, 0, 0x7FFFFFF1, b"\0\0\0\x08"),
    "rst of ended streams": lambda stream: frame(RST_STREAM, 0, 1, b"\0\0\0\x08"),
    "push_promise": lambda stream: frame(PUSH_PROMISE, END_HEADERS, stream, b"\0\0\0\2" + OK),
    "goaway": lambda stream: goaway(0x7FFFFFFF),
}
FLOODS_BEGIN = {"empty data": END_HEADERS, "padded data": END_HEADERS, "continuation": 0, "empty continuation": 0,
                "huge header block": 0}  # fmt: skip


def whole(block, flags=END_HEADERS):
    return lambda stream: frame(HEADERS, flags, stream, block)


LAST = END_HEADERS | END_STREAM
# Incomplete responses; the word after each ends the connection.
HALVES = {
    "block without end, FIN": (whole(OK, END_STREAM), "fin"),
    "block without end, RST": (whole(OK, END_STREAM), "reset"),
    "block without end, close_notify": (whole(OK, END_STREAM), "close_notify"),
    "block without end, silence": (whole(OK, END_STREAM), "silence"),
    "frame without end, FIN": (lambda stream: frame(HEADERS, LAST, stream, OK + b"\x88" * 9)[:-9], "fin"),
    "HPACK: index 0": (whole(OK + b"\x80", LAST), None),
    "HPACK: no such index": (whole(OK + b"\xff\xff\xff\xff\x0f", LAST), None),
    "HPACK: cut string": (whole(OK + b"\x00\x7fx", LAST), None),
    "second :status 200": (whole(OK + OK, LAST), None),
    "second :status 400": (whole(OK + b"\x8c", LAST), None),
    "second :status, trailers": (
        lambda s: frame(HEADERS, END_HEADERS, s, OK) + frame(HEADERS, LAST, s, b"\x8c"),
        None,
    ),
    ":status behind a field": (whole(field(b"apns-id", b"x") + OK, LAST), None),
    "another pseudo-header": (whole(OK + field(b":path", b"/"), LAST), None),
    "no :status": (whole(field(b"apns-id", b"x"), LAST), None),
    "200, no end, FIN": (whole(OK), "fin"),
    "200, no end, RST": (whole(OK), "reset"),
    "200, no end, close_notify": (whole(OK), "close_notify"),
    "200, no end, silence": (whole(OK), "silence"),
    "200, REFUSED_STREAM": (lambda s: whole(OK)(s) + frame(RST_STREAM, 0, s, b"\0\0\0\7"), None),
    "200, INTERNAL_ERROR": (lambda s: whole(OK)(s) + frame(RST_STREAM, 0, s, b"\0\0\0\2"), None),
    "200, CANCEL": (lambda s: whole(OK)(s) + frame(RST_STREAM, 0, s, b"\0\0\0\x08"), None),
    "200, RST with NO_ERROR": (lambda s: whole(OK)(s) + frame(RST_STREAM, 0, s, b"\0\0\0\0"), None),
    "DATA before HEADERS": (lambda s: frame(DATA, 0, s, b"{}") + whole(OK, LAST)(s), None),
    "DATA alone": (lambda s: frame(DATA, END_STREAM, s, b"{}"), None),
    "answer on an idle stream": (lambda s: whole(OK, LAST)(0x7FFFFFF1), None),
    "answer on an even stream": (lambda s: whole(OK, LAST)(2), None),
    "answer on stream 0": (lambda s: whole(OK, LAST)(0), None),
    "1xx, silence": (whole(status(b"103")), "silence"),
    "1xx with the end": (whole(status(b"103"), LAST), None),
    "101 with the end": (whole(status(b"101"), LAST), None),
    ":status 99": (whole(status(b"99"), LAST), None),
    ":status 1000": (whole(status(b"1000"), LAST), None),
    ":status abc": (whole(status(b"abc"), LAST), None),
    ":status 20": (whole(status(b"20"), LAST), None),
    ":status 2000": (whole(status(b"2000"), LAST), None),
    ":status 0200": (whole(status(b"0200"), LAST), None),
    ":status +200": (whole(status(b"+200"), LAST), None),
    ":status empty": (whole(status(b""), LAST), None),
    "200 with a content-length of 5": (whole(OK + field(b"content-length", b"5"), LAST), None),
    "400, body cut, FIN": (lambda s: whole(b"\x8c")(s) + frame(DATA, 0, s, JSON_400[:9]), "fin"),
    "400, body cut, RST_STREAM": (
        lambda s: whole(b"\x8c")(s) + frame(DATA, 0, s, JSON_400[:9]) + frame(RST_STREAM, 0, s, b"\0\0\0\2"),
        None,
    ),
}


class Connection:
    """The service's half of one connection, healthy except for the peer's `harm`."""

    def __init__(self, peer, link, number):
        self.peer, self.link, self.number = peer, link, number
        self.come = bytearray()
        self.has_preface = False
        self.streams = {}  # open ones, with their payloads so far
        self.requests = []  # complete but not yet handled: stream, number
        self.open = []  # complete but unanswered
        self.count = 0

    def read(self, came):
        self.come += came
        at = 0
        if not self.has_preface:
            if len(self.come) < len(PREFACE):
                return
            assert self.come.startswith(PREFACE), bytes(self.come[:24])
            at, self.has_preface = len(PREFACE), True
        come, out = self.come, self.link.out
        while len(come) - at >= 9:
            length = int.from_bytes(come[at : at + 3], "big")
            end = at + 9 + length
            if len(come) < end:
                break
            kind, flags, stream = come[at + 3], come[at + 4], int.from_bytes(come[at + 5 : at + 9], "big")
            if kind == HEADERS:
                self.streams[stream] = b""
            elif kind == DATA and stream in self.streams:
                self.streams[stream] += come[at + 9 : end]
                if flags & END_STREAM:
                    self.requests.append((stream, number_in(self.streams.pop(stream))))
            elif kind == SETTINGS and not flags & ACK:
                out += frame(SETTINGS, ACK)
            elif kind == PING and not flags & ACK:
                out += frame(PING, ACK, 0, bytes(come[at + 9 : end]))
            elif kind == RST_STREAM:
                self.streams.pop(stream, None)
                self.open = [each for each in self.open if each[0] != stream]
            elif kind == GOAWAY:
                self.peer.ledger.notes["goaway"] = come[at + 17 : end].decode(errors="replace")
            at = end
        del come[:at]
        with self.peer.ledger.lock:
            for _, n in self.requests:
                self.peer.ledger.deliveries[n] += 1

    def taken(self):
        """The requests completed since the last call."""
        requests, self.requests = self.requests, []
        self.count += len(requests)
        return requests

    def accept(self, stream, n):
        self.link.out += answer(stream)
        with self.peer.ledger.lock:
            self.peer.ledger.accepted.add(n)

    def refuse(self, stream, code, reason):
        self.link.out += answer(stream, code, reason)

    def disown(self, n):
        """For a request refused as not processed: it arrived but was not delivered."""
        with self.peer.ledger.lock:
            self.peer.ledger.deliveries[n] -= 1
            self.peer.ledger.refused[n] += 1

    def feel(self):
        self.peer.ledger.felt_once()

    def end(self, way):
        self.link.flush()
        self.link.end(way)


class Hostile(Peer):
    def __init__(self, directory, options):
        super().__init__(directory, options)
        self.tls = self.context(["h2"])
        self.harm = getattr(self, self.option("harm"))

    def serve(self, plain, number):
        link = Link(plain, self.tls)
        own = Connection(self, link, number)
        streams, window = int(self.number("streams", 1000)), int(self.number("stream_window", 65535))
        link.out += settings(streams=streams, window=window)
        link.out += frame(WINDOW_UPDATE, 0, 0, (1 << 24).to_bytes(4, "big"))
        self.harm(own)

    def requests(self, own, seconds=0.02, reading=True):
        """The requests completed in that time."""
        own.read(own.link.step(seconds, reading))
        return own.taken()

    # ---- Floods of `kind` after `after` requests; with reading=0 stops reading then

    def flood(self, own):
        kind, after = self.option("kind"), int(self.number("after", 1))
        is_idle, pace = self.option("when") == "idle", self.number("pace_ms")
        stream, waiting = 1, []
        while own.count < after:
            for stream, n in self.requests(own):
                if is_idle:
                    own.accept(stream, n)
                else:
                    waiting.append((stream, n))
        if kind == "rst of ended streams" and waiting:
            own.accept(*waiting.pop(0))
        own.link.flush()
        if kind in FLOODS_BEGIN:
            own.link.out += frame(HEADERS, FLOODS_BEGIN[kind], stream, OK)
        unit = FLOODS[kind](stream)
        blob = unit * max(1, 65536 // len(unit))
        reading, due = self.option("reading") != "0", time.monotonic()
        while True:
            if pace and time.monotonic() >= due:
                due += pace / 1000
                own.link.out += unit
                own.feel()
            elif not pace:
                own.link.fill(blob)
                own.feel()
            waiting += self.requests(own, 0.0005 if pace else 0.01, reading)
            # An occasional response must not excuse the rest.
            if self.option("answers") and waiting and time.monotonic() >= due:
                due = time.monotonic() + 0.05
                own.accept(*waiting.pop())

    def trickle(self, own):
        """A frame that never ends, a byte at a time."""
        while not own.count:
            self.requests(own)
        own.link.out += (1 << 14).to_bytes(3, "big") + bytes([int(self.number("frame")), 0]) + b"\0\0\0\0"
        due = time.monotonic()
        while True:
            if time.monotonic() >= due:
                due += self.number("pace_ms") / 1000
                own.link.out += b"\0"
                own.feel()
            self.requests(own)

    def half_record(self, own):
        """The same one layer below: a TLS record that never ends."""
        while not own.count:
            self.requests(own)
        own.link.flush()
        descriptor, due = own.link.sock.fileno(), time.monotonic()
        os.write(descriptor, b"\x17\x03\x03\x40\x00")
        while True:
            if time.monotonic() >= due:
                due += self.number("pace_ms") / 1000
                os.write(descriptor, b"\0")
                own.feel()
            self.requests(own)

    # ---- Incomplete responses to each fifth notification

    def halves(self, own):
        make, way = HALVES[self.option("kind")]
        while True:
            for stream, n in self.requests(own):
                if n % 5 != 2:
                    own.accept(stream, n)
                    continue
                own.link.out += make(stream)
                own.feel()
                if way == "silence":
                    continue
                if way:
                    own.end(way)

    # ---- Some requests get a response, and the connection drops after `every` requests

    def duplicates(self, own):
        every, what, way = int(self.number("every")), self.option("answers"), self.option("way", "fin")
        seen, quiet_since = 0, time.monotonic()
        while True:
            came = self.requests(own, 0.01)
            for stream, n in came:
                quiet_since = time.monotonic()
                seen += 1
                if what == "one 200" and seen == 1 or what == "some 200s" and seen % 10 == 1:
                    own.accept(stream, n)
                elif what == "a 400" and seen == 1:
                    own.refuse(stream, 400, "BadDeviceToken")
                elif what == "a 503" and seen == 1:
                    own.feel()
                    own.refuse(stream, 503, "ServiceUnavailable")
                if seen == every:
                    own.feel()
                    own.end(way)
            # If the provider sends fewer in a burst, the rest never arrives.
            if seen and time.monotonic() - quiet_since > 0.03:
                own.feel()
                own.end(way)

    # ---- Some notifications end the connection when they arrive

    def poison(self, own):
        poisonous, way = {int(n) for n in self.option("at").split("+")}, self.option("way")
        while True:
            for stream, n in self.requests(own):
                if n in poisonous:
                    own.feel()
                    # Finished responses are written; later requests of the same read are dropped.
                    own.end(way)
                own.accept(stream, n)

    # ---- Some devices never get a response

    def unanswered(self, own):
        """Never answers the numbers `at`, and all others immediately. It allows `streams`."""
        at, others = {int(n) for n in self.option("at").split("+")}, None
        while True:
            for stream, n in self.requests(own):
                if n in at:
                    own.feel()
                    continue
                own.accept(stream, n)
                if others:
                    pause = round(1000 * (time.monotonic() - others))
                    self.ledger.notes["pause_ms"] = max(pause, self.ledger.notes.get("pause_ms", 0))
                others = time.monotonic()

    # ---- One device, or all, get a status other than 200

    def refusing(self, own):
        """`code` and `reason` for number `at`, or for all without `at`, for `seconds`."""
        code, reason = int(self.number("code")), self.option("reason")
        at, seconds = self.option("at"), self.number("seconds", 1e9)
        while True:
            for stream, n in self.requests(own):
                if (at is None or int(at) == n) and time.monotonic() - self.begun < seconds:
                    own.feel()
                    own.refuse(stream, code, reason)
                else:
                    own.accept(stream, n)

    # ---- Storms

    def goaway_at_once(self, own):
        for _, n in self.requests(own):
            own.disown(n)
        own.feel()
        own.link.out += goaway(0, NO_ERROR, b'{"reason":"Shutdown"}')
        own.end(self.option("way", "fin"))

    def refused_streams(self, own):
        """Refuses every stream, which may be resent each time."""
        while True:
            for stream, n in self.requests(own):
                own.feel()
                own.link.out += frame(RST_STREAM, 0, stream, REFUSED_STREAM.to_bytes(4, "big"))
                own.disown(n)

    def goaway_refusing(self, own):
        """Reads requests, then reports with GOAWAY that it processed none."""
        while not own.count:
            for _, n in self.requests(own):
                own.disown(n)
        own.feel()
        own.link.out += goaway(0, NO_ERROR, b'{"reason":"Shutdown"}')
        own.end(self.option("way", "fin"))

    def goaway_answering(self, own):
        """Reports with GOAWAY that it processed none, but delivers and answers all."""
        while not own.count:
            waiting = self.requests(own)
        own.feel()
        own.link.out += goaway(0)
        while True:
            for stream, n in waiting:
                own.accept(stream, n)
            waiting = self.requests(own)

    # ---- Healthy services, also behind another peer

    def fussy(self, own):
        """Answers everything and sends many other frames, none of them a reason to close the connection."""
        while True:
            for stream, n in self.requests(own):
                own.link.out += frame(WINDOW_UPDATE, 0, 0, b"\0\0\1\0") + frame(0xFA, 0, 0, b"grease")
                own.link.out += frame(HEADERS, END_HEADERS, stream, status(b"103") + field(b"content-length", b"7"))
                if n % 10 == 0:
                    own.link.out += frame(PING, 0, 0, b"are you?") + settings(streams=900 + n % 200)
                own.feel()
                own.accept(stream, n)

    def good(self, own):
        """Answers everything, and closes each connection gracefully after `after`."""
        after = int(self.number("after", 1 << 30))
        while own.count < after:
            for stream, n in self.requests(own):
                own.accept(stream, n)
        own.link.out += goaway(stream)
        own.end("close_notify")

    # ---- Silence

    def silent(self, own):
        """Answers the first `after` requests and then nothing, and with reading=0 reads nothing."""
        after, answered, reading = int(self.number("after")), 0, True
        if self.option("stream_window") == "0":
            own.feel()
        while True:
            for stream, n in self.requests(own, reading=reading):
                if answered < after:
                    own.accept(stream, n)
                    answered += 1
                else:
                    own.feel()
            if own.count >= after and self.option("reading") == "0":
                if reading:
                    own.feel()
                reading = False

    def open_end(self, own):
        """Sends close_notify once there are requests, but keeps the socket open."""
        while not own.count:
            self.requests(own)
        own.feel()
        with contextlib.suppress(OSError):
            own.link.sock.unwrap()
        time.sleep(60)  # The peer stays silent until it is killed.

    def deaf(self, own):
        """Never reads a byte."""
        own.feel()
        while True:
            own.link.step(0.05, reading=False)
