"""Which OpenSSL the library inside works with: 3, or 1.1.1.

A wheel has the module _core twice, for either OpenSSL, in two directories. Each looks for the
system's when it is loaded: so its security updates count, and the wheel runs on any distribution.
The one for Python's own OpenSSL is imported, so that a process has one only, else the newest that
is there. The environment variable APNS_OPENSSL, "3" or "1.1.1", overrides that. A package that
was built for one system has one _core, and no choice.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import MutableSequence

_DIRECTORIES = {"3": "_openssl_3", "1.1.1": "_openssl_1_1_1"}


def load_core(path: MutableSequence[str]) -> None:
    """Imports _core, and adds the directory where it was found to the package's path."""
    if importlib.util.find_spec("libapns._core"):
        return
    package, failures = list(path), []
    for version in _order():
        path.extend(os.path.join(place, _DIRECTORIES[version]) for place in package)
        try:
            importlib.import_module("libapns._core")
            return
        except ImportError as error:
            path[:] = package
            # Any other failure has nothing to do with OpenSSL.
            if "libssl.so" not in str(error) and "libcrypto.so" not in str(error):
                raise
            failures.append(f"{version} ({error})")
    raise ImportError(f"libapns needs OpenSSL, and cannot load {' nor '.join(failures)}")


def _order() -> list[str]:
    asked = os.environ.get("APNS_OPENSSL")
    if asked:
        if asked not in _DIRECTORIES:
            raise ImportError(f"APNS_OPENSSL is {asked!r}; it may be {' or '.join(_DIRECTORIES)}")
        return [asked]
    try:
        from _ssl import OPENSSL_VERSION_INFO
    except ImportError:  # a Python without, or whose OpenSSL is not there
        return list(_DIRECTORIES)
    return ["3", "1.1.1"] if OPENSSL_VERSION_INFO[0] >= 3 else ["1.1.1", "3"]
