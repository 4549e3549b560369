--TEST--
Every notification has one outcome, in the order of sending, with its user data
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
    $identifier = $session->send(Simulator::token($i), ['aps' => ['alert' => "Grüße/$i"]], ['number' => $i]);
}
$session->drain(240000);
foreach ($session->events() as $key => $event) {
    $same = $event->token === Simulator::token($event->userData['number']);
    echo "$key: $event->identifier $event ", $event->userData['number'], ' ', var_export($same, true), "\n";
}
var_dump($event->isAccepted(), $event->isRejected(), $event->isUnknown(), $event->request);
var_dump($session->nextEvent(), iterator_to_array($session), $session->request());
$stats = $session->stats();
echo "taken $stats[taken] accepted $stats[accepted] rejected $stats[rejected] unknown $stats[unknown]\n";
$first = $simulator->accepted(6)[0];
echo $first['payload'], ' ', $first['command'], "\n";
--EXPECT--
0: 1 accepted 1 true
1: 2 accepted 2 true
2: 3 rejected: invalid token (status 8) 3 true
3: 4 accepted 4 true
4: 5 accepted 5 true
5: 6 rejected: invalid token (status 8) 6 true
6: 7 accepted 7 true
7: 8 accepted 8 true
bool(true)
bool(false)
bool(false)
NULL
NULL
array(0) {
}
NULL
taken 8 accepted 6 rejected 2 unknown 0
{"aps":{"alert":"Grüße/1"}} 2
