"""Writes the outcome of each notification in a line of a file."""

import json
import os

from django.dispatch import receiver
from django_libapns.signals import notification_rejected


def tell(token, told, why=""):
    line = json.dumps({"token": token, "told": told, "why": str(why), "process": os.getpid()})
    with open(os.environ["APNS_TOLD"], "a") as log:
        log.write(line + "\n")


@receiver(notification_rejected)
def forget(token, event, is_gone, **kwargs):
    tell(token, "gone" if is_gone else "rejected", event.why)
