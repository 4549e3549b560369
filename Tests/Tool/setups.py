"""Broken setups for apns doctor: certificates made by openssl, and services that each fail in one way."""

import contextlib
import os
import pathlib
import socket
import ssl
import struct
import subprocess
import threading
import time

from swallowing import Swallowing

# Apple's extensions for the purpose of a certificate.
SANDBOX, PRODUCTION = "1.2.840.113635.100.6.3.1", "1.2.840.113635.100.6.3.2"
DAY = 86_400

CONFIGURATION = """
[ca]
default_ca = here
[here]
database = index
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
email_in_dn = no
copy_extensions = none
[any]
organizationName = optional
commonName = supplied
UID = optional
"""


class Authority:
    """Issues certificates of any validity and kind, in a separate directory."""

    def __init__(self, directory, subject="/O=Example Trust/CN=Example Root", issuer=None):
        self.directory, self.issuer = pathlib.Path(directory), issuer
        self.directory.mkdir()
        (self.directory / "index").touch()
        (self.directory / "configuration").write_text(CONFIGURATION)
        extensions = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n"
        if issuer:
            self.certificate, self.key = issuer.issue("below", subject, extensions=extensions, plain=True)
        else:
            self.key, self.certificate = self.directory / "key", self.directory / "certificate.pem"
            self.new_key(self.key)
            openssl("req", "-x509", "-new", "-key", self.key, "-subj", subject, "-days", "3650", "-out", self.certificate)

    def new_key(self, path, curve="prime256v1"):
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", f"ec_paramgen_curve:{curve}", "-out", path)
        path.chmod(0o600)

    def issue(self, name, subject, extensions="", since=-DAY, until=365 * DAY, plain=False):
        """Certificate and key, valid from `since` to `until`, in seconds from now."""
        certificate, key = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        self.new_key(key)
        openssl("req", "-new", "-key", key, "-subj", subject, "-out", self.directory / "request")
        (self.directory / "extensions").write_text(extensions or "subjectKeyIdentifier=hash\n")
        start, end = (time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + offset)) for offset in (since, until))
        openssl("ca", "-batch", "-notext", "-preserveDN", "-config", "configuration", "-cert", self.certificate.resolve(),
                "-keyfile", self.key.resolve(), "-in", "request", "-out", certificate.resolve(), "-extfile", "extensions",
                "-startdate", start, "-enddate", end, cwd=self.directory)
        return certificate, key

    def provider(self, name="provider", marks=(SANDBOX, PRODUCTION), **times):
        extensions = "extendedKeyUsage=clientAuth\n" + "".join(f"{mark}=DER:0500\n" for mark in marks)
        return self.issue(name, "/UID=com.example.app/CN=Apple Push Services: com.example.app", extensions, **times)

    def server(self, name="server", names="DNS:localhost,IP:127.0.0.1", more="", **times):
        return self.issue(name, "/O=Example/CN=gateway", f"extendedKeyUsage=serverAuth\nsubjectAltName={names}\n{more}", **times)


def openssl(*words, cwd=None, stdin=None):
    return subprocess.run(["openssl", *map(str, words)], cwd=cwd, check=True, capture_output=True, input=stdin).stdout


def joined(path, *parts):
    path.write_text("".join(pathlib.Path(part).read_text() for part in parts))
    path.chmod(0o600)
    return path


class Services:
    """Services on free local ports, each in a thread; closed after the test."""

    def __init__(self):
        self.sockets, self.threads = [], []
        self.asked = []  # the requests of every proxy

    def listen(self, backlog=16):
        listener = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self.sockets.append(listener)
        return listener, listener.getsockname()[1]

    def serve(self, talk):
        """Calls `talk` with every connection; returns the port."""
        listener, port = self.listen()

        def accept():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                self.sockets.append(connection)
                with contextlib.suppress(OSError, ssl.SSLError):
                    talk(connection)

        self.threads.append(threading.Thread(target=accept, daemon=True))
        self.threads[-1].start()
        return port

    def tls(self, certificate, key, alpn=("h2",), authority=None, lowest=None, settings=True):
        """Of HTTP/2, it sends only SETTINGS."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if lowest:
            context.minimum_version = lowest
        context.load_cert_chain(certificate, key)
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if authority:
            context.load_verify_locations(authority)
            context.verify_mode = ssl.CERT_REQUIRED

        def talk(connection):
            with context.wrap_socket(connection, server_side=True) as secure:
                if settings and secure.selected_alpn_protocol() == "h2":
                    secure.sendall(b"\0\0\0\4\0\0\0\0\0")
                while secure.recv(4096):
                    pass

        return self.serve(talk)

    def closed(self):
        """A port without a listener, reserved while the test runs."""
        held = socket.socket()
        held.bind(("127.0.0.1", 0))
        self.sockets.append(held)
        return held.getsockname()[1]

    def blackhole(self):
        network = Swallowing()
        self.sockets += [network.listener, *network.waiting]
        return network.port

    def silent(self):
        """Accepts connections and sends nothing."""
        return self.listen()[1]

    def plain(self):
        """A web server, for which a TLS hello is a bad request."""

        def talk(connection):
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            connection.close()

        return self.serve(talk)

    def greets(self, greeting=b"220 mail.example.com ready\r\n\r\n"):
        """Sends first, like a mail server."""

        def talk(connection):
            connection.sendall(greeting)
            connection.recv(4096)

        return self.serve(talk)

    def closes(self):
        def talk(connection):
            connection.recv(1)
            connection.recv(4096)
            connection.close()

        return self.serve(talk)

    def proxy(self, status=None, to=None):
        """Refuses with `status`, or tunnels every request to the local port `to`."""

        def talk(connection):
            request = b""
            while not request.endswith(b"\r\n\r\n"):
                request += connection.recv(4096)
            self.asked.append(request.decode())
            if status:
                connection.sendall(f"HTTP/1.1 {status}\r\n\r\n".encode())
                connection.close()
                return
            host, port = request.split()[1].decode().rsplit(":", 1)
            far = socket.create_connection(("127.0.0.1", to) if to else (host, int(port)))
            self.sockets.append(far)
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            for one, other in ((connection, far), (far, connection)):
                self.threads.append(threading.Thread(target=pump, args=(one, other), daemon=True))
                self.threads[-1].start()

        return self.serve(talk)

    def time(self, ahead):
        """Serves SNTP with a clock `ahead` seconds ahead."""
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(("127.0.0.1", 0))
        self.sockets.append(server)

        def answer():
            while True:
                try:
                    request, peer = server.recvfrom(48)
                except OSError:
                    return
                if not peer:  # shut down
                    return
                now = int(time.time() + ahead) + 2_208_988_800
                server.sendto(struct.pack("!BBBb", 0x24, 1, 0, -20) + bytes(20) + request[40:48]
                              + struct.pack("!II", now & 0xFFFFFFFF, 0) * 2, peer)

        self.threads.append(threading.Thread(target=answer, daemon=True))
        self.threads[-1].start()
        return server.getsockname()[1]

    def close(self):
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self.threads:
            thread.join(20)


def pump(one, other):
    with contextlib.suppress(OSError):
        while piece := one.recv(65536):
            other.sendall(piece)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_WR)


SHIFT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long shift(void) { const char *s = getenv("CLOCK_AHEAD"); return s ? atol(s) : 0; }
int clock_gettime(clockid_t which, struct timespec *out) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(which, out);
  if (which == CLOCK_REALTIME) out->tv_sec += shift();
  return result;
}
time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval *restrict out, void *restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}
"""


def shifted_clock(directory):
    """A library that sets a program's clock ahead by CLOCK_AHEAD seconds."""
    (directory / "shift.c").write_text(SHIFT)
    library = directory / "shift.so"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library, directory / "shift.c", "-ldl"], check=True)
    return library
