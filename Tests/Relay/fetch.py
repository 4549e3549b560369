#!/usr/bin/env python3
"""fetch.py: installs with pip, each in one version, the old libraries with which test_legacy_programs.py pushes and the
current ones of test_http_clients.py. The tests run in a network without a way out. Skips what is installed already."""

import os
import pathlib
import shutil
import subprocess
import sys

DIRECTORY = pathlib.Path(__file__).resolve().parents[2] / "build/legacy-programs"
# For each program the Python versions that run it, and its packages. The last two have no packages for Python 2.
LIBRARIES = {
    "pyapns.py": (["2.7"], ["apns==2.0.1"]),
    "clerk.py": (["3.11", "3.10", "3.9", "3.8"], ["apns-clerk==0.2.0", "pyOpenSSL==19.1.0", "cryptography==2.9.2"]),
    "django_push.py": (["3.9", "3.8", "3.10", "3.11"], ["django-push-notifications==1.4.1", "Django==2.2.28"]),
}
HTTP_CLIENTS = {
    "http_clients.py": (
        ["3.11", "3.10"], ["requests==2.34.2", "aiohttp==3.14.5", "aioapns==4.0", "httpx[http2]==0.28.1"]),
}


def find_python(versions):
    """Looks in the PATH and among pyenv's versions."""
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    for version in versions:
        for candidate in [f"python{version}", *sorted(root.glob(f"{version}.*/bin/python"))]:
            script = 'import ssl, sys; ssl.wrap_socket; print("%d.%d" % sys.version_info[:2])'
            try:
                ran = subprocess.run([candidate, "-W", "ignore", "-c", script], capture_output=True, text=True)
            except OSError:
                continue
            if ran.stdout.strip() == version:
                return candidate
    return None


def main():
    for program, (versions, packages) in (LIBRARIES | HTTP_CLIENTS).items():
        place, python = DIRECTORY / program, find_python(versions)
        if python is None or place.exists():
            continue
        # Current pip does not run in Python 2. Its packages are pure Python, so the pip of another version will do.
        by, new = sys.executable if versions == ["2.7"] else python, DIRECTORY / f"{program}.new"
        shutil.rmtree(new, ignore_errors=True)
        ran = subprocess.run([by, "-m", "pip", "install", "-q", "--target", new, *packages], capture_output=True, text=True)
        if ran.returncode == 0:
            new.rename(place)
        else:
            said = ran.stderr.strip().splitlines()
            print(f"skipped: pip cannot install {' '.join(packages)}: {said[-1] if said else ran.returncode}")


if __name__ == "__main__":
    main()
