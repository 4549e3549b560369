"""A network line between two programs that a test can cut: nothing passes any more, and no side gets an error."""

import contextlib
import os
import socket
import threading


class Line:
    """Forwards connections from a loopback port, or from a UNIX socket at `path`, to the address that `target()`
    returns: a path, or a host and a port. It calls `target()` for each connection, because a server may restart at
    another address."""

    def __init__(self, target, path=None):
        self.target, self.path = target, path
        self.open = threading.Event()
        self.open.set()
        self.lock, self.ends, self.is_closed = threading.Lock(), set(), False
        if path:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(path)
            self.listener.listen(64)
        else:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        self.open.clear()

    def heal(self):
        """Restores the line; bytes that were on their way continue."""
        self.open.set()

    def heal_broken(self):
        """Restores the line without its former connections."""
        self._drop()
        self.open.set()

    def close(self):
        self.is_closed = True
        _end(self.listener)
        self._drop()
        self.open.set()
        if self.path:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)

    def _drop(self):
        with self.lock:
            ends, self.ends = self.ends, set()
        for one in ends:
            _end(one)

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return self.listener.close()
            threading.Thread(target=self._lead, args=(near,), daemon=True).start()

    def _lead(self, near):
        with self.lock:
            self.ends.add(near)
        self.open.wait()
        target = self.target()
        far = socket.socket(socket.AF_UNIX if isinstance(target, str) else socket.AF_INET)
        with self.lock:
            # False if a cut or the test's end has dropped it.
            is_wanted = near in self.ends and not self.is_closed
            self.ends.add(far)
        try:
            if is_wanted:
                far.connect(target)
                back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
                back.start()
                self._pump(near, far)
                back.join()
        except OSError:
            pass
        with self.lock:
            self.ends -= {near, far}
        near.close()
        far.close()

    def _pump(self, source, sink):
        """Forwards in one direction, until either side ends."""
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.open.wait()
                sink.sendall(data)
        # A cut line does not transmit an end either.
        self.open.wait()
        _end(sink)
        _end(source)


def _end(one):
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
