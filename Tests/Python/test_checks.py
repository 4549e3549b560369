"""Arguments refused before sending, with the status that a gateway would have rejected them with."""

import time

import libapns
import pytest

TOKEN = bytes(range(32))
PAYLOAD = b'{"aps":{}}'

UNSOUND = [
    ({"payload": b'{"aps":{"badge":"9"}}'}, "'badge' is not an integer"),
    ({"payload": '{"aps":{}'}, "the JSON ends too early"),
    ({"payload": {"aps": {"badge": "9"}}}, "'badge' is not an integer"),
    ({"expiry": 3600}, "looks like a duration"),
    ({"expiry": int(time.time() * 1000)}, "looks like milliseconds"),
    ({"expiry": int(time.time()) - 5000}, "s ago"),
]


@pytest.mark.parametrize("given, said", UNSOUND)
def test_checks_are_on_by_default(start, connect, given, said):
    simulator = start()
    push = {"payload": PAYLOAD, "expiry": 0, **given}
    for options in ({}, {"checks": libapns.Check.ALL}, {"checks": True}, {"checks": None}):
        session = connect(simulator, **options)
        with pytest.raises(libapns.ArgumentError, match=said) as caught:
            session.send(TOKEN, **push)
        assert caught.value.reject is libapns.Reject.PROCESSING_ERROR
        with pytest.raises(libapns.ArgumentError, match=said) as caught:
            session.send_many([(TOKEN, PAYLOAD), libapns.Notification(TOKEN, **push)])
        assert caught.value.taken == session.stats().taken == 1
    for options in ({"checks": 0}, {"checks": False}):
        session = connect(simulator, **options)
        session.send(TOKEN, **push)
        assert session.stats().taken == 1


def test_each_check_alone(start, connect):
    simulator = start()
    payloads, expiries = connect(simulator, checks=libapns.Check.PAYLOAD), connect(simulator, checks=libapns.Check.EXPIRY)
    payloads.send(TOKEN, PAYLOAD, expiry=3600)
    expiries.send(TOKEN, b"{")
    with pytest.raises(libapns.ArgumentError):
        payloads.send(TOKEN, b"{")
    with pytest.raises(libapns.ArgumentError):
        expiries.send(TOKEN, PAYLOAD, expiry=3600)
    with pytest.raises(libapns.ArgumentError, match="checks is 4"):
        connect(simulator, checks=4)
    with pytest.raises(ValueError, match="checks is not between 0 and"):
        connect(simulator, checks=-1)


@pytest.mark.parametrize(
    "token, payload, reject",
    [
        (b"", PAYLOAD, libapns.Reject.MISSING_TOKEN),
        ("", PAYLOAD, libapns.Reject.MISSING_TOKEN),
        (bytes(101), PAYLOAD, libapns.Reject.INVALID_TOKEN_SIZE),
        ("0g", PAYLOAD, libapns.Reject.INVALID_TOKEN),
        (b"ab" * 32, PAYLOAD, libapns.Reject.INVALID_TOKEN),
        (TOKEN, b"", libapns.Reject.MISSING_PAYLOAD),
        (TOKEN, b" " * 5000, libapns.Reject.INVALID_PAYLOAD_SIZE),
    ],
)
def test_a_refusal_has_the_status_of_a_gateway(start, connect, token, payload, reject):
    session = connect(start())
    with pytest.raises(libapns.ArgumentError) as caught:
        session.send(token, payload)
    assert caught.value.reject is reject
    with pytest.raises(libapns.ArgumentError) as caught:
        session.send_many([(token, payload)])
    assert caught.value.reject is reject and session.stats().taken == 0


def test_other_errors_have_no_reject_status(start, connect):
    session = connect(start())
    session.close(0)
    with pytest.raises(libapns.ClosedError) as caught:
        session.send(TOKEN, PAYLOAD)
    assert caught.value.reject is libapns.Reject.NONE
