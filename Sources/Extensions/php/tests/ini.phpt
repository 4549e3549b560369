--TEST--
php.ini gives the options that the script lacks
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
foreach (['protocol' => 'binary', 'host' => '127.0.0.1', 'port' => $simulator->ready['gateway_port'], 'certificate_file' => $simulator->ready['provider'], 'ca_file' => $simulator->ready['ca'],
    'feedback_host' => '127.0.0.1', 'feedback_port' => $simulator->ready['feedback_port']] as $name => $value) ini_set("apns.$name", (string) $value);
$session = new Apns\Session();
$session->send(Simulator::token(1), '{"aps":{}}');
$session->drain(240000);
echo count($simulator->accepted(1)), " accepted\n";
var_dump(iterator_to_array(new Apns\Feedback()), (new Apns\Credentials())->describe()['topics']);
echo thrown(fn () => (new Apns\Session(port: 1, connect_timeout_ms: 50, reconnect_pause_max_ms: 10))->connect()) === 'nothing thrown' ? 'ini' : 'the script', " wins\n";
--EXPECT--
1 accepted
array(0) {
}
array(1) {
  [0]=>
  string(15) "com.example.app"
}
the script wins
