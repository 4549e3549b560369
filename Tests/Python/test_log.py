"""The option log: a logger, a callable, and what they may do."""

import logging
import sys

import libapns
import pytest

TOKEN = bytes(range(32))
HELLO = b'{"aps":{"alert":"a secret"}}'


def talk(session, count=1):
    session.send_many((TOKEN, HELLO) for _ in range(count))
    session.drain(240)
    session.close(240)


def test_a_callable_gets_lines(start, connect):
    lines = []
    talk(connect(start(), log=lines.append))
    assert all(isinstance(line, libapns.LogLine) for line in lines)
    connected = next(line for line in lines if line.kind == libapns.LogKind.CONNECTED)
    assert connected.level is libapns.LogLevel.INFO
    assert connected.connection == 1 and connected.cause is libapns.Cause.NONE
    assert connected.peer.startswith("127.0.0.1:")
    assert "connected to 127.0.0.1:" in connected.line
    assert lines[-1].kind is libapns.LogKind.CLOSED
    assert str(connected.kind) == "connected"


def test_a_logger_gets_records(start, connect, caplog):
    with caplog.at_level(logging.DEBUG, logger="libapns.test"):
        talk(connect(start(), log=logging.getLogger("libapns.test"), log_level="debug"))
    found = [record for record in caplog.records if record.name == "libapns.test"]
    connected = next(record for record in found if record.libapns.kind == libapns.LogKind.CONNECTED)
    assert connected.levelno == logging.INFO
    assert connected.getMessage().startswith("127.0.0.1:")
    assert {record.levelno for record in found} == {logging.DEBUG, logging.INFO}


def test_a_trace_keeps_secrets(start, connect):
    lines = []
    talk(connect(start(), log=lines.append, log_level="trace"), 3)
    frames = [line.line for line in lines if line.kind == libapns.LogKind.FRAME]
    assert len(frames) >= 3
    assert any("00010203…" in line for line in frames)
    assert not any("secret" in line or "0001020304" in line for line in frames)


def test_its_exception_does_not_fail_the_call(start, connect, monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: raised.append(one.exc_type))

    def log(line):
        raise ZeroDivisionError

    session = connect(start(), log=log)
    talk(session)
    assert session.stats().accepted == 1
    assert raised and set(raised) == {ZeroDivisionError}


def test_it_may_use_the_session(start, connect):
    seen = []

    def log(line):
        seen.append(sessions[0].stats().connects)

    sessions = [connect(start(), log=log)]
    talk(sessions[0])
    assert seen


def test_an_invalid_log_is_refused(who):
    with pytest.raises(TypeError, match="log must be a logging.Logger, a callable or None"):
        libapns.Session(who, log=7)
    with pytest.raises(ValueError, match="log_level"):
        libapns.Session(who, log_level="loud")
    libapns.Session(who, log=None).close(0)
