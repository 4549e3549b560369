"""Redis for hosts with a queue."""

import contextlib
import socket
import subprocess

from simulator import until


@contextlib.contextmanager
def redis(directory):
    """redis-server on its usual port of the private network, with its data in memory."""
    command = ["redis-server", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(directory)]
    with open(directory / "redis.log", "wb") as log, subprocess.Popen(command, stdout=log) as server:

        def answers():
            assert server.poll() is None, (directory / "redis.log").read_text()
            try:
                with socket.create_connection(("127.0.0.1", 6379)) as client:
                    client.sendall(b"PING\r\n")
                    return client.recv(16) == b"+PONG\r\n"
            except OSError:
                return False

        try:
            until(answers)
            yield server
        finally:
            server.kill()
