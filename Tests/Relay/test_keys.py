"""A key in place of a file name appears in no message of the relay; a complete key is accepted in any shape."""

import subprocess

import pytest

from relaying import relay_program

SETTINGS = """\
queue:
  file: queue.db
status:
  port: -1
apps:
  shop:
    topic: com.example.app
    credentials:
      p8: key.p8
      key_id: ABC123DEFG
      team_id: DEF123GHIJ
"""


@pytest.fixture
def pem():
    return subprocess.run(
        ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        capture_output=True, text=True, check=True).stdout


@pytest.fixture
def check(tmp_path, pem):
    """Returns the output of --check, after checking that it quotes nothing of the key."""
    body = "".join(pem.split("\n")[1:-2])

    def check(settings, *words):
        (tmp_path / "relay.yaml").write_text(settings)
        ran = subprocess.run([relay_program(), "--config", tmp_path / "relay.yaml", "--check", "--offline", *words],
                             capture_output=True, text=True, timeout=60, cwd=tmp_path)
        said = ran.stdout + ran.stderr
        assert [body[at : at + 8] for at in range(len(body) - 8) if body[at : at + 8] in said] == []
        return ran.returncode, said

    return check


@pytest.mark.parametrize("place", ["p8: key.p8", "key_id: ABC123DEFG", "topic: com.example.app", "port: -1", "file: queue.db"])
@pytest.mark.parametrize("shape", ["block", "escaped", "blanks", "base64"])
def test_no_fault_has_a_key(check, pem, place, shape):
    key, value = place.split(": ")
    body = "".join(pem.split("\n")[1:-2])
    text = {
        "block": "|\n" + "".join(f"        {line}\n" for line in pem.split("\n")),
        "escaped": '"' + pem.replace("\n", "\\n") + '"',
        "blanks": '"' + pem.replace("\n", " ") + '"',
        "base64": body,
    }[shape]
    status, said = check(SETTINGS.replace(place, f"{key}: {text}"))
    # A topic of that shape is valid here; only the service can reject it.
    assert status != 0 or (key, shape) == ("topic", "base64")
    if key == "p8" and shape != "base64":
        assert "credentials.p8: has text (" in said and "give the file's name" in said


def test_no_argument_that_is_refused_has_a_key(check, pem):
    assert check(SETTINGS, pem)[0] != 0
    assert check(SETTINGS, f"--{pem}")[0] != 0


@pytest.mark.parametrize("shape", ["escaped", "blanks", "base64"])
@pytest.mark.parametrize("token", ["queue", "process"])
def test_a_whole_key_in_any_shape(check, pem, tmp_path, shape, token):
    body = "".join(pem.split("\n")[1:-2])
    key = {"escaped": pem.replace("\n", "\\n"), "blanks": pem.replace("\n", " "), "base64": body}[shape]
    (tmp_path / "key.p8").write_text(key)
    status, said = check(SETTINGS + f"      provider_token: {token}\n")
    assert (status, said.split(":")[0]) == (0, "ok"), said


def test_what_is_no_key_is_named(check, pem, tmp_path):
    (tmp_path / "key.p8").write_text(pem[:120])
    status, said = check(SETTINGS)
    assert status == 1 and "holds a key that cannot be read: it is cut short" in said
