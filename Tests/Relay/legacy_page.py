"""legacy_page.py DIRECTORY: follows Documentation/LEGACY.md step by step, with the page's own commands. It runs in a
private network with a private /etc/hosts, so that the old program connects to gateway.push.apple.com:2195.
test_legacy_page.py starts it."""

import fcntl
import json
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "Simulator"), str(HERE)]

import simulator as simulators  # noqa: E402
from legacy import Certificates  # noqa: E402
from relaying import Relay, pushes, relay_program, token, wait_until  # noqa: E402

PAGE = (HERE.parents[1] / "Documentation/LEGACY.md").read_text()


def block(language, containing):
    (found,) = [text for kind, text in re.findall(r"```(\w*)\n(.*?)```", PAGE, re.S) if kind == language and containing in text]
    return "\n".join(line.removeprefix("   ") for line in found.splitlines())


def shell(command, directory):
    ran = subprocess.run(command, shell=True, cwd=directory, capture_output=True, text=True)
    assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def main(directory):
    directory = pathlib.Path(directory)
    # The loopback interface of a new network is down.
    with socket.socket() as sock:
        fcntl.ioctl(sock, 0x8914, struct.pack("16sH14x", b"lo", 0x41))
    simulator = simulators.Simulator(directory / "certificates", "--http2-port", "0", control=True)
    old, _ = Certificates(directory / "providers").make("apns-cert", signed=False, years=(2010, 2012))
    shutil.copy(old, directory / "apns-cert.pem")
    # Step 1: a relay that pushes.
    relay = Relay(directory, simulator, level="info")
    try:
        relay.start().wait_ready()
        shell(f"{relay_program()} enqueue --config {relay.file} --app shop --id hello-1 --alert Hello {token(1)}", directory)
        wait_until(lambda: relay.queue.outcomes_so_far() == 1, "nothing is pushed")
        relay.stop()
        # Step 2: the listener, with the fingerprint of the program's certificate.
        printed = shell(re.search(r"openssl x509 .*", block("sh", "-fingerprint"))[0], directory).partition("=")[2].strip()
        listener = block("yaml", "type: binary")
        assert '"0F:59:…:C3"' in listener and "192.168.1.10" in listener
        plain = {name: value for name, value in json.loads(relay.file.read_text()).items() if name != "listeners"}
        text = "\n".join(f"{name}: {json.dumps(value)}" for name, value in plain.items())
        relay.file.write_text(text + "\n" + listener.replace('"0F:59:…:C3"', f'"{printed}"').replace("192.168.1.10", "127.0.0.1"))
        # Step 3: the name.
        (directory / "hosts").write_text(
            "127.0.0.1 localhost\n" + block("", "gateway.sandbox").replace("192.168.1.10", "127.0.0.1"))
        shell(f"mount --bind {directory}/hosts /etc/hosts", directory)
        relay.start().wait_ready()
        # Step 4: what the listener looks like from the program's machine. Step 5: the CA certificate that a verifying
        # program needs.
        (line,) = re.findall(r"apns doctor --relay.*", PAGE)[:1]
        words = line.partition("#")[0].split()[1:]
        wait_until(lambda: (directory / "gateway-listener-ca.pem").exists(), "no certificate is made")
        said = shell(" ".join([simulators.tool(), *words]).replace("192.168.1.10", "127.0.0.1"), directory)
        assert "is accepted (" in said and said.endswith("No problems found.\n"), said
        # The original program, host and port included.
        program = (HERE / "Programs/apns_service.php").read_text()
        program = program.replace('"ssl://localhost:" . Yii::$port', '"ssl://gateway.push.apple.com:2195"')
        (directory / "program.php").write_text(program)
        shutil.copy(old, directory / "iphoneDis.pem")
        shell(f"php -d openssl.cafile=gateway-listener-ca.pem program.php 0 {directory}/iphoneDis.pem 100 20", directory)
        # Step 6: watch it.
        wait_until(lambda: relay.queue.outcomes_so_far() == 21, "they are not pushed")
        assert relay.metric("apns_relay_listener_queued_total") == 20
        assert relay.said("a client of shop, by the fingerprint of")
        assert {push["token"] for push in pushes(simulator)} == {token(n) for n in [1, *range(100, 120)]}
        relay.stop()
    finally:
        relay.kill()
        simulator.kill()


if __name__ == "__main__":
    main(sys.argv[1])
