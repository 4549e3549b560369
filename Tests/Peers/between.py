"""Stands between a provider and a gateway and causes faults: `between.py PORT FAULT...`

Listens at one port for each fault, prints the ports as a JSON line, and forwards every connection to PORT, until its
standard input ends. A fault is a word and its numbers, separated by colons:

    none              nothing
    late:S            the gateway is silent for S seconds
    closed:S          refuses connections until S seconds have passed
    swallowed:S       leaves connection requests unanswered until then: the queue is full
    deaf:BYTES:TIMES  stops reading after BYTES bytes, on the first TIMES connections
    cut:BYTES:TIMES   resets them after BYTES bytes
    drip:BYTES        sends its first bytes one by one, a millisecond apart
    proxy:S           an HTTP proxy that answers after S seconds
    names:S:N         a name server at 127.0.0.N: silent for S seconds, then every name is 127.0.0.1
"""

import asyncio
import contextlib
import json
import logging
import os
import socket
import struct
import sys
import threading


class Fault:
    def __init__(self, text, target):
        self.word, *numbers = text.split(":")
        self.numbers = [float(number) for number in numbers]
        self.target = target
        self.connections = 0
        self.fillers = []
        is_name_server = self.word == "names"
        self.listener = socket.socket(type=socket.SOCK_DGRAM if is_name_server else socket.SOCK_STREAM)
        self.listener.bind((f"127.0.0.{int(self.numbers[1])}", 53) if is_name_server else ("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        if self.word == "swallowed":
            self.listener.listen(0)
            # Fill the queue, with some more waiting for it.
            for _ in range(4):
                filler = socket.socket()
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", self.port))
                self.fillers.append(filler)
        elif self.word not in ("names", "closed"):
            self.listener.listen(100)

    async def open(self):
        if self.word == "names":
            loop = asyncio.get_running_loop()
            await loop.create_datagram_endpoint(lambda: Names(self.numbers[0]), sock=self.listener)
            return
        if self.word == "closed":
            await asyncio.sleep(self.numbers[0])
        if self.word == "swallowed":
            await asyncio.sleep(self.numbers[0])
            for filler in self.fillers:
                filler.close()
        await asyncio.start_server(self.forward, sock=self.listener, backlog=100)

    def strikes(self):
        self.connections += 1
        return self.connections <= self.numbers[1] if len(self.numbers) > 1 else True

    async def forward(self, reader, writer):
        strikes = self.strikes()
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            if self.word == "proxy":
                await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(self.numbers[0])
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
            if self.word == "late":
                await asyncio.sleep(self.numbers[0])
            if strikes and self.word in ("deaf", "cut"):
                up = self.carry(reader, back, most=int(self.numbers[0]))
            else:
                up = self.carry(reader, back)
            slowly = int(self.numbers[0]) if self.word == "drip" else 0
            ways = [asyncio.ensure_future(up), asyncio.ensure_future(self.carry(there, writer, slowly))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            if strikes and self.word == "cut":
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                writer.transport.abort()
            # Data may still flow in the other direction.
            await asyncio.wait(ways, timeout=5)
            for way in ways:
                way.cancel()
            back.close()
        writer.close()

    async def carry(self, reader, writer, slowly=0, most=None):
        seen = 0
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                for at in range(min(slowly, len(data))):
                    writer.write(data[at : at + 1])
                    await asyncio.sleep(0.001)
                writer.write(data[min(slowly, len(data)) :])
                slowly -= min(slowly, len(data))
                await writer.drain()
                seen += len(data)
                if most is not None and seen >= most:
                    if self.word == "deaf":
                        reader._transport.pause_reading()
                        await asyncio.sleep(3600)
                    return
            if writer.can_write_eof():
                writer.write_eof()


class Names(asyncio.DatagramProtocol):
    """A name server that is silent at first (RFC 1035)."""

    A = 1

    def __init__(self, seconds):
        self.speaks_at = asyncio.get_running_loop().time() + seconds

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, query, sender):
        end = query.find(b"\0", 12) + 5
        if asyncio.get_running_loop().time() < self.speaks_at or len(query) < end:
            return
        question = query[12:end]
        is_a = int.from_bytes(question[-4:-2], "big") == self.A
        head = struct.pack(">2sHHHHH", query[:2], 0x8180, 1, is_a, 0, 0)
        answer = b"\xc0\x0c" + struct.pack(">HHIH4B", self.A, 1, 60, 4, 127, 0, 0, 1) if is_a else b""
        self.transport.sendto(head + question + answer, sender)


async def main():
    # Errors of writing to a closed connection do not matter here.
    logging.disable()
    target, *faults = sys.argv[1:]
    chosen = [Fault(text, int(target)) for text in faults]
    for fault in chosen:
        asyncio.get_running_loop().create_task(fault.open())
    print(json.dumps([fault.port for fault in chosen]), flush=True)

    def end():
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=end, daemon=True).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
