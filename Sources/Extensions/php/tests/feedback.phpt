--TEST--
The feedback list, with foreach and one by one
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
foreach ([3 => 'aabb', 2 => 'ccdd', 1 => 'eeff'] as $time => $token) $simulator->control('POST', '/unregistered', ['token' => $token, 'timestamp' => $time]);
$feedback = $simulator->feedback();
foreach ($feedback as $entry) { echo "$entry->timestamp $entry->token\n"; break; }
$entry = $feedback->read();
echo "$entry->timestamp $entry->token\n";
foreach ($feedback as $entry) echo "$entry->timestamp $entry->token\n";
var_dump($feedback->read(), $feedback->read(), iterator_to_array($simulator->feedback()));
echo thrown(fn () => $entry->token = 'x'), "\n";
foreach (['aabb', 'ccdd'] as $token) $simulator->control('POST', '/unregistered', ['token' => $token, 'timestamp' => 9]);
$simulator->control('PUT', '/faults', ['feedback_cut_bytes' => 10]);
$feedback = $simulator->feedback();
try {
    foreach ($feedback as $entry) echo "$entry->timestamp $entry->token\n";
} catch (Apns\ProtocolException $thrown) { echo get_class($thrown), "\n"; }
--EXPECT--
3 aabb
2 ccdd
1 eeff
NULL
NULL
array(0) {
}
Error: Cannot modify readonly property Apns\FeedbackEntry::$token
9 aabb
Apns\ProtocolException
