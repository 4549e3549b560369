"""Unusual objects as arguments, and programs that interfere: each call raises or succeeds, and the
process survives."""

import copy
import datetime
import gc
import importlib
import importlib.util
import itertools
import logging
import math
import os
import pickle
import random
import subprocess
import sys
import threading
import typing
import weakref

import libapns
import pytest

TOKEN = bytes(range(32))


class Odd:
    """Has every conversion; each raises."""

    def refuse(self, *arguments):
        raise ZeroDivisionError

    __index__ = __int__ = __float__ = __bool__ = __len__ = __iter__ = __fspath__ = refuse
    __getitem__ = __bytes__ = __str__ = __hash__ = refuse


class Words(str):
    pass


class Many(tuple):
    def __len__(self):
        return 1 << 40

    def __getitem__(self, index):
        raise ZeroDivisionError


ODD = [
    None, True, False, 0, 1, -1, 1 << 31, 1 << 64, -(1 << 200), 0.0, -1.5, math.inf, math.nan, 1j,
    "", "x", "\0", "é\ud800", "x" * 100_000, Words("ab"), b"", b"\0", b"x" * 100_000, bytearray(b"ab"),
    memoryview(b"abcdef")[::2], memoryview(b""), [], ["a"], [None], (), ("a", "b"), Many(("a", "b")),
    {}, {"aps": 1}, {1: {2: 3}}, {"a": {1}}, set(), object(), object, Odd(), len, lambda *a: 1 << 80,
    iter([]), range(3), Exception(), libapns, threading.Lock(), libapns.Payload(), libapns.Credentials(),
    libapns.Strings(b'"a" = "b";'), itertools.repeat((TOKEN, b""), 3), recursive := [],
]  # fmt: skip
recursive.append(recursive)


def survives(function, *arguments, **keywords):
    try:
        return function(*arguments, **keywords)
    except (libapns.Error, TypeError, ValueError, ZeroDivisionError, OverflowError, AttributeError,
            KeyError, RecursionError, OSError, MemoryError):  # fmt: skip
        return None


@pytest.fixture
def session(who):
    """A session to a port without a listener."""
    return libapns.Session(who, protocol="binary", host="127.0.0.1", port=1, connect_timeout=0.5, reconnect_pause_max=0.001)


def methods_of(target):
    return [getattr(target, name) for name in dir(target) if name not in ("__class__", "__init__", "__new__")]


SAFE = {"__reduce__", "__reduce_ex__", "__getstate__", "__sizeof__", "__dir__"}


def targets(session):
    payload = libapns.Payload(alert="x")
    strings = libapns.Strings(b'"a" = "%@";')
    functions = [
        libapns.Session, libapns.Credentials, libapns.Payload, libapns.Strings, libapns.Feedback, libapns.Channels, libapns.check_payload,
        libapns.reject_text, libapns.status_name, libapns.status_is_retryable, libapns.token_from_hex,
        libapns.token_to_hex, libapns.token_from_base64, libapns.token_to_base64, libapns.version,
        libapns.Strings.open, libapns.Event, libapns.Stats, libapns.Device, libapns.Finding, libapns.Description,
        libapns._core.Events,
        libapns._core.Outcomes,
    ]  # fmt: skip
    for target in (session, payload, strings, libapns.Credentials()):
        functions += [
            each for each in methods_of(target) if callable(each) and each.__name__ not in SAFE
        ]
    return functions


def test_one_odd_argument(session):
    for function, odd in itertools.product(targets(session), ODD):
        if function == libapns.Feedback and isinstance(odd, libapns.Credentials):
            continue
        survives(function, odd)


def test_several_odd_arguments(session):
    chance = random.Random(7)
    functions = [each for each in targets(session) if each != libapns.Feedback]
    for _ in range(6000):
        survives(chance.choice(functions), *chance.choices(ODD, k=chance.randint(2, 5)))


SESSION_OPTIONS = """host server_name port environment format connect_timeout write_timeout window_bytes payload_max
    delivery outcomes quiet_period zero_proves connections standby connects_per_minute
    reconnect_pause_max keepalive proxy events_max
    protocol topic addresses""".split()
CREDENTIALS_OPTIONS = """certificate_file certificate key_file key passphrase ca_file ca_directory
    tls_min tls_max dangerously_accept_any_peer accept_expired token_key_file token_key key_id
    team_id crl_file crl_directory pinned_keys security_level""".split()
PAYLOAD_OPTIONS = """limit truncate suffix alert title loc_args badge relevance_score action_loc_key
    nothing""".split()


CHANNELS_OPTIONS = """host server_name port environment topic connect_timeout answer_timeout
    proxy nonblocking addresses log_level log""".split()


def test_odd_options(session, who, certificates):
    for odd in ODD:
        for option in SESSION_OPTIONS:
            survives(libapns.Session, who, **{option: odd})
        for option in CREDENTIALS_OPTIONS:
            # Without a CA file this would read the system's store, which is slow.
            survives(libapns.Credentials, **{"ca_file": certificates / "ca.pem", option: odd})
        for option in PAYLOAD_OPTIONS:
            survives(libapns.Payload, **{option: odd})
        for option in ("user_data", "expiry", "priority", "more", "topic", "push_type", "collapse_id", "apns_id",
                       "channel_id"):  # fmt: skip
            survives(session.send, TOKEN, b"{}", **{option: odd})
        for option in ("limit", "nothing"):
            survives(libapns.check_payload, b"{}", **{option: odd})
        for option in ("server_name", "port", "connect_timeout", "read_timeout"):
            survives(libapns.Feedback, who, **{"host": "127.0.0.1", "port": 1, option: odd})
        for option in CHANNELS_OPTIONS:
            survives(libapns.Channels, who, **{"topic": "com.example.app", option: odd})
        # close() first, so that the others send no request.
        channels = survives(libapns.Channels, who, topic="com.example.app")
        for method in ("close", "create", "describe", "delete", "list", "cancel", "fileno") if channels else ():
            survives(getattr(channels, method), *() if method == "close" else (odd,))


def test_odd_notifications(start, connect):
    session = connect(start())
    for odd, other in itertools.product(ODD, ODD[::3]):
        for item in (odd, (odd, other), (TOKEN, odd, other), (TOKEN, b"{}", None, odd),
                     libapns.Notification(TOKEN, b"{}", expiry=odd, priority=other),
                     libapns.Notification(TOKEN, b"{}", topic=odd, push_type=other, collapse_id=odd, apns_id=other)):
            survives(session.send_many, [item])
        survives(session.send, odd, other)
    session.drain()
    stats = session.stats()
    assert stats.taken == stats.accepted + stats.rejected > 0


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda session, who: libapns.Session(None), TypeError),
        (lambda session, who: libapns.Session(), TypeError),
        (lambda session, who: libapns.Session(who, nothing=1), TypeError),
        (lambda session, who: libapns.Session(who, "host"), TypeError),
        (lambda session, who: libapns.Session(who, host=3), TypeError),
        (lambda session, who: libapns.Session(who, host="a\0b"), ValueError),
        (lambda session, who: libapns.Session(who, port=65536), ValueError),
        (lambda session, who: libapns.Session(who, port=-1), ValueError),
        (lambda session, who: libapns.Session(who, port=1.5), TypeError),
        (lambda session, who: libapns.Session(who, connect_timeout=-1), ValueError),
        (lambda session, who: libapns.Session(who, connect_timeout=0), ValueError),
        (lambda session, who: libapns.Session(who, write_timeout=math.nan), ValueError),
        (lambda session, who: libapns.Session(who, format=9), libapns.ArgumentError),
        (lambda session, who: libapns.Session(who, window_bytes=5), libapns.ArgumentError),
        (lambda session, who: session.send(TOKEN), TypeError),
        (lambda session, who: session.send(3, b"{}"), TypeError),
        (lambda session, who: session.send(TOKEN, 3), TypeError),
        (lambda session, who: session.send(TOKEN, [1]), TypeError),
        (lambda session, who: session.send(TOKEN, "\ud800"), ValueError),
        (lambda session, who: session.send(TOKEN, {"a": math.nan}), ValueError),
        (lambda session, who: session.send(TOKEN, b"{}", None), TypeError),
        (lambda session, who: session.send(TOKEN, b"{}", expiry=1 << 70), ValueError),
        (lambda session, who: session.send(TOKEN, b"{}", expiry=-1), ValueError),
        (lambda session, who: session.send(TOKEN, b"{}", expiry=1.5), TypeError),
        (lambda session, who: session.send(TOKEN, b"{}", expiry="tomorrow"), TypeError),
        (lambda session, who: session.send(TOKEN, b"{}", expiry=datetime.datetime(2040, 1, 1)), ValueError),
        (lambda session, who: session.send(TOKEN, b"{}", expiry=datetime.datetime(1969, 1, 1, tzinfo=datetime.timezone.utc)), ValueError),
        (lambda session, who: session.send(TOKEN, b"{}", priority="10"), TypeError),
        (lambda session, who: session.send("é", b"{}"), libapns.ArgumentError),
        (lambda session, who: session.send_many(3), TypeError),
        (lambda session, who: session.drain("soon"), TypeError),
        (lambda session, who: session.drain(-2), ValueError),
        (lambda session, who: session.next_event(math.nan), ValueError),
        (lambda session, who: libapns.token_from_hex(b"00"), TypeError),
        (lambda session, who: libapns.Strings("text"), TypeError),
        (lambda session, who: libapns.Strings.open(None), TypeError),
        (lambda session, who: libapns.Strings.open("a\0b"), ValueError),
        (lambda session, who: libapns.Payload(loc_args="abc"), TypeError),
        (lambda session, who: libapns.Payload(loc_args=["a", 1]), TypeError),
        (lambda session, who: libapns.Payload(badge="1"), TypeError),
        (lambda session, who: libapns.Payload(badge=1 << 63), ValueError),
        (lambda session, who: libapns.Payload("alert"), TypeError),
        (lambda session, who: libapns.Payload(relevance_score=math.nan), libapns.ArgumentError),
        (lambda session, who: libapns.Credentials(passphrase=3), TypeError),
        (lambda session, who: libapns.Credentials(passphrase=b"a\0b"), ValueError),
        (lambda session, who: setattr(session, "credentials", None), AttributeError),
        (lambda session, who: setattr(session, "nothing", None), AttributeError),
    ],
)
def test_wrong_calls_raise_the_right_exception(session, who, call, kind):
    with pytest.raises(kind):
        call(session, who)


def test_nothing_can_be_copied_or_subclassed(session, who):
    for each in (session, who, libapns.Payload(), libapns.Strings(b""), session.events()):
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError):
                way(each)
        with pytest.raises(TypeError):
            type("Other", (type(each),), {})


def test_made_without_a_constructor(session):
    # A type without a constructor makes an empty object.
    made = survives(libapns._core.Events)
    assert made is None or list(made) == []
    assert list(survives(libapns._core.Outcomes) or []) == []
    for kind in (libapns.Session, libapns.Credentials, libapns.Payload, libapns.Strings, libapns.Feedback, libapns.Channels):
        survives(object.__new__, kind)
        session.__init__()  # does nothing on an existing session


def test_a_payload_that_changes_while_it_is_read(who, session):
    payload = libapns.Payload()

    class Changing(dict):
        def items(self):
            payload.reset()
            return [("a", 1)]

    payload.add("x", Changing(a=1))
    survives(session.send_many, [(TOKEN, Changing(a=1))])
    assert payload.write()


# ---- Calls from within a call


@pytest.mark.parametrize("end", [lambda session: session.close(0), lambda session: session.__exit__(None, None, None)])
def test_closed_by_its_own_iterable(start, connect, end):
    session = connect(start(), outcomes="each")

    def items():
        yield TOKEN, b"{}", 1
        end(session)
        yield TOKEN, b"{}", 2

    with pytest.raises(libapns.ClosedError) as caught:
        session.send_many(items())
    assert caught.value.taken == 0 and list(session) == []


def test_an_iterable_that_sends(start, connect):
    session = connect(start(), outcomes="each")

    def items(depth):
        yield TOKEN, {"aps": {}}, depth
        if depth:
            session.send_many(items(depth - 1))
            session.send(TOKEN, {"aps": {}}, user_data="alone")
            yield from ((TOKEN, b"{}", event.user_data) for event in session)
            yield TOKEN, "{}", depth

    assert session.send_many(items(20)) >= 2
    session.drain()
    assert session.stats().taken == session.stats().accepted >= 3 * 20 + 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_logger_that_closes(start, connect):
    session = connect(start(faults={"bad_tokens": ["ff"]}))
    said = []

    class Closing(logging.Handler):
        def emit(self, record):
            said.append(record.getMessage())
            session.close(0)
            raise ZeroDivisionError

    handler = Closing()
    logger = logging.getLogger("libapns")
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        survives(session.send_many, [(b"\xff", b"{}"), (TOKEN, b"{}")])
        survives(session.drain)
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
    stats = session.stats()
    assert said and session.closed and stats.unresolved == 0
    assert stats.taken == stats.accepted + stats.rejected + stats.unknown == 2


# ---- Interpreters


def run(program, *arguments, environment=None):
    ended = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], env=environment, capture_output=True,
        text=True, timeout=240,
    )  # fmt: skip
    assert ended.returncode == 0, ended
    return ended.stdout


OTHER_INTERPRETERS = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
kind, provider, ca, port = sys.argv[1:]
if sys.version_info >= (3, 13):
    make = lambda: interpreters.create(kind)
elif sys.version_info >= (3, 12):
    make = lambda: interpreters.create(isolated=kind == "isolated")
else:
    make = interpreters.create
work = f'''
import sys
sys.path[:] = {sys.path!r}
import libapns
who = libapns.Credentials(certificate_file={provider!r}, ca_file={ca!r})
with libapns.Session(who, protocol="binary", host="127.0.0.1", port={port}, outcomes="each") as session:
    session.send(bytes(32), {{"aps": {{"alert": "x"}}}}, user_data=session)
    session.send_many([(bytes(32), libapns.Payload(alert="x")), ("ff", b"{{}}")])
assert [event.kind.text for event in session] == ["accepted", "accepted", "rejected"]
assert session.stats().taken == 3 and isinstance(session.stats(), libapns.Stats)
try:
    session.send(bytes(32), b"{{}}")
except libapns.ClosedError as error:
    assert isinstance(error, libapns.Error)
try:
    libapns.token_from_hex("x")
except libapns.ArgumentError:
    print("well", flush=True)
libapns.kept = session
'''
import libapns
for _ in range(2):
    other = make()
    failure = interpreters.run_string(other, work)
    assert not failure, failure
    interpreters.destroy(other)
    exec(work)
first, second = make(), make()
for other in (first, second, first):
    assert not interpreters.run_string(other, work)
interpreters.destroy(first)
assert not interpreters.run_string(second, work)
interpreters.destroy(second)
exec(work)
"""

INTERPRETERS = any(map(importlib.util.find_spec, ("_interpreters", "_xxsubinterpreters")))


@pytest.mark.parametrize("kind", ["legacy", "isolated"])
def test_other_interpreters(start, certificates, kind):
    """Each interpreter has its own types and classes and frees them when it ends."""
    if not INTERPRETERS:
        pytest.skip("this Python has no module for other interpreters")
    if kind == "isolated" and sys.version_info < (3, 12):
        pytest.skip("interpreters with their own lock came with Python 3.12")
    simulator = start(faults={"bad_tokens": ["ff"]})
    said = run(OTHER_INTERPRETERS, kind, certificates / "provider.pem", certificates / "ca.pem", simulator.gateway[1])
    assert said == 9 * "well\n"


def import_again():
    """Imports the package as if for the first time; the tests keep their own import."""
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "libapns"}
    try:
        for name in kept:
            del sys.modules[name]
        return importlib.import_module("libapns")
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "libapns"]:
            del sys.modules[name]
        sys.modules.update(kept)


def test_imported_again(start, certificates):
    """Two imports are independent, and each keeps working."""
    simulator = start(faults={"bad_tokens": ["ff"]})
    again = import_again()
    assert again is not libapns and again.Session is not libapns.Session and again.Error is not libapns.Error
    for package, other in ((libapns, again), (again, libapns)):
        who = package.Credentials(certificate_file=certificates / "provider.pem", ca_file=certificates / "ca.pem")
        with pytest.raises(TypeError, match="libapns.Credentials"):
            other.Session(who)
        with package.Session(who, protocol="binary", host="127.0.0.1", port=simulator.gateway[1], outcomes="failures") as session:
            session.send_many([(TOKEN, package.Payload(alert="x")), (b"\xff", b"{}")])
            with pytest.raises(TypeError):
                session.send(TOKEN, other.Payload(alert="x"))
        (event,) = session
        assert type(event) is package.Event and type(event.reject) is package.Reject
        with pytest.raises(package.ArgumentError):
            package.token_from_hex("x")


def test_an_import_is_freed():
    """Any reference to an import keeps it, even one to an object of its types."""
    again = import_again()
    module, payload = weakref.ref(again._core), again.Payload(alert="x")
    session = again.Session(again.Credentials(dangerously_accept_any_peer=True), host="127.0.0.1")
    del again
    gc.collect()
    assert payload.write() == b'{"aps":{"alert":"x"}}' and session.stats().taken == 0
    with pytest.raises(Exception, match="closed"):
        session.close()
        session.flush()
    del payload, session
    for clear in typing._cleanups:  # Union caches its arguments
        clear()
    gc.collect()
    assert module() is None


def test_a_type_without_its_module():
    again = import_again()
    for wrong in (None, sys, libapns._core, 5):
        again.Session._module = wrong
        with pytest.raises(SystemError, match="_module"):
            again.Session(libapns.Credentials())
    del again.Session._module
    with pytest.raises(AttributeError, match="_module"):
        again.Session(libapns.Credentials())


UNTIL_THE_END = """
import sys, threading, atexit, warnings
warnings.simplefilter("ignore")
import libapns
provider, ca, port = sys.argv[1:]
who = libapns.Credentials(certificate_file=provider, ca_file=ca)

class Late:
    def __init__(self, *peers):
        self.peers = peers
    def __del__(self):
        for peer in self.peers:
            try:
                peer.send(bytes(32), {"aps": {}}, user_data=self)
                peer.close(0)
            except Exception:
                pass

sessions = [libapns.Session(who, protocol="binary", host="127.0.0.1", port=int(port)) for _ in range(4)]
sessions[0].send(bytes(32), b"{}", user_data=Late(*sessions))
sessions[1].send(bytes(32), b"{}", user_data=sessions)
events = sessions[1].events(30)
threading.Thread(target=lambda: next(events), daemon=True).start()
inside = threading.Event()
def wait():
    sessions[2].send(bytes(32), b"{}")
    inside.set()
    sessions[2].drain(240)
threading.Thread(target=wait, daemon=True).start()
inside.wait()
atexit.register(sessions[3].close, 0)
libapns.kept, sys.kept = sessions[3], Late(sessions[3])
payload, strings = libapns.Payload(alert="x"), libapns.Strings(b'"a" = "b";')
print("the end")
"""


def test_the_end_of_the_interpreter(start, certificates):
    """Objects that live until the end of the interpreter, some in use by a daemon thread."""
    simulator = start(faults={"stall_after_bytes": 0, "stall_ms": 100000})
    # CPython leaks what such a thread holds: check accesses, not leaks.
    environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    said = run(UNTIL_THE_END, certificates / "provider.pem", certificates / "ca.pem", simulator.gateway[1],
               environment=environment)  # fmt: skip
    assert said == "the end\n"
