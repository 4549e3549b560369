"""A notification for send_many() and push_many()."""

from __future__ import annotations

import dataclasses
import difflib
from typing import TYPE_CHECKING, Any, TypedDict, Union

if TYPE_CHECKING:
    from datetime import datetime

    from ._core import Payload

Token = Union[bytes, bytearray, memoryview, str]
"""A device token: bytes, or hex."""
Content = Union[bytes, bytearray, memoryview, str, "dict[str, Any]", "Payload"]
"""A payload: JSON, a dict to encode as JSON, or a Payload."""


class PushOptions(TypedDict, total=False):
    """What push(), submit() and send() of clients and aio.Session take besides; see push()."""

    expiry: datetime | int | None
    priority: int | None
    topic: str | None
    push_type: int | str | None
    collapse_id: str | None
    apns_id: str | None
    channel_id: str | None
    deadline: float | None


def require_options(method: str, options: Any) -> None:
    """Raises what Python does for an unknown keyword, with the option that was probably meant."""
    known = PushOptions.__annotations__
    for name in options:
        if name not in known:
            meant = "".join(difflib.get_close_matches(name, known, 1))
            hint = f"; did you mean {meant!r}?" if meant else ""
            raise TypeError(f"{method}() got an unexpected keyword argument {name!r}{hint}")


@dataclasses.dataclass(init=False)
class Notification:
    """One notification to one device, or to a channel, as send() and push() take it."""

    token: Token | None
    payload: Content
    user_data: object
    expiry: datetime | int | None
    priority: int | None
    topic: str | None
    push_type: int | str | None
    collapse_id: str | None
    apns_id: str | None
    channel_id: str | None
    deadline: float | None

    def __init__(
        self,
        token: Token | None,
        payload: Content,
        *,
        user_data: object = None,
        expiry: datetime | int | None = None,
        priority: int | None = None,
        topic: str | None = None,
        push_type: int | str | None = None,
        collapse_id: str | None = None,
        apns_id: str | None = None,
        channel_id: str | None = None,
        deadline: float | None = None,
    ) -> None:
        self.token = token
        self.payload = payload
        self.user_data = user_data
        self.expiry = expiry
        self.priority = priority
        self.topic = topic
        self.push_type = push_type
        self.collapse_id = collapse_id
        self.apns_id = apns_id
        self.channel_id = channel_id
        self.deadline = deadline


Item = Union[Notification, "tuple[Token, Content]", "tuple[Token, Content, object]"]
"""The items of send_many() and push_many()."""


def options_of(item: Item) -> tuple[Token | None, Content, object, dict[str, Any]]:
    """Token, payload, user_data, and the keywords of send()."""
    if isinstance(item, tuple) and 2 <= len(item) <= 3:
        return item[0], item[1], item[2] if len(item) > 2 else None, {}
    if not isinstance(item, Notification):
        raise TypeError(
            "a notification must be a Notification, or a tuple of token and payload, and user_data"
            " where there is some"
        )
    options = {name: getattr(item, name) for name in PushOptions.__annotations__}
    return item.token, item.payload, item.user_data, options
