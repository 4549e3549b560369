"""A network that swallows packets."""

import socket


class Swallowing:
    """A local port whose queue of connections is full, so that the kernel answers no SYN."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.port = self.listener.getsockname()[1]
        self.waiting = []
        while True:
            client = socket.socket()
            client.settimeout(0.5)
            self.waiting.append(client)
            try:
                client.connect(("127.0.0.1", self.port))
            except socket.timeout:  # Python 3.10 calls it TimeoutError
                return

    def close(self):
        for each in (*self.waiting, self.listener):
            each.close()
