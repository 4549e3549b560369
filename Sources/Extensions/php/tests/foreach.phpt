--TEST--
foreach: left and continued, nested, with exceptions, and after its session was freed
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
$fill = function (int $count) use ($simulator): Apns\Session {
    $session = $simulator->session(outcomes: 'each');
    for ($i = 1; $i <= $count; $i++) $session->send(Simulator::token(1), '{"aps":{}}', $i);
    $session->drain(240000);
    return $session;
};
$session = $fill(6);
foreach ($session as $event) { echo $event->userData; if ($event->userData === 2) break; }
foreach ($session as $event) { echo $event->userData; foreach ($session as $inner) { echo "($inner->userData)"; break; } }
echo "\n";
$session = $fill(4);
try {
    foreach ($session as $event) { echo $event->userData; if ($event->userData === 2) throw new LogicException('in the middle'); }
} catch (LogicException $thrown) { echo ' ', $thrown->getMessage(), ' '; }
foreach ($session as $event) echo $event->userData;
echo "\n";
$session = $fill(3);
foreach ($session as $event) { unset($session); echo $event->userData; }
echo "\n";
$events = $fill(3)->events();
foreach ($events as $event) { unset($events); echo $event->userData; }
echo "\n";
$session = $fill(4);
$iterator = $session->getIterator();
$iterator->rewind(); $iterator->rewind();
echo $iterator->key(), $iterator->current()->userData;
$iterator->next();
unset($session);
echo $iterator->key(), $iterator->current()->userData, ' ', var_export($iterator->valid(), true);
$iterator->next(); $iterator->next(); $iterator->next();
var_dump($iterator->valid(), $iterator->current());
$session = $fill(2);
foreach ($session as $event) { $session->close(1000); echo $event->userData; }
echo "\n";
[$first, $second] = [...$fill(2)];
echo $first->userData, $second->userData, "\n";
$session = $fill(3);
foreach ($session as $event) { if ($event->userData === 2) exit("exit in the middle\n"); }
--EXPECT--
123(4)5(6)
12 in the middle 34
123
123
0112 truebool(false)
NULL
12
12
exit in the middle
