"""Reads django-push-notifications' settings, and prints "ok" if each gives the right arguments of a client."""

import json
import pathlib

import django
import libapns
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

django.setup()

from django_libapns import apns, conf  # noqa: E402

KEY = {"APNS_AUTH_KEY_PATH": "/a.p8", "APNS_AUTH_KEY_ID": "KEY", "APNS_TEAM_ID": "TEAM", "APNS_TOPIC": "com.example"}
AS_KEY = {"key": "/a.p8", "key_id": "KEY", "team_id": "TEAM", "topic": "com.example"}
APPLICATIONS = {"one": {"PLATFORM": "APNS", "CERTIFICATE": "/one.pem", "TOPIC": "com.example.one"}}


class File:
    path = "/b.pem"


for given, application, expected in (
    (KEY, None, AS_KEY),
    ({**KEY, "APNS_CERTIFICATE": "/a.pem"}, None, AS_KEY),
    ({**KEY, "APNS_USE_SANDBOX": True}, None, {**AS_KEY, "environment": "sandbox"}),
    ({**KEY, "APNS_AUTH_KEY_ID": None, "APNS_CERTIFICATE": "/a.pem"}, None, {"certificate": "/a.pem", "topic": "com.example"}),
    ({**KEY, "APNS_AUTH_KEY_ID": None}, None, None),
    ({**KEY, "APNS_USE_SANDBOX": False, "APNS_USE_ALTERNATIVE_PORT": True}, None, {**AS_KEY, "port": 2197}),
    ({"APNS_CERTIFICATE": pathlib.Path("/a.pem")}, None, {"certificate": pathlib.Path("/a.pem")}),
    ({"APNS_CERTIFICATE": {"path": "/a.pem"}}, None, {"certificate": "/a.pem"}),
    ({"APNS_CERTIFICATE": File()}, None, {"certificate": "/b.pem"}),
    ({"APPLICATIONS": APPLICATIONS}, "one", {"certificate": "/one.pem", "topic": "com.example.one"}),
    ({"APPLICATIONS": APPLICATIONS}, "two", None),
    ({}, None, None),
):
    with override_settings(PUSH_NOTIFICATIONS_SETTINGS=given):
        try:
            found = conf.client_options(application)
        except ImproperlyConfigured:
            found = None
    assert found == expected, (given, found)

# Without a setting, a site with DEBUG and one app uses the sandbox.
for given, application, expected in (
    (KEY, None, "sandbox"),
    ({**KEY, "APNS_USE_SANDBOX": False}, None, None),
    ({"APPLICATIONS": APPLICATIONS}, "one", None),
):
    with override_settings(DEBUG=True, PUSH_NOTIFICATIONS_SETTINGS=given):
        assert conf.client_options(application).get("environment") == expected, given

whole = apns.make_payload(
    "Hello", badge=0, sound="default", category="c", content_available=True, mutable_content=True, thread_id="t",
    extra={"id": 7},
)  # fmt: skip
assert whole == {
    "aps": {"alert": "Hello", "badge": 0, "sound": "default", "category": "c", "thread-id": "t",
            "content-available": 1, "mutable-content": 1},
    "id": 7,
}  # fmt: skip
assert libapns.check_payload(json.dumps(whole)) == []
assert apns.make_payload(None, content_available=True) == {"aps": {"content-available": 1}}
assert apns.make_payload("Hi", loc_key="k")["aps"]["alert"] == {"body": "Hi", "loc-key": "k"}
print("ok")
