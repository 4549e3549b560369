"""Credentials of what a client is given: files by their paths, or what is in them."""

from __future__ import annotations

import os
import re
from typing import Any, Union

from ._core import Credentials

_Path = Union[str, "os.PathLike[str]", "os.PathLike[bytes]"]
_Text = Union[str, bytes, bytearray, memoryview]

# Such as a key in base64, as secrets are kept: paths are shorter or have a dot.
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s\\_-]{128,}")


def _given(name: str, file_name: str, given: _Path | _Text | None) -> dict[str, Any]:
    """As Credentials takes it."""
    if given is None:
        return {}
    if isinstance(given, os.PathLike):
        return {file_name: given}
    if isinstance(given, str):
        is_text = "-----BEGIN" in given or "\n" in given or _BASE64.fullmatch(given)
        return {name: given.encode()} if is_text else {file_name: given}
    return {name: given}


def make_credentials(
    credentials: Credentials | None,
    key: _Path | _Text | None,
    key_id: str | None,
    team_id: str | None,
    certificate: _Path | _Text | None,
    certificate_key: _Path | _Text | None,
    passphrase: str | None,
    ca_file: _Path | None,
) -> Credentials:
    arguments = {
        **_given("token_key", "token_key_file", key),
        **_given("certificate", "certificate_file", certificate),
        **_given("key", "key_file", certificate_key),
        "key_id": key_id, "team_id": team_id, "passphrase": passphrase, "ca_file": ca_file,
    }  # fmt: skip
    arguments = {name: value for name, value in arguments.items() if value is not None}
    if credentials is not None:
        if arguments:
            raise TypeError("credentials take the place of key, certificate, passphrase and ca_file")
        return credentials
    if key is None and certificate is None:
        raise TypeError("a client needs a key with key_id and team_id, or a certificate, or credentials")
    return Credentials(**arguments)
