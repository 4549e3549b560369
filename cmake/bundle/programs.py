"""The tool and the relay in a release, each one static file, with what belongs to them: manual pages,
completions, the relay's service and configuration. And what is in them, with licenses: SwiftNIO,
OpenSSL, glibc and the like are linked in, so a release names and carries their terms."""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from release import output

# Code of others inside Swift packages, with or without a separate license file.
CARRIED = {
    "swift-nio": [("llhttp", "MIT", "https://llhttp.org/")],
    "yams": [("libyaml", "MIT", "https://pyyaml.org/wiki/LibYAML")],
}
PACKAGE_LICENSES = {"grdb.swift": "MIT", "yams": "MIT"}
SWIFT = "Apache-2.0 WITH Swift-exception"
# Covered by Swift's license.
COVERED = {"swift-stdlib", "swift-corelibs-libdispatch", "swift-foundation"}
# The toolchain's own, in a static program.
RUNTIME = [("swift-stdlib", SWIFT, "https://www.swift.org/"), ("swift-corelibs-libdispatch", SWIFT, "https://www.swift.org/"),
           ("swift-foundation", SWIFT, "https://www.swift.org/")]
# System libraries: pkg-config module or nothing, Debian package with the archive, name, license, home.
SYSTEM = [
    ("openssl", "libssl-dev", "openssl", "Apache-2.0", "https://www.openssl.org/"),
    ("libnghttp2", "libnghttp2-dev", "nghttp2", "MIT", "https://nghttp2.org/"),
    ("libcares", "libc-ares-dev", "c-ares", "MIT", "https://c-ares.org/"),
    (None, "libc6-dev", "glibc", "LGPL-2.1-or-later", "https://www.gnu.org/software/libc/"),
    (None, "libstdc++-[0-9]*-dev", "libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org/"),
]
SYSTEM_OF_RELAY = [
    ("sqlite3", "libsqlite3-dev", "sqlite", "blessing", "https://www.sqlite.org/"),
    ("hiredis", "libhiredis-dev", "hiredis", "BSD-3-Clause", "https://github.com/redis/hiredis"),
]


def add(root, built, source, version, date):
    """built: where apns and apns-relay are, stripped."""
    (root / "bin").mkdir()
    for name in ("apns", "apns-relay"):
        shutil.copy(built / name, root / "bin" / name)
        (root / "bin" / name).chmod(0o755)
    tool, relay = root / "bin/apns", root / "bin/apns-relay"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(date)}
    subprocess.run([sys.executable, "-B", source / "Sources/Manual/tool-pages", version, root / "share/man", tool],
                   check=True, stdout=subprocess.DEVNULL, env=environment)
    for shell, place in (("bash", "bash-completion/completions/apns"), ("zsh", "zsh/site-functions/_apns"),
                         ("fish", "fish/vendor_completions.d/apns.fish")):
        file = root / "share" / place
        file.parent.mkdir(parents=True)
        file.write_text(output(tool, "--generate-completion-script", shell))
    service = root / "share/apns-relay"
    service.mkdir()
    shutil.copy(source / "debian/apns-relay.service", service)
    # The program's printed configuration, with the queue in the service's directory, as in the Debian package.
    printed, count = re.subn(r'"queue\.db" *#', '"/var/lib/apns-relay/queue.db"  #', output(relay, "--print-config"))
    if count != 1:
        sys.exit("assemble: apns-relay --print-config has no queue.db")
    (service / "relay.yaml").write_text(printed)
    (service / "relay.yaml").chmod(0o644)


def scratch(program):
    """The directory where swift build made it, which knows the versions of its packages."""
    for directory in pathlib.Path(program).resolve().parents:
        if (directory / "workspace-state.json").exists():
            return directory
    sys.exit(f"assemble: {program} was not made by swift build: no workspace-state.json is above it")


def debian(pattern):
    """Name and version of the installed Debian package, or nothing."""
    try:
        told = output("dpkg-query", "--show", "--showformat=${Package} ${Version} ${db:Status-Abbrev}\n", pattern)
    except (OSError, subprocess.CalledProcessError):
        return None
    found = sorted((line.split()[:2] for line in told.splitlines() if line.split()[2:3] == ["ii"]),
                   key=lambda each: [int(number) for number in re.findall(r"\d+", each[0])])
    return found[-1] if found else None


def components(root, made, swift):
    """Lists the components linked into bin/*: (program, name, version, license, homepage). Writes their
    licenses."""
    found, licenses = [], root / "licenses"

    def keep(name, *files):
        text = []
        for file in files:
            text.append(gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes())
        if text:
            (licenses / f"{name}.txt").write_bytes(b"\n".join(text))
        return bool(text)

    for program, product in made.items():
        place = scratch(product)
        state = json.loads((place / "workspace-state.json").read_text())
        for each in state["object"]["dependencies"]:
            name = each["packageRef"]["identity"]
            checkout = place / "checkouts" / each["subpath"]
            texts = sorted(checkout.glob("LICENSE*")) + sorted(checkout.glob("NOTICE*"))
            if not keep(name, *texts):
                sys.exit(f"assemble: {name} has no license in {checkout}")
            found.append((program, name, each["state"]["checkoutState"]["version"],
                          PACKAGE_LICENSES.get(name, "Apache-2.0"), each["packageRef"]["location"]))
            for carried, license_name, home in CARRIED.get(name, ()):
                version = f"of {name} {each['state']['checkoutState']['version']}"
                found.append((program, carried, version, license_name, home))
        found += [(program, name, swift, license_name, home) for name, license_name, home in RUNTIME]
        if program == "apns-relay":
            found.append((program, "icu", f"of Swift {swift}", "Unicode-3.0", "https://icu.unicode.org/"))
        for module, package, name, license_name, home in SYSTEM + (SYSTEM_OF_RELAY if program == "apns-relay" else []):
            installed = debian(package)
            version = installed[1] if installed else output("pkg-config", "--modversion", module).strip() if module else "unknown"
            if installed:
                keep(name, pathlib.Path("/usr/share/doc", installed[0], "copyright"))
            found.append((program, name, version, license_name, home))
        for file in sorted((place / "checkouts").glob("swift-nio/Sources/CNIOLLHTTP/LICENSE*")):
            keep("llhttp", file)
    for name in ("libyaml", "icu"):
        keep(name, pathlib.Path(__file__).parent / "licenses" / f"{name}.txt")
    missing = {name for _, name, *_ in found} - {path.stem for path in licenses.iterdir()} - COVERED
    if missing:
        sys.exit(f"assemble: no license is here of {', '.join(sorted(missing))}")
    return found
