import os

import libapns
from django.http import HttpResponse, JsonResponse
from django.urls import path
from django_libapns.apns import apns_asend_message, apns_submit_message

from .told import tell


def alive(request):
    return JsonResponse({"process": os.getpid()})


def push(request, token):
    """Answers without waiting for APNs."""

    def end(future):
        event = future.result()
        if not event.is_rejected:
            tell(token, "sent" if event.is_accepted else "not sent", event.why)

    apns_submit_message(token, "Hello", badge=1).add_done_callback(end)
    return HttpResponse(status=204)


async def apush(request, token):
    """Answers when APNs has, or after a second."""
    try:
        await apns_asend_message(token, "Hello", badge=1, timeout=1)
    except libapns.NotAcceptedError as error:
        told = "gone" if error.event.is_rejected else "in doubt" if error.event.is_unknown else "not sent"
        return JsonResponse({"told": told, "why": error.event.why})
    except libapns.Error as error:
        return JsonResponse({"told": "not sent", "why": str(error)})
    return JsonResponse({"told": "sent"})


urlpatterns = [path("", alive), path("push/<token>", push), path("apush/<token>", apush)]
