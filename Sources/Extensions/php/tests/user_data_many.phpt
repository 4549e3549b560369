--TEST--
The memory for accepted notifications does not grow with their number
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
$session = $simulator->session(window_bytes: 65536);
for ($i = 0; $i < 20000; $i++) {
    $session->send(Simulator::token(1), '{"aps":{}}', new Watched(), more: true);
}
$session->drain(240000);
var_dump(Watched::$alive, Watched::$most < 4096, $session->stats()['accepted']);
--EXPECT--
int(0)
bool(true)
int(20000)
