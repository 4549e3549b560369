"""The numbers of the C header, by name."""

from __future__ import annotations

import enum

HOST_PRODUCTION = "gateway.push.apple.com"
HOST_SANDBOX = "gateway.sandbox.push.apple.com"
PORT_GATEWAY = 2195
FEEDBACK_HOST_PRODUCTION = "feedback.push.apple.com"
FEEDBACK_HOST_SANDBOX = "feedback.sandbox.push.apple.com"
PORT_FEEDBACK = 2196

TOKEN_MAX = 100
"""The longest device token the protocol carries, in bytes."""

EXPIRY_ONCE = -1
"""Not to be stored but tried once, for a notification's expiry."""

PAYLOAD_MAX_LISTING = 256
PAYLOAD_MAX_FRAMED = 2048
PAYLOAD_MAX_HTTP2 = 4096
PAYLOAD_MAX_VOIP = 5120


class Status(enum.IntEnum):
    """What a call came to; an exception's `status`."""

    OK = 0
    DONE = -1
    ERR_ARGUMENT = -2
    ERR_BUFFER_SMALL = -3
    ERR_MEMORY = -4
    ERR_TIMEOUT = -5
    ERR_NETWORK = -6
    ERR_TLS = -7
    ERR_CREDENTIALS = -8
    ERR_PROTOCOL = -9
    ERR_FULL = -10
    ERR_CLOSED = -11
    ERR_FORKED = -12


class Reject(enum.IntEnum):
    """What the gateway says of a notification it refused: the numbers of Apple's error packet.

    A number that Apple never listed is a member too, UNLISTED_9.
    """

    NONE = 0
    PROCESSING_ERROR = 1
    MISSING_TOKEN = 2
    MISSING_TOPIC = 3
    MISSING_PAYLOAD = 4
    INVALID_TOKEN_SIZE = 5
    INVALID_TOPIC_SIZE = 6
    INVALID_PAYLOAD_SIZE = 7
    INVALID_TOKEN = 8
    SHUTDOWN = 10
    PROTOCOL_ERROR = 128
    UNKNOWN = 255

    @classmethod
    def _missing_(cls, value: object) -> Reject | None:
        if not isinstance(value, int) or not 0 <= value <= 255:
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNLISTED_{value}"
        member._value_ = value
        return member

    @property
    def text(self) -> str:
        """The reason in words, such as "invalid token"."""
        from ._core import reject_text

        return reject_text(self.value)


class EventKind(enum.IntEnum):
    """How a notification ended."""

    ACCEPTED = 1
    """Only with report_accepted."""
    REJECTED = 2
    """By the gateway; the event's `reject` says why."""
    UNKNOWN = 3
    """The connection ended before the gateway's word, or the session did."""


class Format(enum.IntEnum):
    """How notifications are framed: Apple's commands."""

    DEFAULT = 0
    """Framed."""
    SIMPLE = 1
    """Command 0: without identifiers, so none can be named as failed."""
    ENHANCED = 2
    """Command 1."""
    FRAMED = 3
    """Command 2."""


class Ambiguous(enum.IntEnum):
    """What becomes of notifications in flight when a connection ends without saying which failed."""

    DEFAULT = 0
    """RESEND; with the simple format REPORT."""
    RESEND = 1
    """At least once: some may arrive twice."""
    REPORT = 2
    """At most once: each comes out as EventKind.UNKNOWN."""


class TLSVersion(enum.IntEnum):
    """TLS versions, for Credentials."""

    DEFAULT = 0
    TLS_1_2 = 12
    TLS_1_3 = 13


class Environment(enum.IntFlag):
    """Apple's services that a certificate is for."""

    SANDBOX = 1
    PRODUCTION = 2


class Severity(enum.IntEnum):
    """How much a Finding matters."""

    ERROR = 1
    """Not JSON, not a payload, or too long."""
    WARNING = 2
    """A device gets it and ignores that part of it."""
