"""The bill of materials of a release, SPDX 2.3 as JSON: its files, what is compiled into the archive,
and what the system has to have."""

import hashlib
import json
import re
import time
import urllib.parse

NAME = "libapns.spdx.json"
OURS, SWIFT = "Apache-2.0", "Apache-2.0 WITH Swift-exception"
COPYRIGHT = "2026 The libapns authors"
NONE = "NOASSERTION"
LICENSES = {"openssl": "Apache-2.0", "nghttp2": "MIT", "c-ares": "MIT"}
HOMES = {"openssl": "https://www.openssl.org/", "nghttp2": "https://nghttp2.org/", "c-ares": "https://c-ares.org/",
         "swift": "https://www.swift.org/"}
PURPOSES = {"openssl": "TLS, certificates and signatures", "nghttp2": "HTTP/2", "c-ares": "names are looked up with it"}


def identifier(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.]+", "-", name)


def file_identifier(path):
    # Two names may differ in what an identifier cannot have.
    return identifier("File", path) + "-" + hashlib.sha256(path.encode()).hexdigest()[:8]


def kind(path):
    if path.endswith((".a", ".so")) or ".so." in path or path.startswith("bin/"):
        return "BINARY"
    return "DOCUMENTATION" if path.endswith((".md", ".1", ".3", ".txt")) or "LICENSE" in path else "SOURCE"


def described(path, root, inside):
    content, name = path.read_bytes(), str(path.relative_to(root))
    is_swift, has_swift = name == "licenses/Swift.txt", name.startswith("lib/libapns.")
    license_name = SWIFT if is_swift else OURS
    terms = sorted({each[3] for each in inside if name == f"bin/{each[0]}"} | {OURS})
    others = {f"licenses/{each[1]}.txt": each[3] for each in inside}
    if name in others:
        return entry(name, content, others[name], [others[name]], NONE)
    if name.startswith("bin/"):
        return entry(name, content, " AND ".join(f"({each})" if " AND " in each else each for each in terms), terms, NONE)
    return entry(name, content, f"{OURS} AND {SWIFT}" if has_swift else license_name,
                 [OURS, SWIFT] if has_swift else [license_name], NONE if is_swift else COPYRIGHT)


def entry(name, content, concluded, licenses, copyright_text):
    return {
        "SPDXID": file_identifier(name),
        "fileName": f"./{name}",
        "fileTypes": [kind(name)],
        "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
                      {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()}],
        "licenseConcluded": concluded,
        "licenseInfoInFiles": licenses,
        "copyrightText": copyright_text,
    }


def verification_code(entries):
    sums = sorted(each["checksums"][0]["checksumValue"] for each in entries)
    return hashlib.sha1("".join(sums).encode()).hexdigest()


def dependency(name, version, license_name, comment, home=None, identity=None):
    return {
        "SPDXID": identifier("Package", identity or name),
        "name": name,
        "versionInfo": version,
        "downloadLocation": NONE,
        "homepage": home or HOMES[name.partition("-std")[0]],
        "filesAnalyzed": False,
        "licenseConcluded": license_name,
        "licenseDeclared": license_name,
        "copyrightText": NONE,
        "comment": comment,
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:generic/{urllib.parse.quote(name)}@{urllib.parse.quote(version)}"}],
    }


def relation(one, kind_of, other):
    return {"spdxElementId": one, "relationshipType": kind_of, "relatedSpdxElement": other}


def write(root, paths, name, version, date, swift, dependencies, inside, *, product="libapns", suffix=".tar.xz"):
    """inside: what is linked into the programs, as programs.components() tells it."""
    entries = [described(path, root, inside) for path in paths]
    code = verification_code(entries)
    main, runtime = identifier("Package", product), identifier("Package", "swift-stdlib")
    all_terms = sorted({OURS, SWIFT} | {each[3] for each in inside})
    package = {
        "SPDXID": main,
        "name": product,
        "versionInfo": version,
        "packageFileName": name + suffix,
        "supplier": "Organization: The libapns maintainers",
        "downloadLocation": NONE,
        "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": code,
                                    "packageVerificationCodeExcludedFiles": [f"./{NAME}", "./SHA256SUMS"]},
        "licenseConcluded": " AND ".join(all_terms),
        "licenseInfoFromFiles": all_terms,
        "licenseDeclared": OURS,
        "copyrightText": COPYRIGHT,
        "primaryPackagePurpose": "LIBRARY",
    }
    libraries = [each["SPDXID"] for each in entries if each["fileName"].startswith("./lib/libapns.")]
    where = "compiled into libapns.a and libapns.so" if libraries else "linked into programs of bin"
    packages = [package, dependency("swift-stdlib", swift, SWIFT,
                                    f"Parts of the {'Embedded ' if libraries else ''}standard library are {where}.")]
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", main)]
    relations += [relation(main, "CONTAINS", each["SPDXID"]) for each in entries]
    relations += [relation(each, "STATIC_LINK", runtime) for each in libraries]
    for other, built_with in dependencies.items():
        comment = f"{PURPOSES[other]}. The system's own is used; this is the version that the release was built with."
        packages.append(dependency(other, built_with, LICENSES[other], comment))
        relations.append(relation(main, "DEPENDS_ON", identifier("Package", other)))
    # In the programs it is all linked in, with the version that the build had: another than the system's.
    packaged = {}
    for program, other, other_version, license_name, home in inside:
        if other == "swift-stdlib":
            relations.append(relation(file_identifier(f"bin/{program}"), "STATIC_LINK", runtime))
            continue
        key = f"in-programs-{other}"
        if key not in packaged:
            packaged[key] = dependency(other, other_version, license_name, "Linked into programs of bin.", home, key)
            packages.append(packaged[key])
        relations.append(relation(file_identifier(f"bin/{program}"), "STATIC_LINK", identifier("Package", key)))
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://libapns.invalid/spdx/{name}-{code}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(date)),
                         "creators": ["Organization: The libapns maintainers", f"Tool: libapns-assemble-{version}"]},
        "packages": packages,
        "files": entries,
        "relationships": relations,
    }
    (root / NAME).write_text(json.dumps(document, indent=1) + "\n")
