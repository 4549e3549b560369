--TEST--
A forked child makes its own connection and does not disturb its parent's
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

$simulator = new Simulator(['bad_tokens' => [Simulator::token(2)]]);
$get = fn () => Apns\Session::persistent('main', $simulator->identity(), $simulator->where(), request: 'parent');
$plain = $simulator->session();
$kept = $get();
foreach ([$plain, $kept] as $session) {
    $session->send(Simulator::token(1), '{"aps":{}}');
    $session->send(Simulator::token(2), '{"aps":{}}');
    $session->drain(240000);
    $session->send(Simulator::token(3), '{"aps":{}}');
}
$kept->nextEvent();
$before = $simulator->counters()['connections'];
for ($child = 1; $child <= 2; $child++) {
    $pid = pcntl_fork();
    if ($pid === 0) {
        $said = [];
        foreach ([$plain, $kept] as $session) foreach (['send', 'drain', 'flush', 'nextEvent', 'stats', 'close', 'connect'] as $method) {
            try { $method === 'send' ? $session->send(Simulator::token(9), '{"aps":{}}') : $session->$method(); $said[] = $method; }
            catch (Apns\ForkedException $thrown) { $said['forked'] = $thrown->getMessage(); }
        }
        $mine = $get();
        $mine->send(Simulator::token(10 + $child), '{"aps":{}}');
        $mine->drain(240000);
        file_put_contents('php://stdout', json_encode([$said, $mine->stats()['taken'], $mine->nextLeftEvent()]) . "\n");
        unset($plain, $kept, $session);
        exit(0);
    }
    pcntl_waitpid($pid, $status);
    echo 'child ended with ', pcntl_wexitstatus($status), "\n";
}
foreach ([$plain, $kept] as $session) {
    $session->drain(240000);
    echo $session->stats()['accepted'], ' accepted, ', $session->stats()['rejected'], " rejected\n";
}
echo $plain->nextEvent(), "\n";
var_dump($kept->nextEvent());
$devices = array_map(fn ($one) => $one['token'], $simulator->accepted(6));
foreach ([1, 3, 9, 11, 12] as $n) echo "device $n: ", count(array_keys($devices, Simulator::token($n))), "\n";
--EXPECT--
[{"forked":"the session was made by the parent process"},1,null]
child ended with 0
[{"forked":"the session was made by the parent process"},1,null]
child ended with 0
2 accepted, 1 rejected
2 accepted, 1 rejected
rejected: invalid token (status 8)
NULL
device 1: 2
device 3: 2
device 9: 0
device 11: 1
device 12: 1
