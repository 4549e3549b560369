"""PUSH_NOTIFICATIONS_SETTINGS, as django-push-notifications reads it."""

import libapns
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

# Without their prefix, which APPLICATIONS does not have.
CREDENTIALS = {"AUTH_KEY_PATH": "key", "AUTH_KEY_ID": "key_id", "TEAM_ID": "team_id", "CERTIFICATE": "certificate"}


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

    options = {name: given[prefix + key] for key, name in CREDENTIALS.items() if given.get(prefix + key)}
    if "key" in options:
        options.pop("certificate", None)  # the key wins, as there
    elif "certificate" not in options:
        raise ImproperlyConfigured(f"PUSH_NOTIFICATIONS_SETTINGS needs {prefix}AUTH_KEY_PATH or {prefix}CERTIFICATE")
    certificate = options.get("certificate")
    if isinstance(certificate, dict):
        options["certificate"] = certificate["path"]
    elif hasattr(certificate, "path"):
        options["certificate"] = certificate.path

    if given.get(prefix + "TOPIC"):
        options["topic"] = given[prefix + "TOPIC"]
    if given.get(prefix + "USE_SANDBOX"):
        options["environment"] = "sandbox"
    if given.get(prefix + "USE_ALTERNATIVE_PORT"):
        options["port"] = libapns.PORT_HTTP2_OTHER
    return {**options, **given.get(prefix + "CLIENT_OPTIONS", {})}
