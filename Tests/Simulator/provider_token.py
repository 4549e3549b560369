"""Provider tokens, signed with openssl."""

import base64
import json
import subprocess
import time


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def raw_signature(der):
    """Converts a DER signature of openssl to r and s, 32 bytes each."""
    at, numbers = 2, []
    for _ in range(2):
        length = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2 : at + 2 + length], "big"))
        at += 2 + length
    return b"".join(number.to_bytes(32, "big") for number in numbers)


def jwt(simulator, *, age=0, key=None, kid=None, iss=None, alg="ES256", head=None, claims=None):
    ready = simulator.ready
    head = {"alg": alg, "kid": kid or ready["token_key_id"]} if head is None else head
    claims = {"iss": iss or ready["token_team_id"], "iat": int(time.time()) - age} if claims is None else claims
    text = b".".join(base64url(json.dumps(part).encode()) for part in (head, claims))
    signed = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", key or ready["token_key"]], input=text, check=True,
        capture_output=True)
    return (text + b"." + base64url(raw_signature(signed.stdout))).decode()
