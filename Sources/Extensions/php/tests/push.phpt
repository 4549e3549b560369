--TEST--
Session::push(): one notification returns with its outcome
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip_http2.inc';
if (!function_exists('pcntl_signal')) die('skip pcntl is not there');
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

const AMPLE = 240000;
[$good, $bad] = [Simulator::token(1), Simulator::token(4)];
$simulator = new Simulator(['bad_tokens' => [$bad]]);
$http2 = ['host' => '127.0.0.1', 'port' => $simulator->ready['http2_port']];
$session = new Apns\Session($simulator->credentials(), $http2);

$event = $session->push($good, ['aps' => ['alert' => 'Hello']], userData: 'mine');
echo "$event, $event->why, $event->userData, ", var_export($event->token === $good, true), "\n";
$payload = (new Apns\Payload())->set('alert', 'Hello');
echo $session->push($bad, $payload, AMPLE, collapseId: 'one', pushType: 'alert'), "\n";
var_dump($session->nextEvent());

// Other outcomes stay queued.
$session->send($bad, '{}', 'other');
echo $session->push($good, '{}', AMPLE), "\n";
$session->drain(AMPLE);
foreach ($session as $other) echo "$other->userData: $other\n";
print_r(array_intersect_key($session->stats(), ['taken' => 0, 'accepted' => 0, 'rejected' => 0]));

foreach ([
    fn() => $session->push($good, ''),
    fn() => $session->push($good, '{}', -2),
    fn() => $session->push($good, '{}', pushType: 'postcard'),
    fn() => (new Apns\Session($simulator->credentials(), $http2 + ['nonblocking' => true]))->push($good, '{}'),
    fn() => (new Apns\Session($simulator->credentials(), ['port' => 1] + $http2))->push($good, '{}'),
] as $refused) {
    try {
        $refused();
    } catch (Throwable $error) {
        echo get_class($error), ': ', preg_replace('/(?<=refused).*/', '', $error->getMessage()), "\n";
    }
}

// The binary interface must prove it.
$binary = $simulator->session();
echo $binary->push($good, '{}', AMPLE), '; ', $binary->push($bad, '{}', AMPLE), "\n";

// A timeout, and a deadline.
$silent = new Simulator(['no_answer' => 1, 'streams_max' => 1]);
$session = new Apns\Session($silent->credentials(), ['host' => '127.0.0.1', 'port' => $silent->ready['http2_port']]);
$session->connect();
$event = $session->push($good, '{}', 120, 'late');
echo preg_replace('/: 1 .*/', '', $event), ', ', $event->userData, "\n";
echo preg_replace('/: \d .*/', '', $session->push($good, '{}', 0)), "\n";
echo $session->push($good, '{}', AMPLE, deadlineMs: 50)->kind->value, "\n";
$session->close(0);
var_dump($session->nextEvent());

// A signal handler throws: the queued notification becomes an event.
$session = new Apns\Session($silent->credentials(), ['host' => '127.0.0.1', 'port' => $silent->ready['http2_port']]);
$session->connect();
pcntl_async_signals(true);
pcntl_signal(SIGALRM, fn() => throw new LogicException('a signal'));
pcntl_alarm(1);
try {
    $session->push($good, '{}', AMPLE, 'interrupted');
} catch (LogicException $error) {
    $event = $session->nextEvent();
    echo $error->getMessage(), ": $event->userData, {$event->kind->value}\n";
}
$session->close(0);
--EXPECT--
accepted, accepted (HTTP 200), mine, true
rejected: BadDeviceToken (HTTP 400)
NULL
accepted
other: rejected: BadDeviceToken (HTTP 400)
Array
(
    [taken] => 4
    [accepted] => 2
    [rejected] => 2
)
Apns\ArgumentException: the payload is empty
ValueError: Apns\Session::push(): Argument #3 ($timeoutMs) must be between -1 and 2147483647, or null
ValueError: Apns\Session::push(): Argument #8 ($pushType) must be 'alert', 'background', 'location', 'voip', 'complication', 'fileprovider', 'mdm', 'liveactivity', 'pushtotalk', 'widgets' or 'controls', 'postcard' given
Apns\ArgumentException: the session is nonblocking: send, and take the outcome as an event
Apns\NetworkException: cannot connect to 127.0.0.1:1: Connection refused
accepted; rejected: invalid token (status 8)
unknown: no answer came, late
cancelled: taken back, and it did not arrive
expired
NULL
a signal: interrupted, unknown
