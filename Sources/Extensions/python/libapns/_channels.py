"""APNs' responses about channels."""

from __future__ import annotations

from typing import NamedTuple

from ._constants import PushType, Reason, Storage


class ChannelDescription(NamedTuple):
    """The options of a channel."""

    storage: Storage | int
    """What it keeps for later subscribers; an int if this version does not know it."""
    push_type: PushType
    """LIVEACTIVITY; DEFAULT: another one."""


class ChannelsResponse(NamedTuple):
    """The response to a request about channels."""

    http_status: int
    reason: Reason
    reason_text: str
    """The reason as APNs wrote it, even if it is not listed."""
    request_id: str
    """The apns-request-id, for questions to Apple; empty if APNs gave no ID."""
    retry_after: int
    """After how many seconds to repeat the request; 0: repeating it is pointless."""


def description(storage: int, push_type: int) -> ChannelDescription:
    known = storage in Storage.__members__.values()
    return ChannelDescription(Storage(storage) if known else storage, PushType(push_type))


def response(
    http_status: int, reason: int, reason_text: str, request_id: str, retry_after: int
) -> ChannelsResponse:
    return ChannelsResponse(http_status, Reason(reason), reason_text, request_id, retry_after)
