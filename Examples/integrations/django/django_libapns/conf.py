"""PUSH_NOTIFICATIONS_SETTINGS, as django-push-notifications reads it."""

import libapns
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

# Without their prefix, which APPLICATIONS does not have.
KEY = {"AUTH_KEY_PATH": "key", "AUTH_KEY_ID": "key_id", "TEAM_ID": "team_id"}


def client_options(application_id=None):
    """The arguments of libapns.Client for an application, or for the only one."""
    given = getattr(settings, "PUSH_NOTIFICATIONS_SETTINGS", {})
    prefix = "APNS_"
    if application_id is not None:
        try:
            given, prefix = given["APPLICATIONS"][application_id], ""
        except KeyError:
            message = f"PUSH_NOTIFICATIONS_SETTINGS has no application {application_id!r}"
            raise ImproperlyConfigured(message) from None

    options = {name: given[prefix + key] for key, name in KEY.items() if given.get(prefix + key)}
    certificate = given.get(prefix + "CERTIFICATE")
    if len(options) < len(KEY):  # a whole key wins, as there
        if not certificate:
            needed = ", ".join(prefix + key for key in KEY)
            raise ImproperlyConfigured(f"PUSH_NOTIFICATIONS_SETTINGS needs {needed}, or {prefix}CERTIFICATE")
        path = certificate["path"] if isinstance(certificate, dict) else getattr(certificate, "path", certificate)
        options = {"certificate": path}

    if given.get(prefix + "TOPIC"):
        options["topic"] = given[prefix + "TOPIC"]
    # Without APPLICATIONS a site with DEBUG uses the sandbox, as there.
    if given.get(prefix + "USE_SANDBOX", settings.DEBUG and application_id is None):
        options["environment"] = "sandbox"
    if given.get(prefix + "USE_ALTERNATIVE_PORT"):
        options["port"] = libapns.PORT_HTTP2_OTHER
    return {**options, **given.get(prefix + "CLIENT_OPTIONS", {})}
