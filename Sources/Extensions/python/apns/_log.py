"""Changes of a session's counts since the last call, for the logger "apns"."""

from __future__ import annotations

import logging

logger = logging.getLogger("apns")


def changes(host: str, port: int, connects: int, resent: int, rejected: int, unknown: int) -> None:
    if connects:
        logger.info("%s, port %d: %d connections made", host, port, connects)
    if resent:
        logger.info("%s, port %d: %d notifications sent again", host, port, resent)
    if rejected:
        logger.info("%s, port %d: %d notifications rejected", host, port, rejected)
    if unknown:
        logger.warning(
            "%s, port %d: the end of %d notifications is not known", host, port, unknown
        )
