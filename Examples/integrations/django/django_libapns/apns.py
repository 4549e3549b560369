"""The functions of push_notifications.apns, and the same without waiting and for async views."""

import logging

import libapns
from django.db import close_old_connections

from .clients import get_async_client, get_client
from .signals import notification_rejected

logger = logging.getLogger("django_libapns")


def make_payload(
    alert, *, badge=None, sound=None, category=None, content_available=False, mutable_content=False, thread_id=None,
    loc_key=None, loc_args=None, extra=None,
):  # fmt: skip
    if loc_key or loc_args:
        parts = {"body": alert, "loc-key": loc_key, "loc-args": loc_args}
        alert = {name: value for name, value in parts.items() if value}
    aps = {
        "alert": alert, "badge": badge, "sound": sound, "category": category, "thread-id": thread_id,
        "content-available": 1 if content_available else None, "mutable-content": 1 if mutable_content else None,
    }  # fmt: skip
    return {"aps": {name: value for name, value in aps.items() if value is not None}, **(extra or {})}


def _split(alert, expiration=None, priority=None, collapse_id=None, push_type=None, topic=None, **keys):
    """The payload, and the options of the client's methods."""
    options = {"expiry": expiration, "priority": priority, "collapse_id": collapse_id, "push_type": push_type, "topic": topic}
    return make_payload(alert, **keys), options


def tell(event, application_id):
    """Sends the signal if APNs has rejected the notification."""
    if event.is_rejected:
        notification_rejected.send_robust(
            sender=None, token=event.token.hex(), event=event, application_id=application_id,
            is_gone=event.has_invalid_token,
        )  # fmt: skip
    return event


def apns_send_message(registration_id, alert, application_id=None, timeout=None, **kwargs):
    """Pushes to one device and returns the outcome; libapns.NotAcceptedError has the reason of a rejection."""
    payload, options = _split(alert, **kwargs)
    event = get_client(application_id).push(registration_id, payload, timeout=timeout, **options)
    tell(event, application_id)
    event.raise_unless_accepted()
    return event


def apns_send_bulk_message(registration_ids, alert, application_id=None, **kwargs):
    """Pushes to many devices and returns "Success", or why not, for each token."""
    payload, options = _split(alert, **kwargs)
    notifications = (libapns.Notification(one, payload, user_data=one, **options) for one in registration_ids)
    results = {}
    for event in get_client(application_id).push_many(notifications):
        tell(event, application_id)
        results[event.user_data] = "Success" if event.is_accepted else event.reason_text or event.why
    return results


def apns_submit_message(registration_id, alert, application_id=None, **kwargs):
    """Queues a notification and returns a future of its outcome. Does not wait for APNs."""
    payload, options = _split(alert, **kwargs)
    future = get_client(application_id).submit(registration_id, payload, **options)

    def end(future):
        if future.cancelled():
            return
        # In the client's thread, where receivers may use the database.
        close_old_connections()
        try:
            event = tell(future.result(), application_id)
            if not event.is_accepted and not event.is_rejected:
                logger.error("%s: %s", registration_id, event.why)
        except Exception:
            logger.exception("%s", registration_id)
        finally:
            close_old_connections()

    future.add_done_callback(end)
    return future


async def apns_asend_message(registration_id, alert, application_id=None, timeout=None, **kwargs):
    """apns_send_message() for async views; receivers of the signal run in the event loop."""
    payload, options = _split(alert, **kwargs)
    event = await get_async_client(application_id).push(registration_id, payload, timeout=timeout, **options)
    tell(event, application_id)
    event.raise_unless_accepted()
    return event
