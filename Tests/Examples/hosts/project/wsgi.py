import os

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()

from django_libapns.apns import apns_send_message  # noqa: E402

# gunicorn --preload runs this before it forks: the parent has a client then, which its workers must not use.
apns_send_message(os.environ["APNS_FIRST"], "The site starts")
