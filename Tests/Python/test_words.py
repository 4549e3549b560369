"""The texts of events, kinds and errors: tokens, reasons, names."""

import subprocess
import sys

import libapns
import pytest

from test_http2 import needs_http2

TOKEN = bytes(range(32))
PAYLOAD = b'{"aps":{}}'


def event(kind, reject=libapns.Reject.NONE, **more):
    fields = {"http_status": 0, "reason_text": "", "token": TOKEN, "identifier": 7}
    return libapns.Event(kind=kind, reject=reject, **{**fields, **more})


# ---- Tokens


@pytest.mark.parametrize("token", [TOKEN, b"\xff", bytes(range(39)), bytes(range(40)), bytes(range(100))])
def test_an_event_has_its_token(start, connect, token):
    session = connect(start(), outcomes="each")
    session.send(token, PAYLOAD)
    session.send(token.hex(), PAYLOAD, user_data="mine")
    session.send_many([(token, PAYLOAD), (token.hex(), PAYLOAD), (bytearray(token), PAYLOAD, "too")])
    session.drain()
    events = list(session)
    assert [each.token for each in events] == [token] * 5
    assert [each.user_data for each in events] == [None, "mine", None, None, "too"]


@needs_http2
def test_a_notification_rejected_over_http2_has_its_token(start, who):
    simulator = start("--http2-port", "0", faults={"bad_tokens": ["ff"]})
    with libapns.Session(who, host="127.0.0.1", port=simulator.ready["http2_port"], outcomes="failures") as session:
        session.send_many([(TOKEN, PAYLOAD), (b"\xff", PAYLOAD), (TOKEN, PAYLOAD)])
    (refused,) = session
    assert refused.token == b"\xff" and refused.why.startswith("rejected: BadDeviceToken (HTTP 400): ")


def test_tokens_of_thousands_in_flight(start, connect):
    session = connect(start(faults={"bad_every": 97}))
    tokens = [number.to_bytes(32 if number % 3 else 64, "big") for number in range(20_000)]
    session.send_many((token, PAYLOAD, token) for token in tokens)
    session.drain()
    events = list(session)
    assert len(events) > 200
    assert all(each.token == each.user_data for each in events)


def test_unresolved_notifications_have_their_tokens_after_close(start, connect):
    session = connect(start(faults={"stall_after_bytes": 0, "stall_ms": 100000}))
    session.send(TOKEN, PAYLOAD)
    session.close(0)
    (unknown,) = session
    assert (str(unknown.kind), unknown.token) == ("unknown", TOKEN)
    assert unknown.reason_text == "the session was closed before it was proven"
    why = "unknown: no answer came"
    assert unknown.why == f"{why}: {unknown.reason_text}"


@pytest.mark.parametrize("digits", ["ab" * 32, "AB" * 40, "<5f79cfda 4d01aa3a 11c833f9 7b52df2a 7a210252 e21b01fa "
                                    "a73d3463 9ee0e412>"])  # fmt: skip
def test_hex_digits_as_bytes_are_refused(start, connect, digits):
    session = connect(start())
    given = digits.encode()
    for refused in (
        lambda: session.send(given, PAYLOAD),
        lambda: session.send(bytearray(given), PAYLOAD),
        lambda: session.send_many([(given, PAYLOAD)]),
        lambda: session.send_many([(memoryview(given), PAYLOAD, 1)]),
        lambda: libapns.token_to_hex(given),
    ):
        with pytest.raises(libapns.ArgumentError, match=r"hex digits as bytes, not the \d+ bytes .* pass them as str"):
            refused()
    assert session.stats().taken == 0
    session.send(digits, PAYLOAD)
    # Bytes that could be a token are one: with a byte that is not a digit, or too few for the
    # digits of a token.
    for token in (b"ab" * 31 + b"\x00a", b"a" * 32, b"a" * 63):
        session.send(token, PAYLOAD)


# ---- Words


def test_a_kind_has_a_text():
    assert [str(kind) for kind in libapns.EventKind] == ["accepted", "rejected", "unknown", "cancelled", "expired"]
    assert f"{libapns.EventKind.REJECTED} {libapns.EventKind.REJECTED:>10} {libapns.EventKind.REJECTED:d}" == "rejected   rejected 2"
    assert "%s %d" % (libapns.EventKind.UNKNOWN, libapns.EventKind.UNKNOWN) == "unknown 3"
    assert str(libapns.Reason.TOPIC_DISALLOWED) == f"{libapns.Reason.TOPIC_DISALLOWED}" == "TopicDisallowed"
    assert str(libapns.Reject.INVALID_TOKEN) == "invalid token"
    assert str(libapns.PushType.LIVEACTIVITY) == "liveactivity"


@pytest.mark.parametrize("reason", [each for each in libapns.Reason if each.http_status])
def test_why_of_every_reason(reason):
    refused = event(libapns.EventKind.REJECTED, reason=reason, http_status=reason.http_status, reason_text=reason.text)
    begin = f"rejected: {reason} (HTTP {reason.http_status}): "
    assert refused.why.startswith(begin) and len(refused.why) > len(begin) + 10
    late = event(libapns.EventKind.UNKNOWN, reason=reason, http_status=reason.http_status, reason_text=reason.text)
    assert "the last answer: " + refused.why[len("rejected: ") :] in late.why


@pytest.mark.parametrize("reject", [each for each in libapns.Reject if each])
def test_why_of_every_status(reject):
    begin = f"rejected: {reject} (status {int(reject)}): "
    why = event(libapns.EventKind.REJECTED, reject).why
    assert why.startswith(begin) and len(why) > len(begin) + 10


def test_why_of_other_events():
    assert event(libapns.EventKind.ACCEPTED).why == "accepted"
    assert event(libapns.EventKind.ACCEPTED, http_status=200).why == "accepted (HTTP 200)"
    assert event(libapns.EventKind.REJECTED, libapns.Reject(77)).why == "rejected: unlisted status (status 77)"
    odd = event(libapns.EventKind.REJECTED, reason=libapns.Reason.OTHER, http_status=418, reason_text="Teapot")
    assert odd.why == "rejected: Teapot (HTTP 418)"
    silent = event(libapns.EventKind.REJECTED, http_status=502)
    assert silent.why == "rejected: HTTP 502"
    gone = event(libapns.EventKind.REJECTED, reason=libapns.Reason.UNREGISTERED, http_status=410, timestamp=1290000000,
                 reason_text="Unregistered")  # fmt: skip
    assert gone.why == ("rejected: Unregistered (HTTP 410): the app is no longer on the device, "
                        "since 2010-11-17 13:20:00 UTC")  # fmt: skip
    # Times outside the calendar cause no error.
    for timestamp in (1 << 62, -1):
        assert "Unregistered (HTTP 410)" in gone_since(timestamp)


def gone_since(timestamp):
    return event(libapns.EventKind.REJECTED, reason=libapns.Reason.UNREGISTERED, http_status=410, timestamp=timestamp,
                 reason_text="Unregistered").why  # fmt: skip


def test_an_event_s_repr():
    refused = event(libapns.EventKind.REJECTED, libapns.Reject.SHUTDOWN, reason=libapns.Reason.TOPIC_DISALLOWED, http_status=400,
                    reason_text="TopicDisallowed")  # fmt: skip
    assert repr(refused) == (
        "libapns.Event(kind=REJECTED, reject=SHUTDOWN, reason=TopicDisallowed, http_status=400, identifier=7, "
        f"token={TOKEN.hex()}, user_data=None)"
    )
    assert repr(event(libapns.EventKind.ACCEPTED)) == (
        f"libapns.Event(kind=ACCEPTED, identifier=7, token={TOKEN.hex()}, user_data=None)"
    )


# ---- Names


def test_a_traceback_has_the_public_class_name():
    program = """
import libapns
libapns.Session(libapns.Credentials(dangerously_accept_any_peer=True), host="127.0.0.1", port=1, protocol="binary").connect()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("libapns.NetworkError: cannot connect to 127.0.0.1:1")


def test_every_class_belongs_to_libapns():
    for name in libapns.__all__:
        value = getattr(libapns, name)
        if isinstance(value, type):
            assert (value.__module__, value.__qualname__) == ("libapns", name)
