#!/bin/sh
# producer.sh QUEUE APP ID TOKEN TEXT: enqueues a notification, once for each id.
set -eu
queue=$1
shift
# What a shell puts between quotes is SQL: a quote in it is written twice.
for word; do
  set -- "$@" "'$(printf '%s' "$word" | sed "s/'/''/g")'"
  shift
done
# json_quote() makes JSON of the text. Others may be writing: SQLite waits for them so many ms.
sqlite3 -bail -cmd '.timeout 30000' "$queue" "
  INSERT OR IGNORE INTO entries (app, id, token, payload)
  VALUES ($1, $2, $3, '{\"aps\":{\"alert\":' || json_quote($4) || '}}');
  SELECT CASE changes() WHEN 0 THEN 'known already' ELSE 'enqueued' END;"
