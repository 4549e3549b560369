"""django_push.py PORT FEEDBACK_PORT CERTIFICATE TOKENS: pushes to the tokens in that file with
django-push-notifications, which continues after a bad one; then reads the feedback list. Prints a line for each
reported token, after "packet" or "feedback"."""
import os
import sys

from django.conf import settings

port, feedback_port, certificate, file = sys.argv[1:]
settings.configure(PUSH_NOTIFICATIONS_SETTINGS={
    "APNS_CERTIFICATE": certificate, "APNS_HOST": "localhost", "APNS_PORT": int(port),
    "APNS_FEEDBACK_HOST": "localhost", "APNS_FEEDBACK_PORT": int(feedback_port), "APNS_ERROR_TIMEOUT": 3})

from push_notifications.apns import APNSServerError, apns_fetch_inactive_ids, apns_send_bulk_message  # noqa: E402

tokens = open(file).read().split()
while tokens:
    try:
        # SILENT in the environment: a push that only wakes the app, with the library's default priority.
        if os.environ.get("SILENT"):
            apns_send_bulk_message(tokens, None, content_available=True)
        else:
            apns_send_bulk_message(tokens, "Hello")
        break
    except APNSServerError as error:
        assert error.status == 8, error
        print("packet", tokens[error.identifier])
        tokens = tokens[error.identifier + 1 :]
for token in apns_fetch_inactive_ids():
    print("feedback", token.decode())
