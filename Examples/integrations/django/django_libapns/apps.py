from django.apps import AppConfig


class LibapnsConfig(AppConfig):
    name = "django_libapns"

    def ready(self):
        try:
            from celery.signals import worker_process_shutdown
        except ImportError:
            return
        from .clients import close

        # Celery's processes end without Python's exit handlers.
        worker_process_shutdown.connect(close, weak=False, dispatch_uid="django_libapns")
