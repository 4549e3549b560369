"""For Celery: a task that is repeated until APNs has answered."""

import libapns
from celery import shared_task
from celery.utils.time import get_exponential_backoff_interval

from . import apns


@shared_task(bind=True, acks_late=True, reject_on_worker_lost=True, max_retries=None)
def apns_send_message(self, registration_id, alert, **kwargs):
    """Returns why the notification was accepted or rejected. It is delivered at least once."""
    try:
        return apns.apns_send_message(registration_id, alert, **kwargs).why
    except libapns.NotAcceptedError as error:
        if error.event.is_rejected:
            return error.event.why
        failure = error
    except libapns.Error as error:
        if not error.is_retryable:
            raise
        failure = error
    countdown = get_exponential_backoff_interval(1, self.request.retries, 60, full_jitter=True)
    raise self.retry(exc=failure, countdown=countdown)
