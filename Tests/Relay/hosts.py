"""Hosts of a test: network namespaces, joined by a line with a delay. A process carries their packets between TUN devices, because
not every kernel has veth and netem."""

import collections
import contextlib
import ctypes
import fcntl
import os
import pathlib
import select
import signal
import socket
import struct
import time

NEW_NETWORK = 0x40000000
SET_DEVICE, SET_OFFLOAD = 0x400454CA, 0x400454D0
TUN, NO_INFORMATION, HEADER = 0x0001, 0x1000, 0x4000
CHECKSUM, LONG_SEGMENTS = 0x01, 0x02
SET_ADDRESS, SET_MASK, SET_FLAGS, SET_QUEUE = 0x8916, 0x891C, 0x8914, 0x8943
UP = 0x1
# In front of each packet: how the kernel has yet to cut it, and what its checksum lacks.
HEADER_SIZE = 10
VERSION, DESTINATION = HEADER_SIZE, HEADER_SIZE + 19
LONGEST = HEADER_SIZE + 65536


def _own_namespace():
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments):
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


class Host:
    """Sockets and processes that a thread makes inside `with host:` are this host's."""

    def __init__(self, number, is_far):
        self.address, self.is_far = f"10.77.0.{number}", is_far
        before = _own_namespace()
        try:
            _call("unshare", NEW_NETWORK)
            self.namespace = _own_namespace()
            self.line = self._connect()
        finally:
            _call("setns", before, NEW_NETWORK)
            os.close(before)

    def _connect(self):
        line = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(line, SET_DEVICE, struct.pack("16sH22x", b"line", TUN | NO_INFORMATION | HEADER))
        fcntl.ioctl(line, SET_OFFLOAD, CHECKSUM | LONG_SEGMENTS)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as some:
            for request, address in (SET_ADDRESS, self.address), (SET_MASK, "255.255.255.0"):
                fcntl.ioctl(some, request, struct.pack("16sHH4s16x", b"line", socket.AF_INET, 0, socket.inet_aton(address)))
            fcntl.ioctl(some, SET_QUEUE, struct.pack("16si20x", b"line", 10_000))
            for name in b"lo", b"line":
                fcntl.ioctl(some, SET_FLAGS, struct.pack("16sH22x", name, UP))
        return line

    def __enter__(self):
        self.before = _own_namespace()
        _call("setns", self.namespace, NEW_NETWORK)

    def __exit__(self, *_):
        _call("setns", self.before, NEW_NETWORK)
        os.close(self.before)

    def round_trip_s(self, other):
        """Measures the time until a host without a listener has refused a connection."""
        with self, socket.socket() as some:
            began = time.monotonic()
            some.connect_ex((other.address, 1))
            return time.monotonic() - began


class Network:
    """Hosts, of which the far ones are `delay_ms` away from all others: half a round trip."""

    def __init__(self, near, far, delay_ms):
        self.near = [Host(1 + n, is_far=False) for n in range(near)]
        self.far = [Host(1 + near + n, is_far=True) for n in range(far)]
        self.pid = os.fork()
        if self.pid == 0:
            # First, because its own delay would add to the line's.
            with contextlib.suppress(OSError):
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            _carry([*self.near, *self.far], delay_ms / 1000)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def _carry(hosts, delay_s):
    """Reads packets, and writes each to the host with its address when it is due."""
    by_line = {host.line: host for host in hosts}
    by_number = {int(host.address.rpartition(".")[2]): host for host in hosts}
    room, late = memoryview(bytearray(LONGEST)), collections.deque()
    poll, parent = select.epoll(), os.getppid()
    for line in by_line:
        poll.register(line, select.EPOLLIN)
    while os.getppid() == parent:
        timeout = max(0, late[0][0] - time.monotonic()) if late else 1
        for line, _ in poll.poll(timeout):
            with contextlib.suppress(BlockingIOError):
                # So that one busy host does not keep others waiting.
                for _ in range(64):
                    size = os.readv(line, [room])
                    target = by_number.get(room[DESTINATION]) if room[VERSION] >> 4 == 4 else None
                    if target is None:
                        continue
                    if by_line[line].is_far or target.is_far:
                        late.append((time.monotonic() + delay_s, target.line, bytes(room[:size])))
                    else:
                        os.write(target.line, room[:size])
        now = time.monotonic()
        while late and late[0][0] <= now:
            _, line, packet = late.popleft()
            os.write(line, packet)
    os._exit(0)
