"""A program of the binary interface that loses nothing: after some notifications it sends a sentinel, and the
sentinel's error packet proves those before it. If the connection ends without that packet, it resends them on the next
one."""

import contextlib
import random
import ssl
import threading

from legacy import answer, connect, context, enhanced, framed, pieces, simple
from relaying import token
from simulator import error


class Provider:
    """`port()` returns the listener's port, `life()` how often the listener was opened. Runs in a separate thread."""

    def __init__(self, port, life, certificate, seed, count):
        self.port, self.life, self.tls, self.chance = port, life, context(certificate), random.Random(f"provider {seed}")
        self.numbers = range(seed * 1_000_000, seed * 1_000_000 + count)
        # For each token, the runs of the listener in which it was written.
        self.written = {token(number): [] for number in self.numbers}
        self.proven = set()
        self.failure, self.is_ended = None, threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self.thread.start()

    def is_done(self):
        if self.failure:
            raise self.failure
        return len(self.proven) == len(self.numbers)

    def repeated(self):
        """Returns the number of tokens that were written more than once."""
        return sum(len(times) > 1 for times in self.written.values())

    def end(self):
        self.is_ended.set()
        self.thread.join(30)

    def _run(self):
        try:
            left = list(self.numbers)
            while left and not self.is_ended.is_set():
                batch = left[: self.chance.randint(1, 60)]
                if self._prove(batch):
                    self.proven |= {token(number) for number in batch}
                    left = left[len(batch) :]
                else:
                    # The backoff after a broken connection.
                    self.is_ended.wait(0.01)
        except BaseException as failure:
            self.failure = failure

    def _prove(self, batch):
        makers = [lambda n, raw: simple(raw), lambda n, raw: enhanced(n, raw), lambda n, raw: framed(n, raw)]
        data = b"".join(self.chance.choice(makers)(index + 1, bytes.fromhex(token(number))) for index, number in enumerate(batch))
        try:
            life = self.life()
            with connect(self.port(), self.tls) as sock:
                if self.life() != life:
                    return False
                for number in batch:
                    self.written[token(number)].append(life)
                with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLError):
                    for piece in pieces(data + enhanced(777, b""), self.chance, most=6):
                        sock.sendall(piece)
                return answer(sock)[0] == error(2, 777)
        except OSError:
            return False
