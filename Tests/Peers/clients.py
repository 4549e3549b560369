"""The clients that Tests/Peers/run compares: a program, pinned packages and an environment for each."""

import dataclasses
import pathlib
import platform
import subprocess
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "Tests/Peers/Clients"
HERE = ROOT / "build/python/peers"

sys.path.insert(0, str(ROOT / "Tests/Relay"))

from fetch import find_python  # noqa: E402


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def holds(mark, text):
    return mark.exists() and mark.read_text() == text


def last_line(ran):
    lines = [line for line in ran.stderr.splitlines() if line.strip() and "[notice]" not in line]
    return lines[-1].partition(" (/")[0].strip() if lines else f"status {ran.returncode}"


@dataclasses.dataclass
class Client:
    name: str
    package: str
    arguments: tuple = ()
    # Older versions of Python, if the package does not run on the one of this program.
    versions: tuple = ()
    problem: str = ""

    @property
    def pins(self):
        return PROGRAMS / f"{self.package}.txt"

    @property
    def is_ours(self):
        return self.package == "libapns"

    @property
    def module(self):
        return "apns2.client" if self.package == "apns2" else self.package

    @property
    def python(self):
        return HERE / self.package / "bin/python"

    @property
    def site(self):
        return next((HERE / self.package).glob("lib/python*/site-packages"))

    def base(self):
        return find_python(self.versions) or sys.executable if self.versions else sys.executable

    def wanted(self):
        """Changes if the environment must be made again."""
        wheel = self.wheel()
        return f"{zlib.crc32(wheel.read_bytes() if wheel else self.pins.read_bytes())} {self.base()}"

    def wheel(self):
        return max((ROOT / "build/python/wheels").glob("libapns-*.whl"), default=None) if self.is_ours else None

    def fetch(self):
        """Downloads the pinned packages, once. Only this needs the network."""
        mark = HERE / "downloads" / self.package / "fetched"
        if self.is_ours or holds(mark, self.wanted()):
            return
        ran = run(self.base(), "-m", "pip", "download", "-q", "-d", mark.parent, "-r", self.pins)
        if ran.returncode == 0:
            mark.write_text(self.wanted())
        else:
            self.problem = f"pip cannot fetch it: {last_line(ran)}"

    def install(self):
        """Makes its environment, once; `problem` says why it does not run there."""
        if self.is_ours and not self.wheel():
            self.problem = "there is no wheel: Tests/run python makes it"
        mark = HERE / self.package / "installed"
        if not self.problem and not holds(mark, self.wanted()):
            what = [self.wheel()] if self.is_ours else ["-r", self.pins]
            where = ["--no-index", "--find-links", HERE / "downloads" / self.package]
            made = run(self.base(), "-m", "venv", "--clear", "--without-pip", HERE / self.package)
            pip = [self.base(), "-m", "pip", "install", "-q", "--target", self.site]
            ran = made if made.returncode else run(*pip, *where, *what)
            if ran.returncode:
                self.problem = f"pip cannot install it: {last_line(ran)}"
                return
            mark.write_text(self.wanted())
        if not self.problem and (ran := run(self.python, "-c", f"import {self.module}")).returncode:
            self.problem = f"does not run on Python {self.python_version()}: {last_line(ran)}"

    def python_version(self):
        return run(self.base(), "-c", "import platform; print(platform.python_version())").stdout.strip()

    def packages(self):
        """Its packages with their versions."""
        if self.problem:
            return ""
        listed = run(self.base(), "-m", "pip", "list", "--format=freeze", "--path", self.site).stdout.replace("==", " ")
        return ", ".join(line for line in listed.splitlines() if line.split()[0] not in ("pip", "setuptools"))

    def note(self):
        """What to say about its Python, if anything."""
        if self.problem or self.base() == sys.executable:
            return self.problem
        here = run(sys.executable, "-c", f"import sys; sys.path.insert(0, {str(self.site)!r}); import {self.module}")
        return f"does not run on Python {platform.python_version()}: {last_line(here)}" if here.returncode else ""

    def command(self, day):
        return [str(self.python), str(PROGRAMS / f"with_{self.package}.py"), str(day), *self.arguments]


CLIENTS = [
    Client("libapns", "libapns"),
    Client("libapns at_most_once", "libapns", ("at_most_once",)),
    Client("aioapns", "aioapns"),
    Client("apns2", "apns2", versions=("3.9", "3.8", "3.7")),
    Client("httpx", "httpx"),
    Client("kalyke", "kalyke"),
]
