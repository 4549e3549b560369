"""Client: notifications pushed from any thread, over one session."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import copy
import logging
import os
import queue
import select
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import _core, _log
from ._constants import EventKind, Protocol, Status
from ._credentials import make_credentials
from ._errors import (
    AgainError,
    ArgumentError,
    ClosedError,
    DeadlineError,
    Error,
    ForkedError,
    FullError,
)
from ._notification import options_of, require_options

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._core import Credentials, Device, Event, Session, Stats, _Metrics
    from ._credentials import _Path, _Text
    from ._notification import Content, Item, PushOptions, Token
    from ._options import ClientOptions

logger = logging.getLogger("libapns")

# How many items are read or outcomes delivered before others have their turn.
_TURN_COUNT = 64
# push_many() stops reading while this many outcomes wait for the program.
UNREAD_MAX = 1024
# How long to wait for the peer to close, and for outcomes of cancelled notifications.
GOODBYE = 1.0
# The longest wait in seconds, which threads and event loops still take.
FOR_EVER = 1e9


class Answer(concurrent.futures.Future["Event"]):
    """The future that submit() returns, of the outcome of one notification."""

    def __init__(self, engine: _Engine, user_data: object) -> None:
        super().__init__()
        self._engine = engine
        self._user_data = user_data
        self._identifier: int | None = None  # once the session has taken it
        self._failure: Error | None = None  # to be raised where it was taken back
        self._is_cancelled = False  # by cancel()

    def cancel(self) -> bool:
        """Takes the notification back. False: it was written already, or has its outcome."""
        if self.done():
            return self.cancelled()
        if self._identifier is None:
            return self._give_up()  # it still waits for room
        self._is_cancelled = True
        if not self._engine.take_back(self):
            return False
        concurrent.futures.wait([self], GOODBYE)
        return self.cancelled()

    def _give_up(self) -> bool:
        super().cancel()
        return self.set_running_or_notify_cancel() is False

    def _end(self, event: Event) -> None:
        event._user_data = self._user_data
        if self.done():
            return
        if event.kind is EventKind.CANCELLED and self._failure is not None:
            self.set_exception(copy.copy(self._failure))
        elif event.kind is EventKind.CANCELLED and self._is_cancelled:
            self._give_up()
        else:
            self.set_result(event)


class _Goal:
    """A goal that the session reaches in several turns, while a thread waits."""

    def __init__(self, call: Callable[[], object], is_patient: bool) -> None:
        self.call = call
        self.is_patient = is_patient  # it waits for better times
        self.over = threading.Event()
        self.error: Exception | None = None

    def end(self, error: Exception | None = None) -> None:
        self.error = error
        self.over.set()

    def try_it(self) -> None:
        try:
            self.call()
        except AgainError:
            return
        except Exception as error:
            if not self.is_patient or not isinstance(error, Error) or not error.is_retryable:
                self.end(error)
        else:
            self.end()


class _Engine:
    """A session that never waits, and the thread that works for it.

    The thread refers to this and not to the client, so that a client can be forgotten.
    """

    all: set[_Engine] = set()  # those with a thread

    def __init__(self, core: _core.Session, options: Any) -> None:
        self.core = core
        self.send_time, self.patience = send_time(options), patience(options)
        self.log: _log.Log | None = options.get("log")
        self.is_binary = is_binary(options)
        self.process = os.getpid()
        self.thread: threading.Thread | None = None
        self.starting = threading.Lock()
        self.changed = threading.Condition()  # there may be room
        self.turns = 0
        self.later: collections.deque[tuple[Any, ...]] = collections.deque()  # waits for room
        self.impatient: set[Answer] = set()  # of push(), which fails early
        self.proving: weakref.WeakSet[_Outcomes] = weakref.WeakSet()  # of push_many(): all is sent
        self.goals: list[_Goal] = []
        self.last_error: Error | None = None
        self.last_error_at = 0.0
        self.deadline: float | None = None  # of its end, once that has begun
        self.says_loss = False
        self.is_closing = self.has_closed = False
        self.lost = 0
        self.over = threading.Event()

    # ---- From any thread ----------------------------------------------------------------

    def require(self) -> None:
        require_process(self.process)
        if self.deadline is not None:
            raise ClosedError("the client was closed", Status.ERR_CLOSED)

    def is_own_thread(self) -> bool:
        return self.thread is threading.current_thread()

    def require_other_thread(self, what: str) -> None:
        if self.is_own_thread():
            raise ArgumentError(
                f"{what} in a callback of the client would wait for itself: submit() does not wait",
                Status.ERR_ARGUMENT,
            )

    def start(self) -> None:
        if self.thread is not None:
            return
        with self.starting:
            if self.thread is None:
                self.thread = threading.Thread(target=self.run, name="libapns", daemon=True)
                try:
                    self.thread.start()
                except BaseException:  # such as at the interpreter's end
                    self.thread = None
                    raise
                self.all.add(self)

    def wake(self) -> None:
        # Takes no lock: the collector may call it, in any thread and anywhere.
        self.core.wake()

    def take(
        self,
        answer: Answer,
        token: Token | None,
        payload: Content,
        options: Any,
        deadline: float,
        more: bool,
    ) -> None:
        """Has the session take it, and waits for room until the deadline."""
        self.require()
        self.start()
        while True:
            turn = self.turns
            if self.try_take(answer, token, payload, options, more):
                return
            if self.is_own_thread():
                # It cannot wait for itself. The payload may change before it is sent.
                return self.later.append((answer, token, written(payload), options))
            left = deadline - time.monotonic()
            if left <= 0:
                raise FullError("there was no room in time", Status.ERR_FULL)
            self.wake()
            with self.changed:
                if self.turns == turn:
                    self.changed.wait(min(left, 1))
            self.require()

    def try_take(
        self, answer: Answer, token: Token | None, payload: Content, options: Any, more: bool
    ) -> bool:
        try:
            answer._identifier = self.core.send(
                token, payload, user_data=answer, more=more, **options
            )
        except (AgainError, FullError):
            return False
        except Exception as error:
            # Such as of a token_provider, which the session called while it wrote others.
            if not getattr(error, "taken", 0):
                raise
            self.report(error)
            answer._identifier = error.identifier  # type: ignore[attr-defined]
        self.wake()
        return True

    def take_back(self, answer: Answer) -> bool:
        """Takes it back. True if its outcome comes immediately, because it was not written."""
        if answer._identifier is None or self.process != os.getpid() or self.over.is_set():
            return False
        count = self.core.cancel(answer._identifier)
        if self.is_own_thread():
            self.deliver()
        else:
            self.wake()
        return count > 0

    def reach(self, call: Callable[[], object], timeout: float | None, is_patient: bool) -> None:
        """Repeats the call until it raises no AgainError. DeadlineError after the timeout."""
        self.require()
        self.require_other_thread("this")
        self.start()
        goal = _Goal(call, is_patient)
        self.goals.append(goal)
        self.wake()
        seconds = seconds_of(timeout, self.patience)
        try:
            if goal.over.wait(seconds):
                if goal.error is not None:
                    raise goal.error
                return
        finally:
            goal.over.set()
        error = DeadlineError(f"it was not done within {seconds:g} seconds", Status.ERR_TIMEOUT)
        error.unresolved = self.core.stats().unresolved
        raise error

    def drain(self) -> None:
        if self.later:
            raise AgainError("", Status.ERR_AGAIN)
        self.core.drain()

    def begin_end(self, seconds: float, says_loss: bool) -> None:
        """Takes no lock, as wake()."""
        if self.deadline is None:
            self.says_loss = says_loss
            self.deadline = time.monotonic() + seconds
        if self.thread is None:
            # Nothing was queued.
            self.core.close(0)
            self.over.set()
        else:
            self.wake()

    def end(self, seconds: float, says_loss: bool) -> None:
        self.begin_end(seconds, says_loss)
        if self.is_own_thread():
            return
        # A function of the program may block the thread without limit.
        limit = max((self.deadline or 0) - time.monotonic(), 0) + 2 * GOODBYE
        try:
            self.over.wait(limit)
        except BaseException:  # such as KeyboardInterrupt
            self.deadline = 0.0
            self.wake()
            self.over.wait(GOODBYE)
            raise

    # ---- The thread -----------------------------------------------------------------------

    def run(self) -> None:
        poll = select.poll()
        poll.register(self.core.fileno(), select.POLLIN)
        while not self.over.is_set():
            left = None if self.deadline is None else max(self.deadline - time.monotonic(), 0)
            # After the deadline it waits for the peer to close, which has its own timer.
            poll.poll(None if left is None or self.is_closing else left * 1000 + 1)
            try:
                self.turn()
            except BaseException:  # such as SystemExit in a callback of the program
                logger.exception("%s, port %d", self.core.host, self.core.port)
                time.sleep(0.1)
                self.core.wake()

    def turn(self) -> None:
        try:
            if not self.core.process():
                self.has_closed = True
        except Error as error:
            self.tell(error)
        except Exception as error:  # such as of a token_provider
            self.report(error)
        self.deliver()
        self.send_later()
        if self.is_binary and (self.impatient or self.proving):
            # The binary interface proves acceptance only during a drain.
            with contextlib.suppress(Error):
                self.core.drain()
        for goal in list(self.goals):
            if not goal.over.is_set():
                goal.try_it()
            if goal.over.is_set():
                self.goals.remove(goal)
        if self.deadline is not None:
            self.go_on_ending(self.deadline)

    def deliver(self) -> None:
        take, count = self.core.next_event, 0
        while (event := take()) is not None:
            count += 1
            answer = event.user_data
            if self.is_closing and event.kind is EventKind.UNKNOWN:
                self.lost += 1
            if isinstance(answer, Answer):
                answer._end(event)
            if count % _TURN_COUNT == 0:
                self.tell_room()
                # First read responses, and write as far as there is room.
                return self.core.wake()
        if count:
            self.tell_room()

    def tell_room(self) -> None:
        with self.changed:
            self.turns += 1
            self.changed.notify_all()

    def send_later(self) -> None:
        while self.later:
            answer, token, payload, options = self.later[0]
            try:
                if not answer.done() and not self.try_take(answer, token, payload, options, True):
                    return
            except Exception as error:
                answer.set_exception(error)
            self.later.popleft()

    def tell(self, error: Error) -> None:
        self.last_error, self.last_error_at = error, time.monotonic()
        logger.warning("%s, port %d: %s", self.core.host, self.core.port, error)
        for goal in self.goals:
            if not goal.is_patient:
                goal.end(error)
        # Report immediately if the peer was never reached, or if only a change can help.
        if not error.is_retryable or self.core.stats().connects == 0:
            for answer in list(self.impatient):
                if answer._identifier is not None and not answer.done():
                    answer._failure = error
                    self.core.cancel(answer._identifier)

    def report(self, error: Exception) -> None:
        """Logs an exception of one of the program's functions, which must not affect others."""
        logger.error("%s, port %d", self.core.host, self.core.port, exc_info=error)

    def go_on_ending(self, deadline: float) -> None:
        if not self.is_closing:
            is_late = time.monotonic() >= deadline
            try:
                self.drain()
            except AgainError:
                if not is_late:
                    return
            except Error as error:
                if error.is_retryable and not is_late:
                    return
            self.is_closing = True
            count = len(self.later)
            for answer in (answer for answer, *_ in self.later if not answer.done()):
                answer.set_exception(ClosedError("the client was closed", Status.ERR_CLOSED))
            self.later.clear()
            self.lost += count
            if is_late and self.says_loss:
                if count:
                    _log.loss(self.log, self.core.host, self.core.port, count)
                # Logs how many have no outcome.
                self.core._close_ms = 0
                self.core._end()
                self.has_closed = True
            else:
                self.close(0 if is_late else GOODBYE)
        if self.has_closed:
            while self.core.stats().events:
                self.deliver()
            self.finish()

    def close(self, seconds: float) -> None:
        try:
            self.core.close(seconds)
        except AgainError:
            return
        except Error as error:
            self.tell(error)
        self.has_closed = True

    def finish(self) -> None:
        for goal in self.goals:
            goal.end(ClosedError("the client was closed", Status.ERR_CLOSED))
        self.all.discard(self)
        self.over.set()
        self.tell_room()


def end_clients() -> None:
    """Waits for outcomes at the end of the process, and logs how many are missing."""
    engines = [engine for engine in list(_Engine.all) if engine.process == os.getpid()]
    for engine in engines:
        engine.begin_end(engine.core._close_ms / 1000, True)
    for engine in engines:
        engine.end(0, True)


def written(payload: Content) -> Content:
    """What cannot be changed any more."""
    if isinstance(payload, str):
        return payload
    return _core.encode_json(payload) if isinstance(payload, dict) else bytes(payload)


class OverSession:
    """What a session of the library, below a client or in an event loop, says of itself."""

    _core: Session

    @property
    def credentials(self) -> Credentials:
        """The Credentials that new connections use."""
        return self._core.credentials

    @property
    def host(self) -> str:
        """The server's name or address."""
        return self._core.host

    @property
    def port(self) -> int:
        """The server's port."""
        return self._core.port

    def metrics(self) -> _Metrics:
        """Figures for a monitoring system, as from Session.metrics()."""
        return self._core.metrics()

    def gone(self) -> list[Device]:
        """Takes the list of gone devices (410), each once."""
        return self._core.gone()


class ClientBase(OverSession):
    """The common part of Client and AsyncClient: a session that reports every outcome."""

    def __init__(
        self,
        *,
        key: _Path | _Text | None = None,
        key_id: str | None = None,
        team_id: str | None = None,
        certificate: _Path | _Text | None = None,
        certificate_key: _Path | _Text | None = None,
        passphrase: str | None = None,
        ca_file: _Path | None = None,
        credentials: Credentials | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        who = make_credentials(
            credentials, key, key_id, team_id, certificate, certificate_key, passphrase, ca_file
        )
        for name in ("nonblocking", "outcomes", "events_max"):
            if name in options:
                raise TypeError(f"a client takes no {name}: it is what it does")
        self._core = _core.Session(
            who, nonblocking=True, outcomes="each", events_max=1 << 30, **options
        )
        self._begin(options)

    def _begin(self, options: Any) -> None:
        raise NotImplementedError

    @property
    def closed(self) -> bool:
        raise NotImplementedError

    def stats(self) -> Stats:
        """Counts since the client was made."""
        return self._core.stats()

    def __repr__(self) -> str:
        closed = ", closed" if self.closed else ""
        return f"<libapns.{type(self).__name__} to {self.host}, port {self.port}{closed}>"


class Client(ClientBase):
    """Pushes notifications from any thread, over connections that it keeps.

        client = libapns.Client(key="AuthKey_ABC123DEFG.p8", key_id="ABC123DEFG",
                                team_id="DEF123GHIJ", topic="com.example.app")
        print(client.push(token, {"aps": {"alert": "Hello"}}))

    key, key_id, team_id
        The signing key, a file's path or its text, and Apple's IDs of the key and of your team.
    certificate, certificate_key, passphrase
        Instead of the key: the certificate, a file's path or its text in PEM or PKCS #12, with
        its private key, which may be separate.
    ca_file
        The CA certificates to trust, instead of the system's.
    credentials
        Instead of all of these: Credentials, which have more options.
    options
        Those of Session except nonblocking, outcomes and events_max: such as topic,
        environment="sandbox", connections, log.

    A thread, which the first push starts, keeps the connections, retries deferred notifications
    and delivers outcomes. Any number of threads may push with one client at the same time. As a
    context manager it closes at the end of the block.

    A process makes its own clients: after a fork, a client of the parent raises ForkedError. At
    the end of the process, or with the last reference to it, a client waits for the outcomes
    of all queued notifications, for at most close_timeout, 5 seconds by default; then it logs
    how many are missing.
    """

    def _begin(self, options: Any) -> None:
        self._engine = _Engine(self._core, options)

    # ---- What it is ---------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether it takes no more notifications."""
        return self._engine.deadline is not None

    def use_credentials(self, credentials: Credentials, /) -> None:
        """Rotates the credentials, such as a renewed certificate. Nothing is lost by that."""
        self._engine.require()
        self._engine.core.use_credentials(credentials)
        self._engine.wake()

    # ---- Pushing ------------------------------------------------------------------------

    def connect(self, timeout: float | None = None) -> None:
        """Connects now, which is the best way to find errors in host or credentials.

        Raises what prevents the connection, or DeadlineError.
        """
        self._engine.reach(self._engine.core.connect, timeout, False)

    def push(
        self,
        token: Token | None,
        payload: Content,
        *,
        timeout: float | None = None,
        user_data: object = None,
        **options: Unpack[PushOptions],
    ) -> Event:
        """Pushes one notification and returns its outcome, an Event.

        A rejection is an outcome, not an exception: look at `is_accepted` and `why`, or call
        `raise_unless_accepted()`. After an exception it did not arrive: it has an error, or the
        peer cannot be reached at all.

        `timeout` is for all of it, in seconds; None: for connect_timeout, write_timeout and
        answer_timeout together, 50 by default. When it is over, or Ctrl-C is pressed, the
        notification is taken back: EventKind.CANCELLED if nothing of it was written, UNKNOWN if
        it was written and no response came.

        token
            The device token: hex, or bytes; None with a channel_id.
        payload
            A dict to encode as JSON, JSON as str or bytes, or a Payload.
        expiry
            Until when APNs keeps trying: UNIX seconds, or a datetime with a time zone.
            0: it tries once. None: not given.
        priority
            10 immediately, 5 saves the device's power, 1 even more. None: not given.
        topic, push_type, collapse_id, apns_id
            By default the client's or the certificate's topic; what the payload looks like; no
            other notification is replaced; a UUID that APNs makes.
        channel_id
            The channel instead of a token, for a broadcast.
        deadline
            It has its outcome this many seconds after it was queued: see submit(). push() returns
            by its `timeout` at the latest.
        """
        require_options("push", options)
        engine = self._engine
        engine.require()
        engine.require_other_thread("push()")
        began = time.monotonic()
        until = began + seconds_of(timeout, engine.patience)
        answer = Answer(engine, user_data)
        engine.impatient.add(answer)
        try:
            engine.take(answer, token, payload, options, until, False)
            done, _ = concurrent.futures.wait([answer], max(until - time.monotonic(), 0))
            return answer.result() if done else self._give_up(answer, token, began)
        except BaseException as error:  # such as KeyboardInterrupt
            if not answer.done() and not isinstance(error, Error):
                engine.take_back(answer)
            raise
        finally:
            engine.impatient.discard(answer)

    def _give_up(self, answer: Answer, token: Token | None, began: float) -> Event:
        engine = self._engine
        why = str(engine.last_error) if engine.last_error_at >= began else "its time is over"
        if engine.take_back(answer):
            concurrent.futures.wait([answer], GOODBYE)
        event = answer.result() if answer.done() else None
        return given_up(event, why, answer._identifier or 0, token, answer._user_data)

    def submit(
        self,
        token: Token | None,
        payload: Content,
        *,
        user_data: object = None,
        **options: Unpack[PushOptions],
    ) -> concurrent.futures.Future[Event]:
        """Queues one notification and returns a concurrent.futures.Future of its outcome.

        The arguments are those of push(). It does not wait for a response or a connection. It
        waits for room while very many are unresolved (window_bytes), for at most connect_timeout
        and write_timeout together; then it raises FullError. After an exception it was not
        queued. The notification is tried until its `deadline`, in seconds after it was queued;
        None: the client's, 300 by default; -1: no limit. Then it ends as EventKind.EXPIRED if
        nothing of it was written, and may be submitted again, or as UNKNOWN.

        Callbacks of futures run in the client's thread, and delay others while they run; there
        submit() never waits. cancel() of a future takes the notification back.

        The options are expiry, priority, topic, push_type, collapse_id, apns_id, channel_id and
        deadline; push() explains them.
        """
        require_options("submit", options)
        engine = self._engine
        answer = Answer(engine, user_data)
        engine.take(answer, token, payload, options, time.monotonic() + engine.send_time, True)
        return answer

    def push_many(
        self, notifications: Iterable[Item], /, *, timeout: float | None = None
    ) -> Iterator[Event]:
        """Pushes notifications and iterates over their outcomes: an Event for each, in the order
        of the responses; `user_data` or `token` identifies the notification.

        Each is a Notification, or a tuple of token and payload, and optionally user_data. They
        may come from any iterable, which is read as far as there is room, while the program
        takes outcomes: memory does not grow with their number.

        An exception about a notification, of the iterable or of the client ends the sending. It
        is raised after the outcomes of all queued notifications, whose number is its `taken`. If
        no outcome comes for `timeout` seconds (None: as of push()) it is a DeadlineError, with
        `unresolved`; next() may be called again.
        """
        self._engine.require()
        self._engine.require_other_thread("push_many()")
        return _Outcomes(self._engine, iter(notifications), timeout)

    def drain(self, timeout: float | None = None) -> None:
        """Waits until the outcome of every notification is known, for at most `timeout` seconds;
        None: as of push(). DeadlineError has `unresolved`."""
        self._engine.reach(self._engine.drain, timeout, True)

    def close(self, timeout: float | None = None) -> None:
        """Takes no more, waits for the outcomes of queued notifications, and closes connections.

        It waits for at most `timeout` seconds; None: as of push(). Then unresolved notifications
        end as unknown, and DeadlineError has their number in `unresolved`. Closing again does
        nothing.
        """
        engine = self._engine
        if engine.process != os.getpid() or engine.over.is_set():
            return
        engine.end(seconds_of(timeout, engine.patience), False)
        if engine.lost:
            error = DeadlineError(
                f"the client was closed, and {engine.lost} notifications have no outcome",
                Status.ERR_TIMEOUT,
            )
            error.unresolved = engine.lost
            raise error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, /, *rest: object) -> None:
        try:
            self.close()
        except DeadlineError:
            if kind is None:
                raise

    def __del__(self) -> None:
        engine = getattr(self, "_engine", None)
        if engine is not None and engine.deadline is None and engine.process == os.getpid():
            engine.begin_end(engine.core._close_ms / 1000, True)


class _Outcomes(Iterator["Event"]):
    """The outcomes of what Client.push_many() was given."""

    def __init__(
        self, engine: _Engine, source: Iterator[Item], timeout: float | None
    ) -> None:
        self._engine = engine
        self._source = source
        self._seconds = seconds_of(timeout, engine.patience)
        self._answers: queue.SimpleQueue[concurrent.futures.Future[Event]] = queue.SimpleQueue()
        self._next: tuple[Any, ...] | None = None  # was read, and waits for room
        self._taken = self._open = 0
        self._is_ended = False
        self._failure: BaseException | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        deadline = time.monotonic() + self._seconds
        while True:
            may_go_on = self._send_more()
            if self._open == 0 and self._is_ended:
                self._engine.proving.discard(self)
                failure, self._failure = self._failure, None
                if failure is None:
                    raise StopIteration
                failure.taken = self._taken  # type: ignore[attr-defined]
                raise failure
            try:
                left = max(deadline - time.monotonic(), 0)
                # If others use all the room, none of these gets a response.
                answer = self._answers.get(
                    timeout=0 if may_go_on else left if self._open else min(left, 0.01)
                )
            except queue.Empty:
                if time.monotonic() < deadline:
                    continue
                error = DeadlineError(
                    f"{self._open} notifications still wait for an answer", Status.ERR_TIMEOUT
                )
                error.unresolved, error.taken = self._open, self._taken
                raise error from None
            self._open -= 1
            return answer.result()

    def _send_more(self) -> bool:
        """Before the last outcome is returned. Whether there is more, and room for it."""
        for _ in range(_TURN_COUNT):
            if self._answers.qsize() >= UNREAD_MAX:
                return False
            if self._is_ended:
                if self._engine.is_binary and self not in self._engine.proving:
                    self._engine.proving.add(self)
                    self._engine.wake()
                return False
            try:
                self._next = self._next or options_of(next(self._source))
                token, payload, user_data, options = self._next
                answer = Answer(self._engine, user_data)
                self._engine.require()
                self._engine.start()
                if not self._engine.try_take(answer, token, payload, options, True):
                    return False
            except StopIteration:
                self._is_ended = True
            except BaseException as error:
                if not isinstance(error, Exception):
                    raise  # such as KeyboardInterrupt: next() may be called again
                self._is_ended, self._failure = True, error
            else:
                self._next = None
                self._taken += 1
                self._open += 1
                answer.add_done_callback(self._answers.put)
        return True


def seconds_of(timeout: float | None, usual: float) -> float:
    """How long a call waits; None: the usual time; -1: for ever."""
    if timeout is None:
        return usual
    if timeout == -1:
        return FOR_EVER
    if not timeout >= 0:
        raise ValueError("timeout is negative or not a number")
    return min(timeout, FOR_EVER)


def require_process(made_by: int) -> None:
    if made_by != os.getpid():
        raise ForkedError(
            "the client was made by the parent process: make one in each process, after the fork,"
            " as in Celery's worker_process_init",
            Status.ERR_FORKED,
        )


def given_up(
    event: Event | None, why: str, identifier: int, token: Token | None, user_data: object
) -> Event:
    """The outcome of a notification that was taken back; `event` is None without a response."""
    if event is None:
        token = token if isinstance(token, str) else bytes(token or b"")
        event = _core.Event(
            kind=EventKind.UNKNOWN, identifier=identifier, token=token, user_data=user_data
        )
    if event.kind in (EventKind.CANCELLED, EventKind.UNKNOWN) and not event.reason_text:
        event._reason_text = why
    return event


def is_binary(options: Any) -> bool:
    return options.get("protocol") in (Protocol.BINARY, "binary")


def patience(options: Any) -> float:
    """As Session has it for a timeout of None."""
    return send_time(options) + (options.get("answer_timeout") or 30)


def send_time(options: Any) -> float:
    return float((options.get("connect_timeout") or 10) + (options.get("write_timeout") or 10))
