--TEST--
Exceptions have the status and its details
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
foreach ((new ReflectionClass('Apns\Exception'))->getConstants() as $name => $value) {
    if (!str_starts_with($name, 'CAUSE_')) echo "$name $value ";
}
echo "\n";
var_dump(new Apns\TimeoutException('mine') instanceof RuntimeException);
$port = stream_socket_get_name($free = stream_socket_server('tcp://127.0.0.1:0'), false);
fclose($free);
$session = new Apns\Session($simulator->credentials(), protocol: 'binary', host: '127.0.0.1', port: (int) substr($port, 10), connect_timeout_ms: 300, reconnect_pause_max_ms: 50);
try {
    $session->send(Simulator::token(1), '{"aps":{}}');
} catch (Apns\Exception $thrown) {
    echo get_class($thrown), ' ', $thrown->getCode() === $thrown->status ? 'same' : 'other', ' ', var_export($thrown->isRetryable(), true), "\n";
    var_dump($thrown->cause === Apns\Exception::CAUSE_CONNECTION_REFUSED);
}
$silent = stream_socket_server('tcp://127.0.0.1:0');
$session = new Apns\Session($simulator->credentials(), protocol: 'binary', host: '127.0.0.1', port: (int) substr(stream_socket_get_name($silent, false), 10), connect_timeout_ms: 100);
try { $session->connect(); } catch (Apns\TimeoutException $thrown) { echo get_class($thrown), ' ', $thrown->status === Apns\Exception::TIMEOUT, ' ', $thrown->cause === Apns\Exception::CAUSE_HANDSHAKE_TIMEOUT, "\n"; }
$session = $simulator->session();
$session->close();
try { $session->send(Simulator::token(1), '{"aps":{}}'); } catch (Apns\ClosedException $thrown) { echo $thrown->getMessage(), ' ', var_export($thrown->isRetryable(), true), "\n"; }
echo Apns\Reject::text(Apns\Reject::INVALID_TOKEN), ', ', Apns\Reject::text(77), ', ', Apns\Reject::text(PHP_INT_MAX), "\n";
// Anything that a script can do with one.
$thrown->status = PHP_INT_MAX;
var_dump($thrown->isRetryable());
--EXPECT--
ARGUMENT -2 MEMORY -4 TIMEOUT -5 NETWORK -6 TLS -7 CREDENTIALS -8 PROTOCOL -9 FULL -10 CLOSED -11 FORKED -12 AGAIN -13 REFUSED -14 IN_DOUBT -15 
bool(true)
Apns\NetworkException same true
bool(true)
Apns\TimeoutException 1 1
the session was closed false
invalid token, unlisted status, unlisted status
bool(false)
