"""A program of 2010: its certificates, frames and connections, without any code of this project."""

import contextlib
import random
import socket
import ssl
import struct
import subprocess

from simulator import DEADLINE, read_to_end

CA = """
[ca]
default_ca = own
[own]
new_certs_dir = .
database = index.txt
rand_serial = yes
unique_subject = no
policy = any
default_md = sha256
[any]
UID = optional
commonName = optional
"""


class Certificates:
    """Makes a CA certificate, and certificates signed by it or by themselves, valid in given years."""

    def __init__(self, directory):
        self.directory = directory
        directory.mkdir(exist_ok=True)
        (directory / "index.txt").touch()
        (directory / "ca.cnf").write_text(CA)
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority", "-days", "30")
        self.ca = directory / "ca.pem"

    def openssl(self, *words):
        ran = subprocess.run(["openssl", *map(str, words)], cwd=self.directory, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def make(self, name, *, subject="/UID=com.example.app/CN=provider", signed=True, years=(2020, 2037), digest="sha256"):
        """Returns a file with certificate and key, and the fingerprint."""
        self.openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
        signer = ["-cert", "ca.pem", "-keyfile", "ca.key"] if signed else ["-selfsign", "-keyfile", f"{name}.key"]
        self.openssl(
            "ca", "-batch", "-notext", "-config", "ca.cnf", *signer, "-in", f"{name}.csr", "-out", f"{name}.crt",
            "-startdate", f"{years[0]}0101000000Z", "-enddate", f"{years[1]}0101000000Z", "-md", digest)
        file = self.directory / f"{name}.pem"
        file.write_text((self.directory / f"{name}.crt").read_text() + (self.directory / f"{name}.key").read_text())
        return file, self.openssl("x509", "-in", f"{name}.crt", "-noout", "-fingerprint", "-sha256").partition("=")[2].strip()


def simple(token, payload=b'{"aps":{"alert":"Hello"}}'):
    return struct.pack("!BH", 0, len(token)) + token + struct.pack("!H", len(payload)) + payload


def enhanced(identifier, token, payload=b'{"aps":{"alert":"Hello"}}', expiry=0):
    return struct.pack("!BIIH", 1, identifier, expiry, len(token)) + token + struct.pack("!H", len(payload)) + payload


def framed(identifier, token, payload=b'{"aps":{"alert":"Hello"}}', expiry=None, priority=None):
    items = [(1, token), (2, payload), (3, struct.pack("!I", identifier))]
    if expiry is not None:
        items.append((4, struct.pack("!I", expiry)))
    if priority is not None:
        items.append((5, struct.pack("!B", priority)))
    body = b"".join(struct.pack("!BH", kind, len(data)) + data for kind, data in items)
    return struct.pack("!BI", 2, len(body)) + body


def pieces(data, chance, most=40):
    """Yields the bytes, cut at random places."""
    ends = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(most)))
    return [data[a:b] for a, b in zip([0, *ends], [*ends, len(data)]) if a < b]


def context(certificate=None, *, versions=None, ciphers=None, ca=None):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    made.check_hostname = False
    if ca:
        made.load_verify_locations(ca)
    else:
        made.verify_mode = ssl.CERT_NONE
    if versions or ciphers:
        made.set_ciphers(ciphers or "ALL:@SECLEVEL=0")
    if versions:
        made.minimum_version, made.maximum_version = versions
    if certificate:
        made.load_cert_chain(certificate)
    return made


def connect(port, tls, buffer=None, source=None):
    """Connects without SNI, as programs of that time did."""
    plain = socket.socket()
    plain.settimeout(DEADLINE)
    if source:
        plain.bind((source, 0))
    if buffer:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    plain.connect(("127.0.0.1", port))
    try:
        return tls.wrap_socket(plain, suppress_ragged_eofs=False)
    except BaseException:
        plain.close()
        raise


def talk(port, tls, data, chance=None):
    """Sends all of it and reads to the end. Returns the error packet, if any, and how the connection ended."""
    with connect(port, tls) as sock:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLError):
            for piece in pieces(data, chance or random.Random(1)):
                sock.sendall(piece)
        return answer(sock)


def answer(sock):
    came, _, end = read_to_end(sock)
    return b"".join(came), end


def push(port, tls, data):
    """Sends, and closes after the peer has acknowledged everything, without sending more."""
    with connect(port, tls) as sock:
        sock.sendall(data)
        sock.unwrap().close()


def feedback(port, tls):
    """Returns the list, as (time, token in hex), and how it ended."""
    with connect(port, tls) as sock:
        data, end = answer(sock)
    tuples, at = [], 0
    while at < len(data):
        since, count = struct.unpack_from("!IH", data, at)
        tuples.append((since, data[at + 6 : at + 6 + count].hex()))
        at += 6 + count
    return tuples, end
