--TEST--
A closed session still returns outcomes
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$simulator = new Simulator(['sentinel' => 'none']);
$session = $simulator->session();
for ($i = 0; $i < 3; $i++) $session->send(Simulator::token(1), '{"aps":{}}', $i);
$session->close(100);
foreach ($session->events(1000) as $event) echo "$event->userData: $event\n";
var_dump($session->nextEvent(1000), $session->stats()['unknown']);
$session->close();
echo thrown(fn () => $session->drain(0)), "\n";
--EXPECT--
0: unknown: no answer came: the session was closed before it was proven
1: unknown: no answer came: the session was closed before it was proven
2: unknown: no answer came: the session was closed before it was proven
NULL
int(3)
Apns\ClosedException: the session was closed
