<?php
// php producer.php QUEUE APP ID TOKEN TEXT: enqueues a notification, once for each ID.
[, $queue, $app, $id, $token, $text] = $argv;
$payload = json_encode(['aps' => ['alert' => $text]], JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
// SQLite waits up to this many seconds for other writers.
$database = new PDO("sqlite:$queue", options: [PDO::ATTR_TIMEOUT => 30, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
// A single statement is a transaction. A committed notification is not lost.
$add = $database->prepare('INSERT OR IGNORE INTO entries (app, id, token, payload) VALUES (?, ?, ?, ?)');
$add->execute([$app, $id, $token, $payload]);
echo $add->rowCount() ? "enqueued\n" : "known already\n";
