"""The log of a session: its lines, for the option `log`, and changes of its counts since the last
call, for the logger "libapns"."""

from __future__ import annotations

import dataclasses
import logging
import sys
from collections.abc import Callable
from typing import Union

from ._constants import Cause, LogKind, LogLevel

logger = logging.getLogger("libapns")


def changes(
    host: str, port: int, connects: int, resent: int, rejected: int, unknown: int, forgets: int
) -> None:
    if connects:
        logger.info("%s, port %d: %d connections made", host, port, connects)
    if resent:
        logger.info("%s, port %d: %d notifications sent again", host, port, resent)
    if rejected:
        logger.info("%s, port %d: %d notifications rejected", host, port, rejected)
    if unknown:
        logger.warning(
            "%s, port %d: the outcome of %d notifications is unknown", host, port, unknown
        )
    if forgets:
        forgetting(host, port)


def forgetting(host: str, port: int) -> None:
    logger.warning(
        "%s, port %d: outcomes of accepted notifications are forgotten, because nobody takes them: "
        'take the events, or set outcomes to "each" or to "failures"',
        host,
        port,
    )


@dataclasses.dataclass(frozen=True)
class LogLine:
    """A line of a session's log."""

    level: LogLevel
    kind: LogKind | int
    """An int where only a newer library has the kind."""
    line: str
    peer: str
    """"host:port", as in the options."""
    connection: int
    """The session's connections are numbered from 1; 0: about none of them."""
    cause: Cause
    count: int
    """The number in the line, for kinds that have a number."""
    seconds: float
    left_out: int
    """How many lines of this kind were omitted before this one."""
    resumed: bool
    """The handshake resumed an earlier TLS session."""


Log = Union[logging.Logger, "logging.LoggerAdapter[logging.Logger]", Callable[[LogLine], object]]

LEVELS = {
    LogLevel.ERROR: logging.ERROR,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.NOTICE: logging.INFO,
    LogLevel.INFO: logging.INFO,
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.TRACE: logging.DEBUG,
}


def loss(log: Log | None, host: str, port: int, count: int) -> None:
    """Logs, prominently, how many notifications have no outcome at the end of a session."""
    peer, words = f"{host}:{port}", f"the session ended, and {count} notifications have no outcome"
    if log is not None:
        tell(log, LogLevel.ERROR, LogKind.CLOSED, words, peer, 0, 0, count, 0, 0, 0)
    elif logger.hasHandlers() and logger.isEnabledFor(logging.ERROR):
        logger.error("%s: %s", peer, words)
    else:
        print(f"libapns: {peer}: {words}", file=sys.stderr, flush=True)


def tell(
    log: Log,
    level: int,
    kind: int,
    line: str,
    peer: str,
    connection: int,
    cause: int,
    count: int,
    milliseconds: int,
    left_out: int,
    resumed: int,
) -> None:
    try:
        known: LogKind | int = LogKind(kind)
    except ValueError:
        known = kind
    said = LogLine(
        LogLevel(level),
        known,
        line,
        peer,
        connection,
        Cause(cause),
        count,
        milliseconds / 1000,
        left_out,
        bool(resumed),
    )
    if isinstance(log, (logging.Logger, logging.LoggerAdapter)) or not callable(log):
        log.log(LEVELS[said.level], "%s: %s", peer, line, extra={"libapns": said})
    else:
        log(said)
