"""The tool in a pseudo-terminal, and its screen at the end."""

import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import termios
import time

SCREENS = pathlib.Path(__file__).parent / "Screens"
DEADLINE = 240


def without_settings(environment):
    """The environment without this user's settings for the tool."""
    kept = ("APNS_TOOL", "APNS_RELAY_TOOL", "APNS_TOKEN_CACHE")
    return {name: value for name, value in environment.items()
            if name in kept or not name.startswith("APNS_") and "proxy" not in name.lower()} | {"XDG_CONFIG_HOME": "/nonexistent"}


class Terminal:
    def __init__(self, command, *, columns=80, env=None, cwd=None, stdin=None, unicode=True):
        self.columns, self.output, self.status = columns, b"", None
        said = {k: v for k, v in without_settings(os.environ).items() if not k.startswith(("LC_", "LANG"))}
        said |= {"TERM": "xterm", "LC_ALL": "C.UTF-8" if unicode else "C", "COLUMNS": str(columns)} | (env or {})
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                if cwd:
                    os.chdir(cwd)
                if stdin:
                    os.dup2(os.open(stdin, os.O_RDONLY), 0)
                os.execve(command[0], [str(word) for word in command], said)
            finally:
                os._exit(126)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def _read(self, deadline):
        """False at the end of the output."""
        readable, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
        assert readable, f"no more output: {self.output!r}"
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # how Linux reports that the other end is closed
            return False
        self.output += piece
        return bool(piece)

    def until(self, pattern):
        """Reads until the pattern appears."""
        deadline = time.monotonic() + DEADLINE
        while not re.search(pattern, self.output.decode(errors="replace")):
            assert self._read(deadline), f"ended without {pattern!r}: {self.output!r}"
        return self

    def type(self, text):
        os.write(self.master, text.encode())
        return self

    def interrupt(self):
        return self.type("\x03")

    def end(self):
        """Waits for it to end and returns its exit status."""
        if self.status is None:
            deadline = time.monotonic() + DEADLINE
            while self._read(deadline):
                pass
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            os.close(self.master)
        return self.status

    def kill(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.master)
            self.status = -signal.SIGKILL

    def screen(self):
        """The visible text, without overwritten lines."""
        self.end()
        lines, column = [[]], 0
        text = self.output.decode()
        for piece in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]", text):
            if piece == "\n":
                lines.append([])
            elif piece == "\r":
                column = 0
            elif piece == "\x1b[K":
                del lines[-1][column:]
            else:
                assert not piece.startswith("\x1b"), f"unexpected escape sequence: {piece!r}"
                assert piece >= " ", f"control character: {piece!r}"
                lines[-1][column:column + 1] = [piece]
                column += 1
            if piece == "\n":
                column = 0
        return "\n".join("".join(line).rstrip() for line in lines).rstrip() + "\n"


def same_screen(name, screen, **names):
    """Compares with the recorded screen; values that differ between runs are replaced by names."""
    for name_of, value in names.items():
        screen = screen.replace(str(value), f"<{name_of}>")
    screen = re.sub(r"\bin \d+(\.\d+)? s\b", "in <time>", screen)
    recorded = SCREENS / f"{name}.txt"
    if os.environ.get("APNS_RECORD_SCREENS"):
        recorded.write_text(screen)
    assert screen == recorded.read_text()
