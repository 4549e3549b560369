"""sbom.py BUNDLE: the bill of materials names every file with its checksums, and the library's dependencies with the
installed versions. If spdx-tools is installed, it validates the whole."""

import hashlib
import json
import pathlib
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
document = json.loads((root / "libapns.spdx.json").read_text())
assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0", document["spdxVersion"]

# It cannot name itself, nor the checksum file, which has its checksum.
present = {f"./{path.relative_to(root)}": path for path in root.rglob("*") if path.is_file() and not path.is_symlink()}
for excluded in ("./libapns.spdx.json", "./SHA256SUMS"):
    del present[excluded]
named = {each["fileName"]: each for each in document["files"]}
assert named.keys() == present.keys(), named.keys() ^ present.keys()
for name, entry in named.items():
    content = present[name].read_bytes()
    sums = {each["algorithm"]: each["checksumValue"] for each in entry["checksums"]}
    assert sums == {"SHA1": hashlib.sha1(content).hexdigest(), "SHA256": hashlib.sha256(content).hexdigest()}, name

inside = {each["SPDXID"]: each for each in document["packages"] if "-in-programs-" in each["SPDXID"]}
packages = {each["name"]: each for each in document["packages"] if each["SPDXID"] not in inside}
code = hashlib.sha1("".join(sorted(hashlib.sha1(path.read_bytes()).hexdigest() for path in present.values())).encode())
told = packages["libapns"]["packageVerificationCode"]
assert told["packageVerificationCodeValue"] == code.hexdigest(), told

known = [document["SPDXID"], *(each["SPDXID"] for each in document["packages"] + document["files"])]
assert len(known) == len(set(known)), "identifiers are not unique"
for relation in document["relationships"]:
    assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= set(known), relation

# The archive's dependencies are those of pkg-config --static, in the installed versions.
requires = (root / "lib/pkgconfig/apns.pc").read_text()
for name, module in (("openssl", "openssl"), ("nghttp2", "libnghttp2"), ("c-ares", "libcares")):
    if name != "openssl" and module not in requires:
        assert name not in packages, name
        continue
    version = subprocess.run(["pkg-config", "--modversion", module], check=True, capture_output=True, text=True).stdout
    assert packages[name]["versionInfo"] == version.strip(), (name, packages[name]["versionInfo"], version)
assert packages["swift-stdlib"]["versionInfo"], "Swift's version is missing"

# A program contains the libraries that the linker added, whose licenses are in the release.
for program in sorted((root / "bin").glob("*")) if (root / "bin").exists() else []:
    linked = {inside[relation["relatedSpdxElement"]]["name"] for relation in document["relationships"]
              if relation["spdxElementId"] == named[f"./bin/{program.name}"]["SPDXID"] and relation["relatedSpdxElement"] in inside}
    content = program.read_bytes()
    signs = {"openssl": b"OpenSSL 3.", "swift-nio": b"NIOPosix", "sqlite": b"SQLite format 3",
             "grdb.swift": b"GRDB", "libyaml": b"did not find expected", "glibc": b"GNU C Library", "icu": b"icudt"}
    found = {name for name, sign in signs.items() if sign in content}
    assert {"openssl", "swift-nio"} <= found, f"{program.name} lacks a library that it must contain: {found}"
    assert found <= linked, f"{program.name} contains {found - linked}, which the bill does not name"
    missing = [name for name in linked if not (root / "licenses" / f"{name}.txt").exists()
               and name not in ("swift-corelibs-libdispatch", "swift-foundation")]
    assert not missing, missing
    assert not {each["versionInfo"] for each in inside.values()} & {"", "unknown"}

judged = "spdx-tools is not installed to check it"
try:
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
except ImportError:
    pass
else:
    found = validate_full_spdx_document(parse_file(str(root / "libapns.spdx.json")))
    assert not found, [each.validation_message for each in found]
    judged = "valid by spdx-tools"
print(f"ok: the bill of materials has {len(named)} files and {len(document['packages'])} packages; {judged}")
