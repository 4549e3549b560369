"""What the tests of PHP's hosts share: the extension, Debian's packages, and PHPUnit."""

import os
import pathlib
import subprocess

import pytest
from simulator import ROOT

MODULE = os.environ.get("APNS_MODULE", "")
SCRIPTS = pathlib.Path(__file__).parent / "php"
PACKAGES = pathlib.Path("/usr/share/php")


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
