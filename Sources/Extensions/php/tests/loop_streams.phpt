--TEST--
A stream and its session are independent
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
function wait($stream, float $seconds): int
{
    $readable = [$stream];
    $none = [];
    return stream_select($readable, $none, $none, (int) $seconds, (int) (fmod($seconds, 1) * 1e6));
}
function drained(Apns\Session $session): void
{
    $stream = $session->stream();
    while (true) {
        try {
            $session->drain();
            return;
        } catch (Apns\AgainException) {
            wait($stream, 240);
            $session->process();
        }
    }
}

// The stream is closed first.
$session = $simulator->session(nonblocking: true);
$stream = $session->stream();
var_dump(is_resource($stream), (int) $stream !== (int) $session->stream());
$session->send(Simulator::token(1), '{"aps":{}}');
echo wait($stream, 240), ' ', get_debug_type($session->timeoutMs()), "\n";
fclose($stream);
drained($session);
echo $session->stats()['accepted'], " accepted\n";

// Reading returns nothing and disturbs nothing.
$session->send(Simulator::token(1), '{"aps":{}}');
$stream = $session->stream();
echo json_encode([@fread($stream, 10), @fgets($stream)]), "\n";
drained($session);
echo $session->stats()['accepted'], " accepted\n";

// The session is freed first.
unset($session);
echo wait($stream, 0), "\n";
fclose($stream);

// Both still exist when the script ends.
$session = $simulator->session(nonblocking: true);
$stream = $session->stream();
$session->send(Simulator::token(3), '{"aps":{}}');
unset($session);
echo count($simulator->accepted(3)), " at the gateway\n";

$waiting = $simulator->session();
foreach (['stream', 'process', 'timeoutMs'] as $method) echo thrown(fn () => $waiting->$method()), "\n";
echo thrown(fn () => Apns\Session::persistent('one', $simulator->identity(), $simulator->where(), nonblocking: true)), "\n";
--EXPECT--
bool(true)
bool(true)
1 int
1 accepted
[false,false]
2 accepted
0
3 at the gateway
Apns\ArgumentException: the session was made without nonblocking
Apns\ArgumentException: the session was made without nonblocking
Apns\ArgumentException: the session was made without nonblocking
Apns\ArgumentException: a persistent session cannot be nonblocking
