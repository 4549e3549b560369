"""debian_11.py ROOT: pushes from a Debian 11 root that has the wheel unpacked to a simulator outside it."""

import pathlib
import shutil
import subprocess
import sys

tests = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(tests / "Simulator"))
from simulator import Simulator  # noqa: E402

root = pathlib.Path(sys.argv[1])
push = root / "push"
push.mkdir()
shutil.copy(tests.parent / "Examples/python/provider.py", push)
lines = [f'{number:064x}\t{{"aps":{{"badge":{number}}}}}\n' for number in range(1, 501)]
(push / "notifications").write_text("".join(lines))


def within(*command):
    return subprocess.run(
        ["chroot", root, "/usr/bin/env", "-i", *map(str, command)],
        check=True, stdout=subprocess.PIPE, text=True, timeout=240,
    ).stdout  # fmt: skip


taken = within("/usr/bin/python3", "-c", "import libapns, ssl; print(ssl.OPENSSL_VERSION, libapns._core.__file__)")
assert taken.startswith("OpenSSL 1.1.1") and "/_openssl_1_1_1/" in taken, taken
simulator = Simulator(push / "certificates", faults={"bad_every": 100})
try:
    inside = {name: "/" + str(pathlib.Path(simulator.ready[name]).relative_to(root)) for name in ("provider", "ca")}
    said = within("/usr/bin/python3", "/push/provider.py", "127.0.0.1", simulator.gateway[1],
                  simulator.feedback[1], inside["provider"], inside["ca"], "/push/notifications")  # fmt: skip
finally:
    simulator.kill()
expected = "lines 500 = accepted 495 + rejected 5 + refused 0 + unknown 0"
assert said.splitlines()[-1] == expected, said
print(f"ok: in Debian 11, {taken.split(' ')[1]}: {expected}")
