"""apns doctor names the cause in setups that are each broken in one way."""

import json
import re
import socket
import ssl
import subprocess
import threading
import types

import pytest

from conftest import binary, http2, provider
from setups import DAY, PRODUCTION, SANDBOX, Authority, Services, joined, openssl, pump, shifted_clock
from simulator import ROOT, Simulator
from terminal import same_screen
from test_http2 import token_words


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The healthy parts of the setups."""
    directory = tmp_path_factory.mktemp("doctor")
    root = Authority(directory / "root")
    below = Authority(directory / "below", "/O=Example Trust/CN=Example Intermediate", issuer=root)
    stranger = Authority(directory / "stranger", "/O=Nobody/CN=Nobody's Root")
    certificate, key = root.provider()
    made = types.SimpleNamespace(
        directory=directory, root=root, below=below, stranger=stranger, certificate=certificate, key=key,
        both=joined(directory / "both.pem", certificate, key), ca=root.certificate,
        server=root.server(), p8=directory / "AuthKey_ABCDE12345.p8")
    root.new_key(made.p8)
    return made


@pytest.fixture
def services():
    services = Services()
    yield services
    services.close()


@pytest.fixture
def setup(made, services, start, shared, tmp_path):
    return types.SimpleNamespace(made=made, services=services, start=start, shared=shared, directory=tmp_path, env={})


def files(*words):
    return [*words, "--offline"]


def at(port, made, *words):
    """The words for a service at this port and a healthy provider."""
    return ["--host", "127.0.0.1", "--port", port, "--certificate", made.both, "--ca", made.ca,
            "--connect-timeout", 20, *words]


def pair(setup, pair):
    return files("--certificate", pair[0], "--key", pair[1])


def p12(setup, *words, passphrase="secret"):
    file = setup.directory / "provider.p12"
    try:
        openssl("pkcs12", "-export", "-in", setup.made.both, "-out", file, "-passout", f"pass:{passphrase}", *words)
    except subprocess.CalledProcessError:
        if "-legacy" in words:
            pytest.skip("openssl has no legacy provider here, to write RC2 with")
        raise
    file.chmod(0o600)
    return file


SETUPS = {}


def broken(cause, status, about=None):
    """Registers a setup with the expected cause, exit status and a word of the text."""

    def remember(make):
        SETUPS[make.__name__.replace("_", "-")] = (make, cause, status, about)
        return make

    return remember


# Certificates and keys.


@broken("passphrase-wrong", 1, "line break")
def wrong_passphrase(setup):
    setup.env["APNS_PASSPHRASE"] = "sacred"
    return files("--p12", p12(setup))


@broken("pkcs12-old-cipher", 1, "RC2 of 40 bits")
def rc2(setup):
    setup.env["APNS_PASSPHRASE"] = "secret"
    return files("--p12", p12(setup, "-legacy"))


@broken("legacy-provider-missing", 1, "RC2")
def rc2_without_its_provider(setup):
    setup.env |= {"APNS_PASSPHRASE": "secret", "OPENSSL_MODULES": str(setup.directory)}
    return files("--p12", p12(setup, "-legacy"))


@broken("key-missing", 1, "DER")
def der_without_a_key(setup):
    file = setup.directory / "aps.cer"
    openssl("x509", "-in", setup.made.certificate, "-outform", "DER", "-out", file)
    return files("--certificate", file)


@broken("certificate-request", 1, "issued for it")
def request(setup):
    openssl("req", "-new", "-key", setup.made.key, "-subj", "/CN=x", "-out", setup.directory / "request.pem")
    return files("--certificate", setup.directory / "request.pem", "--key", setup.made.key)


@broken("credentials-unusable", 1, "again")
def cut_certificate(setup):
    text = setup.made.both.read_text()
    (setup.directory / "cut.pem").write_text(text[:400] + text[450:])
    (setup.directory / "cut.pem").chmod(0o600)
    return files("--certificate", setup.directory / "cut.pem")


@broken("certificate-too-weak", 1, "RSA 2048")
def weak(setup):
    openssl("req", "-x509", "-newkey", "rsa:512", "-nodes", "-subj", "/UID=x/CN=x", "-keyout", setup.directory / "key",
            "-out", setup.directory / "certificate")
    return files("--certificate", joined(setup.directory / "weak.pem", setup.directory / "certificate", setup.directory / "key"))


@broken("key-file-open", 1, "chmod 600")
def key_for_everybody(setup):
    key = joined(setup.directory / "open.key", setup.made.key)
    key.chmod(0o644)
    return files("--certificate", setup.made.certificate, "--key", key)


@broken("passphrase-file-open", 1, "chmod 600")
def passphrase_for_everybody(setup):
    (setup.directory / "passphrase").write_text("secret\n")
    (setup.directory / "passphrase").chmod(0o644)
    return files("--p12", p12(setup), "--passphrase-file", setup.directory / "passphrase")


@broken("ca-not-pem", 1, "-inform DER")
def authority_in_der(setup):
    file = setup.directory / "ca.cer"
    openssl("x509", "-in", setup.made.ca, "-outform", "DER", "-out", file)
    return files("--certificate", setup.made.both, "--ca", file)


# Signing keys.


def token_key(setup, path, *words):
    return files("--p8", path, "--key-id", "ABCDE12345", "--team-id", "5FGHI67890", *words)


@broken("token-key-not-p256", 1, "AuthKey_")
def token_key_on_another_curve(setup):
    setup.made.root.new_key(setup.directory / "key.p8", curve="secp384r1")
    return token_key(setup, setup.directory / "key.p8")


@broken("token-key-not-p256", 1, "AuthKey_")
def token_key_rsa(setup):
    openssl("genpkey", "-algorithm", "RSA", "-out", setup.directory / "key.p8")
    (setup.directory / "key.p8").chmod(0o600)
    return token_key(setup, setup.directory / "key.p8")


# Reaching the service.


def unknown_name_cause():
    """Without a name server, the doctor cannot know that a name does not exist."""
    try:
        socket.getaddrinfo("gateway.invalid", 443)
    except socket.gaierror as error:
        return "name-service-down" if error.errno == socket.EAI_AGAIN else "name-not-found"
    pytest.skip("the name server answers for names that do not exist")


# TLS.


@broken("service-chain-incomplete", 3, "CN=Example Intermediate")
def missing_chain(setup):
    return at(setup.services.tls(*setup.made.below.server("alone")), setup.made)


@broken("service-root-unknown", 3, "CN=Nobody")
def unknown_root(setup):
    certificate, key = setup.made.stranger.server()
    chain = joined(setup.directory / "chain.pem", certificate, setup.made.stranger.certificate)
    return at(setup.services.tls(chain, key), setup.made)


@broken("service-root-unknown", 3, "--ca")
def unknown_root_that_is_not_sent(setup):
    words = http2(setup.shared())
    words[words.index("--ca") + 1] = setup.made.ca
    return words


@broken("service-self-signed", 3, "self-signed")
def self_signed(setup):
    key, certificate = setup.directory / "self.key", setup.directory / "self.pem"
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", key, "-out", certificate)
    return at(setup.services.tls(certificate, key), setup.made)


@broken("no-http2", 3, "--protocol binary")
def http2_at_a_binary_gateway(setup):
    simulator = setup.shared()
    return ["--host", "127.0.0.1", "--port", simulator.gateway[1], *provider(simulator)]


@broken("credentials-missing", 1, "MissingProviderToken")
def nobody_pushes_and_an_address_is_pasted(setup):
    simulator = setup.shared()
    return ["--host", f"https://127.0.0.1:{simulator.ready['http2_port']}/", "--ca", simulator.ready["ca"]]


@broken("alert-unknown-ca", 3, "chain into the --certificate file")
def certificate_of_another_authority(setup):
    words = binary(setup.shared())
    words[words.index("--certificate") + 1] = setup.made.both
    return words


@broken("alert-unknown-ca", 3, "chain into the --certificate file")
def refused_behind_a_handshake_of_tls_1_3(setup):
    return at(setup.services.tls(*setup.made.server, authority=setup.made.stranger.certificate), setup.made)


@broken("trust-store-empty", 3, "ca-certificates")
def nobody_is_trusted(setup):
    setup.env |= {"SSL_CERT_FILE": str(setup.directory / "nothing"), "SSL_CERT_DIR": str(setup.directory / "nowhere")}
    port = setup.services.tls(*setup.made.server)
    return ["--host", "127.0.0.1", "--port", port, "--certificate", setup.made.both]


@broken("tls-failed", 3, "openssl s_client")
def tls_that_is_broken(setup):
    """A handshake record with a message of an unknown type."""
    return at(setup.services.greets(bytes([22, 3, 3, 0, 4, 99, 0, 0, 0])), setup.made)


# The push.


def pushed(setup, reason):
    return [*http2(setup.shared({"bad_every": 1, "bad_reason": reason})), "--token", "5f79cfda" * 8]


@broken("push-invalid-provider-token", 1, "--key-id")
def another_keys_token(setup):
    simulator = setup.shared()
    return unnamed(simulator, "http2_port", "--p8", setup.made.p8, "--team-id", simulator.ready["token_team_id"],
                   "--topic", "com.example.app", "--token", "5f79cfda" * 8)


# The clock.


@broken("clock-wrong", 3, "all certificates have expired")
def clock_years_ahead(setup):
    setup.env |= {"LD_PRELOAD": str(shifted_clock(setup.directory)), "CLOCK_AHEAD": str(20 * 365 * DAY)}
    return http2(setup.shared())


@broken("clock-wrong", 1, "was built at")
def clock_years_behind(setup):
    setup.env |= {"LD_PRELOAD": str(shifted_clock(setup.directory)), "CLOCK_AHEAD": str(-20 * 365 * DAY)}
    return files("--certificate", setup.made.both)


def unnamed(simulator, port, *words):
    """The words for a service, without credentials."""
    return ["--host", "127.0.0.1", "--port", simulator.ready[port], "--ca", simulator.ready["ca"], *words]


# Setups in one expression, each with the expected cause, exit status and a word of the text.
PLAIN = {
    "expired": ("certificate-expired", 1, "renew it", lambda setup:
        pair(setup, setup.made.root.provider("expired", since=-400 * DAY, until=-30 * DAY))),
    "not-yet-valid": ("certificate-not-yet-valid", 1, "valid from", lambda setup:
        pair(setup, setup.made.root.provider("tomorrow", since=DAY))),
    "expires-soon": ("certificate-expires-soon", 1, "expires in 4 days", lambda setup:
        pair(setup, setup.made.root.provider("soon", since=-300 * DAY, until=5 * DAY - 60))),
    "wrong-key": ("key-mismatch", 1, "requested", lambda setup:
        files("--certificate", setup.made.certificate, "--key", setup.made.server[1])),
    "no-passphrase": ("passphrase-missing", 1, "--passphrase-file", lambda setup: files("--p12", p12(setup))),
    "another-environment": ("environment-mismatch", 1, "sandbox", lambda setup:
        [*pair(setup, setup.made.root.provider("production", marks=[PRODUCTION])), "--sandbox"]),
    "sandbox-at-production": ("environment-mismatch", 1, "production", lambda setup:
        [*pair(setup, setup.made.root.provider("sandbox", marks=[SANDBOX])), "--host", "api.push.apple.com"]),
    "another-app": ("topic-not-covered", 1, "com.example.app, not for", lambda setup:
        files("--certificate", setup.made.both, "--topic", "com.example.other")),
    "no-push-certificate": ("certificate-without-topic", 1, "has no topic", lambda setup:
        pair(setup, setup.made.root.issue("developer", "/CN=Somebody"))),
    "a-servers-certificate": ("certificate-not-for-clients", 1, "extended key usage", lambda setup:
        pair(setup, setup.made.server) + ["--topic", "com.example.app"]),
    "certificate-alone": ("key-missing", 1, "--key", lambda setup: files("--certificate", setup.made.certificate)),
    "key-in-place-of-the-certificate": ("certificate-missing", 1, "PRIVATE KEY", lambda setup: files("--certificate", setup.made.key)),
    "no-key-file": ("file-missing", 1, "check the path", lambda setup:
        files("--certificate", setup.made.certificate, "--key", setup.directory / "nowhere.key")),
    "key-identifier-too-short": ("key-id-invalid", 1, "10 letters and digits", lambda setup:
        files("--p8", setup.made.p8, "--key-id", "ABCDE", "--team-id", "5FGHI67890")),
    "team-in-place-of-its-identifier": ("team-id-invalid", 1, "Membership", lambda setup:
        files("--p8", setup.made.p8, "--team-id", "Example Inc")),
    "another-keys-identifier": ("key-id-differs", 1, "ABCDE12345", lambda setup:
        files("--p8", setup.made.p8, "--key-id", "ZZZZZ12345", "--team-id", "5FGHI67890")),
    "unknown-name": (unknown_name_cause, 3, "getent hosts gateway.invalid", lambda setup:
        ["--host", "gateway.invalid", "--certificate", setup.made.both]),
    "port-closed": ("connection-refused", 3, "no server listens", lambda setup: at(setup.services.closed(), setup.made)),
    "blackhole": ("connection-timeout", 3, "firewall", lambda setup: at(setup.services.blackhole(), setup.made, "--connect-timeout", 0.5)),
    "silence": ("handshake-timeout", 3, "does not answer", lambda setup: at(setup.services.silent(), setup.made, "--connect-timeout", 0.5)),
    "closes-at-once": ("handshake-closed", 3, "closes", lambda setup: at(setup.services.closes(), setup.made)),
    "plain-service": ("not-tls", 3, "HTTP/1.1 400", lambda setup: at(setup.services.plain(), setup.made)),
    "proxy-refuses": ("proxy-refused", 3, "CONNECT", lambda setup:
        at(2195, setup.made, "--proxy", f"127.0.0.1:{setup.services.proxy('403 Forbidden')}")),
    "proxy-asks": ("proxy-authentication", 3, "APNS_PROXY_PASSWORD", lambda setup:
        at(2195, setup.made, "--proxy", f"127.0.0.1:{setup.services.proxy('407 Proxy Authentication Required')}")),
    "proxy-without-way": ("proxy-without-way", 3, "cannot reach", lambda setup:
        at(2195, setup.made, "--proxy", f"127.0.0.1:{setup.services.proxy('502 Bad Gateway')}")),
    "proxy-that-is-none": ("proxy-not-http", 3, "an HTTP proxy", lambda setup:
        at(2195, setup.made, "--proxy", f"127.0.0.1:{setup.services.greets()}")),
    "proxy-is-down": ("proxy-unreachable", 3, "leave it out", lambda setup:
        at(2195, setup.made, "--proxy", f"127.0.0.1:{setup.services.closed()}")),
    "missing-chain-behind-a-proxy": ("service-chain-incomplete", 3, "CN=Example Intermediate", lambda setup:
        [*missing_chain(setup), "--proxy", f"127.0.0.1:{setup.services.proxy()}"]),
    "pinned-another-key": ("service-not-pinned", 3, "--pin", lambda setup: [*http2(setup.shared()), "--pin", f"sha256//{'A' * 43}="]),
    "no-revocation-list-of-the-issuer": ("revocation-list-missing", 3, "--crl", lambda setup:
        [*http2(setup.shared()), "--crl", setup.directory]),
    "pin-without-its-kind": ("pin-malformed", 1, "sha256//", lambda setup:
        files("--certificate", setup.made.both, "--pin", "A" * 43 + "=")),
    "revocation-list-that-is-none": ("no-revocation-list", 1, "-inform DER", lambda setup:
        files("--certificate", setup.made.both, "--crl", setup.made.both)),
    "wrong-host-name": ("service-name-mismatch", 3, "gateway.example.com, 192.0.2.1", lambda setup:
        at(setup.services.tls(*setup.made.root.server("other", names="DNS:gateway.example.com,IP:192.0.2.1")), setup.made)),
    "service-expired": ("service-expired", 3, "its operator", lambda setup:
        at(setup.services.tls(*setup.made.root.server("old", since=-90 * DAY, until=-DAY)), setup.made)),
    "tls-1-0-only": ("tls-too-old", 3, "TLS 1.0", lambda setup: binary(setup.start("--tls-min", "1.0", "--tls-max", "1.0"))),
    "no-alpn": ("no-http2", 3, "--protocol binary", lambda setup: at(setup.services.tls(*setup.made.server, alpn=()), setup.made)),
    "refused-behind-it-by-a-binary-gateway": ("alert-unknown-ca", 3, "chain into the --certificate file", lambda setup:
        [*refused_behind_a_handshake_of_tls_1_3(setup), "--protocol", "binary"]),
    "refused-with-tls-1-3-alone": ("alert-unknown-ca", 3, "chain into the --certificate file", lambda setup:
        at(setup.services.tls(*setup.made.server, authority=setup.made.stranger.certificate, lowest=ssl.TLSVersion.TLSv1_3), setup.made)),
    "refused-with-tls-1-3-alone-by-a-binary-gateway": ("alert-unknown-ca", 3, "chain into the --certificate file", lambda setup:
        at(setup.services.tls(*setup.made.server, authority=setup.made.stranger.certificate, lowest=ssl.TLSVersion.TLSv1_3), setup.made, "--protocol", "binary")),
    "no-certificate": ("certificate-wanted", 3, "--certificate", lambda setup:
        unnamed(setup.shared(), "gateway_port", "--protocol", "binary")),
    "a-token-key-where-a-certificate-is-wanted": ("certificate-wanted", 3, "is not used in the handshake", lambda setup:
        unnamed(setup.shared(), "gateway_port", "--p8", setup.made.p8, "--team-id", "TEAM123456")),
    # Without credentials a service still accepts the connection.
    "nobody-pushes": ("credentials-missing", 1, "HTTP/2 only", lambda setup: unnamed(setup.shared(), "http2_port")),
    "revoked": ("alert-certificate-revoked", 3, "a new certificate", lambda setup:
        http2(setup.shared({"handshake_alert": "certificate_revoked"}))),
    "turned-away": ("alert-access-denied", 3, "denies access", lambda setup:
        binary(setup.shared({"handshake_alert": "access_denied"}))),
    "another-environments-token": ("push-bad-device-token", 1, "--sandbox", lambda setup: pushed(setup, "BadDeviceToken")),
    "token-of-another-time": ("push-expired-provider-token", 1, "clock", lambda setup: pushed(setup, "ExpiredProviderToken")),
    "certificate-at-another-service": ("push-bad-certificate-environment", 1, "Apple's other service", lambda setup:
        pushed(setup, "BadCertificateEnvironment")),
    "gone": ("push-unregistered", 1, "no longer on the device", lambda setup: pushed(setup, "Unregistered")),
    "another-environments-token-at-a-binary-gateway": ("push-invalid-token", 1, "--sandbox", lambda setup:
        [*binary(setup.shared({"bad_every": 1})), "--token", "5f79cfda" * 8]),
    "clock-by-a-server": ("clock-wrong", 1, "2 hours ahead", lambda setup:
        files("--certificate", setup.made.both, "--time-server", f"127.0.0.1:{setup.services.time(-7300)}")),
}
SETUPS |= {name: (make, cause, status, about) for name, (cause, status, about, make) in PLAIN.items()}


@pytest.mark.parametrize("name", SETUPS)
def test_the_cause_is_named(tool, setup, name):
    make, cause, status, word = SETUPS[name]
    if callable(cause):
        cause = cause()
    words = make(setup)
    ran = tool("doctor", *words, "--json", env=setup.env)
    assert ran.returncode == status, ran
    told = json.loads(ran.stdout)
    found = [one for one in told["checks"] if "cause" in one]
    assert cause in [one["cause"] for one in found], found
    assert told["ok"] is False and told.get("reachable") == (None if "--offline" in words else status != 3)
    # No other cause is reported.
    if cause != "clock-wrong":
        assert [one["cause"] for one in found] == [cause]
    one = next(one for one in found if one["cause"] == cause)
    assert one["remedy"] and (word is None or word in one["message"] + one["remedy"]), one
    # The plain text agrees with the JSON.
    ran = tool("doctor", *words, env=setup.env)
    assert ran.returncode == status and one["remedy"] in ran.stdout, ran


def test_screen(tool, setup):
    certificate, key = setup.made.stranger.server("screen")
    port = setup.services.tls(joined(setup.directory / "chain.pem", certificate, setup.made.stranger.certificate), key)
    provider = joined(setup.directory / "provider.pem", setup.made.certificate, setup.made.key)
    provider.chmod(0o644)
    words = at(port, setup.made, "--topic", "com.example.other", "--time-server", f"127.0.0.1:{setup.services.time(10)}")
    words[words.index("--certificate") + 1] = "provider.pem"
    terminal = tool.terminal("doctor", *words)
    assert terminal.end() == 3
    screen = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<a time>", terminal.screen())
    same_screen("doctor", re.sub(r"127\.0\.0\.1:\d+", "<place>", screen))


def test_the_passphrase_is_requested_once(tool, setup):
    simulator = setup.shared()
    openssl("pkcs12", "-export", "-in", simulator.ready["provider"], "-out", setup.directory / "provider.p12", "-passout", "pass:secret")
    (setup.directory / "provider.p12").chmod(0o600)
    words = http2(simulator)
    words[words.index("--certificate"):words.index("--certificate") + 2] = ["--p12", "provider.p12"]
    terminal = tool.terminal("doctor", *words, columns=200).until("Passphrase of provider.p12: ").type("secret\n")
    assert terminal.end() == 0, terminal.screen()
    assert terminal.screen().count("Passphrase") == 1 and "secret" not in terminal.screen()


def test_usage(tool):
    tool.shows("doctor-usage", 2, "doctor", "--offline")
    ran = tool("doctor", "--protocol", "binary", "--p8", "AuthKey_ABCDE12345.p8", "--team-id", "5FGHI67890")
    assert ran.returncode == 2 and "--p8 is for HTTP/2" in ran.stderr


def test_a_service_that_sends_nothing_after_the_handshake(tool, setup):
    port = setup.services.tls(*setup.made.server, authority=setup.made.ca, settings=False)
    ran = tool("doctor", *at(port, setup.made), "--connect-timeout", 1, "--json")
    told = json.loads(ran.stdout)
    assert ran.returncode == 3 and [one["cause"] for one in told["checks"] if "cause" in one] == ["no-settings"], told
    assert told["reachable"] is False


def test_a_push_without_a_device_finds_more_than_a_connection(tool, setup):
    """A topic of another team is found, and no device gets the push."""
    simulator = setup.start("--team-topic", "com.example.app", control=True)
    words = ["doctor", *token_words(simulator), "--topic", "org.example.other", "--json"]
    ran = tool(*words)
    (untried,) = [one for one in json.loads(ran.stdout)["checks"] if one["state"] == "skipped"]
    assert ran.returncode == 0 and "--try-push" in untried["message"], ran
    ran = tool(*words, "--try-push")
    (found,) = [one for one in json.loads(ran.stdout)["checks"] if "cause" in one]
    assert ran.returncode == 1 and found["cause"] == "push-topic-disallowed" and found["about"] == "push", ran
    assert simulator.control("GET", "/accepted")[1]["notifications"] == []
    for more in ["--offline"], ["--token", "5f79cfda" * 8]:
        ran = tool(*words, "--try-push", *more)
        assert ran.returncode == 2 and f"--try-push cannot be used with {more[0]}" in ran.stderr, ran


HEALTHY = {
    "http2": lambda setup: http2(setup.shared()),
    "http2-tls-1.3": lambda setup: http2(setup.start("--http2-port", 0, "--tls-max", "1.3")),
    "binary": lambda setup: binary(setup.shared()),
    "binary-tls-1.3": lambda setup: binary(setup.start("--tls-max", "1.3")),
    "another-server": lambda setup: at(setup.services.tls(*setup.made.server, authority=setup.made.ca), setup.made),
    "http2-tls-1.3-alone": lambda setup: http2(setup.start("--http2-port", 0, "--tls-min", "1.3", "--tls-max", "1.3")),
    "binary-tls-1.3-alone": lambda setup: binary(setup.start("--tls-min", "1.3", "--tls-max", "1.3")),
    "push": lambda setup: [*http2(setup.shared()), "--token", "5f79cfda" * 8],
    "try-push": lambda setup: [*http2(setup.start(*Simulator.STRICT, faults={"bad_every": 1})), "--try-push"],
    "try-push-binary": lambda setup: [*binary(setup.shared({"bad_every": 1})), "--try-push"],
    "try-push-token": lambda setup: [*token_words(setup.shared({"bad_every": 1})), "--topic", "com.example.app", "--try-push"],
    "binary-push": lambda setup: [*binary(setup.shared()), "--token", "5f79cfda" * 8],
    "token": lambda setup: [*token_words(setup.shared()), "--topic", "com.example.app", "--token", "5f79cfda" * 8],
    "proxy": lambda setup: [*http2(setup.shared()), "--proxy", f"127.0.0.1:{setup.services.proxy()}"],
    "full-chain": lambda setup: at(setup.services.tls(*full_chain(setup)), setup.made),
    "files": lambda setup: files("--certificate", setup.made.certificate, "--key", setup.made.key, "--sandbox", "--topic", "com.example.app"),
    "p8": lambda setup: files("--p8", setup.made.p8, "--team-id", "5FGHI67890"),
    "clock": lambda setup: files("--certificate", setup.made.both, "--time-server", f"127.0.0.1:{setup.services.time(5)}"),
}


def test_a_service_that_refuses_a_new_provider_token(tool, setup):
    """Each run makes a token, and the service silently keeps the earlier one."""
    words = [*token_words(setup.start("--http2-port", 0, "--fault", "token_renewal_over=key")), "--topic", "com.example.app", "--token", "5f79cfda" * 8]
    assert tool("doctor", *words).returncode == 0
    ran = tool("doctor", *words, "--connect-timeout", 1)
    assert ran.returncode == 1 and "a push to this device" in ran.stdout and "TooManyProviderTokenUpdates" in ran.stdout


def full_chain(setup):
    certificate, key = setup.made.below.server("full")
    return joined(setup.directory / "chain.pem", certificate, setup.made.below.certificate), key


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_setups(tool, setup, name):
    words = HEALTHY[name](setup)
    ran = tool("doctor", *words, "--json")
    told = json.loads(ran.stdout)
    assert ran.returncode == 0 and told["ok"] is True, told
    # Skipped checks are reported: without a push, also the push.
    untried = [one["about"] for one in told["checks"] if one["state"] == "skipped"]
    assert untried == (["service"] if "--offline" in words else ["push"] if not {"--token", "--try-push"} & set(words) else []), told
    assert told.get("reachable") == (None if "--offline" in words else True)
    if name == "token":  # a second run would make another token
        return
    ran = tool("doctor", *words)
    assert ran.returncode == 0 and ran.stdout.endswith(f"No problems found.{' 1 check was skipped.' if untried else ''}\n")


def test_every_rejection_is_explained(tool, setup):
    """Each reason has a meaning and a remedy; the remedy for unknown reasons is to try later."""
    simulator = setup.shared()
    words = [*http2(simulator), "--token", "5f79cfda" * 8, "--json"]
    reasons = json.loads((ROOT / "Tests/Vectors/reasons.json").read_text())["tests"]
    reasons = [one["name"] for one in reasons if one["remedy"] in ("reject", "unregistered")]
    assert len(reasons) > 20
    for reason in reasons:
        assert simulator.control("PUT", "/faults", json.dumps({"bad_every": 1, "bad_reason": reason}))[0] == 200
        found = [one for one in json.loads(tool("doctor", *words).stdout)["checks"] if "cause" in one]
        assert len(found) == 1 and found[0]["message"].startswith(f"rejected: {reason}, "), found
        assert "ask the service's operator" not in found[0]["remedy"], found


# Services at addresses that Apple retired.


@pytest.mark.parametrize("words, cause, said", [
    (["--protocol", "binary"], "binary-gateway-gone", "gateway.push.apple.com:2195"),
    (["--protocol", "binary", "--sandbox"], "binary-gateway-gone", "gateway.sandbox.push.apple.com:2195"),
    (["--host", "gateway.push.apple.com"], "binary-gateway-gone", "leave out --protocol binary, --host and --port"),
    (["--host", "ssl://Gateway.Push.Apple.com:2195"], "binary-gateway-gone", "HTTP/2"),
    (["--host", "feedback.push.apple.com:2196"], "feedback-gone", "410"),
    (["--protocol", "binary", "--host", "feedback.sandbox.push.apple.com", "--port", 2196], "feedback-gone", "apns feedback --from"),
    (["--port", 2195], "port-of-channels", "api-manage-broadcast.sandbox.push.apple.com"),
    (["--port", 2196], "port-of-channels", "api-manage-broadcast.push.apple.com"),
    (["--sandbox", "--port", 2195], "port-of-channels", "443 or 2197"),
    (["--host", "api-manage-broadcast.push.apple.com"], "channels-port", "--port 2196"),
    (["--host", "api-manage-broadcast.push.apple.com:2195"], "channels-port", "--port 2196"),
    (["--host", "api-manage-broadcast.sandbox.push.apple.com:2196"], "channels-port", "--port 2195"),
    (["--protocol", "binary", "--host", "api.push.apple.com"], "binary-gateway-gone", "pushes go to"),
])
def test_old_addresses(tool, made, words, cause, said):
    """Whether the connection succeeds or not."""
    for more, status in (["--offline"], 1), (["--proxy", "127.0.0.1:1"], 3):
        ran = tool("doctor", "--certificate", made.both, *words, *more, "--json")
        told = json.loads(ran.stdout)
        found = [one for one in told["checks"] if one.get("cause") == cause]
        assert ran.returncode == status and len(found) == 1 and told["ok"] is False, told
        assert said in found[0]["about"] + found[0]["message"] + found[0]["remedy"], found
        assert [one["cause"] for one in told["checks"] if "cause" in one] == [cause], told


@pytest.mark.parametrize("words", [[], ["--sandbox"], ["--port", 2197], ["--host", "api-manage-broadcast.push.apple.com:2196"],
                                   ["--host", "relay.example.com:2195"], ["--protocol", "binary", "--host", "relay.example.com"]])
def test_other_addresses_are_not_old(tool, made, words):
    ran = tool("doctor", "--certificate", made.both, *words, "--offline", "--json")
    assert ran.returncode == 0, ran.stdout


def led(setup, host, **arguments):
    """The words for a service with Apple's name, reached through a proxy."""
    port = setup.services.tls(*setup.made.root.server("apple", names=f"DNS:{host}"), **arguments)

    def talk(connection):
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            request += connection.recv(4096)
        far = socket.create_connection(("127.0.0.1", port))
        setup.services.sockets.append(far)
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        for one, other in ((connection, far), (far, connection)):
            setup.services.threads.append(threading.Thread(target=pump, args=(one, other), daemon=True))
            setup.services.threads[-1].start()

    return ["--certificate", setup.made.both, "--ca", setup.made.ca, "--proxy", f"127.0.0.1:{setup.services.serve(talk)}", "--connect-timeout", 20]


def test_a_service_at_an_old_address(tool, setup):
    """A relay, for example: it works, but should not stay that way."""
    ran = tool("doctor", *led(setup, "gateway.push.apple.com", alpn=()), "--protocol", "binary", "--json")
    told = json.loads(ran.stdout)
    assert ran.returncode == 1 and told["reachable"] is True, told
    assert [(one["cause"], one["state"]) for one in told["checks"] if "cause" in one] == [("binary-gateway-gone", "warning")]


def test_the_channel_service_accepts_no_pushes(tool, setup):
    host = "api-manage-broadcast.push.apple.com"
    ran = tool("doctor", *led(setup, host), "--host", f"{host}:2196", "--token", "5f79cfda" * 8, "--json")
    told = json.loads(ran.stdout)
    assert ran.returncode == 0 and [one for one in told["checks"] if one["state"] == "skipped" and "accepts no pushes" in one["message"]], told


# The environment of a token.


def environments(setup, *tokens):
    """Two environments, each with the tokens that it rejects; and the words for the first one."""
    services = []
    for number, unknown in enumerate(tokens):
        (setup.directory / f"bad-{number}").write_text("".join(f"{token}\n" for token in unknown))
        services.append(setup.start("--http2-port", 0, "--bad-tokens", setup.directory / f"bad-{number}", control=True))
    return services, [*http2(services[0]), "--other-environment", f"127.0.0.1:{services[1].ready['http2_port']}"]


def received(simulator):
    return simulator.control("GET", "/counters")[1]["received"]


def test_the_environment_of_a_token(tool, setup):
    mine, theirs, nobodys = "5f79cfda" * 8, "5f79cfdb" * 8, "5f79cfdc" * 8
    (first, second), words = environments(setup, [theirs, nobodys], [mine, nobodys])
    place = words[-1]

    ran = tool("doctor", *words, "--token", mine, "--json")
    told = json.loads(ran.stdout)["checks"]
    assert ran.returncode == 0 and [one for one in told if one["about"] == "token" and "accepts a push to it" in one["message"]], told
    # The other environment gets no push if the first one knows the token.
    assert (received(first), received(second)) == (1, 0)

    ran = tool("doctor", *words, "--token", theirs, "--json")
    found = [one for one in json.loads(ran.stdout)["checks"] if "cause" in one]
    assert ran.returncode == 1 and [one["cause"] for one in found] == ["token-of-other-environment"], found
    assert f"{place} accepts a push to it" in found[0]["message"] and f"--host {place}" in found[0]["remedy"]

    ran = tool("doctor", *words, "--token", nobodys, "--json")
    found = [one for one in json.loads(ran.stdout)["checks"] if "cause" in one]
    assert [one["cause"] for one in found] == ["push-bad-device-token"] and place in found[0]["message"], found
    assert "apns token" in found[0]["remedy"]

    # Without the option, the other environment gets no push.
    before = received(second)
    ran = tool("doctor", *words[:-2], "--token", theirs, "--json")
    assert ran.returncode == 1 and received(second) == before, ran


def test_the_other_environment_gets_only_unknown_tokens(tool, setup):
    (first, second), words = environments(setup, [], [])
    assert first.control("PUT", "/faults", json.dumps({"bad_every": 1, "bad_reason": "DeviceTokenNotForTopic"}))[0] == 200
    told = json.loads(tool("doctor", *words, "--token", "5f79cfda" * 8, "--json").stdout)["checks"]
    assert [one["cause"] for one in told if "cause" in one] == ["push-device-token-not-for-topic"]
    assert (received(first), received(second)) == (1, 0)


def test_an_inconclusive_environment(tool, setup):
    token = "5f79cfda" * 8
    (_, second), words = environments(setup, [token], [])
    assert second.control("PUT", "/faults", json.dumps({"bad_every": 1, "bad_reason": "BadEnvironmentKeyIdInToken"}))[0] == 200
    told = json.loads(tool("doctor", *words, "--token", token, "--json").stdout)["checks"]
    assert [one["cause"] for one in told if "cause" in one] == ["push-bad-device-token"]
    assert [one for one in told if one["state"] == "skipped" and "BadEnvironmentKeyIdInToken" in one["message"]], told
    words[-1] = f"127.0.0.1:{setup.services.closed()}"
    told = json.loads(tool("doctor", *words, "--token", token, "--json").stdout)["checks"]
    assert [one["cause"] for one in told if "cause" in one] == ["push-bad-device-token"]
    assert [one for one in told if one["state"] == "skipped" and "did not respond" in one["message"]], told


@pytest.mark.parametrize("words, said", [
    ([], "--other-environment needs --token"), (["--token", "5f", "--protocol", "binary"], "for HTTP/2 only"),
    (["--token", "5f", "--sandbox"], "is the environment that is checked"),
])
def test_usage_of_the_other_environment(tool, words, said):
    ran = tool("doctor", "--other-environment", "sandbox", *words)
    assert ran.returncode == 2 and said in ran.stderr, ran


def test_a_scoped_key(tool, setup):
    simulator = setup.shared({"bad_every": 1, "bad_reason": "BadEnvironmentKeyIdInToken"})
    ran = tool("doctor", *http2(simulator), "--token", "5f79cfda" * 8)
    told = " ".join(ran.stdout.split())
    assert ran.returncode == 1 and "other environment, or for certain topics" in told and "add or leave out --sandbox, give one of the key's topics" in told
