"""Examples/integrations/django under gunicorn, under uvicorn and hypercorn, and in Celery's workers, while APNs goes away."""

import collections
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import subprocess

import pytest
from apns import COUNT, GOOD, token
from hosts import FIRST, Host, Told, Users, put, redis
from simulator import DEADLINE, ROOT, until

PACKAGE = pathlib.Path(os.environ.get("APNS_PYTHON_PACKAGE", ROOT / "build/hosts/python"))
# The Python of Debian's packages.
PYTHON = "/usr/bin/python3"
SITE = 8000


@pytest.fixture
def environment(apns, tmp_path):
    paths = [PACKAGE, ROOT / "Examples/integrations/django", pathlib.Path(__file__).parent]
    made = {
        **os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "DJANGO_SETTINGS_MODULE": "project.settings",
        "PYTHONDONTWRITEBYTECODE": "1", "APNS_READY": json.dumps(apns.ready), "APNS_TOLD": str(tmp_path / "told"),
        "APNS_FIRST": FIRST,
    }  # fmt: skip
    needs = "import libapns, django, celery, gunicorn, redis"
    found = subprocess.run([PYTHON, "-c", needs], env=made, capture_output=True, text=True)
    if found.returncode:
        pytest.skip(found.stderr.splitlines()[-1])
    return made


@contextlib.contextmanager
def program(environment, directory, *words):
    """Runs a module of Python until the block ends."""
    with Host([PYTHON, "-m", *words], directory / "program.log", env=environment) as host:
        yield host
    assert not host.said("Traceback"), host.text()


@contextlib.contextmanager
def site(environment, directory, *words):
    """The same for a web server."""
    with program(environment, directory, *words) as host:
        until(lambda: host.alive() and is_up(), host.text)
        yield


def gunicorn(workers):
    return "gunicorn", "--preload", "--workers", workers, "--threads", "4", "--bind", f"127.0.0.1:{SITE}", "project.wsgi"


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
    with site(environment, tmp_path, *gunicorn(2)):
        push(0, COUNT // 2)
        told.wait_answered(COUNT // 4)
        known = told.tokens("sent", "gone")
        apns.kill()
        # No view waits: all of these are answered before APNs comes back.
        push(COUNT // 2, COUNT)
        assert len(told.tokens("sent", "gone")) <= COUNT // 2
        apns.start()
        told.wait_answered(COUNT)
    assert told.rows("not sent", "rejected") == []
    assert len({row["process"] for row in told.rows("sent")}) == 2
    # A notification without an outcome when APNs was killed is sent again, and may arrive twice.
    apns.judge(told.tokens("sent") | {FIRST}, told.tokens("gone"), again=dict.fromkeys(GOOD - known, 1), others={FIRST})
    assert apns.accepted()[FIRST] == 1


def test_gunicorn_ends(environment, apns, tmp_path):
    """A graceful end waits for the outcomes of what the views have queued."""
    told = Told(tmp_path / "told", tmp_path / "program.log")
    with site(environment, tmp_path, *gunicorn(1)):
        assert apns.simulator.control("PUT", "/faults", {"answer_delay_ms": 500})[0] == 200
        push(0, 20)
    assert told.tokens("sent", "gone") == {token(n) for n in range(20)}


@pytest.mark.parametrize("server, words", [
    ("uvicorn", ["--port", SITE, "--lifespan", "on", "--log-level", "warning"]), ("hypercorn", ["--bind", f"127.0.0.1:{SITE}"])])
def test_asgi(environment, apns, tmp_path, server, words):
    """Async views await the outcome; while APNs is away they fail in time, and the loop serves others."""
    users = Users(8, lambda one: get(f"/apush/{one}"))

    def visit():
        assert "process" in get("/")

    if subprocess.run([PYTHON, "-c", f"import {server}"], capture_output=True).returncode:
        pytest.skip(f"{server} is not installed (Debian: python3-{server})")
    with site(environment, tmp_path, server, *words, "project.asgi:application"):
        users.push_while(apns, 16, visit)
    assert users.tokens("gone") == Told(tmp_path / "told").tokens("gone")


def test_celery(environment, apns, tmp_path):
    """Two prefork workers repeat a task until APNs has answered."""
    told = Told(tmp_path / "told", tmp_path / "program.log")
    produce = [PYTHON, "-m", "project.produce"]
    words = "celery", "-A", "project", "worker", "--concurrency", "2", "--loglevel", "warning"
    with redis(tmp_path), program(environment, tmp_path, *words):
        put(produce, environment, 0, 100)
        told.wait_answered(60)
        apns.kill()
        put(produce, environment, 100, COUNT)
        told.wait(lambda: len(told.rows("again")) >= 4)
        apns.start()
        told.wait_answered(COUNT)
    assert len({row["process"] for row in told.rows("sent")}) == 2
    # At least once: a push may arrive twice if a worker waited for its outcome, or if it was in doubt when the task was
    # repeated.
    doubts = collections.Counter(row["token"] for row in told.rows("again") if "unknown" in row["why"])
    apns.judge(told.tokens("sent"), told.tokens("gone"), again=doubts, extra=2)
