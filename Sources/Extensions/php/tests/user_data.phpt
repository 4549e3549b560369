--TEST--
User data of any kind is kept, returned once, and freed with the session at the latest
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$simulator = new Simulator(['bad_every' => 2]);
$session = $simulator->session(outcomes: 'each');
$stream = fopen('php://memory', 'r');
$values = [null, false, 7, 1.5, 'text', [1, 'a' => [2]], new Watched(), $stream, fn () => 'called', $session];
foreach ($values as $value) {
    $session->send(Simulator::token(1), '{"aps":{}}', $value);
}
$session->drain(240000);
$same = [];
foreach ($session as $index => $event) {
    $same[] = $event->userData === $values[$index];
}
echo json_encode($same), "\n";
unset($values, $value, $event);
echo 'alive once all are handed out: ', Watched::$alive, "\n";

// Accepted without an event: freed once that is known.
$session = $simulator->session();
$session->send(Simulator::token(1), '{"aps":{}}', new Watched());
echo 'alive while it is not known: ', Watched::$alive, "\n";
$session->drain(240000);
echo 'alive once it is: ', Watched::$alive, "\n";

// Never read: freed with the session.
$session->send(Simulator::token(1), '{"aps":{}}', new Watched());
$session->send(Simulator::token(1), '{"aps":{}}', new Watched());
$session->drain(240000);
echo 'alive as an outcome: ', Watched::$alive, "\n";
unset($session);
echo 'alive without the session: ', Watched::$alive, "\n";

// In a reference cycle with its session.
$session = $simulator->session();
$ring = new Watched();
$ring->other = $session;
$session->send(Simulator::token(1), '{"aps":{}}', $ring);
unset($ring, $session);
echo 'alive in a ring: ', Watched::$alive, "\n";
gc_collect_cycles();
echo 'alive after a collection: ', Watched::$alive, "\n";
--EXPECT--
[true,true,true,true,true,true,true,true,true,true]
alive once all are handed out: 0
alive while it is not known: 1
alive once it is: 0
alive as an outcome: 1
alive without the session: 0
alive in a ring: 1
alive after a collection: 0
