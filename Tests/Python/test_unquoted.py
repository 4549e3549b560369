"""A key passed where a name belongs never appears in an exception."""

import base64
import hashlib

import libapns
import pytest

# Looks like a key.
BODY = base64.b64encode(hashlib.sha512(b"a").digest() + hashlib.sha512(b"b").digest()).decode()
PEM = f"-----BEGIN PRIVATE KEY-----\n{BODY[:64]}\n{BODY[64:]}\n-----END PRIVATE KEY-----\n"
SHAPES = {
    "pem": PEM,
    "escaped": PEM.replace("\n", "\\n"),
    "blanks": PEM.replace("\n", " "),
    "base64": BODY,
    "long": "x" * 5000 + BODY,
}
CALLS = {
    "token_key_file": lambda key: libapns.Credentials(token_key_file=key, key_id="ABC123DEFG", team_id="DEF123GHIJ"),
    "certificate_file": lambda key: libapns.Credentials(certificate_file=key),
    "ca_directory": lambda key: libapns.Credentials(ca_directory=key),
    "pinned_keys": lambda key: libapns.Credentials(pinned_keys=[key]),
    "tls_min": lambda key: libapns.Credentials(tls_min=key),
    "key_id": lambda key: libapns.Credentials(token_key=b"x", key_id=key, team_id="DEF123GHIJ"),
    "unknown": lambda key: libapns.Session(libapns.Credentials(), **{key: 1}),
    "host": lambda key: libapns.Session(libapns.Credentials(), host=key),
    "protocol": lambda key: libapns.Session(libapns.Credentials(), protocol=key),
    "addresses": lambda key: libapns.Session(libapns.Credentials(), addresses=key),
    "payload": lambda key: libapns.Payload(**{key: 1}),
    "strings": lambda key: libapns.Strings.open(key),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("call", CALLS)
def test_no_exception_has_a_key(call, shape):
    with pytest.raises(Exception) as raised:
        CALLS[call](SHAPES[shape])
    said = str(raised.value) + repr(raised.value)
    parts = [BODY[at : at + 8] for at in range(len(BODY) - 8)]
    assert [part for part in parts if part in said] == []


def test_the_message_names_the_option_for_text():
    with pytest.raises(libapns.CredentialsError) as raised:
        libapns.Credentials(token_key_file=PEM, key_id="ABC123DEFG", team_id="DEF123GHIJ")
    assert str(raised.value) == (
        f"token_key file ({len(PEM)} bytes, not shown: PEM) is text, not the name of a file: "
        "text goes into token_key, in C token_key_bytes"
    )
