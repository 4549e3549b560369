--TEST--
deadline_ms: a network that swallows all, and nothing waits beyond it
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
$silent = stream_socket_server('tcp://127.0.0.1:0');
$port = (int) substr(strrchr(stream_socket_get_name($silent, false), ':'), 1);
$peer = ['host' => '127.0.0.1', 'port' => $port, 'protocol' => 'binary', 'nonblocking' => true];
$session = new Apns\Session($simulator->credentials(), [...$peer, 'deadline_ms' => 300]);
for ($i = 1; $i <= 3; $i++) $session->send(Simulator::token($i), '{"aps":{}}', "note $i");
while ($session->stats()['unresolved'] > 0) {
    [$readable, $none] = [[$session->stream()], null];
    if (!stream_select($readable, $none, $none, 240)) die("nothing comes\n");
    try {
        $session->process();
    } catch (Apns\Exception $why) {
        // No connection can be made.
    }
}
foreach ($session->events() as $event) {
    echo "$event->userData {$event->kind->value} ", var_export($event->isExpired(), true), "\n";
}
echo $session->stats()['expired'], "\n";
try {
    new Apns\Session($simulator->credentials(), [...$peer, 'deadline_ms' => -2]);
} catch (ValueError $why) {
    echo $why->getMessage(), "\n";
}
--EXPECT--
note 1 expired true
note 2 expired true
note 3 expired true
3
option 'deadline_ms' must be between -1 and 2147483647, -2 given
