"""A server on Python's h2 that answers by the token's number and records the requests it received."""

import collections
import selectors
import socket
import ssl
import threading

import h2.config
import h2.connection
import h2.events
import h2.settings


class Server:
    """`judge(number)` returns status and body. `answers` is "each": one TLS record per response; or "batch": together
    once `batch` wait or no more requests come. `streams` limits concurrent ones."""

    def __init__(self, certificate, judge, *, answers="each", batch=1, streams=100):
        self.judge, self.answers, self.batch, self.streams = judge, answers, batch, streams
        self.received = collections.Counter()
        self.connections, self.most_open, self.failure = 0, 0, None
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate["certificate"], certificate["key"])
        self.context.set_alpn_protocols(["h2"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(20)
            assert not thread.is_alive()
        assert self.failure is None, self.failure

    def accept(self):
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self.serve, args=(plain,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def serve(self, plain):
        try:
            with self.context.wrap_socket(plain, server_side=True) as sock:
                Connection(self, sock).run()
        except Exception as failure:  # for the test to report
            self.failure = repr(failure)


class Connection:
    def __init__(self, server, sock):
        self.server, self.sock = server, sock
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        # Later settings would not be in the first SETTINGS frame.
        self.h2.local_settings = h2.settings.Settings(
            client=False, initial_values={h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: server.streams})
        self.paths, self.whole = {}, []

    def run(self):
        self.h2.initiate_connection()
        self.flush()
        selector = selectors.DefaultSelector()
        selector.register(self.sock, selectors.EVENT_READ)
        while True:
            # Send a batch when no more requests come.
            if not self.sock.pending() and self.whole and not selector.select(0.02):
                self.answer()
            try:
                data = self.sock.recv(65536)
            except (ConnectionResetError, ssl.SSLError):
                return
            if not data:
                return
            for event in self.h2.receive_data(data):
                self.handle(event)
            if self.server.answers == "each" or len(self.whole) >= self.server.batch > 1:
                self.answer()
            self.flush()

    def handle(self, event):
        if isinstance(event, h2.events.RequestReceived):
            headers = dict(event.headers)
            assert headers[":method"] == "POST" and headers["apns-topic"] == "com.example.app", headers
            self.paths[event.stream_id] = headers[":path"]
            self.server.most_open = max(self.server.most_open, len(self.paths))
        elif isinstance(event, h2.events.DataReceived):
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self.whole.append(event.stream_id)

    def answer(self):
        for stream in self.whole:
            number = int(self.paths.pop(stream)[-8:], 16)
            self.server.received[number] += 1
            status, body = self.server.judge(number)
            headers = [(":status", str(status)), ("apns-id", f"5e2a60c0-0000-4000-8000-{number:012x}")]
            self.h2.send_headers(stream, headers, end_stream=not body)
            if body:
                self.h2.send_data(stream, body, end_stream=True)
            if self.server.answers == "each":
                self.flush()
        self.whole = []
        self.flush()

    def flush(self):
        if data := self.h2.data_to_send():
            self.sock.sendall(data)
