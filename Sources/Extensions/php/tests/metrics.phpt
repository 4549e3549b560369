--TEST--
The metrics for a monitoring system, in an array
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$simulator = new Simulator(['bad_every' => 3]);
$session = $simulator->session(outcomes: 'each');
for ($i = 1; $i <= 8; $i++) {
    $session->send(Simulator::token($i), ['aps' => ['alert' => 'Hello']]);
}
$session->drain(240000);
$metrics = $session->metrics();
echo implode(' ', array_keys($metrics)), "\n";
var_dump($metrics['rejects'], array_key_first($metrics['times']), array_key_last($metrics['times']) === PHP_INT_MAX);
var_dump(array_sum($metrics['times']) === $metrics['responses'], count($metrics['times']));
var_dump($metrics['tls12_full'] + $metrics['tls12_resumed'] + $metrics['tls13_full'] + $metrics['tls13_resumed']
    === $session->stats()['connects']);
var_dump($metrics['bytes_written'] === $session->stats()['bytes'], $metrics['connect_failures']);
--EXPECT--
responses response_us times classes reasons rejected_reasons rejects retries_asked resends_in_doubt resends_unprocessed tls12_full tls12_resumed tls13_full tls13_resumed connect_failures bytes_written bytes_read goaways pings resets timeouts tokens connecting open draining standby backoff_ms free_streams
array(1) {
  ["invalid token"]=>
  int(2)
}
int(1000)
bool(true)
bool(true)
int(16)
bool(true)
bool(true)
array(0) {
}
