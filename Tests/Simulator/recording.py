"""Recordings by hand."""

import hashlib
import json

HEADER = {"apns_recording": 1}


def written(path, *events):
    path.write_text("".join(json.dumps(line) + "\n" for line in (HEADER, *events)))
    return path


def stand_in(device):
    """The device token by which both sides of a replay know the device."""
    return hashlib.sha256(device.encode()).digest()


def push(device, answer=(), *, at=0, connection=1, ms=0, **more):
    """`answer` is a status with a reason, if it has one."""
    answer = dict(zip(("status", "reason"), answer, strict=False))
    return {"at": at, "event": "push", "connection": connection, "device": device, "bytes": 25, "ms": ms, **answer, **more}


def event(name, *, at=0, connection=1, **more):
    return {"at": at, "event": name, "connection": connection, **more}
