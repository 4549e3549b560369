"""The part of apns that is written in C."""

import builtins
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Final, Literal, TypedDict, TypeVar, final, overload

from _typeshed import structseq
from typing_extensions import Self, Unpack

from ._channels import ChannelDescription, ChannelsResponse
from ._constants import EventKind, Reason, Reject, Severity
from ._notification import Content, Item, PushOptions, Token
from ._options import ChannelsOptions, FeedbackOptions, SessionOptions

_T = TypeVar("_T")
_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Bytes = bytes | bytearray | memoryview

class _Closable:
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

@final
class Credentials(_Closable):
    """The provider's identity, and the CA certificates that it trusts."""

    def __new__(
        cls,
        *,
        certificate_file: _Path | None = None,
        certificate: _Bytes | None = None,
        key_file: _Path | None = None,
        key: _Bytes | None = None,
        passphrase: str | _Bytes | Callable[[str | None], str | bytes | None] | None = None,
        ca_file: _Path | None = None,
        ca_directory: _Path | None = None,
        tls_min: int | None = None,
        tls_max: int | None = None,
        dangerously_accept_any_peer: bool = False,
        accept_expired: bool = False,
        token_key_file: _Path | None = None,
        token_key: _Bytes | None = None,
        key_id: str | None = None,
        team_id: str | None = None,
        crl_file: _Path | None = None,
        crl_directory: _Path | None = None,
        pinned_keys: list[str] | tuple[str, ...] | None = None,
        security_level: int | None = None,
        token_provider: Callable[
            [Literal["first", "aged", "refused"]],
            str | _Bytes | tuple[str | _Bytes | None, float] | None,
        ]
        | None = None,
        token_cache: _Path | Literal[False] | None = None,
    ) -> Self: ...
    def describe(self) -> Description: ...

@final
class Session:
    """A provider's session with one gateway."""

    def __new__(cls, credentials: Credentials, **options: Unpack[SessionOptions]) -> Self: ...
    _close_ms: int
    @property
    def credentials(self) -> Credentials: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    @property
    def timeout(self) -> float | None: ...
    def fileno(self) -> int: ...
    def process(self) -> bool: ...
    def wake(self) -> None: ...
    def use_credentials(self, credentials: Credentials, /) -> None: ...
    def connect(self) -> None: ...
    def send(
        self,
        token: Token | None,
        payload: Content,
        *,
        user_data: object = None,
        more: bool = False,
        **options: Unpack[PushOptions],
    ) -> int: ...
    def send_many(self, notifications: Iterable[Item], /) -> int: ...
    def push(
        self,
        token: Token | None,
        payload: Content,
        *,
        timeout: float | None = None,
        user_data: object = None,
        **options: Unpack[PushOptions],
    ) -> Event: ...
    def push_many(
        self, notifications: Iterable[Item], /, *, timeout: float | None = None
    ) -> Iterator[Event]: ...
    def flush(self) -> None: ...
    def drain(self, timeout: float | None = None) -> None: ...
    def cancel(self, identifier: int | None = None) -> int: ...
    def gone(self) -> list[Device]: ...
    def next_event(self, timeout: float | None = 0) -> Event | None: ...
    def events(self, timeout: float | None = 0) -> Iterator[Event]: ...
    def stats(self) -> Stats: ...
    def metrics(self) -> _Metrics: ...
    def close(self, timeout: float | None = None) -> None: ...
    def _end(self) -> None: ...
    def __iter__(self) -> Iterator[Event]: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> Literal[False]: ...

@final
class Outcomes:
    """The outcomes of what push_many() was given."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Event: ...

@final
class Events:
    """The outcomes of a session."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Event: ...

class _Keys(TypedDict, total=False):
    alert: str
    title: str | dict[str, Any]
    subtitle: str
    body: str | dict[str, Any]
    title_loc_key: str
    subtitle_loc_key: str
    loc_key: str
    action_loc_key: str | None
    launch_image: str
    title_loc_args: Sequence[str]
    subtitle_loc_args: Sequence[str]
    loc_args: Sequence[str]
    sound: str
    category: str
    thread_id: str
    target_content_id: str
    interruption_level: str
    filter_criteria: str
    url_args: Sequence[str]
    badge: int
    content_available: int
    mutable_content: int
    relevance_score: float
    timestamp: int
    event: str
    content_state: dict[str, Any]
    stale_date: int
    dismissal_date: int
    attributes_type: str
    attributes: dict[str, Any]
    input_push_token: int
    input_push_channel: str
    alert_sound: str
    content_changed: bool

@final
class Payload:
    """Builds a payload."""

    def __new__(
        cls,
        *,
        limit: int | None = None,
        truncate: bool = False,
        suffix: str | None = None,
        **keys: Unpack[_Keys],
    ) -> Self: ...
    def set(self, **keys: Unpack[_Keys]) -> None: ...
    def set_critical_sound(self, name: str, volume: float = 1.0) -> None: ...
    def remove(self, *names: str) -> None: ...
    def add(self, name: str, value: Any, /) -> None: ...
    def remove_custom(self) -> None: ...
    def reset(self) -> None: ...
    def write(self) -> bytes: ...
    def fit(self) -> tuple[bytes, int]: ...
    def __bytes__(self) -> bytes: ...

@final
class Strings:
    """A Localizable.strings file."""

    def __new__(cls, strings: _Bytes, /) -> Self: ...
    @classmethod
    def open(cls, file: _Path, /) -> Self: ...
    @overload
    def get(self, key: str, default: None = None, /) -> str | None: ...
    @overload
    def get(self, key: str, default: _T, /) -> str | _T: ...
    def format(self, key: str, /, *args: str) -> str: ...
    def __getitem__(self, key: str, /) -> str: ...
    def __contains__(self, key: str, /) -> bool: ...

@final
class Feedback(_Closable):
    """The feedback service's list of gone devices."""

    def __new__(cls, credentials: Credentials, **options: Unpack[FeedbackOptions]) -> Self: ...
    def fileno(self) -> int: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Device: ...

@final
class Channels(_Closable):
    """The channels of an app: what broadcasts go to."""

    def __new__(cls, credentials: Credentials, **options: Unpack[ChannelsOptions]) -> Self: ...
    @property
    def timeout(self) -> float | None: ...
    @property
    def response(self) -> ChannelsResponse | None: ...
    def create(self, storage: int | Literal["none", "latest"]) -> str: ...
    def describe(self, channel_id: str) -> ChannelDescription: ...
    def delete(self, channel_id: str) -> None: ...
    def list(self) -> builtins.list[str]: ...
    def cancel(self) -> None: ...
    def fileno(self) -> int: ...

@final
class Event:
    """How one notification ended."""

    def __new__(
        cls,
        *,
        kind: EventKind | int | str,
        reason: Reason | int | str | None = None,
        token: bytes | str = b"",
        user_data: object = None,
        http_status: int | None = None,
        reason_text: str | None = None,
        timestamp: int = 0,
        retry_after: int = 0,
        apns_id: str = "",
        unique_id: str = "",
        identifier: int = 0,
        reject: Reject | int | None = None,
    ) -> Self: ...
    _user_data: object
    _reason_text: str
    kind: Final[EventKind]
    reject: Final[Reject]
    identifier: Final[int]
    user_data: Final[Any]
    reason: Final[Reason]
    http_status: Final[int]
    timestamp: Final[int]
    apns_id: Final[str]
    reason_text: Final[str]
    token: Final[bytes]
    retry_after: Final[int]
    unique_id: Final[str]
    @property
    def why(self) -> str: ...
    @property
    def is_accepted(self) -> bool: ...
    @property
    def is_rejected(self) -> bool: ...
    @property
    def is_unknown(self) -> bool: ...
    @property
    def is_cancelled(self) -> bool: ...
    @property
    def is_expired(self) -> bool: ...
    @property
    def has_invalid_token(self) -> bool: ...
    def raise_unless_accepted(self) -> Self: ...
    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]: ...

class _Metrics(TypedDict):
    """What Session.metrics() returns."""

    responses: int
    response_seconds: float
    times: dict[float, int]
    classes: dict[int, int]
    reasons: dict[str, int]
    rejected_reasons: dict[str, int]
    rejects: dict[str, int]
    retries_asked: int
    resends_in_doubt: int
    resends_unprocessed: int
    tls12_full: int
    tls12_resumed: int
    tls13_full: int
    tls13_resumed: int
    connect_failures: dict[str, int]
    bytes_written: int
    bytes_read: int
    goaways: int
    pings: int
    resets: int
    timeouts: int
    tokens: int
    connecting: int
    open: int
    draining: int
    standby: int
    free_streams: int
    backoff: float

@final
class Stats(
    structseq[int],
    tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int, int],
):
    """Counts since the session was made."""

    __match_args__: Final = (
        "taken",
        "accepted",
        "rejected",
        "unknown",
        "unresolved",
        "resent",
        "connects",
        "bytes",
        "records",
        "events",
        "in_flight",
        "window",
        "first_unresolved",
        "cancelled",
        "forgotten",
        "expired",
    )
    taken: Final[int]
    accepted: Final[int]
    rejected: Final[int]
    unknown: Final[int]
    unresolved: Final[int]
    resent: Final[int]
    connects: Final[int]
    bytes: Final[int]
    records: Final[int]
    events: Final[int]
    in_flight: Final[int]
    window: Final[int]
    first_unresolved: Final[int]
    cancelled: Final[int]
    forgotten: Final[int]
    expired: Final[int]

@final
class Description(structseq[Any], tuple[str | None, tuple[str, ...], int, int, int, int]):
    """The contents of the provider's certificate."""

    __match_args__: Final = (
        "subject",
        "topics",
        "not_before",
        "not_after",
        "environments",
        "chain_length",
    )
    subject: Final[str | None]
    topics: Final[tuple[str, ...]]
    not_before: Final[int]
    not_after: Final[int]
    environments: Final[tuple[str, ...]]
    chain_length: Final[int]
    key_id: Final[str | None]
    team_id: Final[str | None]

@final
class Device(structseq[Any], tuple[int, bytes]):
    """A gone device."""

    __match_args__: Final = ("timestamp", "token")
    timestamp: Final[int]
    token: Final[bytes]

@final
class Finding(structseq[Any], tuple[Severity, int, int, int, str]):
    """An error or a warning about a payload."""

    __match_args__: Final = ("severity", "offset", "line", "column", "message")
    severity: Final[Severity]
    offset: Final[int]
    line: Final[int]
    column: Final[int]
    message: Final[str]

def check_payload(payload: Content, *, limit: int | None = None) -> list[Finding]: ...
def push_type_text(push_type: int, /) -> str: ...
def reason_http_status(reason: int, /) -> int: ...
def reason_text(reason: int, /) -> str: ...
def reject_text(reject: int, /) -> str: ...
def status_name(status: int, /) -> str: ...
def status_is_retryable(status: int, /) -> bool: ...
def end_sessions() -> None: ...
def has_invalid_token(kind: int, reject: int, reason: int, http_status: int, /) -> bool: ...
def describe(
    kind: int, reject: int, reason: int, http_status: int, reason_text: str, /
) -> str: ...
def encode_json(value: Any, /) -> bytes: ...
def token_from_hex(text: str, /) -> bytes: ...
def token_to_hex(token: _Bytes, /) -> str: ...
def token_from_base64(text: str, /) -> bytes: ...
def token_to_base64(token: _Bytes, /) -> str: ...
def version() -> str: ...
