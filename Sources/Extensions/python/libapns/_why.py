"""The methods of Event that are written in Python; the class itself is written in C."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ._constants import EventKind, Reason, Reject
from ._errors import NotAcceptedError
from ._meanings import REASONS, REJECTS

if TYPE_CHECKING:
    from ._core import Event

# The last second of the year 9999. A peer may send a number that is not a valid time.
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
    if event.kind in (EventKind.CANCELLED, EventKind.EXPIRED) or event.kind is EventKind.UNKNOWN and not event.http_status:
        return text
    words = REASONS.get(event.reason) if event.http_status else REJECTS.get(event.reject)
    if words:
        text += f": {words}"
    if event.reason and 0 < event.timestamp <= _LAST_SECOND:
        text += f", since {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(event.timestamp))} UTC"
    return text


def _has_invalid_token(event: Event) -> bool:
    from ._core import has_invalid_token  # which imports this module

    return has_invalid_token(event.kind, event.reject, event.reason, event.http_status)


is_accepted = property(lambda event: event.kind is EventKind.ACCEPTED, doc="Whether it was accepted.")
is_rejected = property(lambda event: event.kind is EventKind.REJECTED, doc="Whether it was rejected.")
is_unknown = property(
    lambda event: event.kind is EventKind.UNKNOWN, doc="Whether its arrival is unknown."
)
is_cancelled = property(
    lambda event: event.kind is EventKind.CANCELLED, doc="Whether it was taken back; it did not arrive."
)
is_expired = property(
    lambda event: event.kind is EventKind.EXPIRED, doc="Whether its deadline passed; it did not arrive."
)
has_invalid_token = property(
    _has_invalid_token,
    doc="Whether no later push to its token can arrive: the device is gone (410), or the token is bad. "
    "Remove the token, unless the device registered again after timestamp. If many tokens turn out bad "
    "at once, check the environment and the topic first.",
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
    if event.token:  # not for a broadcast
        said += f", token={event.token.hex()}"
    return f"libapns.Event({said}, user_data={event.user_data!r})"


def raise_unless_accepted(self: Event) -> Event:
    """Returns itself; raises NotAcceptedError, with the event, if it is not accepted."""
    if self.kind is not EventKind.ACCEPTED:
        raise NotAcceptedError(self.why, self)
    return self


# ---- Events that a program makes -----------------------------------------------------

# In the order in which the class has them.
_FIELDS = (
    "kind", "reject", "identifier", "user_data", "reason", "http_status", "timestamp", "apns_id",
    "reason_text", "token", "retry_after", "unique_id",
)  # fmt: skip


def _member(enumeration: Any, given: Any, name: str) -> Any:
    if not isinstance(given, str):
        return enumeration(given)
    for one in enumeration:
        if one.text == given:
            return one
    raise ValueError(f"unknown {name}: {given!r}")


def event_fields(
    *,
    kind: EventKind | int | str,
    reason: Reason | int | str | None = None,
    token: bytes | str = b"",
    user_data: object = None,
    http_status: int | None = None,
    reason_text: str | None = None,
    timestamp: int = 0,
    retry_after: int = 0,
    apns_id: str = "",
    unique_id: str = "",
    identifier: int = 0,
    reject: Reject | int | None = None,
) -> tuple[Any, ...]:
    """The values of an Event's fields, in their order."""
    from ._core import token_from_hex  # which imports this module

    how = _member(EventKind, kind, "kind")
    said: Reason = _member(Reason, reason or Reason.NONE, "reason")
    if http_status is None:
        http_status = 200 if how is EventKind.ACCEPTED else said.http_status
    if reason_text is None:
        reason_text = said.text if said else ""
    sent_to = token_from_hex(token) if isinstance(token, str) else bytes(token)
    return (
        how, Reject(reject or Reject.NONE), identifier, user_data, said, http_status, timestamp,
        apns_id, reason_text, sent_to, retry_after, unique_id,
    )  # fmt: skip


def __getnewargs_ex__(event: Event) -> tuple[tuple[()], dict[str, Any]]:
    """For pickles and copies."""
    return (), {name: getattr(event, name) for name in _FIELDS}
