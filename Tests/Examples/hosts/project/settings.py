import json
import os

APNS = json.loads(os.environ["APNS_READY"])

SECRET_KEY = "of a test"
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "project.urls"
INSTALLED_APPS = ["django_libapns"]
USE_TZ = True
PUSH_NOTIFICATIONS_SETTINGS = {
    "APNS_AUTH_KEY_PATH": APNS["token_key"],
    "APNS_AUTH_KEY_ID": APNS["token_key_id"],
    "APNS_TEAM_ID": APNS["token_team_id"],
    "APNS_TOPIC": "com.example.app",
    "APNS_CLIENT_OPTIONS": {"host": "127.0.0.1", "port": APNS["http2_port"], "ca_file": APNS["ca"]},
}
CELERY_BROKER_URL = "redis://127.0.0.1/0"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
