#!/usr/bin/env python3
"""producer.py REDIS APP ID TOKEN TEXT: enqueues a notification in Redis, once for each ID.

REDIS is host:port, or the path of a socket; the password is in REDISCLI_AUTH."""

import json
import os
import sys

import redis

place, app, identifier, token, text = sys.argv[1:]
payload = json.dumps({"aps": {"alert": text}}, ensure_ascii=False)
host, _, port = place.rpartition(":")
where = {"unix_socket_path": place} if place.startswith("/") else {"host": host, "port": int(port)}
queue = redis.Redis(password=os.environ.get("REDISCLI_AUTH"), **where)
# If the reply is lost, add it again: relays push only the first entry with an ID.
queue.xadd(f"apns:{{{app}}}:in", {"id": identifier, "token": token, "payload": payload})
print("enqueued")
