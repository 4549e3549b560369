--TEST--
Accepted outcomes that nobody takes give way, and their user data is freed
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$count = 20000;
$simulator = new Simulator(['bad_tokens' => ['ff']]);
$session = $simulator->session(outcomes: 'all', window_bytes: 65536);
$session->send('ff', '{"aps":{}}', new Watched());
$before = memory_get_usage();
for ($n = 1; $n < $count; $n++) $session->send(Simulator::token(1), '{"aps":{}}', new Watched(), more: true);
$session->drain(240000);
$stats = $session->stats();
echo 'accepted: ', $stats['accepted'], "\n";
echo 'each waits or gave way: ', json_encode($stats['events'] + $stats['forgotten'] === $count), "\n";
echo 'few wait: ', json_encode($stats['events'] < 1000), "\n";
echo 'alive are those that wait: ', json_encode(Watched::$alive === $stats['events']), "\n";
echo 'memory is bounded: ', json_encode(memory_get_usage() - $before < 2 << 20), "\n";
echo 'first: ', $session->nextEvent()->kind->value, "\n";
unset($session);
echo 'alive without the session: ', Watched::$alive, "\n";

$session = $simulator->session(outcomes: 'failures');
for ($n = 0; $n < 1000; $n++) $session->send(Simulator::token(1), '{"aps":{}}', new Watched(), more: true);
$session->send('ff', '{"aps":{}}', new Watched());
$session->drain(240000);
echo 'alive, of failures: ', Watched::$alive, "\n";
echo 'forgotten: ', $session->stats()['forgotten'], "\n";
--EXPECT--
accepted: 19999
each waits or gave way: true
few wait: true
alive are those that wait: true
memory is bounded: true
first: rejected
alive without the session: 0
alive, of failures: 1
forgotten: 0
