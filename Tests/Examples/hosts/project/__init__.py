"""A Django project with django_libapns, for gunicorn, uvicorn and Celery."""

from .queue import app as celery_app

__all__ = ["celery_app"]
