<?php
// php producer.php REDIS APP ID TOKEN TEXT: enqueues a notification in Redis, once for each ID.
// REDIS is host:port, or the path of a socket; the password is in REDISCLI_AUTH.
[, $place, $app, $id, $token, $text] = $argv;
$payload = json_encode(['aps' => ['alert' => $text]], JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
[$host, $port] = $place[0] === '/' ? [$place, 0] : explode(':', $place);
$redis = new Redis();
$redis->connect($host, (int) $port, 10);
if ($password = getenv('REDISCLI_AUTH')) {
    $redis->auth($password);
}
// If the reply is lost, add it again: relays push only the first entry with an ID.
$redis->xAdd('apns:{' . $app . '}:in', '*', ['id' => $id, 'token' => $token, 'payload' => $payload])
    || throw new RedisException($redis->getLastError());
echo "enqueued\n";
