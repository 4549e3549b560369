"""Attributes of Event that are written in Python; the class itself is written in C."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ._constants import EventKind
from ._meanings import REASONS, REJECTS

if TYPE_CHECKING:
    from ._core import Event

# Of the year 9999. A service may send a number that is no time.
_LAST_SECOND = 253_402_300_799


def _answer(event: Event) -> str:
    """What the service answered: "TopicDisallowed (HTTP 400): ..."."""
    name = event.reason_text or event.reason.text
    text = f"{name} (HTTP {event.http_status})" if event.reason else f"HTTP {event.http_status}"
    if words := REASONS.get(event.reason):
        text += f": {words}"
    if 0 < event.timestamp <= _LAST_SECOND:
        text += f", since {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(event.timestamp))} UTC"
    return text


def _why(event: Event) -> str:
    if event.kind is EventKind.ACCEPTED:
        return f"accepted (HTTP {event.http_status})" if event.http_status else "accepted"
    if event.kind is EventKind.REJECTED:
        if event.http_status:
            return f"rejected: {_answer(event)}"
        text = f"rejected: {event.reject.text} (status {event.reject.value})"
        words = REJECTS.get(event.reject)
        return f"{text}: {words}" if words else text
    if event.kind is EventKind.CANCELLED:
        return "cancelled: taken back, and it did not arrive"
    if event.http_status:
        return f"unknown: the session ended before another try; the last answer: {_answer(event)}"
    end = f": {event.reason_text}" if event.reason_text else ""
    return f"unknown: the connection or the session ended before the answer{end}"


is_accepted = property(lambda event: event.kind is EventKind.ACCEPTED, doc="Whether it was accepted.")
is_rejected = property(lambda event: event.kind is EventKind.REJECTED, doc="Whether it was rejected.")
is_unknown = property(
    lambda event: event.kind is EventKind.UNKNOWN, doc="Whether nobody knows if it arrived."
)
why = property(_why, doc="How it ended and why, in one line of plain words, for a log or a person.")


def __repr__(event: Event) -> str:
    said = f"kind={event.kind.name}"
    if event.reject:
        said += f", reject={event.reject.name}"
    if event.reason:
        said += f", reason={event.reason_text or event.reason.text}"
    if event.http_status:
        said += f", http_status={event.http_status}"
    said += f", identifier={event.identifier}"
    if event.token:  # a broadcast has none
        said += f", token={event.token.hex()}"
    return f"apns.Event({said}, user_data={event.user_data!r})"
