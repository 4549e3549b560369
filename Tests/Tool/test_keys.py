"""Keys passed where names belong, in common shapes, and files with several identities."""

import base64
import json

import pytest

from setups import PRODUCTION, SANDBOX, Authority, joined, openssl


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("keys") / "root")


@pytest.fixture
def pem():
    return openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256").decode()


def parts(pem):
    body = "".join(pem.split("\n")[1:-2])
    return [body[at : at + 6] for at in range(len(body) - 6)]


@pytest.mark.parametrize("shape", ["pem", "escaped", "blanks", "base64"])
@pytest.mark.parametrize("words", [
    ["send", "--p8", "KEY", "--team-id", "DEF123GHIJ", "ab"],
    ["send", "--p8=KEY"],
    ["send", "--certificate", "KEY", "ab"],
    ["doctor", "--offline", "--p8", "KEY", "--key-id", "ABC123DEFG", "--team-id", "DEF123GHIJ"],
    ["doctor", "--offline", "--p8", "nowhere.p8", "--key-id", "KEY", "--team-id", "DEF123GHIJ"],
    ["send", "KEY"],
    ["KEY"],
    ["send", "--KEY", "x"],
    ["send", "--port", "KEY", "ab"],
    ["send", "--host", "KEY", "ab"],
    ["send", "--proxy", "KEY", "--p8", "x", "ab"],
    ["send", "--tokens", "KEY"],
    ["send", "--custom", "KEY", "ab"],
    ["token", "KEY"],
    ["token", "--json", "KEY"],
    ["payload", "--payload", "KEY"],
    ["channel", "show", "KEY"],
    ["feedback", "--certificate", "KEY"],
])
def test_no_message_has_a_key(tool, pem, words, shape):
    body = "".join(pem.split("\n")[1:-2])
    key = {"pem": pem, "escaped": pem.replace("\n", "\\n"), "blanks": pem.replace("\n", " "), "base64": body}[shape]
    done = tool(*(word.replace("KEY", key) for word in words))
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert [part for part in parts(pem) if part in said] == []


@pytest.mark.parametrize("form", [["--p8", "KEY"], ["--p8=KEY"]])
def test_the_message_names_the_option_and_asks_for_a_file(tool, pem, form):
    done = tool("send", *(word.replace("KEY", pem) for word in form), "--team-id", "DEF123GHIJ", "ab")
    assert done.returncode == 2
    assert done.stderr == (
        f"Error: --p8 needs a file name, but was given text ({len(pem)} bytes, not shown: PEM): "
        "write that to a file that only its user may read\n")


def doctor(tool, *words):
    done = tool("doctor", "--offline", "--json", *words)
    return done, [check for check in json.loads(done.stdout)["checks"] if "cause" in check]


def test_the_doctor_takes_keys_in_other_shapes(tool, pem, tmp_path):
    lines = pem.split("\n")
    shapes = [pem.replace("\n", "\\n"), pem.replace("\n", " "), pem.replace("\n", ""), "".join(lines[1:-2]),
              base64.b64encode(pem.encode()).decode(), json.dumps({"private_key": pem})]
    for number, shape in enumerate(shapes):
        file = tmp_path / f"{number}.p8"
        file.write_text(shape)
        file.chmod(0o600)
        done, found = doctor(tool, "--p8", file, "--key-id", "ABC123DEFG", "--team-id", "DEF123GHIJ")
        assert found == [], shape
        assert [part for part in parts(pem) if part in done.stdout] == []


def test_a_key_instead_of_a_certificate_suggests_p8(tool, pem, tmp_path):
    file = tmp_path / "key.p8"
    file.write_text(pem)
    file.chmod(0o600)
    _, [found] = doctor(tool, "--certificate", file)
    assert found["cause"] == "certificate-missing" and "--p8" in found["remedy"]


def test_a_certificate_or_half_a_key_as_p8(tool, root, pem, tmp_path):
    file = tmp_path / "key.p8"
    file.write_text(root.provider("wrong")[0].read_text())
    _, [found] = doctor(tool, "--p8", file, "--key-id", "ABC123DEFG", "--team-id", "DEF123GHIJ")
    assert found["cause"] == "token-key-missing" and "--certificate" in found["remedy"]
    file.write_text(pem[:110])
    file.chmod(0o600)
    _, [found] = doctor(tool, "--p8", file, "--key-id", "ABC123DEFG", "--team-id", "DEF123GHIJ")
    assert found["cause"] == "token-key-broken" and "cut short" in found["message"]


def selection(root, tmp_path, *pairs):
    file = joined(tmp_path / "selection.pem", *(part for pair in pairs for part in pair))
    file.chmod(0o600)
    return file


def test_the_push_certificate_among_several_is_shown(tool, root, tmp_path):
    other = root.issue("distribution", "/UID=EXAMPLE123/CN=iPhone Distribution: Example", "extendedKeyUsage=codeSigning\n")
    push = root.provider("push", marks=(SANDBOX, PRODUCTION))
    done, found = doctor(tool, "--certificate", selection(root, tmp_path, other, push))
    assert found == [] and "Apple Push Services: com.example.app" in done.stdout
    _, found = doctor(tool, "--certificate", selection(root, tmp_path, other))
    assert [one["cause"] for one in found] == ["certificate-not-for-clients", "certificate-not-for-pushing"]


def test_two_push_certificates_are_both_named(tool, root, tmp_path):
    one = root.provider("one")
    other = root.issue("other", "/UID=com.example.other/CN=Apple Push Services: com.example.other", f"{PRODUCTION}=DER:0500\n")
    _, [found] = doctor(tool, "--certificate", selection(root, tmp_path, one, other))
    assert found["cause"] == "several-identities"
    assert "com.example.app and Apple Push Services: com.example.other" in found["message"]
