--TEST--
Payloads and expiries are checked by default, and each refusal has a gateway's status
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
$token = Simulator::token(1);

/** The result of a push: queued, or the message and the status. */
function told(callable $call): string
{
    try {
        $call();
    } catch (Apns\ArgumentException $thrown) {
        return preg_replace('/\d{6,} s ago/', 'long ago', $thrown->getMessage()) . ' (' . ($thrown->getReject() ? $thrown->getReject()->value . ' ' . $thrown->getReject()->text() : 'none') . ')';
    }
    return 'taken';
}
$pushes = [
    'good' => fn ($session) => $session->send($token, ['aps' => ['alert' => 'x']], expiry: time() + 3600),
    'no aps' => fn ($session) => $session->send($token, '{"mdm":"x"}'),
    'warning' => fn ($session) => $session->send($token, ['aps' => ['alrt' => 'x']]),
    'badge' => fn ($session) => $session->send($token, ['aps' => ['badge' => '1']]),
    'no JSON' => fn ($session) => $session->send($token, "{'aps':{}}"),
    'in sendMany()' => fn ($session) => $session->sendMany([['token' => $token, 'payload' => '{"aps":[]}']]),
    'past' => fn ($session) => $session->send($token, '{"aps":{}}', expiry: 1290000000),
    'duration' => fn ($session) => $session->send($token, '{"aps":{}}', expiry: 864000),
    'once' => fn ($session) => $session->send($token, '{"aps":{}}', expiry: 0),
];
foreach ([
    'nothing said' => [],
    'null' => ['checks' => null],
    'true' => ['checks' => true],
    'on' => ['checks' => '1'],
    'all' => ['checks' => 'all'],
    'payload' => ['checks' => 'payload'],
    'expiry' => ['checks' => Apns\Checks::Expiry],
    'none' => ['checks' => 'none'],
    'false' => ['checks' => false],
    'off' => ['checks' => ''],
] as $what => $options) {
    $session = new Apns\Session($simulator->identity(), $simulator->where() + $options);
    echo "- $what: ", implode(', ', array_keys(array_filter($pushes, fn ($push) => told(fn () => $push($session)) !== 'taken'))), "\n";
    $session->close(0);
}
ini_set('apns.checks', 'expiry');
$session = $simulator->session();
foreach ($pushes as $what => $push) echo "$what: ", told(fn () => $push($session)), "\n";
ini_set('apns.checks', 'off');
$session = $simulator->session();
foreach ($pushes as $what => $push) told(fn () => $push($session)) === 'taken' or print "$what\n";
$session = $simulator->session(checks: 'all');
echo "- said\n";
foreach ($pushes as $what => $push) echo "$what: ", told(fn () => $push($session)), "\n";
echo "- refused\n";
foreach ([
    'hex' => fn () => $session->send('5u79', '{"aps":{}}'),
    'no token' => fn () => $session->send('', '{"aps":{}}'),
    'long token' => fn () => $session->send(str_repeat('ab', 101), '{"aps":{}}'),
    'bytes' => fn () => Apns\Token::fromBytes(''),
    'many bytes' => fn () => Apns\Token::fromBytes(str_repeat('x', 101)),
    'no payload' => fn () => $session->send($token, ''),
    'long payload' => fn () => $session->send($token, ['aps' => ['alert' => str_repeat('x', 3000)]]),
    'no UTF-8' => fn () => $session->send($token, ['aps' => "\xff"]),
    'priority' => fn () => $session->send($token, '{"aps":{}}', priority: 300),
    'topic' => fn () => $session->send($token, '{"aps":{}}', topic: "a\0b"),
    'the call' => fn () => new Apns\Session($simulator->identity(), window_bytes: 1),
] as $what => $call) echo "$what: ", told($call), "\n";
echo "- wrong\n";
foreach (['al', 'paylod', '', 'maybe', 5.0, 3, []] as $checks) {
    echo thrown(fn () => new Apns\Session($simulator->identity(), $simulator->where(), checks: $checks)), "\n";
}
echo json_encode([@ini_set('apns.checks', 'sometimes'), error_get_last()['message'], @ini_set('apns.checks', ''), ini_get('apns.checks')]), "\n";
--EXPECT--
- nothing said: badge, no JSON, in sendMany(), past, duration
- null: badge, no JSON, in sendMany(), past, duration
- true: badge, no JSON, in sendMany(), past, duration
- on: badge, no JSON, in sendMany(), past, duration
- all: badge, no JSON, in sendMany(), past, duration
- payload: badge, no JSON, in sendMany()
- expiry: past, duration
- none: 
- false: 
- off: 
good: taken
no aps: taken
warning: taken
badge: taken
no JSON: taken
in sendMany(): taken
past: expiry is 1290000000, long ago, so APNs would not try at all; 0 tries once (1 processing error)
duration: expiry is 864000, which looks like a duration: give a UNIX time, time(NULL) + 864000 (1 processing error)
once: taken
- said
good: taken
no aps: taken
warning: taken
badge: payload['aps']['badge']: 'badge' is not an integer (1 processing error)
no JSON: payload, line 1, column 2 (byte 1): expected a key in quotation marks or '}' (1 processing error)
in sendMany(): payload, line 1, column 8 (byte 7): 'aps' is not an object (1 processing error)
past: expiry is 1290000000, long ago, so APNs would not try at all; 0 tries once (1 processing error)
duration: expiry is 864000, which looks like a duration: give a UNIX time, time(NULL) + 864000 (1 processing error)
once: taken
- refused
hex: character 'u' at 1 is not hex (8 invalid token)
no token: no hex digit in the token (2 missing device token)
long token: the token has 101 bytes, more than 100 (5 invalid token size)
bytes: the device token has 0 bytes, not 1 to 100 (2 missing device token)
many bytes: the device token has 101 bytes, not 1 to 100 (5 invalid token size)
no payload: the payload is empty (4 missing payload)
long payload: the payload has 3020 bytes, more than 2048 (7 invalid payload size)
no UTF-8: it cannot be encoded as JSON: Malformed UTF-8 characters, possibly incorrectly encoded, at ['aps'] (1 processing error)
priority: priority is 300, not 5 or 10 (1 processing error)
topic: topic has a null byte (6 invalid topic size)
the call: window_bytes is 1, not 16384 to 1073741824 (none)
- wrong
ValueError: option 'checks' must be 'all', 'payload', 'expiry' or 'none', 'al' given
ValueError: option 'checks' must be 'all', 'payload', 'expiry' or 'none', 'paylod' given; did you mean 'payload'?
nothing thrown
ValueError: option 'checks' must be 'all', 'payload', 'expiry' or 'none', 'maybe' given
TypeError: option 'checks' must be of type Apns\Checks, string or bool, float given
TypeError: option 'checks' must be of type Apns\Checks, string or bool, int given
TypeError: option 'checks' must be of type Apns\Checks, string or bool, array given
[false,"apns.checks must be 'all', 'payload', 'expiry' or 'none', 'sometimes' given","off",""]
