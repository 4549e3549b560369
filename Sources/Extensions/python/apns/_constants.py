"""The numbers of the C header, by name."""

from __future__ import annotations

import enum

HOST_PRODUCTION = "gateway.push.apple.com"
HOST_SANDBOX = "gateway.sandbox.push.apple.com"
PORT_GATEWAY = 2195
HOST_HTTP2_PRODUCTION = "api.push.apple.com"
HOST_HTTP2_SANDBOX = "api.sandbox.push.apple.com"
PORT_HTTP2 = 443
PORT_HTTP2_OTHER = 2197
"""For networks that let 443 through to web servers only."""
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


class _Words(enum.IntEnum):
    """A number whose str() and format() are words."""

    @property
    def text(self) -> str:
        return self.name.lower().replace("_", " ")

    def __str__(self) -> str:
        return self.text

    def __format__(self, spec: str) -> str:
        return format(int(self) if spec[-1:] in set("bcdoxXneEfFgG%") else str(self), spec)


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


class Reject(_Words):
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


class Reason(_Words):
    """Why today's APNs refuses; str() is its own word, such as "BadDeviceToken". HTTP/2 only."""

    NONE = 0
    BAD_DEVICE_TOKEN = 1
    DEVICE_TOKEN_NOT_FOR_TOPIC = 2
    MISSING_DEVICE_TOKEN = 3
    MISSING_TOPIC = 4
    PAYLOAD_EMPTY = 5
    BAD_TOPIC = 6
    PAYLOAD_TOO_LARGE = 7
    BAD_COLLAPSE_ID = 8
    BAD_EXPIRATION_DATE = 9
    BAD_MESSAGE_ID = 10
    BAD_PRIORITY = 11
    DUPLICATE_HEADERS = 12
    INVALID_PUSH_TYPE = 13
    BAD_PATH = 14
    METHOD_NOT_ALLOWED = 15
    IDLE_TIMEOUT = 16
    EXPIRED_PROVIDER_TOKEN = 17
    UNRELATED_KEY_ID_IN_TOKEN = 18
    TOPIC_DISALLOWED = 19
    BAD_CERTIFICATE = 20
    BAD_CERTIFICATE_ENVIRONMENT = 21
    BAD_ENVIRONMENT_KEY_ID_IN_TOKEN = 22
    FORBIDDEN = 23
    INVALID_PROVIDER_TOKEN = 24
    MISSING_PROVIDER_TOKEN = 25
    UNREGISTERED = 26
    EXPIRED_TOKEN = 27
    TOO_MANY_PROVIDER_TOKEN_UPDATES = 28
    TOO_MANY_REQUESTS = 29
    INTERNAL_SERVER_ERROR = 30
    SERVICE_UNAVAILABLE = 31
    SHUTDOWN = 32
    OTHER = 255
    """One that is not listed here; the event's `reason_text` says it."""

    @property
    def text(self) -> str:
        """The reason as APNs writes it, such as "BadDeviceToken"."""
        from ._core import reason_text

        return reason_text(self.value)

    @property
    def http_status(self) -> int:
        """The HTTP status that APNs answers with for it, such as 400; 0 for none."""
        from ._core import reason_http_status

        return reason_http_status(self.value)


class PushType(_Words):
    """What kind of push a notification is, for HTTP/2."""

    DEFAULT = 0
    """By the payload: background or alert."""
    ALERT = 1
    BACKGROUND = 2
    LOCATION = 3
    VOIP = 4
    COMPLICATION = 5
    FILEPROVIDER = 6
    MDM = 7
    LIVEACTIVITY = 8
    PUSHTOTALK = 9
    WIDGETS = 10
    CONTROLS = 11

    @property
    def text(self) -> str:
        """The type as APNs reads it, such as "alert"."""
        from ._core import push_type_text

        return push_type_text(self.value)


class Protocol(enum.IntEnum):
    """Which of Apple's interfaces a session speaks."""

    DEFAULT = 0
    """Binary."""
    BINARY = 1
    """The Binary Provider API, which Apple switched off in March 2021."""
    HTTP2 = 2
    """Today's APNs."""


class EventKind(_Words):
    """How a notification ended; str() is the word, such as "rejected"."""

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


class Check(enum.IntFlag):
    """What a notification is checked for before it is taken, for Session."""

    PAYLOAD = 1
    """That check_payload() finds no error in it, and that its priority suits it."""
    EXPIRY = 2
    """That it is a time to come in UNIX seconds, not one past, a duration or milliseconds."""
    ALL = 3


class Severity(enum.IntEnum):
    """How much a Finding matters."""

    ERROR = 1
    """Not JSON, not a payload, or too long."""
    WARNING = 2
    """A device gets it and ignores that part of it."""
