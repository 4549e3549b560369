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


def __str__(event: Event) -> str:
    from ._core import describe  # which imports this module

    return describe(
        event.kind, event.reject, event.reason, event.http_status, event.reason_text
    )


def _why(event: Event) -> str:
    text = str(event)
    if event.kind is EventKind.ACCEPTED:
        return f"{text} (HTTP {event.http_status})" if event.http_status else text
    if event.kind is EventKind.CANCELLED or event.kind is EventKind.UNKNOWN and not event.http_status:
        return text
    words = REASONS.get(event.reason) if event.http_status else REJECTS.get(event.reject)
    if words:
        text += f": {words}"
    if event.reason and 0 < event.timestamp <= _LAST_SECOND:
        text += f", since {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(event.timestamp))} UTC"
    return text


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
    return f"libapns.Event({said}, user_data={event.user_data!r})"
