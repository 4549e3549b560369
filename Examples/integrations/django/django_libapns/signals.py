from django.dispatch import Signal

# APNs rejected a notification. The receivers get `token` in hex, `event`, a libapns.Event, `application_id`, and
# `is_gone`, which is true if nothing should be sent to that token any more.
notification_rejected = Signal()
