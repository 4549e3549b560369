"""Push notifications to Apple devices.

A client pushes from any thread, and returns the outcome of every notification:

    import libapns

    client = libapns.Client(key="AuthKey_ABC123DEFG.p8", key_id="ABC123DEFG", team_id="DEF123GHIJ",
                            topic="com.example.app")
    print(client.push(token, {"aps": {"alert": "Hello"}}))

AsyncClient is the same for asyncio. Underneath are Credentials and Session, for programs that want
to do more themselves: a session works inside its calls, and has no thread.

Every queued notification ends as exactly one of accepted, rejected, unknown, cancelled or expired.
After an exception it was not queued. Failures are a libapns.Error.

Threads: any number of threads may use every object. While one waits, the others run.
Fork: clients and sessions belong to the process that made them; a child makes its own. Each
interpreter of a process has its own types and classes; objects cannot go from one to
another.

The logger "libapns" gets messages about connections and about notifications that were resent or
rejected, and warnings about unknown outcomes.
"""

from ._openssl import load_core

load_core(__path__)

from ._async_client import AsyncClient  # noqa: E402
from ._channels import ChannelDescription, ChannelsResponse
from ._client import Client
from ._constants import *
from ._core import (
    Channels,
    Credentials,
    Description,
    Device,
    Event,
    Feedback,
    Finding,
    Payload,
    Session,
    Stats,
    Strings,
    check_payload,
    push_type_text,
    reason_http_status,
    reason_text,
    reject_text,
    status_is_retryable,
    status_name,
    token_from_base64,
    token_from_hex,
    token_to_base64,
    token_to_hex,
    version,
)
from ._errors import (
    AgainError,
    ArgumentError,
    ClosedError,
    CredentialsError,
    DeadlineError,
    Error,
    ForkedError,
    FullError,
    InDoubtError,
    NetworkError,
    NotAcceptedError,
    ProtocolError,
    RejectedError,
    TLSError,
)
from ._log import LogLine
from ._notification import Content, Notification, Token
from ._options import ChannelsOptions, ClientOptions, FeedbackOptions, SessionOptions

__version__ = version()

__all__ = [
    "CHANNEL_ID_MAX", "CHANNELS_HOST_PRODUCTION", "CHANNELS_HOST_SANDBOX", "FEEDBACK_HOST_PRODUCTION", "FEEDBACK_HOST_SANDBOX",
    "BINARY_HOST_PRODUCTION", "BINARY_HOST_SANDBOX", "HOST_PRODUCTION", "HOST_SANDBOX",
    "PAYLOAD_MAX_BROADCAST", "PAYLOAD_MAX_FRAMED", "PAYLOAD_MAX_HTTP2", "PAYLOAD_MAX_LISTING",
    "PAYLOAD_MAX_VOIP", "PORT_CHANNELS_PRODUCTION", "PORT_CHANNELS_SANDBOX", "PORT_FEEDBACK", "PORT_GATEWAY", "PORT_HTTP2", "PORT_HTTP2_OTHER",
    "TOKEN_MAX",
    "Cause", "Check", "Delivery", "Environment", "EventKind", "Format", "LogKind", "LogLevel", "Outcomes", "Protocol", "PushType", "Reason", "Reject", "Severity", "Status", "Storage",
    "TLSVersion",
    "AsyncClient", "Client",
    "ChannelDescription", "Channels", "ChannelsResponse", "Credentials", "Description", "Device", "Event", "Feedback", "Finding", "Payload", "Session",
    "Stats", "Strings",
    "check_payload", "push_type_text", "reason_http_status", "reason_text", "reject_text", "status_is_retryable", "status_name", "token_from_base64",
    "token_from_hex", "token_to_base64", "token_to_hex", "version",
    "AgainError", "ArgumentError", "ClosedError", "CredentialsError", "DeadlineError", "Error", "ForkedError", "FullError", "InDoubtError",
    "NetworkError", "NotAcceptedError", "ProtocolError", "RejectedError", "TLSError",
    "Content", "LogLine", "Notification", "Token",
    "ChannelsOptions", "ClientOptions", "FeedbackOptions", "SessionOptions",
]  # fmt: skip

# Tracebacks, reprs and pickles use the names that a program uses.
for _name in __all__:
    _value = globals()[_name]
    if isinstance(_value, type) and _value.__module__.startswith("libapns."):
        _value.__module__ = "libapns"
del _name, _value
