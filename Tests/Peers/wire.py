"""The base of all adversarial peers: a listener, a ledger, and connections that need not read."""

import collections
import json
import os
import select
import socket
import ssl
import struct
import threading
import time


class Ended(Exception):
    """The connection has ended."""


class Ledger:
    """The peer's observations and actions; thread-safe."""

    def __init__(self):
        self.lock = threading.Lock()
        self.deliveries = collections.Counter()
        self.refused = collections.Counter()  # arrived, but reported as not processed
        self.accepted = set()
        self.connections = 0
        self.offers = 0
        self.felt = 0
        self.notes = {}
        self.failures = []

    def felt_once(self):
        with self.lock:
            self.felt += 1
            # The provider may wait for this line.
            if self.felt == 1:
                print("felt", flush=True)

    def as_json(self):
        seen = {name: value for name, value in vars(self).items() if name != "lock"}
        return json.dumps(seen | {"accepted": sorted(self.accepted), "failures": self.failures[:5]})


class Link:
    """One connection, TLS or plain, that reads and writes in one thread, and need not read."""

    def __init__(self, plain, context=None, seconds=10):
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.settimeout(seconds)
        self.sock = context.wrap_socket(plain, server_side=True) if context else plain
        self.sock.setblocking(False)
        self.out = bytearray()
        self.written = 0

    def step(self, seconds=0.05, reading=True):
        """Writes as much as possible, and returns the bytes that arrived in that time."""
        if self.write() and self.out:
            seconds = 0
        came = self.read() if reading else b""
        if came:
            return came
        select.select([self.sock] if reading else [], [self.sock] if self.out else [], [], seconds)
        return self.read() if reading else b""

    def fill(self, blob):
        """Queues more than a step can write, so that each step waits only for the provider."""
        while len(self.out) < 1 << 20:
            self.out += blob

    def write(self):
        """Writes up to 256 KB; true if anything was written."""
        done = 0
        try:
            while self.out and done < 1 << 18:
                count = self.sock.send(memoryview(self.out)[:16384])
                del self.out[:count]
                done += count
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError, BlockingIOError):
            pass
        except OSError as error:
            raise Ended from error
        self.written += done
        return done

    def read(self):
        try:
            came = self.sock.recv(1 << 16)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            return b""
        except OSError as error:
            raise Ended from error
        if not came:
            raise Ended
        return came

    def flush(self, seconds=5):
        end = time.monotonic() + seconds
        while self.out and time.monotonic() < end:
            self.step(0.01, reading=False)

    def end(self, way):
        """Ends the connection immediately, without sending more: `way` is fin, reset or close_notify."""
        if way == "reset":
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif way == "close_notify" and isinstance(self.sock, ssl.SSLSocket):
            try:
                self.sock.unwrap()
            except OSError:
                pass
            self.linger()
        elif way == "fin":
            # Unread bytes would turn the FIN into RST.
            self.linger()
        else:
            raise ValueError(way)
        self.sock.close()
        raise Ended

    def linger(self, seconds=0.2):
        """Half-closes the connection and keeps reading for a while."""
        plain = socket.socket(fileno=os.dup(self.sock.fileno()))
        try:
            plain.shutdown(socket.SHUT_WR)
            plain.settimeout(seconds)
            while plain.recv(1 << 16):
                pass
        except OSError:
            pass
        finally:
            plain.close()


class Peer:
    """Listens on loopback, and serves each connection in a thread."""

    def __init__(self, directory, options):
        self.directory, self.options = directory, options
        self.ledger = Ledger()
        self.begun = time.monotonic()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]

    def context(self, alpn=(), newest=None):
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(f"{self.directory}/server.pem", f"{self.directory}/server.key")
        if alpn:
            made.set_alpn_protocols(list(alpn))
        if newest:
            made.maximum_version = newest
        return made

    def option(self, name, otherwise=None):
        return self.options.get(name, otherwise)

    def number(self, name, otherwise=0):
        return float(self.options.get(name, otherwise))

    def start(self):
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            with self.ledger.lock:
                self.ledger.connections += 1
                number = self.ledger.connections
            threading.Thread(target=self.guarded, args=(plain, number), daemon=True).start()

    def guarded(self, plain, number):
        try:
            self.serve(plain, number)
        except (Ended, OSError):
            pass
        except Exception as failure:  # a broken peer proves nothing: report it to the judge
            with self.ledger.lock:
                self.ledger.failures.append(repr(failure))
        finally:
            plain.close()

    def serve(self, plain, number):
        raise NotImplementedError


def number_in(payload):
    """The n of {"aps":{},"n":n,...}."""
    return json.loads(payload)["n"]
