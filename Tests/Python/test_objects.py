"""Credentials, payloads, strings, feedback, errors and constants."""

import base64
import hashlib
import inspect
import json
import pathlib
import pickle
import re
import subprocess
import sys
import traceback

import libapns
import pytest

from traces import SANITIZED

ROOT = pathlib.Path(__file__).parents[2]
HEADER = "".join((ROOT / "include/apns" / name).read_text() for name in ("apns.h", "binary.h"))
TOKEN = bytes(range(32))


# ---- Constants


def header_enum(name):
    body = re.search(rf"typedef enum {name} {{(.*?)}} {name}_t;", HEADER, re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    return {key: int(value) for key, value in re.findall(r"(\w+) = (-?\d+)", body)}


@pytest.mark.parametrize(
    "name, prefix, members",
    [
        ("apns_status", "APNS_", libapns.Status),
        ("apns_reject", "APNS_REJECT_", libapns.Reject),
        ("apns_cause", "APNS_CAUSE_", libapns.Cause),
        ("apns_event_kind", "APNS_EVENT_", libapns.EventKind),
        ("apns_format", "APNS_FORMAT_", libapns.Format),
        ("apns_reason", "APNS_REASON_", libapns.Reason),
        ("apns_push_type", "APNS_PUSH_TYPE_", libapns.PushType),
        ("apns_protocol", "APNS_PROTOCOL_", libapns.Protocol),
        ("apns_delivery", "APNS_DELIVERY_", libapns.Delivery),
        ("apns_tls_version", "APNS_", libapns.TLSVersion),
        ("apns_environment", "APNS_ENVIRONMENT_", libapns.Environment),
        ("apns_check", "APNS_CHECK_", libapns.Check),
        ("apns_finding_severity", "APNS_FINDING_", libapns.Severity),
    ],
)
def test_enums_are_the_header_s(name, prefix, members):
    wanted = header_enum(name)
    assert len(wanted) > 1
    wanted = {key.replace("APNS_TLS_DEFAULT", "APNS_DEFAULT"): value for key, value in wanted.items()}
    assert {prefix + name: int(member) for name, member in members.__members__.items()} == wanted


def test_macros_are_the_header_s():
    macros = dict(re.findall(r'#define APNS_(\w+) "?\(?([-\w.]+)\)?"?', HEADER))
    shared = {name: value for name, value in macros.items() if hasattr(libapns, name)}
    assert len(shared) == 21
    assert {name: str(getattr(libapns, name)) for name in shared} == shared
    assert libapns.__version__ == macros["VERSION_STRING"]


def test_every_payload_key_is_there():
    names = {name[len("APNS_KEY_") :].lower() for name in header_enum("apns_payload_key")}
    assert set(re.findall(r"\w+", libapns.Payload.__doc__)) >= names


# ---- Errors


def test_errors_are_typed_and_complete(who):
    session = libapns.Session(who, protocol="binary", host="127.0.0.1", port=1, connect_timeout=5)
    with pytest.raises(libapns.NetworkError) as caught:
        session.connect()
    error = caught.value
    assert isinstance(error, (libapns.Error, ConnectionError))
    assert error.status is libapns.Status.ERR_NETWORK and error.errno == 111
    assert error.cause is libapns.Cause.CONNECTION_REFUSED
    assert libapns.Error("from a newer library", cause=9999).cause == 9999
    assert error.is_retryable and error.message == str(error) and "127.0.0.1" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and vars(again) == vars(error) and again.errno == 111


def test_the_hierarchy():
    for status in libapns.Status:
        assert libapns.status_name(status) == "APNS_" + status.name
    assert libapns.status_is_retryable(libapns.Status.ERR_TIMEOUT)
    assert not libapns.status_is_retryable(libapns.Status.ERR_ARGUMENT)
    classes = [value for value in vars(libapns).values() if isinstance(value, type)]
    errors = [each for each in classes if issubclass(each, libapns.Error)]
    assert len(errors) == 14
    assert issubclass(libapns.ArgumentError, ValueError)
    assert issubclass(libapns.DeadlineError, TimeoutError)


def test_pinned_keys_lists_and_levels(start, certificates):
    simulator = start()

    def connect(**options):
        credentials = libapns.Credentials(
            certificate_file=certificates / "provider.pem", ca_file=certificates / "ca.pem", **options)
        with libapns.Session(credentials, protocol="binary", host="127.0.0.1", port=simulator.gateway[1]) as session:
            session.connect()

    key = subprocess.run(["openssl", "x509", "-in", certificates / "ca.pem", "-noout", "-pubkey"], check=True,
                         capture_output=True).stdout
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=key, check=True, capture_output=True).stdout
    pin = "sha256//" + base64.b64encode(hashlib.sha256(der).digest()).decode()
    other = "sha256//" + base64.b64encode(bytes(32)).decode()
    connect(pinned_keys=[other, pin], security_level=1)
    with pytest.raises(libapns.TLSError, match="no key in its chain is pinned; its own key is sha256//") as caught:
        connect(pinned_keys=(other,))
    assert caught.value.cause is libapns.Cause.PEER_NOT_PINNED
    with pytest.raises(libapns.TLSError, match="unable to get certificate CRL") as caught:
        connect(crl_directory=certificates)
    assert caught.value.cause is libapns.Cause.PEER_REVOCATION_LIST
    with pytest.raises(libapns.CredentialsError, match="crl file .*nowhere") as caught:
        connect(crl_file=certificates / "nowhere")
    assert caught.value.cause is libapns.Cause.FILE_UNREADABLE
    for options, kind, message in (
        ({"pinned_keys": []}, libapns.ArgumentError, "between 1 and 100"),
        ({"pinned_keys": [pin] * 200}, libapns.ArgumentError, "between 1 and 100"),
        ({"pinned_keys": [pin[8:]]}, libapns.ArgumentError, "pinned_keys"),
        ({"pinned_keys": pin}, TypeError, "list or tuple"),
        ({"pinned_keys": [None]}, TypeError, "list or tuple"),
        ({"pinned_keys": [pin + "\0"]}, ValueError, "NUL"),
        ({"pinned_keys": ["\udc80"]}, ValueError, "lone surrogate"),
        ({"security_level": 6}, libapns.ArgumentError, "security_level"),
    ):
        with pytest.raises(kind, match=message):
            connect(**options)


def test_nothing_shows_a_secret(encrypted):
    """Neither exceptions nor objects, in any textual form."""
    secret, names = "hush-hush", ("passphrase", "key", "certificate", "token_key")
    calls = [lambda name=name, kind=kind: libapns.Credentials(**{name: kind}) for name in names
             for kind in (secret, secret.encode(), [secret], secret + "\udc80", secret + "\0")]
    calls += [lambda: libapns.Credentials(certificate_file=encrypted, passphrase=lambda file: secret + "\udc80"),
              lambda: libapns.Credentials(certificate_file=encrypted, passphrase=secret)]
    who = libapns.Credentials(certificate_file=encrypted, passphrase="sésame")
    proxy = f"http://x:{secret}@localhost:1"
    calls += [lambda: libapns.Session(who, proxy=f"http://x%3a:{secret}@localhost:1"),
              lambda: libapns.Session(who, proxy=f"http://x:{secret}@localhost:port"),
              lambda: libapns.Session(who, proxy=proxy + "\udc80"),
              lambda: libapns.Session(who, proxy=[proxy]),
              lambda: libapns.Feedback(who, proxy=proxy + "\0"),
              lambda: libapns.Channels(who, proxy=proxy + "\0")]
    raised = 0
    for call in calls:
        try:
            call()
        except Exception as error:
            raised += 1
            shown = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            assert secret not in shown + repr(error) + repr(vars(error)), shown
    assert raised >= len(calls) - len(names)
    session = libapns.Session(who, proxy=proxy)
    for each in who, session:
        assert "sésame" not in repr(each) and secret not in repr(each) + str(each)
        with pytest.raises(TypeError):
            pickle.dumps(each)


def test_untrusted(start, certificates, connect):
    stranger = libapns.Credentials(certificate_file=certificates / "provider.pem")
    session = libapns.Session(stranger, protocol="binary", host="127.0.0.1", port=start().gateway[1])
    with pytest.raises(libapns.TLSError) as caught:
        session.connect()
    assert caught.value.tls_code > 0


# ---- Tokens


def test_tokens_as_text():
    assert libapns.token_from_hex("<00FF 10>") == b"\x00\xff\x10"
    assert libapns.token_from_hex("00ff10\n") == libapns.token_from_hex("00ff10\r\n") == b"\x00\xff\x10"
    assert libapns.token_from_base64("AP8Q\n") == b"\x00\xff\x10"
    with pytest.raises(libapns.ArgumentError, match="is not hex"):
        libapns.token_from_hex("00ff10\n\n")
    with pytest.raises(libapns.ArgumentError, match="this is how Swift and iOS 13 print Data"):
        libapns.token_from_hex("{length = 32, bytes = 0x5f79cfda 4d01aa3a ... 9ee0e412 }")
    assert libapns.token_to_hex(b"\x00\xff\x10") == "00ff10"
    assert libapns.token_to_base64(b"\x00\xff\x10") == "AP8Q"
    assert libapns.token_from_base64("AP8Q") == b"\x00\xff\x10"
    with pytest.raises(libapns.ArgumentError, match="3"):
        libapns.token_from_hex("001g")
    with pytest.raises(libapns.ArgumentError):
        libapns.token_from_hex("00" * (libapns.TOKEN_MAX + 1))


# ---- Credentials


def test_description(who):
    said = who.describe()
    assert "com.example.app" in said.subject and said.topics == ("com.example.app",)
    assert said.not_before < said.not_after and said.chain_length == 1
    nobody = libapns.Credentials().describe()
    assert nobody.subject is None and nobody.topics == ()


def test_credentials_from_bytes(start, certificates):
    simulator = start()
    who = libapns.Credentials(
        certificate=(certificates / "provider-certificate.pem").read_bytes(),
        key=bytearray((certificates / "provider-key.pem").read_bytes()),
        ca_file=str(certificates / "ca.pem"),
        tls_max=libapns.TLSVersion.TLS_1_2,
    )
    with who, libapns.Session(who, protocol="binary", host="127.0.0.1", port=simulator.gateway[1]) as session:
        session.send(TOKEN, "{}")
    assert session.stats().accepted == 1 and who.closed


def test_bad_credentials(tmp_path):
    with pytest.raises(libapns.CredentialsError, match="absent.pem"):
        libapns.Credentials(certificate_file=tmp_path / "absent.pem")
    with pytest.raises(libapns.CredentialsError):
        libapns.Credentials(certificate=b"nothing of the kind")


@pytest.fixture(scope="module")
def encrypted(certificates):
    path = certificates / "encrypted.p12"
    subprocess.run(
        ["openssl", "pkcs12", "-export", "-in", certificates / "provider.pem", "-out", path,
         "-passout", "pass:sésame"],
        check=True,
    )  # fmt: skip
    return path


def test_passphrases(encrypted):
    asked = []

    def passphrase_of(file):
        asked.append(file)
        return "sésame"

    for passphrase in ("sésame", "sésame".encode(), passphrase_of, lambda file: "sésame".encode()):
        assert libapns.Credentials(certificate_file=encrypted, passphrase=passphrase).describe().topics
    assert asked and set(asked) == {str(encrypted)}
    libapns.Credentials(certificate=encrypted.read_bytes(), passphrase=passphrase_of)
    assert asked[-1] is None
    for passphrase in (None, "wrong", lambda file: None):
        with pytest.raises(libapns.CredentialsError):
            libapns.Credentials(certificate_file=encrypted, passphrase=passphrase)


def test_an_exception_of_the_passphrase_callable_is_raised(encrypted):
    def refuse(file):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        libapns.Credentials(certificate_file=encrypted, passphrase=refuse)
    with pytest.raises(TypeError):
        libapns.Credentials(certificate_file=encrypted, passphrase=lambda file: 3)
    with pytest.raises(TypeError):
        libapns.Credentials(certificate_file=encrypted, passphrase=lambda: "")
    with pytest.raises(ValueError):
        libapns.Credentials(certificate_file=encrypted, passphrase=lambda file: "x" * 1025)


def test_closed_credentials(who):
    session = libapns.Session(who)
    who.close()
    who.close()
    assert session.credentials is who
    for use in (lambda: libapns.Session(who), lambda: libapns.Feedback(who), who.describe):
        with pytest.raises(libapns.ClosedError):
            use()


# ---- Payloads


def test_payload():
    payload = libapns.Payload(title="Chess", badge=3, loc_args=("a", "ü"), sound="default")
    payload.set(badge=4, action_loc_key=None, relevance_score=0.5)
    payload.add("game", "x")
    payload.add("nested", {"list": [1, 2.5, None, True]})
    payload.add("large", 1 << 70)
    payload.add("yes", True)
    payload.add("none", None)
    payload.add("half", 0.5)
    written = json.loads(payload.write())
    assert written == {
        "aps": {
            "alert": {"title": "Chess", "loc-args": ["a", "ü"], "action-loc-key": None},
            "badge": 4, "sound": "default", "relevance-score": 0.5,
        },
        "game": "x", "nested": {"list": [1, 2.5, None, True]}, "large": 1 << 70, "yes": True,
        "none": None, "half": 0.5,
    }  # fmt: skip
    assert bytes(payload) == payload.write()
    payload.remove("alert", "badge")
    payload.remove_custom()
    payload.set_critical_sound("siren", volume=0.5)
    assert json.loads(payload.write())["aps"]["sound"]["volume"] == 0.5
    payload.reset()
    assert payload.write() == b'{"aps":{}}'


def test_live_activity():
    payload = libapns.Payload(event="start", timestamp=1800000000, attributes_type="Match", attributes={})
    payload.set(content_state={"score": [1, 0]}, input_push_token=1, alert_sound="goal.caf")
    payload.set(title={"loc-key": "GOAL", "loc-args": ["Jenna"]}, body="b")
    written = payload.write()
    assert json.loads(written) == {
        "aps": {
            "event": "start", "timestamp": 1800000000, "attributes-type": "Match", "attributes": {},
            "content-state": {"score": [1, 0]}, "input-push-token": 1,
            "alert": {"sound": "goal.caf", "title": {"loc-key": "GOAL", "loc-args": ["Jenna"]}, "body": "b"},
        }
    }  # fmt: skip
    assert libapns.check_payload(written) == []
    with pytest.raises(libapns.ArgumentError, match="content-state is not a JSON object"):
        payload.set(content_state=[1])
    with pytest.raises(libapns.ArgumentError, match="title is not an object with loc-key"):
        payload.set(title={"loc_key": "GOAL"})
    with pytest.raises(TypeError):
        payload.set(subtitle={"loc-key": "GOAL"})
    payload.remove("content_state", "alert_sound")
    assert "content-state" not in json.loads(payload.write())["aps"]


def test_widgets():
    payload = libapns.Payload(content_changed=True)
    assert payload.write() == b'{"aps":{"content-changed":true}}'
    payload.set(content_changed=False)
    assert payload.write() == b'{"aps":{"content-changed":false}}'
    with pytest.raises(TypeError, match="content_changed"):
        payload.set(content_changed="yes")


def test_truncation():
    payload = libapns.Payload(alert="é" * 2000, limit=100, truncate=True, suffix="...")
    written, cut = payload.fit()
    assert len(written) <= 100 and cut > 3000 and written.endswith(b'..."}}')
    with pytest.raises(libapns.ArgumentError):
        libapns.Payload(alert="é" * 2000, limit=100).write()
    assert len(libapns.Payload(alert="x" * 5000, limit=5120).write()) > 5000


def test_invalid_payloads():
    payload = libapns.Payload(title="T")
    with pytest.raises(libapns.ArgumentError, match="alert"):
        payload.set(alert="a string too")
    with pytest.raises(TypeError, match="bagde"):
        payload.set(bagde=1)
    with pytest.raises(libapns.ArgumentError):
        payload.add("aps", {})
    for value in (object(), {1, 2}, {"a": float("nan")}):
        with pytest.raises((TypeError, ValueError)):
            payload.add("key", value)
    assert json.loads(payload.write()) == {"aps": {"alert": {"title": "T"}}}


def test_check():
    assert libapns.check_payload('{"aps":{"alert":"x"}}') == []
    assert libapns.check_payload({"aps": {"alert": "x"}}) == libapns.check_payload(libapns.Payload(alert="x")) == []
    assert "'alret'" in libapns.check_payload({"aps": {"alret": "x"}})[0].message
    findings = libapns.check_payload(b'{"aps":{\n"alret":"x","badge":"1"}}')
    assert [finding.severity for finding in findings] == [libapns.Severity.WARNING, libapns.Severity.ERROR]
    assert (findings[0].line, findings[0].column) == (2, 1) and "alert" in findings[0].message
    assert libapns.check_payload("{", limit=10)[0].severity is libapns.Severity.ERROR


# ---- Strings


def test_strings(tmp_path):
    text = '/* say */ "hi" = "%2$@ says %1$@";\n"é" = "ü";'
    file = tmp_path / "Localizable.strings"
    file.write_text(text, encoding="utf-16")
    for strings in (libapns.Strings(text.encode()), libapns.Strings.open(file), libapns.Strings.open(str(file))):
        assert strings["é"] == strings.get("é") == "ü"
        assert "é" in strings and "e" not in strings
        assert strings.get("e") is None and strings.get("e", 3) == 3
        assert strings.format("hi", "böo", "Jöe") == "Jöe says böo"
        with pytest.raises(KeyError):
            strings["e"]
        with pytest.raises(libapns.ArgumentError):
            strings.format("hi", "one")
        with pytest.raises(ValueError):
            strings.format("hi", "a\0b", "c")
    with pytest.raises(libapns.ArgumentError, match="line 2"):
        libapns.Strings(b'"a" = "b";\n"c" = ')
    with pytest.raises(libapns.Error, match="absent"):
        libapns.Strings.open(tmp_path / "absent")


# ---- Feedback


def test_feedback(start, who, tmp_path):
    listed = tmp_path / "feedback"
    listed.write_text(f"1290000000 {TOKEN.hex()}\n1290000060 {'07' * 32}\n")
    simulator = start("--feedback", listed)
    with libapns.Feedback(who, host="127.0.0.1", port=simulator.feedback[1]) as feedback:
        assert not feedback.closed
        devices = list(feedback)
        assert list(feedback) == []
    assert devices == [(1290000000, TOKEN), (1290000060, b"\x07" * 32)]
    assert devices[0].token == TOKEN and devices[0].timestamp == 1290000000
    assert feedback.closed
    feedback.close()
    with pytest.raises(libapns.ClosedError):
        next(feedback)


def test_truncated_feedback(start, who, tmp_path):
    listed = tmp_path / "feedback"
    listed.write_text("".join(f"{number} {TOKEN.hex()}\n" for number in range(10)))
    simulator = start("--feedback", listed, faults={"feedback_cut_bytes": 100})
    feedback = libapns.Feedback(who, host="127.0.0.1", port=simulator.feedback[1])
    assert [next(feedback).timestamp for _ in range(2)] == [0, 1]
    for _ in range(2):
        with pytest.raises(libapns.Error):
            next(feedback)
    with pytest.raises(libapns.NetworkError):
        libapns.Feedback(who, host="127.0.0.1", port=1)


# ---- Docstrings


def test_everything_is_documented():
    for name in libapns.__all__:
        value = getattr(libapns, name)
        if isinstance(value, type) or inspect.isroutine(value):
            assert value.__doc__, name
        if isinstance(value, type) and value.__module__ == "libapns":
            for member, what in vars(value).items():
                if not member.startswith("_") and callable(what):
                    assert what.__doc__, f"{name}.{member}"


def test_every_stub_has_its_signature():
    for owner in (libapns.Session, libapns.Credentials, libapns.Payload, libapns.Strings, libapns.Feedback, libapns.Channels):
        # Python 3.9 has no signatures for types made at run time.
        assert sys.version_info < (3, 10) or inspect.signature(owner)
        for name, member in vars(owner).items():
            if callable(member) and not name.startswith("__"):
                assert inspect.signature(member)


# ---- What the wheel needs


def modules():
    """The module in use, and the wheel's other one."""
    here = pathlib.Path(libapns.__file__).parent
    return sorted(here.glob("_openssl_*/_core.abi3.so")) or [pathlib.Path(libapns._core.__file__)]


def readelf(module, *options):
    return subprocess.run(
        ["readelf", "-W", *options, module], check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.skipif(SANITIZED, reason="the sanitizer needs more")
@pytest.mark.parametrize("module", modules(), ids=lambda module: module.parent.name)
def test_the_module_needs_openssl_and_libc_only(module):
    dynamic = readelf(module, "-d")
    needed = set(re.findall(r"NEEDED.*\[(.*\.so\.[\d.]*)\]", dynamic))
    paths = re.findall(r"\((?:RUN|R)PATH\).*\[(.*)\]", dynamic)
    symbols = readelf(module, "--dyn-syms")
    # The wheel carries the libraries for HTTP/2 and c-ares unless they are built in.
    brought = {name for name in needed if "nghttp2" in name or "cares" in name}
    if brought and "_openssl_" in module.parent.name:
        assert paths == ["$ORIGIN/../_libraries"]
        libraries = module.parent.parent / "_libraries"
        assert {path.name.partition(".")[0] for path in libraries.iterdir()} == {
            "LICENSE", *(name.partition(".")[0] for name in brought)}  # fmt: skip
        for name in brought:
            shown = readelf(libraries / name, "-d")
            assert set(re.findall(r"NEEDED.*\[(.*)\]", shown)) == {"libc.so.6"}
            # A library under its common name could be mistaken for another module's.
            assert name.startswith("libapns_") and f"[{name}]" in re.search("SONAME.*", shown)[0]
            symbols += readelf(libraries / name, "--dyn-syms", "-V").partition("Version needs")[2]
    else:
        assert not paths
    others = {"libdl", "libc"} if "_openssl_" in module.parent.name else {"libssl", "libcrypto", "libc"}
    assert {name.partition(".")[0] for name in needed - brought} == others
    versions = {
        tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", symbols)
    }
    assert max(versions) <= (2, 17)
    symbols = readelf(module, "--dyn-syms")
    defined = [line.split()[-1] for line in symbols.splitlines() if re.search(r" GLOBAL DEFAULT +\d", line)]
    assert defined == ["PyInit__core"]
    assert module.name.endswith(".abi3.so") and sys.version_info >= (3, 9)


@pytest.mark.skipif(len(modules()) < 2, reason="not a wheel for both OpenSSLs")
def test_each_module_is_for_its_openssl():
    for module in modules():
        shown = readelf(module, "-d", "--dyn-syms")
        # OpenSSL is found at load time, so every undefined symbol is Python's, nghttp2's or glibc's.
        assert "libssl" not in shown and "libcrypto" not in shown
        undefined = re.findall(r" UND ([^\s@]+)(@\S+)?", shown)
        assert len(undefined) > 50
        own = {name for name, version in undefined if "GLIBC" not in version and not re.match(r"_?Py|nghttp2_", name)}
        own -= {"__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
        newer = re.findall(r"WEAK +\w+ +UND (OSSL_\w+|PKCS\w+_ex|EVP_\w+_(?:fetch|free))", shown)
        # The library does without these functions on 1.1.1.
        assert own == set(newer) and bool(newer) == (module.parent.name == "_openssl_1_1_1")
        name = "libssl.so.3" if module.parent.name == "_openssl_3" else "libssl.so.1.1"
        assert re.findall(rb"\0(libssl\.so\.[\d.]+)\0", module.read_bytes()) == [name.encode()]


@pytest.mark.parametrize(
    "make, given, meant",
    [
        (libapns.Session, "connect_timout", "connect_timeout"),
        (libapns.Session, "hots", "host"),
        (libapns.Session, "something_else", None),
        (libapns.Feedback, "read_timeout_ms", "read_timeout"),
        (libapns.Channels, "topics", "topic"),
    ],
)
def test_an_unknown_option_suggests_a_name(who, make, given, meant):
    with pytest.raises(TypeError) as caught:
        make(who, **{given: 1})
    said = f"{make.__name__}() got an unexpected keyword argument '{given}'"
    assert str(caught.value) == said + (f"; did you mean '{meant}'?" if meant else "")


TYPED = """
import concurrent.futures, datetime
import libapns, libapns.aio

where: libapns.ClientOptions = {"protocol": "http2", "topic": "com.example.app", "close_timeout": 2.5}
blocking: libapns.SessionOptions = {"nonblocking": False, "events_max": 10}
channels: libapns.ChannelsOptions = {"environment": "sandbox"}

def push(who: libapns.Credentials, token: str) -> bool:
    with libapns.Session(who, **blocking) as session:
        session.send(token, {"aps": {"alert": "Hello"}})
    return all(event.is_accepted for event in session)

async def post(who: libapns.Credentials, token: str) -> str:
    async with libapns.aio.Session(who, **where) as session:
        return (await session.send(token, {"aps": {}})).why

def with_client(token: str) -> concurrent.futures.Future[libapns.Event]:
    client = libapns.Client(key="AuthKey_ABC123DEFG.p8", key_id="ABC123DEFG", team_id="DEF123GHIJ", **where)
    client.push(token, {"aps": {}}, expiry=datetime.datetime.now(datetime.timezone.utc)).raise_unless_accepted()
    many = [libapns.Notification(token, b"{}", priority=5)]
    print([event.why for event in client.push_many(many)], client.push_many([(token, "{}"), (token, "{}", 7)]))
    return client.submit(token, {"aps": {}})

async def with_async_client(who: libapns.Credentials, token: str) -> libapns.Event:
    async with libapns.AsyncClient(credentials=who, topic="com.example.app", connections=2) as client:
        async for event in client.push_many([(token, {"aps": {}})]):
            print(event.why)
        return await (await client.submit(token, {"aps": {}}))

fake: libapns.Event = libapns.Event(kind="rejected", reason="Unregistered", token="ff")
"""
WRONG = {
    '"http2"': '"http3"', "connections=2": 'connections="2"', '"topic": "com': '"topik": "com', "priority=5": 'priority="5"',
    'kind="rejected"': "kind=None", ', topic="com': ', topik="com',
}


def test_the_documented_idiom_is_typed(tmp_path):
    api = pytest.importorskip("mypy.api")
    program = tmp_path / "program.py"
    program.write_text(TYPED)
    said = api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(program)])
    assert said[2] == 0, said[0]
    for right, wrong in WRONG.items():
        assert right in TYPED
        program.write_text(TYPED.replace(right, wrong))
        assert api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(program)])[2] == 1, wrong
