"""Records what a session sees of the service, for `apns simulate --replay`: Documentation/RECORDINGS.md.

    recorder = Recorder("day.jsonl")
    with libapns.Session(credentials, topic="com.example.app", log=recorder.line) as session:
        session.send(token, payload, user_data=recorder.sending(token, payload))
        for event in session.events(None):
            recorder.outcome(event)

It has a notification's last response. Those that the session retried are not in its outcomes.
"""

from __future__ import annotations

import hashlib
import json
import os
import time

import libapns


class Recorder:
    _EVENTS = {
        libapns.LogKind.CONNECTED: "opened",
        libapns.LogKind.CONNECT_FAILED: "refused",
        libapns.LogKind.GOAWAY: "goaway",
        libapns.LogKind.DISCONNECTED: "closed",
    }

    def __init__(self, path: str) -> None:
        self._key = os.urandom(32)  # nobody can find a token's hash again
        self._began = time.monotonic()
        self._file = open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8")
        self._write({"apns_recording": 1})

    def _now(self) -> int:
        return int((time.monotonic() - self._began) * 1000)

    def _write(self, line: dict[str, object]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def line(self, line: libapns.LogLine) -> None:
        if event := self._EVENTS.get(line.kind):
            self._write({"at": self._now(), "event": event, "connection": line.connection, "ms": line.seconds * 1000})

    def sending(self, token: str, payload: bytes) -> dict[str, object]:
        device = hashlib.sha256(self._key + token.lower().encode()).hexdigest()[:32]
        return {"at": self._now(), "event": "push", "device": device, "bytes": len(payload)}

    def outcome(self, event: libapns.Event) -> None:
        push = event.user_data
        push["ms"] = self._now() - push["at"]
        if event.http_status:
            push |= {"status": event.http_status, "reason": event.reason_text or ""}
        self._write(push)
