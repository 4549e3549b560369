"""AsyncClient: notifications pushed from the tasks of an event loop, over one session."""

from __future__ import annotations

import asyncio
import copy
import os
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any

from . import aio
from ._client import (
    GOODBYE,
    UNREAD_MAX,
    ClientBase,
    given_up,
    is_binary,
    patience,
    require_process,
    seconds_of,
)
from ._constants import EventKind, Outcomes, Status
from ._errors import ClosedError, DeadlineError, Error, FullError
from ._notification import options_of, require_options

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._core import Credentials, Event
    from ._notification import Content, Item, PushOptions, Token

_TURN_COUNT = 64


class AsyncClient(ClientBase):
    """Pushes notifications from the tasks of an event loop: asyncio's, or uvloop's.

        async with libapns.AsyncClient(key="AuthKey_ABC123DEFG.p8", key_id="ABC123DEFG",
                                       team_id="DEF123GHIJ", topic="com.example.app") as client:
            print(await client.push(token, {"aps": {"alert": "Hello"}}))

    It has the arguments of Client, and is made in a coroutine or before the loop exists. It
    belongs to the loop that uses it first, and has no thread: the loop watches one descriptor. As
    an asynchronous context manager it closes at the end of the block.
    """

    def _begin(self, options: Any) -> None:
        self._patience = patience(options)
        self._is_binary = is_binary(options)
        self._process = os.getpid()
        self._session: aio.Session | None = None
        self._impatient: set[aio._Queued] = set()  # of push(), which fails early
        self._heard_at = 0.0
        self._is_closed = False

    # ---- What it is ---------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether it takes no more notifications."""
        return self._is_closed

    def use_credentials(self, credentials: Credentials, /) -> None:
        """Rotates the credentials, such as a renewed certificate. Nothing is lost by that."""
        self._open().use_credentials(credentials)

    def _open(self) -> aio.Session:
        require_process(self._process)
        if self._is_closed:
            raise ClosedError("the client was closed", Status.ERR_CLOSED)
        if self._session is None:
            self._session = aio.Session.__new__(aio.Session)
            self._session._begin(
                self._core, self._patience, self._hear, False, Outcomes.FAILURES, 1 << 30
            )
        return self._session

    def _hear(self, error: Error) -> None:
        self._heard_at = time.monotonic()
        # Report immediately if the peer was never reached, or if only a change can help.
        if not error.is_retryable or self._core.stats().connects == 0:
            for one in self._impatient:
                one.failure = error
                if one.identifier is None:
                    one.fail(copy.copy(error))
                elif self._session is not None:
                    self._session.cancel(one.identifier)

    # ---- Pushing ------------------------------------------------------------------------

    async def connect(self, timeout: float | None = None) -> None:
        """Connects now, which is the best way to find errors in host or credentials.

        Raises what prevents the connection, or DeadlineError.
        """
        seconds = seconds_of(timeout, self._patience)
        task = asyncio.ensure_future(self._open().connect())
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            task.cancel()
            raise DeadlineError(f"it was not done within {seconds:g} seconds", Status.ERR_TIMEOUT)
        return task.result()

    async def push(
        self,
        token: Token | None,
        payload: Content,
        *,
        timeout: float | None = None,
        user_data: object = None,
        **options: Unpack[PushOptions],
    ) -> Event:
        """Pushes one notification and returns its outcome, an Event. The arguments, and what
        becomes of them, are those of Client.push(): the options are expiry, priority, topic,
        push_type, collapse_id, apns_id, channel_id and deadline.

        Cancelled, it takes the notification back, in so far as it is not written.
        """
        require_options("push", options)
        began = time.monotonic()
        seconds = seconds_of(timeout, self._patience)
        session = self._open()
        future: asyncio.Future[Event] = session._loop.create_future()
        one = session._put(future, True, token, payload, user_data=user_data, **options)
        self._impatient.add(one)
        # The binary interface proves acceptance only during a drain.
        proof = asyncio.ensure_future(session.drain(seconds)) if self._is_binary else None
        try:
            await asyncio.wait({future}, timeout=seconds)
            if not future.done():
                return await self._give_up(session, one, began)
            event = future.result()
            if one.failure is not None and event.kind is EventKind.CANCELLED:
                raise copy.copy(one.failure)
            return event
        except asyncio.CancelledError:
            self._drop(session, one)
            raise
        finally:
            self._impatient.discard(one)
            if proof is not None:
                proof.add_done_callback(lambda task: task.cancelled() or task.exception())
                proof.cancel()

    def _drop(self, session: aio.Session, one: aio._Queued) -> bool:
        """Takes it back. True if its outcome comes immediately."""
        if one.identifier is None or one.identifier not in session._awaiting:
            one.future.cancel()
            return False
        return session.cancel(one.identifier) > 0

    async def _give_up(self, session: aio.Session, one: aio._Queued, began: float) -> Event:
        if one.identifier is None:
            one.future.cancel()
            raise FullError("there was no room in time", Status.ERR_FULL)
        error = session.last_error if self._heard_at >= began else None
        if self._drop(session, one):
            await asyncio.wait({one.future}, timeout=GOODBYE)
        event = one.future.result() if one.future.done() else None
        one.future.cancel()
        why = str(error) if error is not None else "its time is over"
        return given_up(event, why, one.identifier, one.token, one.options["user_data"])

    async def submit(
        self,
        token: Token | None,
        payload: Content,
        *,
        user_data: object = None,
        **options: Unpack[PushOptions],
    ) -> asyncio.Future[Event]:
        """Queues one notification and returns a future of its outcome, to be awaited.

        It waits only while there is no room, because very many are unresolved. The notification
        is tried until its deadline, see Client.submit(). cancel() of the future takes it back.

        The options are expiry, priority, topic, push_type, collapse_id, apns_id, channel_id and
        deadline; Client.push() explains them.
        """
        require_options("submit", options)
        session = self._open()
        future: asyncio.Future[Event] = session._loop.create_future()
        one = session._put(future, True, token, payload, user_data=user_data, **options)
        if one.identifier is None and not future.done():
            one.taken = session._loop.create_future()
            try:
                await one.taken
            except asyncio.CancelledError:
                self._drop(session, one)
                future.cancel()
                raise
        if one.identifier is None:
            await future  # which has failed

        def look(future: asyncio.Future[Event]) -> None:
            if future.cancelled():
                self._drop(session, one)

        future.add_done_callback(look)
        return future

    async def push_many(
        self,
        notifications: Iterable[Item] | AsyncIterable[Item],
        /,
        *,
        timeout: float | None = None,
    ) -> AsyncIterator[Event]:
        """Pushes notifications and iterates over their outcomes: an Event for each, in the order
        of the responses; `user_data` or `token` identifies the notification.

        They are those of Client.push_many(), and may come from an asynchronous iterable too. An
        exception about one of them, or of the iterable, is raised after the outcomes of all queued
        notifications, whose number is its `taken`. If no outcome comes for `timeout` seconds
        (None: as of push()) it is a DeadlineError.
        """
        seconds = seconds_of(timeout, self._patience)
        many = _Many(self, notifications)
        task = asyncio.ensure_future(many.send())
        try:
            while True:
                try:
                    future = await asyncio.wait_for(many.answers.get(), seconds)
                except asyncio.TimeoutError:
                    error = DeadlineError(
                        f"{many.open} notifications still wait for an answer", Status.ERR_TIMEOUT
                    )
                    error.unresolved, error.taken = many.open, many.taken
                    raise error from None
                if future is not None:
                    many.open -= 1
                    if many.answers.qsize() < UNREAD_MAX:
                        many.room.set()
                    yield future.result()
                if task.done() and many.open == 0:
                    break
            failure = task.exception()
            if failure is not None:
                failure.taken = many.taken  # type: ignore[attr-defined]
                raise failure
        finally:
            task.cancel()

    async def drain(self, timeout: float | None = None) -> None:
        """Waits until the outcome of every notification is known, for at most `timeout` seconds;
        None: as of push(). DeadlineError has `unresolved`."""
        await self._open().drain(timeout)

    async def close(self, timeout: float | None = None) -> None:
        """Takes no more, waits for the outcomes of queued notifications, and closes connections.

        It waits for at most `timeout` seconds; None: as of push(). Then unresolved notifications
        end as unknown, and DeadlineError has their number in `unresolved`. Closing again does
        nothing.
        """
        if self._is_closed or self._process != os.getpid():
            return
        session = self._session
        if session is None:
            self._is_closed = True
            return self._core.close(0)
        session._require_home()
        self._is_closed = True
        try:
            await session.drain(timeout)
        except BaseException:  # such as DeadlineError
            await session.close(0)
            raise
        await session.close(GOODBYE)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, /, *rest: object) -> None:
        try:
            await self.close()
        except DeadlineError:
            if kind is None:
                raise


class _Many:
    """The notifications of push_many(), which sends them while its outcomes are taken."""

    def __init__(
        self, client: AsyncClient, source: Iterable[Item] | AsyncIterable[Item]
    ) -> None:
        self.client = client
        self.source = source
        self.answers: asyncio.Queue[asyncio.Future[Event] | None] = asyncio.Queue()
        self.room = asyncio.Event()
        self.taken = self.open = 0

    async def send(self) -> None:
        try:
            if isinstance(self.source, AsyncIterable):
                async for one in self.source:
                    await self.send_one(one)
            else:
                for one in self.source:
                    await self.send_one(one)
            if self.client._is_binary:
                await self.client.drain()
        finally:
            # Wakes the taker, who looks whether that was the last.
            asyncio.get_running_loop().call_soon(self.answers.put_nowait, None)

    async def send_one(self, one: Item) -> None:
        token, payload, user_data, options = options_of(one)
        future = await self.client.submit(token, payload, user_data=user_data, **options)
        self.taken += 1
        self.open += 1
        future.add_done_callback(self.answers.put_nowait)
        while self.answers.qsize() >= UNREAD_MAX:
            self.room.clear()
            await self.room.wait()
        if self.taken % _TURN_COUNT == 0:
            await asyncio.sleep(0)
