"""Certificates for one run, made with openssl: a CA, a server, a provider, and a signing key for provider tokens."""

import pathlib
import subprocess


def make(directory):
    directory = pathlib.Path(directory)

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)

    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(
        "req", "-x509", *new, "-days", "2", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority"
    )
    (directory / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    for number, name in enumerate(["server", "provider"], 2):
        openssl("req", *new, "-keyout", f"{name}.key", "-out", "request", "-subj", f"/CN={name}")
        signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", str(number), "-extfile", "names"]
        openssl("x509", "-req", "-in", "request", "-out", f"{name}.pem", "-days", "2", *signed)
    both = (directory / "provider.pem").read_text() + (directory / "provider.key").read_text()
    (directory / "provider.pem").write_text(both)
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "token.p8")
