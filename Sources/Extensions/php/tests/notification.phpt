--TEST--
Expiry, priority, tokens and payloads of every kind arrive unchanged
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
$token = Simulator::token(1);
$payload = (new Apns\Payload())->set('alert', 'Hello')->set('badge', 1);
$session->send($token, '{"aps":{}}', expiry: 4000000000, priority: 10);
$session->send(Apns\Token::fromHex("<$token>"), $payload, expiry: 0, priority: Apns\Priority::Considerate);
$session->send(Apns\Token::fromBytes(hex2bin($token)), ['aps' => ['badge' => 0]], more: true);
$session->flush();
$session->drain(240000);
foreach ($simulator->accepted(3) as $one) {
    echo json_encode([$one['token'] === $token, $one['payload'], $one['expiry'], $one['priority']]), "\n";
}
foreach ([[], ['aps' => []], ['aps' => ['event' => 'end', 'timestamp' => 1800000000, 'content-state' => []], 'list' => []]] as $empty) {
    $session->send($token, $empty);
}
$session->drain(240000);
foreach (array_slice($simulator->accepted(6), 3) as $one) echo $one['payload'], "\n";
foreach (['simple' => Apns\Format::Simple, 'enhanced' => Apns\Format::Enhanced] as $name => $format) {
    $other = $simulator->session(format: $format, quiet_period_ms: 50);
    $other->send($token, '{"aps":{}}');
    $other->drain(240000);
    $list = $simulator->accepted(7);
    echo "$name: command ", end($list)['command'], "\n";
    unset($other);
}
--EXPECT--
[true,"{\"aps\":{}}",4000000000,10]
[true,"{\"aps\":{\"alert\":\"Hello\",\"badge\":1}}",0,5]
[true,"{\"aps\":{\"badge\":0}}",null,null]
{}
{"aps":{}}
{"aps":{"event":"end","timestamp":1800000000,"content-state":{}},"list":[]}
simple: command 0
enhanced: command 1
