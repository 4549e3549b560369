#!/usr/bin/env python3
"""producer.py QUEUE APP ID TOKEN TEXT: enqueues a notification, once for each ID."""

import json
import sqlite3
import sys

queue, app, identifier, token, text = sys.argv[1:]
payload = json.dumps({"aps": {"alert": text}}, ensure_ascii=False)
# SQLite waits up to this many seconds for other writers.
database = sqlite3.connect(queue, timeout=30)
with database:  # a transaction; a committed notification is not lost
    added = database.execute(
        "INSERT OR IGNORE INTO entries (app, id, token, payload) VALUES (?, ?, ?, ?)",
        (app, identifier, token, payload),
    ).rowcount
database.close()
print("enqueued" if added else "known already")
