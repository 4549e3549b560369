#!/bin/sh
# producer.sh QUEUE APP ID TOKEN TEXT: enqueues a notification, once for each ID.
set -eu
queue=$1
shift
# The arguments become SQL strings, so double each quote in them.
for word; do
  set -- "$@" "'$(printf '%s' "$word" | sed "s/'/''/g")'"
  shift
done
# json_quote() makes JSON of the text. SQLite waits up to 30,000 ms for other writers.
sqlite3 -bail -cmd '.timeout 30000' "$queue" "
  INSERT OR IGNORE INTO entries (app, id, token, payload)
  VALUES ($1, $2, $3, '{\"aps\":{\"alert\":' || json_quote($4) || '}}');
  SELECT CASE changes() WHEN 0 THEN 'known already' ELSE 'enqueued' END;"
