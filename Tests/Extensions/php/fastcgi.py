"""php-fpm with one pool, and a FastCGI client with a number of connections: stdlib only."""

import os
import pathlib
import pwd
import signal
import socket
import struct
import subprocess
import time

BEGIN, ABORT, END, PARAMS, STDIN, STDOUT, STDERR = 1, 2, 3, 4, 5, 6, 7


class Pool:
    def __init__(self, directory, module, workers, *settings, max_requests=0, lines_of_pool=()):
        directory = pathlib.Path(directory)
        self.socket = str(directory / "fpm.sock")
        self.log = directory / "fpm.log"
        lines = ["[global]", f"error_log = {self.log}", "daemonize = no", "log_level = notice",
                 "process_control_timeout = 20s", "[pool]", f"listen = {self.socket}", "pm = static",
                 f"pm.max_children = {workers}", f"pm.max_requests = {max_requests}",
                 "catch_workers_output = yes", "decorate_workers_output = no", "clear_env = no", *lines_of_pool]
        if os.geteuid() == 0:
            user = pwd.getpwuid(0).pw_name
            lines += [f"user = {user}", f"group = {user}"]
        (directory / "fpm.conf").write_text("\n".join(lines) + "\n")
        command = [find_fpm(), "-n", "-F", "-y", str(directory / "fpm.conf")]
        if os.geteuid() == 0:
            command.append("-R")
        for setting in (f"extension={module}", "opcache.enable=0", "log_errors=1", *settings):
            command += ["-d", setting]
        self.output = open(directory / "fpm.out", "wb")
        self.process = subprocess.Popen(command, stdout=self.output, stderr=self.output)
        deadline = time.monotonic() + 240
        while True:
            try:
                self.connect().close()
                return
            except OSError:
                assert self.process.poll() is None and time.monotonic() < deadline, self.log_text()

    def connect(self):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(240)
        sock.connect(self.socket)
        return sock

    def log_text(self):
        out = pathlib.Path(self.output.name).read_text()
        return out + (self.log.read_text() if self.log.exists() else "")

    def request(self, script, query="", **more):
        """Returns the script's output and PHP's errors; `more` holds further parameters of a web server."""
        with self.connect() as sock:
            parameters = {"SCRIPT_FILENAME": str(script), "REQUEST_METHOD": "GET", "QUERY_STRING": query,
                          "SERVER_PROTOCOL": "HTTP/1.1", "GATEWAY_INTERFACE": "CGI/1.1", **more}
            body = b"".join(pair(name, value) for name, value in parameters.items())
            sock.sendall(record(BEGIN, struct.pack("!HB5x", 1, 0)) + record(PARAMS, body)
                         + record(PARAMS, b"") + record(STDIN, b""))
            out, errors = b"", b""
            with sock.makefile("rb") as stream:
                while True:
                    header = stream.read(8)
                    assert len(header) == 8, f"php-fpm closed the connection: {out!r}\n{self.log_text()}"
                    _, kind, _, length, padding = struct.unpack("!BBHHBx", header)
                    content = stream.read(length)
                    stream.read(padding)
                    if kind == STDOUT:
                        out += content
                    elif kind == STDERR:
                        errors += content
                    elif kind == END:
                        return (out.partition(b"\r\n\r\n")[2] + errors).decode()

    def stop(self):
        """Stops the workers gracefully, as a reload does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
        try:
            self.process.wait(40)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.output.close()


def find_fpm():
    if path := os.environ.get("PHP_FPM"):
        return path
    version = subprocess.run(["php-config", "--version"], check=True, capture_output=True, text=True)
    return f"php-fpm{'.'.join(version.stdout.split('.')[:2])}"


def record(kind, content):
    return struct.pack("!BBHHBx", 1, kind, 1, len(content), 0) + content


def pair(name, value):
    name, value = name.encode(), value.encode()
    sizes = b"".join(struct.pack("!I", len(x) | 1 << 31) for x in (name, value))
    return sizes + name + value
