"""The rows of the table: which peer, which calls against it, and what is to come of it."""

import dataclasses
import itertools

import http2_peer

PROTOCOLS = {
    "http2": ("protocol=http2",),
    "enhanced": ("protocol=binary", "format=2"),
    "framed": ("protocol=binary", "format=3"),
}


@dataclasses.dataclass(frozen=True)
class Row:
    group: str
    name: str
    peer: tuple  # the words of peer.py, or of tls_peer with "tls_peer" before them
    provider: tuple  # its options, name=value
    steps: str  # its calls
    # Those that are refused or poisonous, how they may end, and whether all others get through.
    bad: frozenset = frozenset()
    bad_ends: tuple = ("unknown", "rejected")
    others_pass: bool = False
    # At most so many of all came more than once.
    duplicated: int = None
    connections: int = None
    refusals: int = 10  # how often one may arrive that the peer says it did not process
    is_counted: bool = True  # the peer knows which notifications arrived
    # No call but next_event may fail.
    all_succeed: bool = False
    # An earlier TLS session has to be offered, or must never be.
    offers: bool = None
    statuses: tuple = ()  # (call, status) that has to be met, and no failure but it
    note: str = ""  # what the peer noted by that name is shown
    cpu: float = 0.3
    memory_mb: int = 40
    quick: bool = False


def planned(row):
    """How many notifications the steps are to send."""
    steps = (step.split(":") for step in row.steps.split())
    return sum(int(step[1]) for step in steps if step[0] in ("send", "push"))


IN_FLIGHT = "send:20 drain:700 next:300 send:1 close:300"
IDLE = "send:5 finish:300:2000 nap:100 next:300 send:1 drain:500 close:300"
SHORT = ("patience_ms=300",)


def floods():
    quick = {
        "window_update",
        "unknown",
        "priority",
        "ping",
        "settings",
        "informational",
        "continuation",
        "empty data",
    }
    for kind, when, reading in itertools.product(http2_peer.FLOODS, ("flight", "idle"), (1, 0)):
        peer = ("http2", "harm=flood", f"kind={kind}", f"when={when}", f"reading={reading}")
        peer += (f"after={5 if when == 'idle' else 1}",)
        name = f"{kind}, {'idle' if when == 'idle' else 'in flight'}, {'read' if reading else 'deaf'}"
        is_quick = (
            kind in quick
            and (when, reading) == ("flight", 1)
            or kind == "window_update"
            or (kind in ("ping", "settings") and not reading and when == "flight")
        )
        yield Row(
            "HTTP/2 floods", name, peer, SHORT, IDLE if when == "idle" else IN_FLIGHT, cpu=0.5, quick=is_quick
        )
    peer = ("http2", "harm=flood", "kind=window_update", "when=flight", "after=1")
    yield Row(
        "HTTP/2 floods", "window_update, 4 connections", peer, ("connections=4", *SHORT), IN_FLIGHT, cpu=0.5
    )
    yield Row(
        "HTTP/2 floods",
        "window_update, freed unclosed",
        peer,
        (*SHORT, "closes=0"),
        "send:20 drain:500",
        cpu=0.5,
        quick=True,
    )
    for kind, pace in itertools.product(("ping", "window_update", "informational", "unknown"), (1, 20)):
        peer = ("http2", "harm=flood", f"kind={kind}", f"pace_ms={pace}", "when=flight")
        yield Row("HTTP/2 floods", f"{kind}, each {pace} ms", peer, SHORT, IN_FLIGHT, quick=kind == "ping")
    yield Row(
        "HTTP/2 floods",
        "a service in order that says much",
        ("http2", "harm=fussy"),
        (),
        "send:20000 finish:1000:10000 close:300",
        others_pass=True,
        connections=1,
        duplicated=0,
        cpu=0.9,
        quick=True,
    )
    for kind in ("window_update", "unknown"):
        peer = ("http2", "harm=flood", f"kind={kind}", "when=flight", "answers=1")
        name = f"{kind}, and an answer now and then"
        yield Row("HTTP/2 floods", name, peer, SHORT, IN_FLIGHT, cpu=0.5, quick=kind == "unknown")
    peer = ("http2", "harm=half_record", "pace_ms=50")
    yield Row("HTTP/2 floods", "a TLS record byte by byte", peer, SHORT, IN_FLIGHT, quick=True)
    for name, number in (("DATA", 0), ("HEADERS", 1), ("SETTINGS", 4), ("unknown", 250)):
        peer = ("http2", "harm=trickle", f"frame={number}", "pace_ms=50")
        yield Row("HTTP/2 floods", f"{name} byte by byte", peer, SHORT, IN_FLIGHT, quick=number == 1)
    for kind in (
        "garbage",
        "packets of identifier 0",
        "packets of strangers",
        "shutdown packets",
        "half packets",
    ):
        for reading in (1, 0):
            peer = ("binary", "harm=flood", f"kind={kind}", f"reading={reading}")
            yield Row(
                "binary floods",
                f"{kind}, {'read' if reading else 'deaf'}",
                peer,
                (*PROTOCOLS["framed"], *SHORT),
                IN_FLIGHT,
                cpu=0.5,
                quick=kind in ("garbage", "packets of identifier 0"),
            )
    peer = ("binary", "harm=flood", "kind=garbage", "pace_ms=20")
    yield Row(
        "binary floods", "garbage byte by byte", peer, (*PROTOCOLS["framed"], *SHORT), IN_FLIGHT, quick=True
    )


def tls_floods():
    for kind, mode, protocol in itertools.product(
        ("tickets", "key updates", "key updates, requested", "empty records", "renegotiation"),
        ((), ("deaf",)),
        ("http2", "framed"),
    ):
        name = f"{kind}, {protocol}{', deaf' if mode else ''}"
        yield Row(
            "TLS floods",
            name,
            ("tls_peer", kind, *mode),
            (*PROTOCOLS[protocol], *SHORT),
            IN_FLIGHT,
            cpu=0.5,
            is_counted=False,
            quick=protocol == "http2" and not mode or (kind, mode) == ("tickets", ()),
        )
    for kind in ("warnings", "change cipher spec", "hello requests", "empty records"):
        yield Row(
            "TLS floods",
            f"{kind} for a ServerHello",
            ("tcp", "harm=flood_of_handshake", f"kind={kind}"),
            SHORT,
            "connect send:1 close:300",
            cpu=0.5,
            quick=kind == "warnings",
        )


def halves():
    quick = {
        "block without end, FIN", "HPACK: index 0", "second :status 400", "200, no end, RST",
        "200, REFUSED_STREAM", "200, INTERNAL_ERROR", "DATA before HEADERS", "answer on an idle stream",
        "1xx, silence", ":status 1000", "400, body cut, FIN",
    }  # fmt: skip
    for kind in http2_peer.HALVES:
        peer = ("http2", "harm=halves", f"kind={kind}")
        yield Row(
            "half answers",
            kind,
            peer,
            ("answer_timeout_ms=300", "reconnect_pause_max_ms=100"),
            "send:20 finish:500:8000 close:300",
            frozenset({2, 7, 12, 17}),
            ("unknown",),
            others_pass=True,
            quick=kind in quick,
        )


def duplicates():
    for every, answers, who in itertools.product(
        (300, 30, 3, 1), ("one 200", "some 200s", "a 400", "a 503", "nothing"), ("token", "certificate")
    ):
        peer = ("http2", "harm=duplicates", f"every={every}", f"answers={answers}")
        yield Row(
            "duplicates",
            f"{answers}, dropped after {every}, {who}",
            peer,
            (f"authentication={who}", "reconnect_pause_max_ms=100", "patience_ms=6000"),
            "send:2000 finish:500:6000 close:500",
            frozenset(range(2000)) if answers == "a 400" else frozenset(),
            ("accepted", "rejected", "unknown"),
            cpu=0.6,
            connections=600 if answers == "a 503" else None,
            quick=(every, answers) in ((300, "one 200"), (30, "some 200s"), (300, "a 503"))
            and who == "token",
        )


def poison():
    for protocol, way, at in itertools.product(
        PROTOCOLS, ("fin", "reset", "close_notify"), ("0", "500", "999", "200+700")
    ):
        peer = ("http2" if protocol == "http2" else "binary", "harm=poison", f"at={at}", f"way={way}")
        quick = {"http2": ("fin", "500"), "enhanced": ("close_notify", "0"), "framed": ("reset", "200+700")}[
            protocol
        ]
        yield Row(
            "poison",
            f"{protocol}, {way}, at {at} of 1000",
            peer,
            (*PROTOCOLS[protocol], "reconnect_pause_max_ms=100", "answer_timeout_ms=5000"),
            "send:1000 finish:1000:15000 close:500",
            frozenset(int(n) for n in at.split("+")),
            ("unknown",),
            others_pass=True,
            cpu=0.6,
            quick=quick == (way, at),
        )


def entries():
    yield Row(
        "one stays",
        "429 for ever",
        ("http2", "harm=refusing", "code=429", "reason=TooManyRequests", "at=5"),
        (),
        "send:20000 drain:2500 close:500",
        frozenset({5}),
        others_pass=True,
        cpu=0.9,
        quick=True,
    )
    refusing = ("http2", "harm=refusing", "code=400", "reason=BadDeviceToken", "at=5")
    rejecting = ("binary", "harm=late_rejection", "at=5", "delay_ms=0")
    untaken = ("window=65536", "report_accepted=0", "takes_events=0")
    for name, peer, protocol in (("HTTP/2", refusing, "http2"), ("binary", rejecting, "framed")):
        yield Row(
            "one stays",
            f"a rejection that nobody takes, {name}",
            peer,
            (*PROTOCOLS[protocol], *untaken),
            "send:20000 drain:2500 close:500",
            frozenset({5}),
            ("rejected",),
            others_pass=True,
            cpu=0.9,
            quick=True,
        )
        yield Row(
            "one stays",
            f"no event is taken: FULL, {name}",
            peer,
            (*PROTOCOLS[protocol], "window=65536", "takes_events=0", "patience_ms=0"),
            "send:20000 drain:1000 take send:10 drain:1000 close:500",
            frozenset({5}),
            ("rejected",),
            cpu=0.9,
            statuses=(("send", "APNS_ERR_FULL"),),
            quick=True,
        )


def storms():
    for code, reason in ((503, "ServiceUnavailable"), (500, "InternalServerError"), (429, "TooManyRequests")):
        peer = ("http2", "harm=refusing", f"code={code}", f"reason={reason}")
        for name, steps in (
            ("a list", "send:200 drain:4000 close:300"),
            ("one by one", "push:200:20 close:300"),
        ):
            yield Row(
                "storms",
                f"{code} {reason} to all, {name}",
                peer,
                (),
                steps,
                frozenset(range(200)),
                connections=3,
                quick=code == 503 or code == 500 and name == "a list",
            )
    peer = ("http2", "harm=refusing", "code=503", "reason=ServiceUnavailable", "seconds=3")
    yield Row(
        "storms",
        "503 to all for 3 s",
        peer,
        (),
        "send:200 finish:4000:12000 close:300",
        connections=3,
        others_pass=True,
    )
    waits = "send:20 drain:2000 drain:2000 close:300"
    for harm, way in (("goaway_at_once", "fin"), ("goaway_at_once", "reset"), ("goaway_refusing", "fin")):
        yield Row(
            "storms",
            f"{harm.replace('_', ' ')}, {way}",
            ("http2", f"harm={harm}", f"way={way}"),
            ("patience_ms=400",),
            waits,
            connections=14,
            quick=way == "fin",
        )
    yield Row(
        "storms",
        "every stream refused",
        ("http2", "harm=refused_streams"),
        ("patience_ms=400",),
        waits,
        connections=14,
        quick=True,
    )
    for name, harm in (("handshake alert", ("harm=alert",)), ("accept and close", ("harm=accept_and_close",)),
                       ("accept and reset", ("harm=accept_and_close", "way=reset"))):  # fmt: skip
        for protocol in ("http2", "framed"):
            yield Row(
                "storms",
                f"{name}, {protocol}",
                ("tcp", *harm),
                (*PROTOCOLS[protocol], "patience_ms=3500"),
                "send:5 close:300",
                connections=14,
                quick=protocol == "http2",
            )


def trickle():
    for protocol, way in itertools.product(("enhanced", "framed"), ("fin", "reset")):
        peer = ("binary", "harm=closing", "after=250", f"way={way}")
        # 200 ms are 40 of them; the rest is for a machine that is busy.
        yield Row(
            "trickle",
            f"{protocol}, {way} after 250",
            peer,
            (*PROTOCOLS[protocol], "prove_after_ms=200"),
            "push:300:8 finish:1000:4000 close:300",
            others_pass=True,
            duplicated=100,
            quick=way == "reset",
        )
    yield Row(
        "late rejection",
        "the third of 20,000, 1 s late",
        ("binary", "harm=late_rejection", "at=3", "delay_ms=1000"),
        PROTOCOLS["framed"],
        "send:20000 finish:1000:20000 close:300",
        frozenset({3}),
        ("rejected",),
        others_pass=True,
        cpu=0.9,
        note="discarded",
        quick=True,
    )


def planted():
    twice = "send:5 finish:500:3000 nap:100 send:5 finish:500:3000 close:300"
    for harm, newest, protocol in itertools.product(
        ("alert_to_resumption", "reset_to_resumption"), ("1.2", "1.3"), ("http2", "framed")
    ):
        behind = "http2/harm=good/after=5" if protocol == "http2" else "binary/harm=closing/after=100000"
        yield Row(
            "planted sessions",
            f"{harm.replace('_', ' ')}, {newest}, {protocol}",
            ("tcp", f"harm={harm}", f"newest={newest}", f"behind={behind}"),
            PROTOCOLS[protocol],
            twice,
            others_pass=True,
            all_succeed=True,
            offers=True,
            connections=8,
            quick=harm.startswith("alert"),
        )
    for protocol in ("http2", "framed"):
        behind = "http2/harm=good" if protocol == "http2" else "binary/harm=closing/after=100000"
        yield Row(
            "planted sessions",
            f"reset behind the ticket, {protocol}",
            ("tcp", "harm=reset_after_ticket", "newest=1.2", f"behind={behind}"),
            PROTOCOLS[protocol],
            "send:5 finish:500:3000 close:300",
            others_pass=True,
            offers=False,
            note="planted",
            quick=True,
        )


def proxies():
    quick = {"byte by byte", "endless header", "control characters"}
    for harm in ("byte by byte", "header by header", "endless header", "endless line", "8 KB line", "200, then garbage",
                 "200, then silence", "control characters", "silence", "half a line, then end", "no HTTP"):  # fmt: skip
        for pace in (1000, 20) if "by" in harm else (1000,):
            name = f"{harm}, {pace} ms" if "by" in harm else harm
            yield Row(
                "evil proxies",
                name,
                ("proxy", f"harm={harm}", f"pace_ms={pace}"),
                ("connect_timeout_ms=600", *SHORT),
                "connect drain:300 send:1 next:200 close:200",
                quick=harm in quick and pace == 1000,
            )


def feedback():
    for name, harm, pace, cpu in (
        ("tuples without end", "endless", 0, 1.0), ("a byte each 100 ms", "bytes", 100, 0.3),
        ("a byte each 10 ms", "bytes", 10, 0.3), ("a tuple each 100 ms", "tuples", 100, 0.3),
        ("half a tuple, silence", "half a tuple", 0, 0.3), ("a token of 65,535 bytes", "huge token", 0, 0.5),
    ):  # fmt: skip
        yield Row(
            "endless feedback",
            name,
            ("feedback", f"harm={harm}", f"pace_ms={pace}"),
            ("patience_ms=1500",),
            "feedback:100000000",
            cpu=cpu,
            quick=pace != 10,
        )
    # A list may be given up as a whole, and each call says why.
    given_up = ("feedback_next", "APNS_ERR_PROTOCOL")
    for name, harm, pace, option, statuses in (
        ("a tuple each 20 ms, for 800 ms", "tuples", 20, "list_timeout_ms=800", (given_up,)),
        ("a byte each 20 ms, for 800 ms", "bytes", 20, "list_timeout_ms=800",
         (given_up, ("feedback_next", "APNS_ERR_TIMEOUT"))),
        ("tuples without end, 1,000 of them", "endless", 0, "tuples_max=1000", (given_up,)),
    ):  # fmt: skip
        peer = ("feedback", f"harm={harm}", f"pace_ms={pace}")
        yield Row("endless feedback", name, peer, ("patience_ms=3000", option), "feedback:100000000", cpu=1.0,
                  statuses=statuses, quick=harm != "bytes")  # fmt: skip


def silences():
    for reading in (1, 0):
        yield Row(
            "silence",
            f"mid-drain, HTTP/2, {'read' if reading else 'deaf'}",
            ("http2", "harm=silent", "after=50", f"reading={reading}"),
            SHORT,
            "send:100 drain:700 next:300 next:300 close:300",
            quick=True,
        )
    yield Row(
        "silence",
        "close_notify, and the socket stays, HTTP/2",
        ("http2", "harm=open_end"),
        SHORT,
        "send:20 drain:700 next:300 send:1 close:300",
        quick=True,
    )
    yield Row(
        "silence",
        "windows of 0, HTTP/2",
        ("http2", "harm=silent", "stream_window=0"),
        SHORT,
        "send:100 drain:700 next:300 close:300",
        quick=True,
    )
    yield Row(
        "silence",
        "mid-drain, binary",
        ("binary", "harm=silent"),
        (*PROTOCOLS["framed"], *SHORT),
        "send:100 drain:700 next:300 close:300",
        quick=True,
    )
    large = ("window=16777216", "payload=1900", *SHORT)
    for protocol in ("http2", "framed"):
        yield Row(
            "silence",
            f"nothing is read, {protocol}",
            ("http2" if protocol == "http2" else "binary", "harm=deaf"),
            (*PROTOCOLS[protocol], *large),
            "send:8000 drain:700 next:300 send:1 close:300",
            cpu=0.5,
            quick=True,
        )
        for name, harm in (("blackhole", ("harm=blackhole",)), ("no handshake", ("harm=silence",)),
                           ("a handshake byte by byte", ("harm=bytes_of_handshake", "pace_ms=100"))):  # fmt: skip
            yield Row(
                "silence",
                f"{name}, {protocol}",
                ("tcp", *harm),
                (*PROTOCOLS[protocol], *SHORT),
                "connect send:1 next:300 drain:300 close:300",
                quick=protocol == "http2",
            )


def rows():
    parts = (
        floods,
        tls_floods,
        halves,
        duplicates,
        poison,
        entries,
        storms,
        trickle,
        planted,
        proxies,
        feedback,
        silences,
    )
    return [row for part in parts for row in part()]
