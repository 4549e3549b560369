"""Ctrl-C in every call that waits, against peers that never answer; each call would wait ten minutes."""

import contextlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import libapns
import pytest

from swallowing import Swallowing
from test_http2 import needs_http2
from waits import ANY, until_it_waits

DEADLINE = 240

PROGRAM = """
import sys
import libapns, logging, signal
logging.disable()
# A shell that puts the tests into the background has them ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
provider, ca, host, port, protocol = sys.argv[1:]
who = libapns.Credentials(certificate_file=provider, ca_file=ca)
long = dict(host=host, port=int(port), server_name="gateway.push.apple.com", connect_timeout=600)
make = lambda **options: libapns.Session(
    who, protocol=protocol, write_timeout=600, answer_timeout=600, window_bytes=65536, payload_max=4096, **long, **options)
push = (bytes(32), b'{{"aps":{{}},"x":"' + b"x" * 2000 + b'"}}')
session = make()
{before}
print("waiting", flush=True)
try:
    {wait}
except KeyboardInterrupt as interrupt:
    {after}
    print("interrupted", flush=True)
"""


class Silent:
    """Accepts connections, completes the handshake if it has certificates, and sends nothing more."""

    def __init__(self, certificates=None, protocol="binary"):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections, self.shaken = [], threading.Event()
        self.context = None
        if certificates:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
            if protocol == "http2":
                self.context.set_alpn_protocols(["h2"])
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                if self.context:
                    connection = self.context.wrap_socket(connection, server_side=True)
                    self.shaken.set()
                self.connections.append(connection)

    def close(self):
        # close() alone would leave its thread waiting in accept().
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(DEADLINE)
        self.listener.close()
        for connection in self.connections:
            connection.close()


def interrupt(certificates, port, wait, *, before="", after="", host="127.0.0.1", protocol="binary", environment=None, shaken=None):
    program = PROGRAM.format(before=before, wait=wait, after=after or "pass")
    process = subprocess.Popen(
        [sys.executable, "-c", program, certificates / "provider.pem", certificates / "ca.pem", host, str(port), protocol],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "waiting\n", process.communicate(timeout=DEADLINE)
        shaken is None or shaken.wait(DEADLINE)
        until_it_waits(process.pid, ANY)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=DEADLINE)
        assert (out, errors, process.returncode) == ("interrupted\n", "", 0)
    finally:
        process.kill()
        process.communicate()


STILL_OPEN = "assert not session.closed and session.stats().taken == 0; session.close(0)"
IN_DOUBT = "session.close(0); assert [each.kind.name for each in session] == ['UNKNOWN'] * session.stats().taken"

CONNECTING = [
    ("session.connect()", STILL_OPEN),
    ("session.send(*push)", "assert interrupt.taken == 0; " + STILL_OPEN),
    ("session.send_many([push] * 3)", "assert interrupt.taken == 0; " + STILL_OPEN),
    ("session.__enter__().send(*push)", "session.__exit__(type(interrupt), interrupt, None); assert session.closed"),
    ("libapns.Feedback(who, **long)", ""),
]


@pytest.mark.parametrize("wait, after", CONNECTING)
@pytest.mark.parametrize("peer", [Swallowing, Silent], ids=["connect", "handshake"])
@pytest.mark.parametrize("protocol", ["binary", pytest.param("http2", marks=needs_http2)])
def test_connecting(certificates, peer, wait, after, protocol):
    with contextlib.closing(peer()) as there:
        interrupt(certificates, there.port, wait, after=after, protocol=protocol)


@pytest.fixture(scope="session")
def slow_names(tmp_path_factory):
    """A libc in which getaddrinfo() never returns."""
    directory = tmp_path_factory.mktemp("names")
    source = directory / "names.c"
    source.write_text("""
        #define _GNU_SOURCE
        #include <netdb.h>
        #include <unistd.h>
        int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **list) {
          if (hints && hints->ai_flags & AI_NUMERICHOST) return EAI_NONAME;
          while (1) pause();
        }
    """)
    library = directory / "names.so"
    # Under the address sanitizer the compiler fails because it leaks.
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, env=plain)
    return library


@pytest.mark.parametrize("wait, after", CONNECTING)
def test_resolving_a_name(certificates, slow_names, wait, after):
    environment = {**os.environ, "LD_PRELOAD": f"{os.environ.get('LD_PRELOAD', '')} {slow_names}".strip()}
    interrupt(certificates, 1, wait, after=after, host="gateway.example", environment=environment)


@pytest.mark.parametrize(
    "before, wait, after",
    [
        ("session.send(*push)", "session.drain(600)", IN_DOUBT),
        ("session.send(*push)", "session.next_event(600)", IN_DOUBT),
        ("session.send(*push)", "next(session.events(600))", IN_DOUBT),
        ("session.send(*push)", "session.__exit__(None, None, None)", "assert session.closed; " + IN_DOUBT),
        ("session.send(*push)", "session.close(600)", "assert session.closed; " + IN_DOUBT),
        # The window is full, and the peer reads nothing.
        ("", "while True: session.send(*push)", "assert interrupt.taken in (0, 1); " + IN_DOUBT),
        ("", "session.send_many(push for _ in range(100000))",
         "assert interrupt.taken == session.stats().taken > 0; " + IN_DOUBT),
    ],
)  # fmt: skip
@pytest.mark.parametrize("protocol", ["binary", pytest.param("http2", marks=needs_http2)])
def test_waiting_for_an_answer(certificates, protocol, before, wait, after):
    with contextlib.closing(Silent(certificates, protocol)) as there:
        interrupt(certificates, there.port, wait, before=before, after=after, protocol=protocol, shaken=there.shaken)


def test_a_feedback_list(certificates):
    with contextlib.closing(Silent(certificates)) as there:
        interrupt(certificates, there.port, "next(feedback)",
                  before="feedback = libapns.Feedback(who, read_timeout=600, **long)", after="feedback.close()")  # fmt: skip


def test_waiting_for_another_thread(certificates):
    with contextlib.closing(Silent()) as there:
        before = """
import threading
threading.Thread(target=lambda: session.send(*push), daemon=True).start()
"""
        interrupt(certificates, there.port, "session.connect()", before=before, after="import os; print('interrupted', flush=True); os._exit(0)")


def test_a_deadline_holds_across_slices(certificates, who):
    with contextlib.closing(Silent()) as there:
        session = libapns.Session(who, protocol="binary", host="127.0.0.1", port=there.port, connect_timeout=0.5, write_timeout=0.5)
        began = time.monotonic()
        with pytest.raises(libapns.DeadlineError):
            session.connect()
        assert time.monotonic() - began >= 0.5
        began = time.monotonic()
        with pytest.raises(libapns.DeadlineError):
            session.send(bytes(32), b"{}")
        assert time.monotonic() - began >= 0.5
        with pytest.raises(libapns.DeadlineError):
            libapns.Feedback(who, host="127.0.0.1", port=there.port, connect_timeout=0.5)


def test_a_feedback_deadline_holds_across_slices(certificates, who):
    with contextlib.closing(Silent(certificates)) as there:
        feedback = libapns.Feedback(who, host="127.0.0.1", port=there.port, read_timeout=0.5,
                                 server_name="gateway.push.apple.com")  # fmt: skip
        began = time.monotonic()
        with pytest.raises(libapns.DeadlineError, match="sent no complete tuple for 500 ms"):
            next(feedback)
        assert time.monotonic() - began >= 0.5
