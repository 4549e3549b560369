import asyncio
import inspect
import pathlib
import sys

import libapns
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Simulator"))

from running import certificates, lasting, shared, start  # noqa: E402, F401
from simulator import DEADLINE  # noqa: E402


@pytest.fixture
def who(certificates):
    return libapns.Credentials(
        certificate_file=certificates / "provider.pem", ca_file=certificates / "ca.pem"
    )


@pytest.fixture
def connect(who):
    """A session to a simulator, closed with the test."""
    sessions = []

    def connect(simulator, **options):
        options.setdefault("outcomes", "failures")
        sessions.append(libapns.Session(who, protocol="binary", host="127.0.0.1", port=simulator.gateway[1], **options))
        return sessions[-1]

    yield connect
    for session in sessions:
        session.close(0)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """A test that is a coroutine runs in the loop of its fixture `run`, or in one of asyncio's."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    test = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    run = pyfuncitem.funcargs.get("run", lambda test: asyncio.run(asyncio.wait_for(test, DEADLINE)))
    run(test)
    return True
