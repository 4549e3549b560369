"""libapns as in Documentation/PYTHON.md: push_many() of one client. The CA is in the option ca_file. The second row has
delivery="at_most_once"."""

import sys

import libapns
from programs import DAY, HOST, PAYLOAD, believe, halves

options = {"delivery": sys.argv[2]} if len(sys.argv) > 2 else {}
client = libapns.Client(
    key=DAY["key"], key_id=DAY["key_id"], team_id=DAY["team_id"], topic=DAY["topic"], ca_file=DAY["ca"], host=HOST,
    port=DAY["port"], **options)
for part in halves():
    notifications = ((token, PAYLOAD) for token in part)
    for event in client.push_many(notifications):
        word = event.kind.name.lower()
        believe(event.token.hex(), f"{word} {event.reason_text}" if event.is_rejected else word)
client.close()
