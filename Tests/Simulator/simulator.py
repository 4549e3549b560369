"""Runs the simulator, with a client that uses only the standard library."""

import contextlib
import http.client
import json
import os
import pathlib
import select
import signal
import socket
import ssl
import struct
import subprocess
import time
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEADLINE = int(os.environ.get("APNS_TEST_DEADLINE", 240))
TOKEN = bytes(range(32))
PAYLOAD = b'{"aps":{"alert":"Hello"}}'
# No provider token is shared with this user's programs.
os.environ["APNS_TOKEN_CACHE"] = "off"


def tool():
    if path := os.environ.get("APNS_TOOL"):
        return path
    # As Tests/run builds it: the packages that carry pushes are optimized.
    built = subprocess.run(
        [ROOT / "Sources/compile", "apns"], env=os.environ | {"APNS_RELAY": "1"}, check=True, stdout=subprocess.PIPE, text=True)
    os.environ["APNS_TOOL"] = built.stdout.strip()
    return os.environ["APNS_TOOL"]


def waited(pid):
    """Seconds in which the main thread was ready to run but other threads had the processor."""
    with open(f"/proc/{pid}/schedstat") as figures:
        return int(figures.read().split()[1]) / 1e9


def until(holds, told=lambda: None):
    """Waits until `holds` returns something true and returns that; `told` describes the state on failure."""
    deadline = time.monotonic() + DEADLINE
    while not (found := holds()):
        assert time.monotonic() < deadline, told()
        time.sleep(0.005)  # Without a pause the requests would keep the simulator busy.
    return found


class Simulator:
    """A simulator that also speaks the binary interface and accepts short tokens, which most tests push. `STRICT`
    sets the limits of APNs."""

    STRICT = ("--token-size", "32-100", "--check-payload")

    def __init__(self, certificates, *options, faults=None, control=False, stderr=None):
        command = [tool(), "simulate", "--json", "--parent", str(os.getpid())]
        command += ["--http2-port", "0", "--gateway-port", "0", "--feedback-port", "0", "--log-level", "error"]
        command += ["--token-size", "any", "--no-check-payload"]
        command += ["--certificates", str(certificates), *map(str, options)]
        if "--seed" not in options:
            command += ["--seed", "7"]
        if control:
            command += ["--control-port", "0"]
        for name, value in (faults or {}).items():
            command += ["--fault", f"{name}={json.dumps(value)}"]
        began = time.monotonic() - waited(os.getpid())
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        line = self.line()
        self.pid = self.process.pid
        self.start_cost = time.monotonic() - waited(os.getpid()) - waited(self.pid) - began
        self.ready = json.loads(line)
        self.gateway = ("127.0.0.1", self.ready["gateway_port"])
        self.feedback = ("127.0.0.1", self.ready["feedback_port"])

    def line(self):
        readable, _, _ = select.select([self.process.stdout], [], [], 60)
        assert readable, "no output from the simulator"
        line = self.process.stdout.readline()
        assert line, f"the simulator ended: {self.process.wait(DEADLINE)}"
        return line

    def stop(self):
        """Ends it gracefully and returns the totals."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=DEADLINE)
        assert self.process.returncode == 0, self.process.returncode
        return json.loads(out.splitlines()[-1])

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def context(self, *, versions=None, certificate=True):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # Python before 3.11.3 does not report a missing close_notify by default.
        context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
        context.check_hostname = False
        context.load_verify_locations(self.ready["ca"])
        if certificate:
            context.load_cert_chain(self.ready["provider"])
        if versions:
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version, context.maximum_version = versions
        return context

    def connect(self, address=None, *, context=None, name=None, plain=False, source=None):
        sock = socket.create_connection(address or self.gateway, timeout=DEADLINE, source_address=source and (source, 0))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if plain:
            return sock
        try:
            return (context or self.context()).wrap_socket(
                sock, server_hostname=name, suppress_ragged_eofs=False
            )
        except BaseException:
            sock.close()
            raise

    def control(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.ready["control_port"], timeout=DEADLINE)
        with contextlib.closing(connection):
            data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
            connection.request(method, path, data, headers or {})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def wait(self, path, holds):
        """Returns the answer at `path` once `holds` is true for it."""
        def poll():
            answer = self.control("GET", path)[1]
            return [answer] if holds(answer) else None

        return until(poll, lambda: self.control("GET", path))[0]

    def renew(self, faults=None):
        """Resets it except for connection numbers, and sets these faults."""
        self.control("DELETE", "/faults")
        # A failed test may have left connections open.
        for one in self.control("GET", "/connections")[1]["connections"]:
            self.control("DELETE", f"/connections/{one['number']}?end=reset")
        self.totals()
        self.control("POST", "/reset")
        if faults:
            assert self.control("PUT", "/faults", faults)[0] == 200
        return self

    def totals(self):
        """Waits until every connection is closed, then returns the counters."""
        self.wait("/connections", lambda answer: answer["connections"] == [])
        return self.control("GET", "/counters")[1]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    @contextlib.contextmanager
    def rests(self, works):
        """Fails unless it works after the block, with no more open descriptors than before."""
        self.totals()
        before = self.descriptors()
        yield self
        assert self.process.poll() is None
        works(self)
        self.totals()
        until(lambda: self.descriptors() <= before, lambda: os.listdir(f"/proc/{self.pid}/fd"))

    def memory(self):
        with open(f"/proc/{self.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

    def forgets(self, connect, count, kb):
        """Fails if it keeps this much of each connection that `connect(number)` makes and ends."""
        at = []
        for _ in range(8):
            for number in range(count // 8):
                connect(number)
            self.wait("/connections", lambda answer: answer["connections"] == [])
            at.append(self.memory())
        # The first half includes one-time costs, and the allocator grows in steps; but a leak would show in each of these.
        assert min(after - before for before, after in zip(at[3:], at[4:])) < kb * count / 8, at


class World(Simulator):
    """A world of a running simulator, with the same methods."""

    def __init__(self, simulator, **options):
        self.simulator, self.process, self.pid = simulator, simulator.process, simulator.pid
        status, answer = simulator.control("POST", "/worlds", options or None)
        assert status == 201, answer
        self.ready_of_world, self.path = answer, answer["path"]
        self.ready = simulator.ready | answer
        self.gateway = ("127.0.0.1", self.ready["gateway_port"])
        self.feedback = ("127.0.0.1", self.ready["feedback_port"])

    def control(self, method, path, body=None, headers=None):
        return self.simulator.control(method, self.path + path, body, headers)

    def end(self):
        """The status, and the totals."""
        return self.simulator.control("DELETE", self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def ends_in_order(simulator):
    """Fails unless the simulator exits cleanly, without an error from its event loops, while clients are
    connected."""
    simulator.process.send_signal(signal.SIGTERM)
    _, err = simulator.process.communicate(timeout=DEADLINE)
    assert (simulator.process.returncode, err) == (0, "")


def make_certificates(directory, subject, extensions=""):
    """A set of certificates like the simulator's own, with this subject and these extensions for the provider's."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)

    directory.mkdir()
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority")
    for name, key, whose, more in (
        ("server.pem", "server.key", "/CN=gateway", "subjectAltName=DNS:localhost"),
        ("provider-certificate.pem", "provider-key.pem", subject, extensions),
    ):
        (directory / "extensions").write_text(more)
        openssl("req", *new, "-keyout", key, "-out", "request", "-subj", whose)
        openssl(
            "x509", "-req", "-in", "request", "-out", name, "-days", "100",
            "-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", str(len(name)), "-extfile", "extensions",
        )
    both = [(directory / name).read_text() for name in ("provider-certificate.pem", "provider-key.pem")]
    (directory / "provider.pem").touch(0o600)
    (directory / "provider.pem").write_text("".join(both))
    return directory


def simple(token=TOKEN, payload=PAYLOAD):
    return struct.pack("!BH", 0, len(token)) + token + struct.pack("!H", len(payload)) + payload


def enhanced(identifier, token=TOKEN, payload=PAYLOAD, expiry=0):
    return (
        struct.pack("!BIIH", 1, identifier, expiry, len(token))
        + token
        + struct.pack("!H", len(payload))
        + payload
    )


def item(kind, data):
    return struct.pack("!BH", kind, len(data)) + data


def framed(*items):
    everything = b"".join(items)
    return struct.pack("!BI", 2, len(everything)) + everything


def error(status, identifier):
    return struct.pack("!BBI", 8, status, identifier)


TCP_CLOSE, TCP_CLOSE_WAIT = 7, 8


def tcp(sock):
    """The kernel's state of the connection, which does not depend on the machine's load."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
    (unacked,) = struct.unpack_from("I", info, 24)
    (received,) = struct.unpack_from("Q", info, 128)
    (segments,) = struct.unpack_from("I", info, 140)
    (data_segments,) = struct.unpack_from("I", info, 152)
    return types.SimpleNamespace(
        state=info[0], unacked=unacked, received=received, segments=segments, data_segments=data_segments
    )


CLEAN, FIN, RESET = "close_notify", "fin", "reset"


def is_end(error):
    """True for an end without close_notify, which Python before 3.11.3 reports without a class."""
    return isinstance(error, ssl.SSLEOFError) or error.reason == "UNEXPECTED_EOF_WHILE_READING"


def read_to_end(sock):
    """Returns the pieces received, the time of each, and how the connection ended."""
    pieces, times = [], []
    while True:
        try:
            piece = sock.recv(65536)
        except ssl.SSLError as error:
            if not is_end(error):
                raise
            # Python reports a reset like an end without close_notify; the kernel distinguishes them.
            state = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
            return pieces, times, RESET if state == TCP_CLOSE else FIN
        except ConnectionResetError:
            return pieces, times, RESET
        if not piece:
            return pieces, times, CLEAN
        pieces.append(piece)
        times.append(time.monotonic())


def exchange(sock, data=b""):
    """Sends and reads to the end; returns the bytes received and how the connection ended."""
    with sock:
        try:
            sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            pass
        pieces, _, end = read_to_end(sock)
        return b"".join(pieces), end


def finish(sock, data=b""):
    """Sends, closes its side, and waits until the gateway does too, which has then read everything."""
    sock.sendall(data)
    plain = sock.unwrap()
    plain.close()
