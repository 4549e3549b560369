--TEST--
Hostile arguments throw, and nothing is sent
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
$token = Simulator::token(1);
$long = str_repeat('x', 3000);
$cycle = [1];
$cycle[] = &$cycle;
final class Angry implements JsonSerializable
{
    public function jsonSerialize(): mixed { throw new DomainException('not me'); }
}
foreach ([
    'no arguments' => fn () => $session->send(),
    'empty token' => fn () => $session->send('', '{}'),
    'token with a u' => fn () => $session->send('5u79cfda', '{}'),
    'odd token' => fn () => $session->send('abc', '{}'),
    'long token' => fn () => $session->send(str_repeat('ab', 101), '{}'),
    'token with NUL' => fn () => $session->send("ab\0cd", '{}'),
    'token null' => fn () => $session->send(null, '{}'),
    'token object' => fn () => $session->send(new stdClass, '{}'),
    'empty payload' => fn () => $session->send($token, ''),
    'long payload' => fn () => $session->send($token, $long),
    'payload null' => fn () => $session->send($token, null),
    'payload object' => fn () => $session->send($token, new stdClass),
    'payload of broken UTF-8' => fn () => $session->send($token, ['aps' => "\xff"]),
    'payload NAN' => fn () => $session->send($token, ['aps' => NAN]),
    'payload in itself' => fn () => $session->send($token, $cycle),
    'payload that throws' => fn () => $session->send($token, ['aps' => new Angry]),
    'priority' => fn () => $session->send($token, '{}', priority: 7),
    'priority 0' => fn () => $session->send($token, '{}', priority: 0),
    'priority too large' => fn () => $session->send($token, '{}', priority: 266),
    'expiry before 1970' => fn () => $session->send($token, '{}', expiry: -1),
    'expiry that throws' => fn () => $session->send($token, '{}', expiry: new class extends DateTimeImmutable { public function getTimestamp(): int { throw new DomainException('not me'); } }),
    'expiry array' => fn () => $session->send($token, '{}', expiry: []),
    'timeout' => fn () => $session->drain(-2),
    'timeout too large' => fn () => $session->events(PHP_INT_MAX),
    'unknown option' => fn () => new Apns\Session(null, ['hots' => 'x']),
    'numbered option' => fn () => new Apns\Session(null, [5]),
    'option type' => fn () => new Apns\Session(null, host: 5),
    'option range' => fn () => new Apns\Session(null, port: 65536),
    'option negative' => fn () => new Apns\Session(null, window_bytes: -1),
    'option NUL' => fn () => new Apns\Session(null, host: "a\0b"),
    'option too small' => fn () => new Apns\Session(null, window_bytes: 1),
    'option of persistent sessions' => fn () => new Apns\Session(null, request: 'x'),
    'format' => fn () => new Apns\Session(null, format: 9),
    'credentials' => fn () => new Apns\Session('provider.pem'),
    'too many' => fn () => new Apns\Session(null, [], null, 5),
] as $what => $call) {
    echo "$what: ", thrown($call), "\n";
}
var_dump($session->stats()['taken'], $simulator->counters()['connections']);
// PHP itself does not free it at exit.
unset($cycle, $call);
gc_collect_cycles();
--EXPECT--
no arguments: ArgumentCountError: Apns\Session::send() expects at least 2 arguments, 0 given
empty token: Apns\ArgumentException: no hex digit in the token
token with a u: Apns\ArgumentException: character 'u' at 1 is not hex
odd token: Apns\ArgumentException: an odd number of hex digits: 3
long token: Apns\ArgumentException: the token has 101 bytes, more than 100
token with NUL: Apns\ArgumentException: character 0x00 at 2 is not hex
token null: TypeError: a device token must be of type Apns\Token or string, null given
token object: TypeError: a device token must be of type Apns\Token or string, stdClass given
empty payload: Apns\ArgumentException: the payload is empty
long payload: Apns\ArgumentException: the payload has 3000 bytes, more than 2048
payload null: TypeError: a payload must be of type Apns\Payload, array or string, null given
payload object: TypeError: a payload must be of type Apns\Payload, array or string, stdClass given
payload of broken UTF-8: Apns\ArgumentException: it cannot be encoded as JSON: Malformed UTF-8 characters, possibly incorrectly encoded, at ['aps']
payload NAN: Apns\ArgumentException: it cannot be encoded as JSON: Inf and NaN cannot be JSON encoded
payload in itself: Apns\ArgumentException: it cannot be encoded as JSON: Recursion detected
payload that throws: DomainException: not me
priority: Apns\ArgumentException: priority is 7, not 5 or 10
priority 0: Apns\ArgumentException: priority is 0, not 5 or 10
priority too large: Apns\ArgumentException: priority is 266, not 5 or 10
expiry before 1970: Apns\ArgumentException: Apns\Session::send(): Argument #4 ($expiry) is -1, which is before 1970
expiry that throws: DomainException: not me
expiry array: TypeError: Apns\Session::send(): Argument #4 ($expiry) must be of type DateTimeInterface, int or null, array given
timeout: ValueError: Apns\Session::drain(): Argument #1 ($timeoutMs) must be between -1 and 2147483647, or null
timeout too large: ValueError: Apns\Session::events(): Argument #1 ($timeoutMs) must be between -1 and 2147483647, or null
unknown option: ValueError: unknown option 'hots'; did you mean 'host'?
numbered option: ValueError: unknown option 0 of Apns\Session; options have names
option type: TypeError: option 'host' must be of type string, int given
option range: ValueError: option 'port' must be between 1 and 65535, 65536 given
option negative: ValueError: option 'window_bytes' must be between 1 and 4294967295, -1 given
option NUL: ValueError: option 'host' must not contain null bytes
option too small: Apns\ArgumentException: window_bytes is 1, not 16384 to 1073741824
option of persistent sessions: ValueError: unknown option 'request'; it is an option of Apns\Session::persistent(), not of Apns\Session
format: TypeError: option 'format' must be of type Apns\Format or string, int given
credentials: TypeError: Apns\Session::__construct(): Argument #1 ($credentials) must be of type Apns\Credentials|array|null, string given
too many: ArgumentCountError: Apns\Session::__construct() expects at most 3 arguments, 4 given
int(0)
int(0)
