"""What every file of a release needs: its date, the Swift it was made with, and that Swift's terms."""

import os
import pathlib
import re
import shutil
import subprocess


def output(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def source_date(source):
    """When the sources were made: as the caller says, as git says, or as the source tarball says."""
    if told := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(told)
    if (source / ".git").exists():
        return int(output("git", "-C", source, "log", "-1", "--format=%ct"))
    return int((source / "CHANGELOG.md").stat().st_mtime)


def swift_version(swift):
    return re.search(r"Swift version ([\d.]+)", output(swift, "--version"))[1]


def swift_license(swift):
    toolchain = pathlib.Path(os.path.realpath(shutil.which(swift))).parents[1]
    return toolchain / "share/swift/LICENSE.txt"
