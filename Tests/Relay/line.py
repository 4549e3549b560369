"""A line between two programs that a test can cut: nothing gets through any more, and nobody is told."""

import contextlib
import os
import socket
import threading


class Line:
    """Leads from a port of loopback, or from a UNIX socket at `path`, to what `target()` names: a path, or
    a host and a port. It is asked for each connection, because a server may come back elsewhere."""

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
        """What was on its way goes on."""
        self.open.set()

    def heal_broken(self):
        """Nobody remembers the connections that there were."""
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
            # It was dropped meanwhile, by a cut or by the test's end.
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
        """In one direction, until either side ends."""
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.open.wait()
                sink.sendall(data)
        # An end does not get through a cut line either.
        self.open.wait()
        _end(sink)
        _end(source)


def _end(one):
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
