"""Push notifications to Apple devices: a client for each process, with django-push-notifications' settings."""
