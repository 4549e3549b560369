"""A notification for send_many()."""

from __future__ import annotations

from typing import Any, NamedTuple, Union

from ._core import Payload

Token = Union[bytes, bytearray, memoryview, str]
"""A device token: bytes, or hex."""
Content = Union[bytes, bytearray, memoryview, str, "dict[str, Any]", Payload]
"""A payload: JSON, a dict to encode as JSON, or a Payload."""


class Notification(NamedTuple):
    """One notification to one device, or to a channel, as send() takes it. A plain tuple of these
    works too."""

    token: Token | None
    payload: Content
    user_data: object = None
    expiry: int = 0
    priority: int = 0
    topic: str | None = None
    push_type: int | str = 0
    collapse_id: str | None = None
    apns_id: str | None = None
    channel_id: str | None = None
