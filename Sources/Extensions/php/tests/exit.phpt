--TEST--
exit() in any place: queued notifications still arrive
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
register_shutdown_function(function () use ($simulator) {
    unset($GLOBALS['session']);
    echo count($simulator->accepted(3)), " accepted\n";
});
$session = $simulator->session();
$session->send(Simulator::token(1), '{"aps":{}}', more: true);
$session->sendMany((function () {
    yield ['token' => Simulator::token(2), 'payload' => '{"aps":{}}'];
    yield ['token' => Simulator::token(3), 'payload' => '{"aps":{}}'];
    exit("exit in a generator\n");
})());
--EXPECT--
exit in a generator
3 accepted
