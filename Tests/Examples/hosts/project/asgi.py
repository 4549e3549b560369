from django.core.asgi import get_asgi_application
from django_libapns.asgi import closing

application = closing(get_asgi_application())
