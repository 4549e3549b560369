"""Sessions, feedback and channels for asyncio, or any loop with its interface, such as uvloop's.

libapns.AsyncClient, which uses this module, is the simple way to push.

    import libapns, libapns.aio

    async with libapns.aio.Session(who, topic="com.example.app") as session:
        outcome = await session.send(token, {"aps": {"alert": "Hello"}})
        print(outcome.why)

No call blocks the loop, and the module has no thread and no timer: the loop watches one descriptor
for each session.

The logger "libapns.aio" gets a warning for each connection that cannot be made or was lost. The
session retries automatically, and no notification is lost.
"""

from __future__ import annotations

import asyncio
import builtins
import collections
import contextlib
import logging
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from . import _core
from ._client import OverSession, patience, seconds_of
from ._constants import EventKind, Outcomes, Status
from ._errors import (
    AgainError,
    ArgumentError,
    ClosedError,
    DeadlineError,
    Error,
    ForkedError,
    FullError,
)
from ._log import forgetting
from ._notification import require_options

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._channels import ChannelDescription, ChannelsResponse
    from ._constants import Storage
    from ._core import Credentials, Device, Event, Stats
    from ._notification import Content, PushOptions, Token
    from ._options import ChannelsOptions, ClientOptions, FeedbackOptions

__all__ = ["Channels", "Feedback", "Session"]

logger = logging.getLogger("libapns.aio")

_T = TypeVar("_T")
_Core = TypeVar("_Core", _core.Feedback, _core.Channels)

# A turn of the loop handles at most this many outcomes or notifications, and ends after this many
# seconds, so that other tasks have theirs. Each outcome wakes a task, which takes longer.
_TURN_COUNT = 64
_TURN_SECONDS = 0.001
# With Outcomes.ALL, accepted events are dropped when this many events wait.
_ACCEPTED_MAX = 16384

# Errors of the notification, or that end the session. All other errors go to on_error.
_FINAL = (ArgumentError, ClosedError, ForkedError)


class _Queued:
    """A notification that waits for room in the window."""

    __slots__ = (
        "future", "wants_outcome", "token", "payload", "options", "identifier", "taken", "failure"
    )  # fmt: skip

    def __init__(
        self,
        future: asyncio.Future[Any],
        wants_outcome: bool,
        token: Token | None,
        payload: Content,
        options: dict[str, Any],
    ) -> None:
        self.future = future
        self.wants_outcome = wants_outcome
        self.token = token
        self.payload = payload
        self.options = options
        self.identifier: int | None = None  # once the session has taken it
        self.taken: asyncio.Future[None] | None = None  # done then, or after a failure
        self.failure: Error | None = None  # raised if it was taken back

    def fail(self, error: BaseException) -> None:
        _fail(self.future, error)
        self.tell()

    def tell(self) -> None:
        if self.taken is not None:
            _resolve(self.taken)


def _watch(loop: asyncio.AbstractEventLoop, descriptor: int, session: weakref.ref[Session]) -> None:
    alive = session()
    if alive is not None:
        alive._process()
    else:
        loop.remove_reader(descriptor)


class _Unclosed:
    """Drains and closes a session, which the program dropped without closing it, in its loop. If
    the loop ends before, the end of the process continues."""

    all: set[_Unclosed] = set()

    def __init__(self, loop: asyncio.AbstractEventLoop, core: _core.Session) -> None:
        self.loop, self.core = loop, core
        self.all.add(self)

    def begin(self) -> None:
        self.loop.add_reader(self.core.fileno(), self.work)
        self.loop.call_later(self.core._close_ms / 1000, self.end)
        self.work()

    def work(self) -> None:
        try:
            self.core.process()
            self.core.drain()
        except AgainError:
            return
        except Error as error:
            # Such as of a connection, which is made again.
            if error.is_retryable:
                return
        self.end()

    def end(self) -> None:
        if self in self.all:
            self.all.remove(self)
            self.loop.remove_reader(self.core.fileno())
            # Its time is over, and its destruction does not wait.
            self.core._close_ms = 0


class _Home:
    """The loop that an object was made in; no other loop can use it."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.thread = threading.get_ident()

    def require(self, what: str) -> None:
        """Raises for a call from another loop or thread, which would not get the outcome."""
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            if threading.get_ident() == self.thread:
                return
        else:
            if running is self.loop:
                return
        raise ArgumentError(
            f"{what} is used outside of the event loop that it was made in:"
            " asyncio.run_coroutine_threadsafe() calls it from another loop or thread",
            Status.ERR_ARGUMENT,
        )


def _outcomes_of(given: int | str) -> Outcomes:
    try:
        return Outcomes[given.upper()] if isinstance(given, str) else Outcomes(given)
    except (KeyError, ValueError):
        raise ValueError(f"outcomes is {given!r}, not all, each or failures") from None


def _resolve(future: asyncio.Future[Any], result: Any = None) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


class Session(OverSession):
    """A provider's session with one gateway, in the running event loop.

    It takes the options of libapns.Session except nonblocking, and is made in a coroutine. Only
    its loop can use it: a call from elsewhere raises ArgumentError, and queues nothing. As an
    asynchronous context manager it drains and closes at the end of the block, for at most
    connect_timeout, write_timeout and answer_timeout together and one second more, 51 by default;
    then it raises DeadlineError, and other outcomes are unknown. After an exception it closes
    immediately.

    on_error
        Is called with each libapns.Error about a connection, such as a failed one. The attribute
        last_error is the latest.
    keep_cancelled
        When a task that awaits send() is cancelled, and the notification was already queued,
        events() delivers its outcome, an acceptance too. False: it is dropped.
    outcomes
        Which outcomes of posted notifications are events; send() returns its own in any case.
        "all": all; if many wait, the oldest accepted ones are dropped. "each": all, and each
        stays until it is taken. "failures": all except accepted ones.
    events_max
        When this many events that are not dropped wait in events(), post_nowait() raises
        FullError and post() waits.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        on_error: Callable[[Error], object] | None = None,
        keep_cancelled: bool = True,
        outcomes: int | Literal["all", "each", "failures"] = Outcomes.ALL,
        events_max: int = 1 << 20,
        **options: Unpack[ClientOptions],
    ) -> None:
        if "nonblocking" in options:
            raise TypeError("libapns.aio.Session() takes no nonblocking: it never waits")
        if events_max < 1:
            raise ValueError("events_max is not at least 1")
        wanted = _outcomes_of(outcomes)
        core = _core.Session(
            credentials,
            nonblocking=True,
            outcomes=Outcomes.EACH,
            events_max=events_max,
            **options,
        )
        self._begin(
            core, patience(options), on_error, keep_cancelled, wanted, events_max
        )

    def _begin(
        self,
        core: _core.Session,
        patience: float,
        on_error: Callable[[Error], object] | None,
        keep_cancelled: bool,
        outcomes: Outcomes,
        events_max: int,
    ) -> None:
        self.on_error = on_error
        self.last_error: Error | None = None
        self._home = _Home()
        self._loop = self._home.loop
        self._keep_cancelled = keep_cancelled
        self._outcomes = outcomes
        self._accepted = 0  # of the events
        self._forgotten = 0
        self._events_max = events_max
        self._awaiting: dict[int, asyncio.Future[Event]] = {}
        self._queue: collections.deque[_Queued] = collections.deque()
        self._events: collections.deque[Event] = collections.deque()
        self._readers: collections.deque[asyncio.Future[None]] = collections.deque()
        self._connecting: list[asyncio.Future[None]] = []
        self._draining: list[asyncio.Future[None]] = []
        self._ended: asyncio.Future[None] | None = None  # while it closes
        self._is_scheduled = False  # the next turn
        self._credit = _TURN_COUNT  # how many notifications may be sent before it
        self._patience = patience
        self._has_closed = False  # the library's session
        self._is_over = False  # and all its outcomes were delivered
        self._core = core
        self._descriptor = self._core.fileno()
        self._loop.add_reader(
            self._descriptor, _watch, self._loop, self._descriptor, weakref.ref(self)
        )

    # ---- What it is ---------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether it takes no more notifications."""
        return self._ended is not None or self._core.closed

    @property
    def queued(self) -> int:
        """How many notifications wait for room in the window, before the session queues them."""
        return sum(not one.future.done() for one in self._queue)

    def stats(self) -> Stats:
        """Counts of the notifications that the session has queued, as libapns.Session.stats()."""
        stats = self._core.stats()
        return type(stats)((*stats[:-2], self._forgotten, stats.expired))

    def __repr__(self) -> str:
        closed = ", closed" if self.closed else ""
        return f"<libapns.aio.Session to {self.host}, port {self.port}{closed}>"

    def use_credentials(self, credentials: Credentials, /) -> None:
        """Rotates the session's credentials, as libapns.Session.use_credentials() does."""
        self._require_open()
        self._core.use_credentials(credentials)

    # ---- Sending ------------------------------------------------------------------------

    async def connect(self) -> None:
        """Connects now, which is the best way to find errors in host or credentials.

        Raises the error that prevents the connection; the session itself keeps trying.
        """
        self._require_open()
        try:
            return self._core.connect()
        except AgainError:
            pass
        future: asyncio.Future[None] = self._loop.create_future()
        self._connecting.append(future)
        try:
            await future
        finally:
            self._connecting.remove(future)

    async def send(
        self,
        token: Token | None,
        payload: Content,
        *,
        user_data: object = None,
        **options: Unpack[PushOptions],
    ) -> Event:
        """Sends one notification and returns its outcome, an libapns.Event.

        A rejection is an outcome too, not an exception: look at `kind` and `why`. After an
        exception the notification was not queued. While the window is full it waits for room,
        in the order of the calls.

        Over the binary interface, which answers only rejected notifications, an acceptance is
        known when it is proven: after prove_after at the latest, or as soon as the window is full
        or drain() is called. HTTP/2 answers each notification immediately.

        Cancellation, such as by asyncio.wait_for(), takes the notification back, as cancel() does.
        If the session had queued it, its outcome is an event, see keep_cancelled: CANCELLED if
        nothing of it was written, else its other outcome. By its `deadline`, in seconds after the
        session queued it (None: the session's; -1: no limit), it ends as EXPIRED or UNKNOWN.

        The options are expiry, priority, topic, push_type, collapse_id, apns_id, channel_id and
        deadline; libapns.Client.push() explains them.
        """
        require_options("send", options)
        future: asyncio.Future[Event] = self._loop.create_future()
        one = self._put(future, True, token, payload, user_data=user_data, **options)
        try:
            return await future
        except asyncio.CancelledError:
            if one.identifier in self._awaiting:
                self.cancel(one.identifier)
            raise

    async def post(
        self,
        token: Token | None,
        payload: Content,
        *,
        user_data: object = None,
        **options: Unpack[PushOptions],
    ) -> int:
        """Queues one notification, and returns the identifier that its event will have.

        It waits only until there is room in the window. events() delivers the outcome. Cancelled
        while it waits for room, the notification is not sent. The options are those of send():
        expiry, priority, topic, push_type, collapse_id, apns_id, channel_id and deadline.
        """
        require_options("post", options)
        future: asyncio.Future[int] = self._loop.create_future()
        self._put(future, False, token, payload, user_data=user_data, **options)
        return await future

    def post_nowait(
        self,
        token: Token | None,
        payload: Content,
        *,
        user_data: object = None,
        **options: Unpack[PushOptions],
    ) -> int:
        """post() without waiting: AgainError if the window has no room, or others wait for room;
        FullError: events_max events wait to be taken. The options are those of send(): expiry,
        priority, topic, push_type, collapse_id, apns_id, channel_id and deadline."""
        require_options("post_nowait", options)
        self._require_open()
        if self._is_full():
            raise FullError("events wait: take them from events()", Status.ERR_FULL)
        if self._queue:
            raise AgainError("others wait for room in the window", Status.ERR_AGAIN)
        return self._send(token, payload, user_data=user_data, **options)

    def _put(
        self,
        future: asyncio.Future[Any],
        wants_outcome: bool,
        token: Token | None,
        payload: Content,
        **options: Any,
    ) -> _Queued:
        self._require_open()
        one = _Queued(future, wants_outcome, token, payload, options)
        # Thousands of tasks may begin in one turn of the loop.
        if self._credit == 0:
            self._schedule()
        elif not self._queue:
            self._credit -= 1
            if self._take(one):
                return one
        self._queue.append(one)
        return one

    def _take(self, one: _Queued) -> bool:
        """Sends it, or fails it. False where it has to wait."""
        if one.future.done():
            return True
        if not one.wants_outcome and self._is_full():
            return False
        try:
            # The loop's next turn writes what its tasks sent in this one, all together.
            identifier = self._send(one.token, one.payload, **one.options)
        except (AgainError, FullError):
            return False
        except Error as error:
            if isinstance(error, _FINAL):
                one.fail(error)
                return True
            self._tell(error)
            return False
        except Exception as error:  # such as a TypeError of an argument
            one.fail(error)
            return True
        one.identifier = identifier
        one.tell()
        if one.wants_outcome:
            self._awaiting[identifier] = one.future
        else:
            one.future.set_result(identifier)
        return True

    def _require_open(self) -> None:
        self._require_home()
        if self.closed:
            raise ClosedError("the session was closed", Status.ERR_CLOSED)

    def _send(self, token: Token | None, payload: Content, **options: Any) -> int:
        try:
            return self._core.send(token, payload, more=True, **options)
        except Exception as error:
            # Such as of a token_provider, which the session called while it wrote others.
            if not getattr(error, "taken", 0):
                raise
            self._report(error)
            return int(error.identifier)  # type: ignore[attr-defined]

    def _report(self, error: Exception) -> None:
        """Reports an exception of one of the program's functions, which must not affect others."""
        self._loop.call_exception_handler({"message": f"in {self!r}", "exception": error})

    def _require_home(self) -> None:
        self._home.require(f"the session to {self.host}, port {self.port}")

    # ---- Outcomes -----------------------------------------------------------------------

    async def events(self) -> AsyncIterator[Event]:
        """The outcomes of posted notifications, as they come, and those of cancelled sends.

        Ends when the session has closed and all were taken. Each event goes to one taker.
        """
        self._require_home()
        given = 0
        while True:
            while self._events:
                event = self._events.popleft()
                self._accepted -= event.kind is EventKind.ACCEPTED
                if self._queue and not self._is_scheduled and not self._is_full():
                    self._schedule()
                yield event
                given += 1
                # Let other tasks run, even if the taker never awaits.
                if given % _TURN_COUNT == 0:
                    await asyncio.sleep(0)
            if self._is_over:
                return
            reader: asyncio.Future[None] = self._loop.create_future()
            self._readers.append(reader)
            try:
                await reader
            finally:
                if reader in self._readers:
                    self._readers.remove(reader)
                elif reader.done() and self._events:
                    # If this taker was cancelled, the event goes to the next one.
                    self._wake_reader()

    async def drain(self, timeout: float | None = None) -> None:
        """Waits until the outcome of every notification is known, for at most `timeout` seconds.

        None: for connect_timeout, write_timeout and answer_timeout together. DeadlineError: the
        time is over; its `unresolved` is the number of notifications without an outcome; they
        stay in the session. Events may still wait to be taken.
        """
        self._require_home()
        future: asyncio.Future[None] = self._loop.create_future()
        self._draining.append(future)
        try:
            self._look()
            await asyncio.wait_for(future, seconds_of(timeout, self._patience))
        except asyncio.TimeoutError:
            error = DeadlineError("outcomes are not known in time", Status.ERR_TIMEOUT)
            error.unresolved = self._core.stats().unresolved + self.queued
            raise error from None
        finally:
            self._draining.remove(future)

    def cancel(self, identifier: int | None = None) -> int:
        """Takes back the notification with that identifier, as post() returns it, or all of them.

        After this call the session does not begin to write or resend any of them. Unwritten
        notifications end as EventKind.CANCELLED, or as UNKNOWN if an earlier connection may have
        delivered them; the others still wait for their responses. Returns how many ended. Does
        not cancel notifications that wait for room in the window, which are not yet queued.
        """
        count = self._core.cancel(identifier)
        if count:
            self._schedule()
        return count

    async def close(self, timeout: float | None = None) -> None:
        """Writes everything, and reads until the gateway has answered, for at most `timeout`
        seconds; None: as of drain().

        Then unresolved notifications end as unknown. send() and post() that still waited for room
        raise ClosedError. Closing continues if the caller is cancelled.
        """
        self._require_home()
        if self._is_over:
            return
        if self._ended is None:
            self._ended = self._loop.create_future()
            waiting, self._queue = self._queue, collections.deque()
            for one in waiting:
                one.fail(ClosedError("the session was closed", Status.ERR_CLOSED))
            for future in self._connecting:
                _fail(future, ClosedError("the session was closed", Status.ERR_CLOSED))
            try:
                self._core.close(timeout)
                self._has_closed = True
            except AgainError:
                pass
            except BaseException:
                self._ended = None
                raise
            self._look()
        await asyncio.shield(self._ended)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, /, *rest: object) -> None:
        if self.closed or kind is not None:
            return await self.close(0)
        try:
            await self.drain()
        except BaseException:
            await self.close(0)
            raise
        await self.close(1)

    def __del__(self) -> None:
        if getattr(self, "_descriptor", -1) < 0 or self._loop.is_closed():
            return
        self._loop.remove_reader(self._descriptor)
        # Its destruction would wait.
        if self._core.stats().unresolved:
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                self._loop.call_soon_threadsafe(_Unclosed(self._loop, self._core).begin)

    # ---- In the loop ----------------------------------------------------------------------

    def _process(self) -> None:
        """The descriptor is readable."""
        self._credit = _TURN_COUNT
        try:
            if not self._core.process():
                self._has_closed = True
        except Error as error:
            self._tell(error)
        except Exception as error:  # such as of a token_provider
            self._report(error)
        self._look()

    def _tell(self, error: Error) -> None:
        self.last_error = error
        logger.warning("%s, port %d: %s", self.host, self.port, error)
        for future in self._connecting:
            _fail(future, error)
        if self.on_error is not None:
            try:
                self.on_error(error)
            except Exception:
                logger.exception("on_error failed")

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._is_scheduled = False
        self._credit = _TURN_COUNT
        self._look()

    def _look(self) -> None:
        """Delivers outcomes, sends what has room now, and ends what others wait for."""
        if self._is_over or self._is_scheduled:
            return
        until = time.monotonic() + _TURN_SECONDS
        if not self._deliver(until) or not self._send_queued(until):
            return self._schedule()
        self._end_connecting()
        self._end_draining()
        if self._has_closed:
            self._end()

    def _deliver(self, until: float) -> bool:
        """False if more outcomes wait for the next turn."""
        take = self._core.next_event
        for count in range(_TURN_COUNT):
            event = take()
            if event is None:
                return True
            future = self._awaiting.pop(event.identifier, None)
            if future is not None and not future.done():
                future.set_result(event)
            elif (
                self._outcomes != Outcomes.FAILURES or event.kind is not EventKind.ACCEPTED
                if future is None
                else self._keep_cancelled
            ):
                self._keep(event)
                self._wake_reader()
            if count % 16 == 15 and time.monotonic() >= until:
                break
        return False

    def _is_full(self) -> bool:
        """Whether events_max events wait that cannot be dropped."""
        yielding = self._accepted if self._outcomes == Outcomes.ALL else 0
        return len(self._events) - yielding >= self._events_max

    def _keep(self, event: Event) -> None:
        most = min(self._events_max, _ACCEPTED_MAX)
        if self._outcomes == Outcomes.ALL and len(self._events) >= most:
            self._forget()
        self._accepted += event.kind is EventKind.ACCEPTED
        self._events.append(event)

    def _forget(self) -> None:
        """Drops the oldest accepted event, and one more for every eight others before it."""
        gone = 0
        stay: list[Event] = []
        while self._accepted and gone <= len(stay) // 8:
            event = self._events.popleft()
            if event.kind is EventKind.ACCEPTED:
                gone += 1
                self._accepted -= 1
            else:
                stay.append(event)
        self._events.extendleft(reversed(stay))
        if not self._forgotten:
            forgetting(self.host, self.port)
        self._forgotten += gone

    def _wake_reader(self) -> None:
        while self._readers:
            reader = self._readers.popleft()
            if not reader.done():
                return reader.set_result(None)

    def _send_queued(self, until: float) -> bool:
        """False if more may have room in the next turn."""
        queue, count = self._queue, 0
        while queue:
            if not self._take(queue[0]):
                return True
            queue.popleft()
            count += 1
            if count % 16 == 0 and (count >= _TURN_COUNT or time.monotonic() >= until):
                return not queue
        return True

    def _end_connecting(self) -> None:
        if not any(not future.done() for future in self._connecting):
            return
        try:
            self._core.connect()
        except AgainError:
            return
        except Error as error:
            return self._tell(error)
        for future in self._connecting:
            _resolve(future)

    def _end_draining(self) -> None:
        if not any(not future.done() for future in self._draining):
            return
        if not self._has_closed:
            if self._queue:
                return
            try:
                self._core.drain()
            except AgainError:
                return
            except ClosedError:
                if self._ended is not None:
                    return
            except Error as error:
                return self._tell(error)
            if self._core.stats().events:
                return self._schedule()
        for future in self._draining:
            _resolve(future)

    def _end(self) -> None:
        self._is_over = True
        self._loop.remove_reader(self._descriptor)
        self._descriptor = -1
        for reader in self._readers:
            _resolve(reader)
        if self._ended is None:
            self._ended = self._loop.create_future()
        _resolve(self._ended)


class _ByDescriptor(Generic[_Core]):
    """A nonblocking object with a descriptor, for which one task at a time waits."""

    def __init__(
        self, make: Callable[..., _Core], credentials: Credentials, options: Any
    ) -> None:
        if "nonblocking" in options:
            raise TypeError(
                f"libapns.aio.{type(self).__name__}() takes no nonblocking: it never waits"
            )
        self._home = _Home()
        self._loop = self._home.loop
        self._core: _Core = make(credentials, nonblocking=True, **options)
        self._waiter: asyncio.Future[None] | None = None

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._core.closed

    def _require_home(self) -> None:
        self._home.require(f"libapns.aio.{type(self).__name__}")

    def close(self) -> None:
        """Closes the connection. A task that waits gets ClosedError."""
        self._require_home()
        if self._waiter is not None:
            self._loop.remove_reader(self._core.fileno())
            _resolve(self._waiter)
        self._core.close()

    async def _wait(self) -> None:
        descriptor = self._core.fileno()
        self._waiter = self._loop.create_future()
        self._loop.add_reader(descriptor, _resolve, self._waiter)
        try:
            await self._waiter
        finally:
            self._waiter = None
            if not self._core.closed:
                self._loop.remove_reader(descriptor)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        self.close()


class Feedback(_ByDescriptor["_core.Feedback"]):
    """The feedback service's list of gone devices.

    It takes the options of libapns.Feedback except nonblocking, and is made in a coroutine.
    Iterating over it connects, and reads the list, one libapns.Device at a time:

        async with libapns.aio.Feedback(who) as feedback:
            async for device in feedback:
                forget(device.token, device.timestamp)

    One task iterates at a time. After cancellation it can continue later: no device is lost.
    """

    def __init__(self, credentials: Credentials, **options: Unpack[FeedbackOptions]) -> None:
        super().__init__(_core.Feedback, credentials, options)
        self._given = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Device:
        self._require_home()
        self._given += 1
        # Other tasks have their turn while a long list is read.
        if self._given % _TURN_COUNT == 0:
            await asyncio.sleep(0)
        while True:
            try:
                return next(self._core)
            except StopIteration:
                raise StopAsyncIteration from None
            except AgainError:
                if self._waiter is not None:
                    raise RuntimeError("another task iterates over this feedback") from None
                await self._wait()


class Channels(_ByDescriptor["_core.Channels"]):
    """The channels of an app: what broadcasts go to.

    It takes the options of libapns.Channels, all but nonblocking, and is made in a coroutine:

        async with libapns.aio.Channels(who, topic="com.example.app") as channels:
            channel = await channels.create("latest")

    Requests go one after the other, in the order of the calls. Cancellation gives a request up,
    with its connection; it may be carried out all the same.
    """

    def __init__(self, credentials: Credentials, **options: Unpack[ChannelsOptions]) -> None:
        super().__init__(_core.Channels, credentials, options)
        self._turn = asyncio.Lock()

    @property
    def response(self) -> ChannelsResponse | None:
        """APNs' response to the last request; None without a response."""
        return self._core.response

    async def create(self, storage: Storage | int | Literal["none", "latest"]) -> str:
        """Creates a channel and returns its identifier, as libapns.Channels.create() does."""
        return await self._ask(self._core.create, storage)

    async def describe(self, channel_id: str) -> ChannelDescription:
        """Asks what a channel is for."""
        return await self._ask(self._core.describe, channel_id)

    async def delete(self, channel_id: str) -> None:
        """Deletes a channel."""
        return await self._ask(self._core.delete, channel_id)

    async def list(self) -> builtins.list[str]:
        """The identifiers of all channels of the app."""
        return await self._ask(self._core.list)

    async def _ask(self, request: Callable[..., _T], *arguments: Any) -> _T:
        self._require_home()
        async with self._turn:
            while True:
                try:
                    return request(*arguments)
                except AgainError:
                    pass
                try:
                    await self._wait()
                except BaseException:  # such as CancelledError
                    self._core.cancel()
                    raise
