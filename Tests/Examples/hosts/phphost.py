"""What the tests of PHP's hosts share: the extension, Debian's packages, and PHPUnit."""

import json
import os
import pathlib
import subprocess
import sys
import unittest.mock

import pytest
from apns import COUNT
from hosts import FIRST, Users, put
from simulator import ROOT, until

sys.path.insert(0, str(ROOT / "Tests/Extensions/php"))
from fastcgi import Pool  # noqa: E402

MODULE = os.environ.get("APNS_MODULE", "")
SCRIPTS = pathlib.Path(__file__).parent / "php"
WORKERS = 4  # of php-fpm
PACKAGES = pathlib.Path("/usr/share/php")
# What a host tells about a notification without an answer, which it repeats.
TROUBLE = ("not sent", "in doubt")


def environment(package, debian, **more):
    """That of a PHP program with this Composer package and these Debian packages. Skips a test without them."""
    if not MODULE:
        pytest.skip("APNS_MODULE does not name the extension for PHP")
    missing = [one for one in debian if not (PACKAGES / one / "autoload.php").exists()]
    if missing:
        pytest.skip(f"Debian's packages of PHP are not installed: {', '.join(missing)}")
    return {**os.environ, "APNS_PACKAGE": str(ROOT / "Examples/integrations" / package),
            "APNS_DEBIAN": " ".join(debian), "APNS_TOKEN_CACHE": "off", **more}  # fmt: skip


def php(*arguments):
    return ["php", "-d", f"extension={MODULE}", *map(str, arguments)]


def unit_tests(environment):
    """Runs the package's PHPUnit tests, of which none may be skipped."""
    package = environment["APNS_PACKAGE"]
    command = php("/usr/bin/phpunit", "--bootstrap", SCRIPTS / "autoload.php", "-c", f"{package}/phpunit.xml.dist",
                  "--fail-on-skipped", "--do-not-cache-result")  # fmt: skip
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0 and "OK (" in run.stdout, run.stdout + run.stderr


def push_in_fpm(apns, page, environment, directory, *settings):
    """Users of a site in php-fpm push to every device while APNs is killed. With ?token= the page pushes."""
    with unittest.mock.patch.dict(os.environ, environment):
        fpm = Pool(directory, MODULE, WORKERS, *settings)
    workers = set()

    def ask(one=None):
        answer = json.loads(fpm.request(SCRIPTS / page, f"token={one}" if one else ""))
        workers.add(answer["worker"])
        return answer

    try:
        Users(WORKERS - 1, ask).push_while(apns, 2 * WORKERS, ask)
    finally:
        fpm.stop()
    assert len(workers) <= WORKERS


def live_long(apns, told, produce, environment):
    """Plays a day of a queue's two workers: they push to every device while APNs ends their connections, finds their
    provider tokens too old, and is killed. `produce` queues notifications."""
    put(produce, environment, 0, 40)
    told.wait_answered(40)
    # APNs closes idle connections.
    for one in apns.simulator.control("GET", "/connections")[1]["connections"]:
        apns.simulator.control("DELETE", f"/connections/{one['number']}?end=close_notify")
    put(produce, environment, 40, 60)
    told.wait_answered(60)
    assert told.rows(*TROUBLE) == []
    # Provider tokens are too old after two seconds, and the session makes a new one for the same push. (Of a second
    # nothing may be left when a token is made, because it says whole seconds.)
    assert apns.simulator.control("PUT", "/faults", {"token_age_max_s": 2})[0] == 200

    def aged():
        put(produce, environment, COUNT, COUNT + 1)
        return apns.simulator.control("GET", "/counters")[1]["reasons"].get("ExpiredProviderToken")

    until(aged)
    apns.simulator.control("DELETE", "/faults")
    put(produce, environment, 60, 100)
    told.wait_answered(100)
    assert told.rows("failed", *TROUBLE) == []
    put(produce, environment, 100, 150)
    told.wait_answered(110)
    apns.kill()
    put(produce, environment, 150, COUNT)
    told.wait(lambda: len(told.rows(*TROUBLE)) >= 4)
    apns.start()
    told.wait_answered(COUNT)


def judge(apns, told):
    """Queues deliver at least once: a notification that APNs accepted without an answer, because it was killed, may come again,
    and each of two workers had one then."""
    apns.judge(told.tokens("sent") | {FIRST}, told.tokens("gone"), again=told.counts("in doubt"), extra=2, others={FIRST})
