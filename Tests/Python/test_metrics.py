"""The metrics of a session."""

import libapns
from test_http2 import HELLO, needs_http2, push  # noqa: F401

TOKENS = [n.to_bytes(32, "big") for n in range(20)]


def check(session):
    metrics, stats = session.metrics(), session.stats()
    assert sum(metrics["times"].values()) == metrics["responses"]
    assert list(metrics["times"])[0] == 0.001 and list(metrics["times"])[-1] == float("inf")
    handshakes = [metrics[f"{tls}_{kind}"] for tls in ("tls12", "tls13") for kind in ("full", "resumed")]
    assert sum(handshakes) == stats.connects
    assert metrics["bytes_written"] == stats.bytes
    return metrics


@needs_http2
def test_answers_by_reason(start, push, tmp_path):  # noqa: F811
    (tmp_path / "bad").write_text("".join(token.hex() + "\n" for token in TOKENS[:3]))
    session = push(start("--http2-port", 0, "--bad-tokens", tmp_path / "bad"))
    for token in TOKENS:
        session.send(token, HELLO)
    session.drain(240)
    metrics = check(session)
    assert metrics["responses"] == 20 and metrics["response_seconds"] > 0
    assert metrics["classes"] == {200: 17, 400: 3}
    assert metrics["reasons"] == metrics["rejected_reasons"] == {"BadDeviceToken": 3}
    assert (metrics["open"], metrics["connecting"], metrics["draining"], metrics["backoff"]) == (1, 0, 0, 0)
    session.close(0)
    assert session.metrics()["responses"] == 20


def test_the_binary_interface(start, connect, tmp_path):
    (tmp_path / "bad").write_text(TOKENS[4].hex() + "\n")
    session = connect(start("--bad-tokens", tmp_path / "bad"))
    for token in TOKENS:
        session.send(token, HELLO)
    session.drain(240)
    metrics = check(session)
    assert metrics["rejects"] == {"invalid token": 1} and metrics["classes"] == {}
    assert metrics["responses"] >= 1


def test_a_connection_that_fails(who):
    session = libapns.Session(who, protocol="binary", host="127.0.0.1", port=1)
    try:
        session.connect()
    except libapns.NetworkError:
        pass
    assert list(session.metrics()["connect_failures"]) == ["APNS_ERR_NETWORK"]
