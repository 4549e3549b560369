--TEST--
Each feature with a timer wakes a loop that processes the session only when woken
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$wait = function (Apns\Session $session, callable $ends): void {
    $stream = $session->stream();
    while (!$ends($session)) {
        $timeout = $session->timeoutMs();
        [$readable, $none] = [[$stream], []];
        $found = stream_select($readable, $none, $none, intdiv($timeout ?? 120000, 1000), ($timeout ?? 0) % 1000 * 1000);
        if (!$found && $timeout === null) die("the session does not wake the loop\n");
        try {
            $session->process();
        } catch (Apns\Exception) {
        }
    }
    fclose($stream);
};
$begun = function (callable $call): void {
    try {
        $call();
    } catch (Apns\AgainException) {
    }
};
$send = fn ($session) => $session->send(Simulator::token(1), '{"aps":{}}');
$drain = fn ($session) => [$send($session), $begun(fn () => $session->drain())];
$close = function ($session) use ($send, $wait, $begun): void {
    $send($session);
    $wait($session, fn ($session) => $session->stats()['in_flight'] === 1);
    $begun(fn () => $session->close(300));
};
$connect = fn ($session) => $begun(fn () => $session->connect());
$accepted = fn ($session) => $session->stats()['accepted'] === 1;
$unknown = fn ($session) => $session->stats()['unknown'] === 1;
$closed = fn ($session) => $session->stats()['unresolved'] === 0;

// Name, options, faults of the simulator, the call, and the condition that ends the test.
$http2 = ['protocol' => 'http2', 'topic' => 'com.example.app'];
$rows = [
    ['proof', ['prove_after_ms' => 200], [], $send, $accepted],
    ['silence', ['quiet_period_ms' => 100], ['sentinel' => 'none'], $drain, $accepted],
    ['drain', [], [], $drain, $accepted],
    ['answer', ['answer_timeout_ms' => 200, 'delivery' => 'at_most_once'], ['sentinel' => 'none'], $drain, $unknown],
    ['reconnect', ['prove_after_ms' => 1], ['refuse_ms' => 300], $send, $accepted],
    ['close', [], ['sentinel' => 'none'], $close, $closed],
    ['PING', $http2 + ['ping_after_ms' => 50], [], $connect, fn ($session) => $session->metrics()['pings'] >= 4],
    ['answer', $http2 + ['answer_timeout_ms' => 200, 'delivery' => 'at_most_once'], ['no_answer' => 1], $send, $unknown],
    ['reconnect', $http2, ['refuse_ms' => 300], $send, $accepted],
    ['close', $http2, ['no_answer' => 1], $close, $closed],
];
foreach ($rows as [$name, $options, $faults, $call, $ends]) {
    $simulator = new Simulator($faults, '--http2-port', '0');
    $port = $simulator->ready[isset($options['protocol']) ? 'http2_port' : 'gateway_port'];
    $session = $simulator->session(...['nonblocking' => true, 'port' => $port] + $options);
    $call($session);
    $wait($session, $ends);
    echo $options['protocol'] ?? 'binary', ": $name\n";
    unset($session, $simulator);
}
?>
--EXPECT--
binary: proof
binary: silence
binary: drain
binary: answer
binary: reconnect
binary: close
http2: PING
http2: answer
http2: reconnect
http2: close
