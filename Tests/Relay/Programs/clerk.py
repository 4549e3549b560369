"""clerk.py PORT FEEDBACK_PORT CERTIFICATE TOKENS: pushes to the tokens in that file with apns-clerk, as its
documentation shows; then reads the feedback list. Prints a line for each reported token, after "packet" or
"feedback"."""
import os
import sys

from apns_clerk import APNs, Message, Session

port, feedback_port, certificate, tokens = sys.argv[1:]
session = Session()
devices = open(tokens).read().split()
# SILENT in the environment: a push that only wakes the app, with the library's default priority.
what = {"content_available": 1} if os.environ.get("SILENT") else {"alert": "Hello"}
message = Message(devices, **what) if devices else None
while message:
    result = APNs(session.get_connection(("localhost", int(port)), cert_file=certificate)).send(message)
    assert not result.errors, result.errors
    for token, (reason, _) in result.failed.items():
        assert reason == 8, reason
        print("packet", token)
    message = result.retry() if result.needs_retry() else None
for token, _ in APNs(session.new_connection(("localhost", int(feedback_port)), cert_file=certificate)).feedback():
    print("feedback", token.decode() if isinstance(token, bytes) else token)
