"""Queues a notification in Celery for each token of the standard input."""

import sys

import django

django.setup()

from django_libapns.tasks import apns_send_message  # noqa: E402

for line in sys.stdin:
    apns_send_message.delay(line.strip(), "Hello", badge=1, timeout=1)
