"""An HTTP/2 client that watches the wire: Python's h2 over ssl, without the library."""

import contextlib
import json
import time
import types

import pytest
from provider_token import jwt
from simulator import CLEAN, FIN, PAYLOAD, RESET, TCP_CLOSE, TOKEN, tcp

h2 = pytest.importorskip("h2", reason="Python has no h2")
import h2.config  # noqa: E402
import h2.connection  # noqa: E402
import h2.errors  # noqa: E402
import h2.events  # noqa: E402
import h2.settings  # noqa: E402

TOPIC = "com.example.app"
UUID = "123e4567-e89b-12d3-a456-42665544000a"


def context(simulator, certificate=True, alpn=("h2",)):
    made = simulator.context(certificate=certificate)
    if alpn:
        made.set_alpn_protocols(list(alpn))
    return made


class Client:
    """One connection; its attributes record what it received."""

    def __init__(self, simulator, certificate=True, bearer=None, source=None, port="http2_port", **arguments):
        self.sock = simulator.connect(
            ("127.0.0.1", simulator.ready[port]), context=context(simulator, certificate), source=source)
        self.bearer = bearer
        self.connection = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True, header_encoding="utf-8", validate_outbound_headers=False,
                                      normalize_outbound_headers=False))
        self.connection.initiate_connection()
        for name, value in arguments.items():
            self.connection.update_settings({getattr(h2.settings.SettingCodes, name.upper()): value})
        self.answers, self.resets, self.reads = {}, {}, []
        self.goaway, self.end, self.pongs = None, None, []
        self.settings = {}
        self.order = []
        self.flush()

    def flush(self):
        data = self.connection.data_to_send()
        if data:
            self.sock.sendall(data)

    def request(self, payload=PAYLOAD, *, token=TOKEN, path=None, method="POST", headers=(), flush=True, end=True):
        """Sends a request and returns its stream ID."""
        stream = self.connection.get_next_available_stream_id()
        every = [(":method", method), (":scheme", "https"), (":authority", "localhost"),
                 (":path", f"/3/device/{token.hex()}" if path is None else path)]
        if self.bearer:
            every += [("authorization", f"bearer {self.bearer}"), ("apns-topic", TOPIC)]
        self.connection.send_headers(stream, every + list(headers), end_stream=not payload)
        if payload:
            self.connection.send_data(stream, payload, end_stream=end)
        if flush:
            self.flush()
        return stream

    def disregard(self, most=1000):
        """Ignores the limit in SETTINGS and opens any number of streams."""
        self.connection.remote_settings[h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS] = most
        self.connection.remote_settings.acknowledge()

    def received(self):
        """Returns the bytes of one read. At the end returns none and records how the connection ended."""
        try:
            data = self.sock.recv(1 << 20)
            self.end = None if data else CLEAN
            return data
        except OSError as error:
            reset = isinstance(error, ConnectionResetError) or tcp(self.sock).state == TCP_CLOSE
            self.end = RESET if reset else FIN
            return b""

    def read(self):
        """Handles one read; False at the end."""
        data = self.received()
        if not data:
            return False
        self.reads.append(0)
        for event in self.connection.receive_data(data):
            match event:
                case h2.events.ResponseReceived():
                    headers = dict(event.headers)
                    self.answers[event.stream_id] = types.SimpleNamespace(
                        status=int(headers[":status"]), headers=headers, body=b"", whole=False, at=time.monotonic())
                case h2.events.DataReceived():
                    self.answers[event.stream_id].body += event.data
                    self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case h2.events.StreamEnded():
                    self.answers[event.stream_id].whole = True
                    self.order.append(event.stream_id)
                    self.reads[-1] += 1
                case h2.events.StreamReset():
                    self.resets[event.stream_id] = int(event.error_code)
                case h2.events.RemoteSettingsChanged():
                    self.settings |= {int(code): one.new_value for code, one in event.changed_settings.items()}
                case h2.events.ConnectionTerminated():
                    self.goaway = (event.last_stream_id, int(event.error_code), event.additional_data)
                case h2.events.PingAckReceived():
                    self.pongs.append(event.ping_data)
        if self.goaway is None:
            # The gateway may have closed by now; the next read shows how.
            with contextlib.suppress(OSError):
                self.flush()
        return True

    def until(self, holds):
        while not holds():
            assert self.read(), (self.end, self.goaway, self.answers, self.resets)

    def answer(self, stream):
        self.until(lambda: stream in self.resets or (stream in self.answers and self.answers[stream].whole))
        return self.answers[stream]

    def push(self, *arguments, **options):
        """The status, and the reason or None."""
        answer = self.answer(self.request(*arguments, **options))
        return answer.status, json.loads(answer.body)["reason"] if answer.body else None

    def to_end(self):
        while self.read():
            pass
        return self.end

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
