--TEST--
Arrays and generators, and failures in the middle
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
$session = $simulator->session();
$good = fn (int $n) => ['token' => Simulator::token($n), 'payload' => ['aps' => ['badge' => $n]], 'userData' => $n];
var_dump($session->sendMany(array_map($good, range(1, 100))));
var_dump($session->sendMany((function () use ($good) { foreach (range(1, 50) as $n) yield $good($n); })()));
var_dump($session->sendMany(new ArrayIterator([])), $session->sendMany([]));
$session->drain(240000);
var_dump($session->stats()['accepted']);

foreach ([
    'a bad token' => [$good(1), $good(2), ['token' => 'zz', 'payload' => '{}'], $good(3)],
    'no token' => [['payload' => '{}']],
    'no payload' => [['token' => Simulator::token(1)]],
    'no array' => [$good(1), 'token'],
    'expiry' => [$good(1) + ['expiry' => 'soon']],
    'priority' => [$good(1) + ['priority' => 300]],
] as $what => $list) {
    try {
        $session->sendMany($list);
    } catch (Throwable $thrown) {
        echo "$what: ", get_class($thrown), ' ', $thrown->getMessage(), ', taken ', $thrown instanceof Apns\Exception ? $thrown->getTaken() : '-', "\n";
    }
}
echo thrown(function () use ($session, $good) {
    $session->sendMany((function () use ($good) { yield $good(1); throw new LogicException('in the middle'); })());
}), "\n";
echo thrown(fn () => $session->sendMany(5)), "\n";
$session->drain(240000);
var_dump($session->stats()['accepted']);
echo thrown(function () use ($session, $good) {
    $session->sendMany((function () use ($session, $good) { yield $good(1); $session->close(1000); yield $good(2); })());
}), "\n";
--EXPECT--
int(100)
int(50)
int(0)
int(0)
int(150)
a bad token: Apns\ArgumentException character 'z' at 0 is not hex, taken 2
no token: TypeError a device token must be of type Apns\Token or string, null given, taken -
no payload: TypeError a payload must be of type Apns\Payload, array or string, null given, taken -
no array: TypeError a notification must be of type array, string given, taken -
expiry: ValueError 'expiry' of a notification must be a whole number, 'soon' given, taken -
priority: Apns\ArgumentException priority is 300, not 5 or 10, taken 0
LogicException: in the middle
TypeError: Apns\Session::sendMany(): Argument #1 ($notifications) must be of type iterable, int given
int(154)
Apns\ClosedException: the session was closed
