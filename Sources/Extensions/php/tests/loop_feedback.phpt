--TEST--
Feedback in an event loop
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$gone = tempnam(sys_get_temp_dir(), 'apns');
file_put_contents($gone, '1290000000 ' . Simulator::token(1) . "\n1290000001 " . Simulator::token(2) . "\n");
$simulator = new Simulator([], '--feedback', $gone);
$feedback = new Apns\Feedback($simulator->credentials(), host: '127.0.0.1', port: $simulator->ready['feedback_port'], nonblocking: true);
$stream = $feedback->stream();
$waits = 0;
while (true) {
    try {
        $entry = $feedback->read();
        if (!$entry) break;
        echo $entry->timestamp, ' ', $entry->token === Simulator::token($entry->timestamp - 1289999999) ? 'right' : 'wrong', "\n";
    } catch (Apns\AgainException) {
        $waits++;
        $readable = [$stream];
        $none = [];
        if (!stream_select($readable, $none, $none, 240)) die("nothing comes\n");
    }
}
var_dump($waits > 0);
unlink($gone);
echo thrown(fn () => $simulator->feedback()->stream()), "\n";
--EXPECT--
1290000000 right
1290000001 right
bool(true)
Apns\ArgumentException: the feedback was made without nonblocking
