--TEST--
HTTP/2 responses come in any order: user data stays until its outcome is read
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip_http2.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

// Each response has another delay, so that later ones overtake it.
$simulator = new Simulator(['bad_every' => 3, 'bad_reason' => 'BadDeviceToken', 'answer_delay_ms' => [0, 20]], '--http2-port', '0');
$session = new Apns\Session($simulator->identity(), ['host' => '127.0.0.1', 'port' => $simulator->ready['http2_port'],
    'protocol' => Apns\Protocol::Http2]);
$tokens = $taken = [];
$isOrdered = true;
$last = 0;
for ($number = 0; $number < 3000; $number++) {
    $token = Simulator::token($number);
    $tokens[$session->send($token, '{"aps":{}}', "note $number", more: $number % 100 !== 99)] = [$token, "note $number"];
    if ($number % 500 === 499) {
        $event = $session->nextEvent(1000);
        if ($event) $taken[] = $event;
    }
}
$session->drain(240000);
foreach ($session as $event) $taken[] = $event;
$known = array_filter($taken, fn ($event) => $tokens[$event->identifier] === [$event->token, $event->userData]);
foreach ($taken as $event) {
    $isOrdered = $isOrdered && $event->identifier > $last;
    $last = $event->identifier;
}
echo json_encode([count($taken), count($known), count(array_unique(array_column($taken, 'identifier'))), $isOrdered]), "\n";
--EXPECT--
[3000,3000,3000,false]
