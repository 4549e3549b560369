#!/bin/sh
# producer.sh REDIS APP ID TOKEN PAYLOAD: enqueues a notification in Redis, once for each ID.
# REDIS is host:port, or the path of a socket; the password is in REDISCLI_AUTH, which redis-cli reads.
set -eu
app=$2 id=$3 token=$4 payload=$5
case $1 in
  /*) set -- -s "$1" ;;
  *) set -- -h "${1%:*}" -p "${1##*:}" ;;
esac
# If the reply is lost, add it again: relays push only the first entry with an ID.
answer=$(redis-cli "$@" XADD "apns:{$app}:in" '*' id "$id" token "$token" payload "$payload")
# The reply is the entry's number, such as 1700000000000-0, or an error.
case $answer in
  [0-9]*-[0-9]*) echo enqueued ;;
  *) echo "$answer" >&2 && exit 1 ;;
esac
