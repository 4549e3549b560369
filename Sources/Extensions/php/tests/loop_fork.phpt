--TEST--
A forked child does not disturb the parent's stream and session
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
if (!function_exists('pcntl_fork')) die('skip pcntl is not there');
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$simulator = new Simulator();
$session = $simulator->session(nonblocking: true);
$stream = $session->stream();
$session->send(Simulator::token(1), '{"aps":{}}');
$pid = pcntl_fork();
if ($pid === 0) {
    $said = [];
    foreach (['stream', 'process', 'timeoutMs'] as $method) $said[] = thrown(fn () => $session->$method());
    file_put_contents('php://stdout', implode("\n", $said) . "\n");
    fclose($stream);
    unset($session);
    exit(0);
}
pcntl_waitpid($pid, $status);
echo 'child ended with ', pcntl_wexitstatus($status), "\n";
while (true) {
    try {
        $session->drain();
        break;
    } catch (Apns\AgainException) {
        $readable = [$stream];
        $none = [];
        stream_select($readable, $none, $none, 240);
        $session->process();
    }
}
echo $session->stats()['accepted'], " accepted\n";
--EXPECT--
Apns\ForkedException: the session was made by the parent process
Apns\ForkedException: the session was made by the parent process
Apns\ForkedException: the session was made by the parent process
child ended with 0
1 accepted
