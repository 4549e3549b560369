"""Exceptions: one class for each status of the C library.

    Error
    +-- ArgumentError       an error of the caller; a ValueError too
    +-- DeadlineError       a deadline passed; nothing is lost by it; a builtin TimeoutError too
    +-- NetworkError        name, connection or peer failed; a ConnectionError too
    +-- TLSError            handshake or verification failed
    +-- CredentialsError    a certificate, a key or CA certificates cannot be used
    +-- ProtocolError       the peer broke the protocol
    +-- FullError           the window is full of outcomes: take them
    +-- ClosedError         the object was closed
    +-- ForkedError         made by another process, before a fork()
    +-- AgainError          with `nonblocking`: not yet; a BlockingIOError too
    +-- RejectedError       Channels: APNs rejected the request; see `reason`
    +-- InDoubtError        Channels: no response, and the channel may have been created
    +-- NotAcceptedError    from Event.raise_unless_accepted(); `event` has the outcome

MemoryError is raised when memory runs out, TypeError for an argument of the wrong type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._constants import Cause, Reason, Reject, Status

if TYPE_CHECKING:
    from ._channels import ChannelsResponse
    from ._core import Event


class Error(Exception):
    """An error in detail. Its text is one line and never contains a secret."""

    message: str
    """The error, for people."""
    status: Status
    cause: Cause
    """The exact error, for programs; NONE: the status says everything."""
    errno: int
    """The system's error number; 0: the system did not fail."""
    tls_code: int
    """OpenSSL's error code, 0 for none."""
    reject: Reject
    """A gateway's status for the notification or token text that this call refused, so that a
    program needs only one table; NONE for other errors."""

    taken: int
    """From send_many(): how many notifications were queued."""
    unresolved: int
    """From drain(): how many notifications have no outcome yet."""
    response: ChannelsResponse | None
    """From Channels: APNs' response, or None."""

    def __init__(
        self,
        message: str = "",
        status: int = 0,
        errno: int = 0,
        tls_code: int = 0,
        reject: int = 0,
        cause: int = 0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = Status(status)
        self.errno = errno
        self.tls_code = tls_code
        self.reject = Reject(reject)
        self.cause = Cause(cause)
        self.taken = self.unresolved = 0
        self.response = None

    def __reduce__(self) -> tuple[Any, ...]:
        numbers = (int(self.status), self.errno, self.tls_code, int(self.reject), int(self.cause))
        others = {"taken": self.taken, "unresolved": self.unresolved, "response": self.response}
        return type(self), (self.message, *numbers), others

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may succeed later without a change by the caller."""
        from ._core import status_is_retryable

        return status_is_retryable(int(self.status))


class ArgumentError(Error, ValueError):
    """An error of the caller; retrying cannot help."""


class DeadlineError(Error, TimeoutError):  # type: ignore[misc]
    """A deadline passed; nothing is lost by it."""


class NetworkError(Error, ConnectionError):  # type: ignore[misc]
    """Name, connection or peer failed; `errno` may say how."""


class TLSError(Error):
    """Handshake or verification failed; `tls_code` may say how."""


class CredentialsError(Error):
    """A certificate, a key or CA certificates cannot be used."""


class ProtocolError(Error):
    """The peer broke the protocol."""


class FullError(Error):
    """The window is full: of outcomes, which next_event() takes, or of what a client has sent."""


class ClosedError(Error):
    """The session, the credentials or the feedback was closed."""


class ForkedError(Error):
    """Made by another process, before a fork()."""


class AgainError(Error, BlockingIOError):  # type: ignore[misc]
    """With `nonblocking`: not yet. Wait until the descriptor is readable, then continue."""


class RejectedError(Error):
    """Channels: APNs rejected the request."""

    @property
    def reason(self) -> Reason:
        """The reason, from `response`."""
        return self.response.reason if self.response else Reason.NONE


class InDoubtError(Error):
    """Channels: create() got no response; the channel may have been created: look at list()."""


class NotAcceptedError(Error):
    """A notification was rejected, or it is unknown whether it arrived."""

    event: Event
    """The outcome."""

    def __init__(self, message: str, event: Event) -> None:
        super().__init__(message)
        self.event = event

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.event)


_BY_STATUS: dict[int, type[Error]] = {
    Status.DONE: Error,
    Status.ERR_ARGUMENT: ArgumentError,
    Status.ERR_BUFFER_SMALL: ArgumentError,
    Status.ERR_TIMEOUT: DeadlineError,
    Status.ERR_NETWORK: NetworkError,
    Status.ERR_TLS: TLSError,
    Status.ERR_CREDENTIALS: CredentialsError,
    Status.ERR_PROTOCOL: ProtocolError,
    Status.ERR_FULL: FullError,
    Status.ERR_CLOSED: ClosedError,
    Status.ERR_FORKED: ForkedError,
    Status.ERR_AGAIN: AgainError,
    Status.ERR_REJECTED: RejectedError,
    Status.ERR_IN_DOUBT: InDoubtError,
}
