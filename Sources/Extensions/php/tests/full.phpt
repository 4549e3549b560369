--TEST--
A window full of unread outcomes throws, and sending continues once they are read
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$simulator = new Simulator();
$session = $simulator->session(outcomes: 'each', window_bytes: 16384);
$sent = 0;
try {
    while ($sent < 5000) { $session->send(Simulator::token(1), '{"aps":{"alert":"' . str_repeat('x', 200) . '"}}', $sent); $sent++; }
} catch (Apns\FullException $thrown) {
    echo get_class($thrown), "\n";
}
$next = 0;
foreach ($session as $event) { if ($event->userData !== $next++) echo "out of order\n"; }
$session->send(Simulator::token(1), '{"aps":{}}', $sent++);
$session->drain(240000);
foreach ($session as $event) { if ($event->userData !== $next++) echo "out of order\n"; }
var_dump($next === $sent, $sent > 10);
--EXPECT--
Apns\FullException
bool(true)
bool(true)
