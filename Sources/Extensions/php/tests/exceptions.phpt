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
// As a test has them thrown.
foreach (['Argument', 'Memory', 'Timeout', 'Network', 'Tls', 'Credentials', 'Protocol', 'Full', 'Closed', 'Forked', 'Again', 'Rejected', 'InDoubt', 'Runtime'] as $name) {
    $class = "Apns\\{$name}Exception";
    $mine = new $class('mine', 7, new Exception('before'));
    echo $name, $mine instanceof Apns\Exception && $mine->getMessage() . $mine->getCode() === 'mine7' ? '' : ' is another', ': ',
        implode(', ', array_intersect(['InvalidArgumentException', 'RuntimeException'], class_parents($mine))), ' ',
        json_encode([$mine->isRetryable(), $mine->getCause(), $mine->getSystemError(), $mine->getTlsCode(), $mine->getReject(), $mine->getTaken()]), "\n";
}
$port = stream_socket_get_name($free = stream_socket_server('tcp://127.0.0.1:0'), false);
fclose($free);
$session = new Apns\Session($simulator->credentials(), protocol: 'binary', host: '127.0.0.1', port: (int) substr($port, 10), connect_timeout_ms: 300, reconnect_pause_max_ms: 50);
try {
    $session->send(Simulator::token(1), '{"aps":{}}');
} catch (Apns\Exception $thrown) {
    echo get_class($thrown), ' ', $thrown->getCode(), ' ', var_export($thrown->isRetryable(), true), "\n";
    var_dump($thrown->getCause() === Apns\Cause::ConnectionRefused, $thrown->getSystemError() > 0);
}
$silent = stream_socket_server('tcp://127.0.0.1:0');
$session = new Apns\Session($simulator->credentials(), protocol: 'binary', host: '127.0.0.1', port: (int) substr(stream_socket_get_name($silent, false), 10), connect_timeout_ms: 100);
try { $session->connect(); } catch (Apns\TimeoutException $thrown) { echo get_class($thrown), ' ', $thrown->getCode(), ' ', $thrown->getCause()->value, "\n"; }
$session = $simulator->session();
$session->close();
try { $session->send(Simulator::token(1), '{"aps":{}}'); } catch (Apns\ClosedException $thrown) { echo $thrown->getMessage(), ' ', var_export($thrown->isRetryable(), true), "\n"; }
echo Apns\Reject::InvalidToken->text(), "\n";
// A class of the script's own.
final class Mine extends Apns\AgainException { }
var_dump((new Mine())->isRetryable());
--EXPECT--
Argument: InvalidArgumentException [false,null,0,0,null,0]
Memory: RuntimeException [true,null,0,0,null,0]
Timeout: RuntimeException [true,null,0,0,null,0]
Network: RuntimeException [true,null,0,0,null,0]
Tls: RuntimeException [false,null,0,0,null,0]
Credentials: RuntimeException [false,null,0,0,null,0]
Protocol: RuntimeException [false,null,0,0,null,0]
Full: RuntimeException [false,null,0,0,null,0]
Closed: RuntimeException [false,null,0,0,null,0]
Forked: RuntimeException [false,null,0,0,null,0]
Again: RuntimeException [true,null,0,0,null,0]
Rejected: RuntimeException [false,null,0,0,null,0]
InDoubt: RuntimeException [false,null,0,0,null,0]
Runtime: RuntimeException [false,null,0,0,null,0]
Apns\NetworkException -6 true
bool(true)
bool(true)
Apns\TimeoutException -5 handshake_timeout
the session was closed false
invalid token
bool(true)
