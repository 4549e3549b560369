"""Exceptions: one class for each status of the C library.

    Error
    +-- ArgumentError       a mistake of the caller; a ValueError too
    +-- TimeoutError        a deadline passed; nothing is lost by it; a builtin TimeoutError too
    +-- NetworkError        name, connection or peer failed; a ConnectionError too
    +-- TLSError            handshake or verification failed
    +-- CredentialsError    a certificate, a key or trust anchors cannot be used
    +-- ProtocolError       the peer broke the protocol
    +-- FullError           outcomes wait to be taken
    +-- ClosedError         the object was closed
    +-- ForkedError         made by another process, before a fork()

MemoryError is raised where there is no memory, TypeError for an argument of the wrong type.
"""

from __future__ import annotations

import builtins
from typing import Any

from ._constants import Cause, Reject, Status


class Error(Exception):
    """What went wrong, in detail. Its text is one line and never holds a secret."""

    message: str
    """The line, for people."""
    status: Status
    cause: Cause
    """What exactly went wrong, for programs; NONE: the status says it all."""
    errno: int
    """The system's, 0 where it was not at fault."""
    tls_code: int
    """OpenSSL's error code, 0 for none."""
    reject: Reject
    """The status with which a gateway would have refused the notification, or the text of a token,
    that was refused here, so that a program needs one table for both; NONE: there is none."""

    taken: int
    """Of send_many(): how many notifications the session took."""
    unresolved: int
    """Of drain(): how many notifications have no outcome yet."""

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

    def __reduce__(self) -> tuple[Any, ...]:
        numbers = (int(self.status), self.errno, self.tls_code, int(self.reject), int(self.cause))
        return type(self), (self.message, *numbers), {"taken": self.taken, "unresolved": self.unresolved}

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may succeed later without a change by the caller."""
        from ._core import status_is_retryable

        return status_is_retryable(int(self.status))


class ArgumentError(Error, ValueError):
    """A mistake of the caller; retrying cannot help."""


class TimeoutError(Error, builtins.TimeoutError):  # type: ignore[misc]
    """A deadline passed; nothing is lost by it."""


class NetworkError(Error, ConnectionError):  # type: ignore[misc]
    """Name, connection or peer failed; `errno` may say how."""


class TLSError(Error):
    """Handshake or verification failed; `tls_code` may say how."""


class CredentialsError(Error):
    """A certificate, a key or trust anchors cannot be used."""


class ProtocolError(Error):
    """The peer broke the protocol."""


class FullError(Error):
    """Outcomes wait: take them with next_event()."""


class ClosedError(Error):
    """The session, the credentials or the feedback were closed."""


class ForkedError(Error):
    """Made by another process, before a fork()."""


_BY_STATUS: dict[int, type[Error]] = {
    Status.DONE: Error,
    Status.ERR_ARGUMENT: ArgumentError,
    Status.ERR_BUFFER_SMALL: ArgumentError,
    Status.ERR_TIMEOUT: TimeoutError,
    Status.ERR_NETWORK: NetworkError,
    Status.ERR_TLS: TLSError,
    Status.ERR_CREDENTIALS: CredentialsError,
    Status.ERR_PROTOCOL: ProtocolError,
    Status.ERR_FULL: FullError,
    Status.ERR_CLOSED: ClosedError,
    Status.ERR_FORKED: ForkedError,
}
