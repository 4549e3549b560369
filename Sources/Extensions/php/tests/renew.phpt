--TEST--
Credential rotation in a running session
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
for ($i = 0; $i < 20; $i++) {
    if ($i === 10) $session->useCredentials($simulator->identity());
    $session->send(Simulator::token(1), '{"aps":{}}', $i, more: $i % 5 !== 4);
}
$session->drain(60000);
$stats = $session->stats();
echo json_encode([$stats['taken'], $stats['accepted'], $stats['unresolved'], $stats['resent'], $stats['connects'] >= 2]), "\n";
echo thrown(fn () => $session->useCredentials(null)), "\n";
echo thrown(fn () => $session->useCredentials(['certificate_file' => '/nowhere.pem'])), "\n";
$session->send(Simulator::token(1), '{"aps":{}}');
$session->drain(60000);
echo $session->stats()['accepted'], "\n";
$session->close();
echo thrown(fn () => $session->useCredentials($simulator->identity())), "\n";
$kept = Apns\Session::persistent('kept', $simulator->identity(), ['protocol' => 'binary', 'host' => '127.0.0.1', 'port' => 1]);
echo thrown(fn () => $kept->useCredentials($simulator->identity())), "\n";
?>
--EXPECTF--
[20,20,0,0,true]
TypeError: Apns\Session::useCredentials(): Argument #1 ($credentials) must be of type Apns\Credentials|array, null given
Apns\CredentialsException: certificate file /nowhere.pem%s
21
Apns\ClosedException: the session was closed
Apns\ArgumentException: a persistent session takes no other credentials
