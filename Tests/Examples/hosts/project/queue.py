import os

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
app = Celery("project")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.task_success.connect
def succeed(sender, result, **kwargs):
    from .told import tell

    if result.startswith("accepted"):
        tell(sender.request.args[0], "sent", result)


@signals.task_retry.connect
def retry(sender, request, reason, **kwargs):
    from .told import tell

    tell(request.args[0], "again", reason)
