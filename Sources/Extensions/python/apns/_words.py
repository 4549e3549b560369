"""What an event says in plain words: attributes of Event, which is made in C."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ._constants import EventKind, Reason, Reject

if TYPE_CHECKING:
    from ._core import Event

_REJECTS = {
    Reject.PROCESSING_ERROR: "the gateway's own trouble; send it again later",
    Reject.MISSING_TOKEN: "the notification has no device token",
    Reject.MISSING_TOPIC: "the certificate names no app",
    Reject.MISSING_PAYLOAD: "the notification has no payload",
    Reject.INVALID_TOKEN_SIZE: "the gateway takes no token of this length",
    Reject.INVALID_TOPIC_SIZE: "the certificate's topic has a length that the gateway does not take",
    Reject.INVALID_PAYLOAD_SIZE: "the payload is longer than the gateway takes",
    Reject.INVALID_TOKEN: "not a device of this app in this environment",
    Reject.SHUTDOWN: "the gateway refuses the provider, not the notification",
    Reject.PROTOCOL_ERROR: "the gateway could not read the notification",
    Reject.UNKNOWN: "the gateway gives no reason",
}

_REASONS = {
    Reason.BAD_DEVICE_TOKEN: "not a token, or one of the other environment: sandbox or production",
    Reason.DEVICE_TOKEN_NOT_FOR_TOPIC: "the token is another app's, not the topic's",
    Reason.MISSING_DEVICE_TOKEN: "the notification has no device token",
    Reason.MISSING_TOPIC: "the session needs a topic: the app's bundle identifier",
    Reason.PAYLOAD_EMPTY: "the notification has no payload",
    Reason.BAD_TOPIC: "the topic is not one",
    Reason.PAYLOAD_TOO_LARGE: "the payload is longer than this kind of push may be",
    Reason.BAD_COLLAPSE_ID: "the collapse_id is longer than 64 bytes",
    Reason.BAD_EXPIRATION_DATE: "the expiry is not one",
    Reason.BAD_MESSAGE_ID: "the apns_id is not a UUID",
    Reason.BAD_PRIORITY: "the priority does not go with this kind of push",
    Reason.DUPLICATE_HEADERS: "a header field came twice",
    Reason.INVALID_PUSH_TYPE: "the push_type is not one, or not the payload's",
    Reason.BAD_PATH: "the request went to a path that is not there",
    Reason.METHOD_NOT_ALLOWED: "the request was not a POST",
    Reason.IDLE_TIMEOUT: "the connection was idle too long",
    Reason.EXPIRED_PROVIDER_TOKEN: "the provider token is too old; look at the clock",
    Reason.UNRELATED_KEY_ID_IN_TOKEN: "another key was used on the same connection",
    Reason.TOPIC_DISALLOWED: "this certificate or key may not push to the topic",
    Reason.BAD_CERTIFICATE: "the certificate is not one for pushing",
    Reason.BAD_CERTIFICATE_ENVIRONMENT: "the certificate is for the other environment: sandbox or production",
    Reason.BAD_ENVIRONMENT_KEY_ID_IN_TOKEN: "the key is for the other environment: sandbox or production",
    Reason.FORBIDDEN: "the provider may not push this",
    Reason.INVALID_PROVIDER_TOKEN: "key, key_id and team_id do not belong together, or the key was revoked",
    Reason.MISSING_PROVIDER_TOKEN: "no certificate was shown, so a provider token is needed",
    Reason.UNREGISTERED: "the app is no longer on the device",
    Reason.EXPIRED_TOKEN: "the device token has expired",
    Reason.TOO_MANY_PROVIDER_TOKEN_UPDATES: "new provider tokens come too often for one key",
    Reason.TOO_MANY_REQUESTS: "too many pushes to one device",
    Reason.INTERNAL_SERVER_ERROR: "the service's own trouble",
    Reason.SERVICE_UNAVAILABLE: "the service is busy",
    Reason.SHUTDOWN: "the service is going away",
}

# Of the year 9999: what a service says may be no time.
_LAST_SECOND = 253_402_300_799


def _answer(event: Event) -> str:
    """What the service answered: "TopicDisallowed (HTTP 400): ..."."""
    name = event.reason_text or event.reason.text
    text = f"{name} (HTTP {event.http_status})" if event.reason else f"HTTP {event.http_status}"
    if words := _REASONS.get(event.reason):
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
        words = _REJECTS.get(event.reject)
        return f"{text}: {words}" if words else text
    if event.http_status:
        return f"unknown: the session ended before another try; the last answer: {_answer(event)}"
    return "unknown: the connection or the session ended before the answer"


why = property(_why, doc="How it ended and why, in one line of plain words, for a log or a person.")


def __repr__(event: Event) -> str:
    said = f"kind={event.kind.name}"
    if event.reject:
        said += f", reject={event.reject.name}"
    if event.reason:
        said += f", reason={event.reason_text or event.reason.text}"
    if event.http_status:
        said += f", http_status={event.http_status}"
    said += f", identifier={event.identifier}, token={event.token.hex()}"
    return f"apns.Event({said}, user_data={event.user_data!r})"
