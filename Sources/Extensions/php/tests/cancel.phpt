--TEST--
Session::cancel(): unwritten notifications are cancelled, one by one or all together
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$simulator = new Simulator(['bad_tokens' => [Simulator::token(4)]]);
$session = $simulator->session(outcomes: 'each');
$identifiers = [];
// They wait for more notifications and are not written.
for ($i = 1; $i <= 6; $i++) {
    $identifiers[$i] = $session->send(Simulator::token($i), '{"aps":{}}', "note $i", more: true);
}
var_dump($session->cancel($identifiers[5]), $session->cancel($identifiers[2]), $session->cancel($identifiers[2]));
$session->drain(240000);
foreach ($session->events() as $event) {
    echo "$event {$event->kind->value} $event->userData: $event->why\n";
}
for ($i = 7; $i <= 9; $i++) $session->send(Simulator::token($i), '{"aps":{}}', "note $i", more: true);
var_dump($session->cancel());
$session->drain(240000);
foreach ($session->events() as $event) echo $event->userData, ' ', var_export($event->isCancelled(), true), "\n";
$stats = $session->stats();
echo "taken $stats[taken] accepted $stats[accepted] rejected $stats[rejected] cancelled $stats[cancelled]\n";
try {
    $session->cancel(0);
} catch (ValueError $error) {
    echo $error->getMessage(), "\n";
}
--EXPECT--
int(1)
int(1)
int(0)
cancelled: taken back, and it did not arrive cancelled note 2: cancelled: taken back, and it did not arrive
cancelled: taken back, and it did not arrive cancelled note 5: cancelled: taken back, and it did not arrive
accepted accepted note 1: accepted
accepted accepted note 3: accepted
rejected: invalid token (status 8) rejected note 4: rejected: invalid token (status 8): not a device of this app in this environment
accepted accepted note 6: accepted
int(3)
note 7 true
note 8 true
note 9 true
taken 9 accepted 3 rejected 1 cancelled 5
Apns\Session::cancel(): Argument #1 ($identifier) must be what send() returned, or null
