"""Examples/integrations/django under gunicorn, under uvicorn and in Celery's workers, while APNs goes away."""

import collections
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import signal
import subprocess

import loopback
import pytest
from apns import BAD, COUNT, GOOD, token
from simulator import DEADLINE, ROOT, until
from told import Told
from users import Users

PACKAGE = pathlib.Path(os.environ.get("APNS_PYTHON_PACKAGE", ROOT / "build/hosts/python"))
# The Python of Debian's packages.
PYTHON = "/usr/bin/python3"
SITE = 8000
FIRST = token(COUNT)


@pytest.fixture
def environment(apns, tmp_path):
    paths = [PACKAGE, ROOT / "Examples/integrations/django", pathlib.Path(__file__).parent]
    made = {
        **os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "DJANGO_SETTINGS_MODULE": "project.settings",
        "PYTHONDONTWRITEBYTECODE": "1", "APNS_READY": json.dumps(apns.ready), "APNS_TOLD": str(tmp_path / "told"),
        "APNS_FIRST": FIRST,
    }  # fmt: skip
    needs = "import libapns, django, celery, gunicorn, uvicorn, redis"
    found = subprocess.run([PYTHON, "-c", needs], env=made, capture_output=True, text=True)
    if found.returncode:
        pytest.skip(found.stderr.splitlines()[-1])
    return made


@contextlib.contextmanager
def program(environment, directory, *words):
    """Runs it until the block ends, then ends it gracefully."""
    with open(directory / "program.log", "wb") as log:
        process = subprocess.Popen(
            [PYTHON, "-m", *words], env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            yield process
            assert process.poll() is None, "it has ended by itself"
            process.send_signal(signal.SIGTERM)
            assert process.wait(DEADLINE) == 0, said(directory)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert "Traceback" not in said(directory), said(directory)


def said(directory):
    return (directory / "program.log").read_text()[-4000:]


def get(path):
    """The site's answer, an object or its status."""
    connection = http.client.HTTPConnection("127.0.0.1", SITE, timeout=DEADLINE)
    with contextlib.closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read()
        return json.loads(text) if answer.status == 200 else answer.status


def is_up():
    try:
        return get("/")
    except OSError:
        return None


def push(first, end):
    """Asks the site, a few times at once, to push to these tokens."""
    with concurrent.futures.ThreadPoolExecutor(4) as users:
        assert set(users.map(lambda n: get(f"/push/{token(n)}"), range(first, end))) == {204}


def test_settings(environment):
    run = subprocess.run([PYTHON, "-m", "project.check_settings"], env=environment, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "ok\n"), run.stderr


def test_gunicorn(environment, apns, tmp_path):
    """Views queue and answer immediately, also while APNs is away; nothing is lost."""
    told = Told(tmp_path / "told", tmp_path / "program.log")
    words = ("--preload", "--workers", "2", "--threads", "4", "--bind", f"127.0.0.1:{SITE}", "project.wsgi")
    with program(environment, tmp_path, "gunicorn", *words):
        until(is_up, lambda: said(tmp_path))
        push(0, COUNT // 2)
        told.wait(lambda: len(told.tokens("sent", "gone")) >= COUNT // 4)
        known = told.tokens("sent", "gone")
        apns.kill()
        # No view waits: all of these are answered before APNs comes back.
        push(COUNT // 2, COUNT)
        assert len(told.tokens("sent", "gone")) <= COUNT // 2
        apns.start()
        told.wait(lambda: len(told.tokens("sent", "gone")) == COUNT)
    assert told.tokens("gone") == BAD and told.tokens("sent") == GOOD
    assert told.rows("not sent", "rejected") == []
    assert len({row["process"] for row in told.rows("sent")}) == 2
    accepted = apns.accepted()
    assert accepted.pop(FIRST) == 1
    assert set(accepted) == GOOD
    # A notification without an outcome when APNs was killed is sent again, and may arrive twice.
    assert all(count == 1 or count == 2 and one not in known for one, count in accepted.items())


def test_gunicorn_ends(environment, apns, tmp_path):
    """A graceful end waits for the outcomes of what the views have queued."""
    told = Told(tmp_path / "told", tmp_path / "program.log")
    words = ("--preload", "--workers", "1", "--threads", "4", "--bind", f"127.0.0.1:{SITE}", "project.wsgi")
    with program(environment, tmp_path, "gunicorn", *words):
        until(is_up, lambda: said(tmp_path))
        assert apns.simulator.control("PUT", "/faults", {"answer_delay_ms": 500})[0] == 200
        push(0, 20)
    assert told.tokens("sent", "gone") == {token(n) for n in range(20)}


def test_uvicorn(environment, apns, tmp_path):
    """Async views await the outcome; while APNs is away they fail in time, and the loop serves others."""
    words = ("project.asgi:application", "--port", str(SITE), "--lifespan", "on", "--log-level", "warning")
    with program(environment, tmp_path, "uvicorn", *words):
        until(is_up, lambda: said(tmp_path))
        users = Users(8, lambda one: get(f"/apush/{one}"))
        for n in range(COUNT // 2):
            users.waiting.put(token(n))
        apns.wait(COUNT // 4)
        with users.starting:
            in_flight = set(users.pending)
            apns.kill()
        users.wait(1, "not sent", "in doubt")
        failed, others = users.count("not sent", "in doubt"), 0
        while users.count("not sent", "in doubt") < failed + 16:
            assert "process" in get("/")
            others += 1
        assert others >= 16
        apns.start()
        for n in range(COUNT // 2, COUNT):
            users.waiting.put(token(n))
        users.wait(COUNT, "sent", "gone")
        users.end()
    assert users.tokens("gone") == BAD == Told(tmp_path / "told").tokens("gone")
    assert users.tokens("sent") == GOOD
    accepted = apns.accepted()
    assert set(accepted) == GOOD
    # A push may arrive twice if it was in flight when APNs was killed, or if the site said that it is in doubt.
    for one, count in accepted.items():
        assert count <= 1 + (one in in_flight) + users.told[one].count("in doubt"), users.told[one]


def test_celery(environment, apns, tmp_path):
    """Two prefork workers repeat a task until APNs has answered."""
    told = Told(tmp_path / "told", tmp_path / "program.log")

    def put(first, end):
        tokens = "".join(token(n) + "\n" for n in range(first, end))
        subprocess.run([PYTHON, "-m", "project.produce"], env=environment, input=tokens, text=True, check=True)

    words = ("-A", "project", "worker", "--concurrency", "2", "--loglevel", "warning")
    with loopback.redis(tmp_path), program(environment, tmp_path, "celery", *words):
        put(0, 100)
        told.wait(lambda: len(told.tokens("sent", "gone")) >= 60)
        apns.kill()
        put(100, COUNT)
        told.wait(lambda: len(told.rows("again")) >= 4)
        apns.start()
        told.wait(lambda: len(told.tokens("sent", "gone")) == COUNT)
    assert told.tokens("gone") == BAD and told.tokens("sent") == GOOD
    assert len({row["process"] for row in told.rows("sent")}) == 2
    accepted = apns.accepted()
    assert set(accepted) == GOOD
    # At least once: a push may arrive twice if a worker waited for its outcome, or if it was in doubt when the task was
    # repeated.
    doubts = collections.Counter(row["token"] for row in told.rows("again") if "unknown" in row["why"])
    assert sum(max(count - 1 - doubts[one], 0) for one, count in accepted.items()) <= 2
