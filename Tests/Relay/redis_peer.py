"""Peers in place of a Redis: a server that sends anything, and a proxy between a relay and its Redis that changes replies."""

import contextlib
import socket
import threading


class Peer:
    """Accepts connections, and calls `act(connection)` for each of them. `tls` adds TLS."""

    def __init__(self, act, tls=None):
        self.act, self.tls = act, tls
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.held, self.is_closed = [], threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                one = self.listener.accept()[0]
                self.held.append(one)
                threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _serve(self, one):
        with contextlib.suppress(OSError, ValueError):
            if self.tls:
                one = self.tls.wrap_socket(one, server_side=True)
                self.held.append(one)
            self.act(one)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_closed.set()
        self.listener.close()
        for one in self.held:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def saying(answer):
    """Sends this after the first command, and nothing more."""

    def act(connection):
        connection.recv(4096)
        connection.sendall(answer)
        while connection.recv(4096):
            pass

    return act


def closing(answer):
    """Closes the connection in the middle of a reply."""

    def act(connection):
        connection.recv(4096)
        connection.sendall(answer)
        connection.shutdown(socket.SHUT_RDWR)

    return act


def flooding(start, more):
    """Sends without end, as fast as the relay reads."""

    def act(connection):
        connection.recv(4096)
        connection.sendall(start)
        while True:
            connection.sendall(more)

    return act


def trickling(peer, start, more, pause_s=0.2):
    """Sends a byte now and then, until the peer is closed."""

    def act(connection):
        if start is not None:
            connection.recv(4096)
            connection.sendall(start)
        while not peer().is_closed.wait(pause_s):
            connection.sendall(more)

    return act


def read_reply(stream):
    """Reads one reply, as bytes."""
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionError("Redis is gone")
    kind, count = line[:1], line[1:-2]
    if kind == b"$" and count != b"-1":
        return line + stream.read(int(count) + 2)
    if kind == b"*" and count != b"-1":
        return line + b"".join(read_reply(stream) for _ in range(int(count)))
    return line


def read_command(stream):
    """Reads the words of a command; None at the end."""
    line = stream.readline()
    if not line:
        return None
    words = []
    for _ in range(int(line[1:])):
        count = int(stream.readline()[1:])
        words.append(stream.read(count))
        stream.read(2)
    return words


def between(path, change):
    """Connects to the Redis at a UNIX socket. `change(words, ask)` returns the reply to these words; `ask()` gets the reply
    of the real server. If it returns a reply and None, the connection ends after the reply."""

    def act(near):
        far = socket.socket(socket.AF_UNIX)
        far.connect(path)
        asked, answered = near.makefile("rb"), far.makefile("rb")

        def ask(words):
            far.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
            return read_reply(answered)

        with far, asked, answered:
            while words := read_command(asked):
                said = change(words, lambda: ask(words))
                if isinstance(said, tuple):
                    near.sendall(said[0])
                    near.shutdown(socket.SHUT_RDWR)
                    return
                near.sendall(said)

    return act
