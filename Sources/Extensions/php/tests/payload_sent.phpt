--TEST--
A Payload is sent with its contents at that moment, also in an array of notifications
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
$session = $simulator->session(payload_max: 100);
$token = Simulator::token(1);
$payload = (new Apns\Payload(limit: 100, truncate: true))->set('alert', 'é');
$session->send($token, $payload);
$session->send($token, $payload->set('alert', 'other')->add('game', 7), more: true);
$notifications = function () use ($payload, $token) {
    foreach ([1, 2] as $badge) {
        yield ['token' => $token, 'payload' => $payload->set('badge', $badge)];
        $payload->removeCustom();
    }
};
$session->sendMany($notifications());
$session->send($token, $payload->set('alert', str_repeat('long ', 50)));
$session->drain(240000);
foreach ($simulator->accepted(5) as $one) echo $one['payload'], "\n";

foreach ([
    fn () => $session->send($token, (new Apns\Payload(limit: 50))->set('alert', str_repeat('x', 60))),
    fn () => $session->send($token, (new Apns\Payload())->set('alert', str_repeat('x', 90))),
    fn () => $session->send('', $payload),
    fn () => $session->send($token, $payload, expiry: -5),
    fn () => $session->send($token, new Apns\Strings('a = b;')),
    fn () => $session->sendMany([['token' => $token, 'payload' => &$payload], ['token' => $token, 'payload' => new Apns\Payload(limit: 3)]]),
] as $call) echo thrown($call), "\n";
$session->drain(240000);
echo $session->stats()['taken'], " taken\n";
$session->close();
echo thrown(fn () => $session->send($token, $payload)), "\n";
--EXPECT--
{"aps":{"alert":"é"}}
{"aps":{"alert":"other"},"game":7}
{"aps":{"alert":"other","badge":1},"game":7}
{"aps":{"alert":"other","badge":2}}
{"aps":{"alert":"long long long long long long long long long long long long long lo…","badge":2}}
Apns\ArgumentException: the payload has 80 bytes, 30 more than its limit of 50
Apns\ArgumentException: the payload has 110 bytes, 10 more than its limit of 100
Apns\ArgumentException: no hex digit in the token
Apns\ArgumentException: Apns\Session::send(): Argument #4 ($expiry) is -5, which is before 1970
TypeError: a payload must be of type Apns\Payload, array or string, Apns\Strings given
Apns\ArgumentException: the payload has 10 bytes, 7 more than its limit of 3
6 taken
Apns\ClosedException: the session was closed
