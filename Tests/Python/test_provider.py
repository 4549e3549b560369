"""Provider tokens that processes share through a file, and those of a callable."""

import contextlib
import gc
import os
import threading
import weakref

import libapns
import pytest
from test_http2 import HELLO, KEY_ID, TEAM_ID, TOKEN, TOPIC, needs_http2

pytestmark = needs_http2
LIMITS = {"token_renewal_over": "key"}


def signing(certificates, **more):
    return libapns.Credentials(
        token_key_file=certificates / "provider-token.p8", key_id=KEY_ID, team_id=TEAM_ID,
        ca_file=certificates / "ca.pem", **more,
    )  # fmt: skip


def session(simulator, who, **options):
    return libapns.Session(
        who, host="127.0.0.1", port=simulator.ready["http2_port"], protocol="http2", topic=TOPIC,
        outcomes="each", **options,
    )  # fmt: skip


def push(simulator, who):
    with session(simulator, who) as one:
        one.send(TOKEN, HELLO)
        one.drain(240)
        return [event.reason for event in one.events()]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The directory that APNS_TOKEN_CACHE names, for one test."""
    directory = tmp_path / "tokens"
    directory.mkdir(mode=0o700)
    monkeypatch.setenv("APNS_TOKEN_CACHE", str(directory))
    return directory


def test_shared_by_default(certificates, start, place):
    simulator = start("--http2-port", 0, faults=LIMITS)
    for _ in range(3):
        assert push(simulator, signing(certificates)) == [0]
    file = place / f"apns-{TEAM_ID}-{KEY_ID}.token"
    assert file.stat().st_mode & 0o777 == 0o600


def test_turned_off(certificates, start, place):
    push(start("--http2-port", 0), signing(certificates, token_cache=False))
    assert os.listdir(place) == []


def test_a_file_named_by_the_program(certificates, start, place, tmp_path):
    push(start("--http2-port", 0), signing(certificates, token_cache=place / "mine"))
    assert sorted(os.listdir(place)) == ["mine", "mine.lock"]
    with pytest.raises(libapns.ArgumentError, match="without a token_key"):
        libapns.Credentials(token_cache=place / "mine")
    with pytest.raises(TypeError):
        signing(certificates, token_cache=7)


# ---- From a callable ---------------------------------------------------------------------


def provided(certificates, provider):
    return libapns.Credentials(ca_file=certificates / "ca.pem", token_provider=provider)


def test_a_token_from_the_program(certificates, start):
    simulator = start("--http2-port", 0)
    asked, threads = [], []

    def provider(need):
        asked.append(need)
        threads.append(threading.get_ident())
        return "no.such-token", 3000

    who = provided(certificates, provider)
    assert asked == []
    for _ in range(2):
        assert push(simulator, who) == [libapns.Reason.INVALID_PROVIDER_TOKEN]
    assert asked == ["first"]
    assert threads == [threading.get_ident()]
    assert who.describe().key_id is None


@pytest.mark.parametrize("said", [b"bytes", "text", ("text", 60), ("text", 1.5)])
def test_every_form(certificates, start, said):
    assert push(start("--http2-port", 0), provided(certificates, lambda need: said)) != [0]


def test_its_exception_is_raised_by_the_session(certificates, start):
    simulator = start("--http2-port", 0)
    answers = [KeyError("the vault is sealed"), "a.good-one"]

    def provider(need):
        said = answers.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    one = session(simulator, provided(certificates, provider))
    with pytest.raises(KeyError, match="the vault is sealed"):
        one.send(TOKEN, HELLO)
        one.drain(240)
    # The notification stayed in the session.
    assert one.stats().unresolved == 1
    # The session calls it again after a second.
    while answers:
        with contextlib.suppress(libapns.CredentialsError):
            one.drain(240)
    assert one.stats().rejected == 1
    one.close(0)


def test_a_callable_without_a_token_yet(certificates, start):
    said = [None]
    one = session(start("--http2-port", 0), provided(certificates, lambda need: said[0]))
    one.send(TOKEN, HELLO)
    for call in (lambda: one.drain(240), one.flush):
        with pytest.raises(libapns.DeadlineError) as failure:
            call()
        assert failure.value.cause == libapns.Cause.PROVIDER_TOKEN
    assert one.stats().unresolved == 1
    one.close(0)


@pytest.mark.parametrize(
    "said", [7, "", "x" * 1001, (), ("a",), ("a", "b"), ("a", -1), ("a", float("nan")), ("a", 1e99)]
)
def test_invalid_tokens(certificates, start, said):
    one = session(start("--http2-port", 0), provided(certificates, lambda need: said))
    with pytest.raises((TypeError, ValueError)):
        one.send(TOKEN, HELLO)
        one.drain(240)
    with contextlib.suppress(TypeError, ValueError):
        one.close(0)
    assert one.closed


def test_an_invalid_callable(certificates):
    with pytest.raises(TypeError, match="token_provider must be a callable"):
        provided(certificates, 7)
    with pytest.raises(libapns.ArgumentError, match="more than one"):
        signing(certificates, token_provider=lambda need: None, token_cache=False)


def test_a_session_keeps_its_callable(certificates, start):
    class Provider:
        def __call__(self, need):
            return "a.token"

    provider = Provider()
    gone = weakref.ref(provider)
    one = session(start("--http2-port", 0), provided(certificates, provider))
    del provider
    gc.collect()
    one.send(TOKEN, HELLO)
    one.drain(240)
    assert gone() is not None
    one.close(0)
    del one
    gc.collect()
    assert gone() is None
