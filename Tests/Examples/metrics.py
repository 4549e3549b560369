"""metrics.py TOOL PROGRAM: the program writes the right metrics of its pushes, and those that its README shows."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Tool"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Simulator"))

import prometheus  # noqa: E402
from prometheus import total, value  # noqa: E402
from simulator import Simulator  # noqa: E402

tool, program = sys.argv[1:]
os.environ["APNS_TOOL"] = tool
readme = pathlib.Path("Examples/c/metrics/README.md").read_text(encoding="utf-8")


def check_words():
    """Every family that the pages name must be written."""
    page = pathlib.Path("Documentation/MONITORING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\bapns_[a-z0-9_]+\b(?!\()", page + readme))
    named = {name for name in named if not name.startswith(("apns_session", "apns_metrics", "apns_credentials"))}
    written = {name for name, _ in samples} | {name.removesuffix("_count") for name, _ in samples}
    assert named and named <= written, named - written


with tempfile.TemporaryDirectory() as directory:
    # The service rejects every tenth token as bad.
    bad = pathlib.Path(directory, "bad")
    bad.write_text("".join(n.to_bytes(8, "little").hex() + "00" * 24 + "\n" for n in range(0, 500, 10)))
    service = Simulator(pathlib.Path(directory, "certificates"), "--http2-port", 0, "--bad-tokens", bad)
    path = pathlib.Path(directory, "apns.prom")
    words = [program, "127.0.0.1", str(service.ready["http2_port"]), service.ready["provider"], service.ready["ca"]]
    out = subprocess.run([*words, "500", path], stdout=subprocess.PIPE, text=True, timeout=240, check=True).stdout
    assert out.count("BadDeviceToken") == 50, out
    assert [name for name in os.listdir(directory) if "apns.prom" in name] == ["apns.prom"]
    text = path.read_text(encoding="ascii")
    samples = prometheus.read(text)
    assert value(samples, "apns_notifications_total", outcome="accepted") == 450
    assert value(samples, "apns_notifications_total", outcome="rejected") == 50
    assert value(samples, "apns_notifications_total", outcome="unknown") == 0
    assert value(samples, "apns_notifications_total", outcome="expired") == 0
    assert value(samples, "apns_notifications_queued_total") == 500
    assert value(samples, "apns_notifications_unresolved") == value(samples, "apns_notifications_in_flight") == 0
    assert value(samples, "apns_response_duration_seconds_count") == total(samples, "apns_responses_total") == 500
    assert value(samples, "apns_response_reasons_total", reason="BadDeviceToken") == 50
    assert total(samples, "apns_rejected_total") == 50
    assert total(samples, "apns_resends_total") == 0
    assert total(samples, "apns_handshakes_total") == 1
    assert value(samples, "apns_connections", state="open") == 1
    print("ok: the file has the pushes")
    shown = re.search(r"```text\n(.*?)```", readme, re.S).group(1)
    for line in shown.splitlines():
        words = re.escape(line).replace("…", ".*")
        assert line == "…" or re.search(f"^{words}$", text, re.M), line
    check_words()
    print("ok: the README shows what is written, and the pages name no other families")
    # Without a service the program reports it, and the file has the cause.
    service.stop()
    ran = subprocess.run([*[str(word) for word in
                            [program, "127.0.0.1", service.ready["http2_port"], service.ready["provider"], service.ready["ca"], 1, path]]],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240)
    assert ran.returncode == 1, ran
    samples = prometheus.read(path.read_text(encoding="ascii"))
    assert value(samples, "apns_connect_failures_total", status="APNS_ERR_NETWORK") >= 1
    assert value(samples, "apns_notifications_queued_total") == 0
    print("ok: connections that fail show")
