--TEST--
deadline_ms and deadlineMs: a network that swallows all, and nothing waits beyond it
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
$one = fn (int $number, ?int $deadlineMs) => ['token' => Simulator::token($number), 'payload' => '{"aps":{}}', 'userData' => "note $number", 'deadlineMs' => $deadlineMs];
function play(Apns\Session $session): void
{
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
}
$session = new Apns\Session($simulator->credentials(), [...$peer, 'deadline_ms' => 300]);
for ($i = 1; $i <= 3; $i++) $session->send(...$one($i, null));
play($session);
// Its own, where not even a SYN is answered: the listener's queue is full.
$full = stream_socket_server('tcp://127.0.0.1:0', $none, $none, STREAM_SERVER_BIND | STREAM_SERVER_LISTEN, stream_context_create(['socket' => ['backlog' => 0]]));
$peer['port'] = (int) substr(strrchr(stream_socket_get_name($full, false), ':'), 1);
for ($i = 0; $i < 8; $i++) $waiting[] = stream_socket_client("tcp://127.0.0.1:{$peer['port']}", $none, $none, 0, STREAM_CLIENT_ASYNC_CONNECT);
$session = new Apns\Session($simulator->credentials(), [...$peer, 'deadline_ms' => -1]);
$session->send(...$one(4, 200));
$session->sendMany([$one(5, 200), ['deadlineMs' => '200'] + $one(6, null)]);
play($session);
try {
    (new Apns\Session($simulator->credentials(), ['nonblocking' => false] + $peer))->push(Simulator::token(7), '{}', 300);
} catch (Apns\TimeoutException $why) {
    echo "nothing was queued\n";
}
foreach ([0, -2, 1 << 31] as $wrong) {
    foreach ([fn () => $session->send(...$one(7, $wrong)), fn () => $session->sendMany([$one(7, $wrong)])] as $call) echo thrown($call), "\n";
}
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
note 4 expired true
note 5 expired true
note 6 expired true
3
nothing was queued
ValueError: Apns\Session::send(): Argument #12 ($deadlineMs) must be between 1 and 2147483647, -1 or null, 0 given
ValueError: 'deadlineMs' of a notification must be between 1 and 2147483647, -1 or null, 0 given
ValueError: Apns\Session::send(): Argument #12 ($deadlineMs) must be between 1 and 2147483647, -1 or null, -2 given
ValueError: 'deadlineMs' of a notification must be between 1 and 2147483647, -1 or null, -2 given
ValueError: Apns\Session::send(): Argument #12 ($deadlineMs) must be between 1 and 2147483647, -1 or null, 2147483648 given
ValueError: 'deadlineMs' of a notification must be between 1 and 2147483647, -1 or null, 2147483648 given
option 'deadline_ms' must be between -1 and 2147483647, -2 given
