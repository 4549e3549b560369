--TEST--
A persistent session is found by its name, and keeps the outcomes of requests apart
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$simulator = new Simulator(['bad_tokens' => [Simulator::token(2), Simulator::token(4), Simulator::token(6)]]);
$get = fn (mixed ...$more) => Apns\Session::persistent('main', $simulator->identity(), $simulator->where(), ...$more);
$one = $get(request: 'first');
$one->send(Simulator::token(1), '{"aps":{}}', 'good');
$one->send(Simulator::token(2), '{"aps":{}}', ['bad' => [1, 2.5, null, true, "\0"], 7 => 'x']);
$two = $get(request: 'second');
$two->send(Simulator::token(3), '{"aps":{}}', 'good');
$two->send(Simulator::token(4), '{"aps":{}}', 'mine');
$two->drain(240000);
foreach ($two as $event) echo "own: $event->request $event ", json_encode($event->userData), "\n";
foreach ($two->leftEvents() as $event) echo "left: $event->request $event $event->identifier ", $event->token === Simulator::token(2) ? 'to device 2' : '', ' ', json_encode($event->userData), "\n";
var_dump($one->stats()['taken'] === 4, $two->request(), $get()->request());
var_dump($one->nextLeftEvent(), $one->nextEvent());
$deep = [];
for ($i = 0; $i < 100; $i++) $deep = [$deep];
$cycle = [];
$cycle[] = &$cycle;
foreach ([
    fn () => $get(port: 1),
    fn () => $get(window_bytes: 1 << 20),
    fn () => Apns\Session::persistent('main', ['ca_file' => $simulator->ready['ca']], $simulator->where()),
    fn () => $get(request: ''),
    fn () => $get(request: 5),
    fn () => $one->send(Simulator::token(1), '{"aps":{}}', new stdClass),
    fn () => $one->send(Simulator::token(1), '{"aps":{}}', [[STDIN]]),
    fn () => $one->send(Simulator::token(1), '{"aps":{}}', $deep),
    fn () => $one->send(Simulator::token(1), '{"aps":{}}', $cycle),
] as $call) echo thrown($call), "\n";
var_dump($one->stats()['taken']);
// After close() the outcomes stay, and the next request reconnects.
$one->send(Simulator::token(5), '{"aps":{}}', 'third');
$one->send(Simulator::token(6), '{"aps":{}}', 'fourth');
$one->close(2000);
$three = $get(request: 'third');
foreach ($three->leftEvents() as $event) echo "left: $event->request $event $event->userData\n";
$three->send(Simulator::token(7), '{"aps":{}}');
$three->drain(240000);
unset($one, $two, $three);
echo $get()->stats()['taken'], "\n";
// Another name is another session.
$other = Apns\Session::persistent('other', $simulator->credentials(), $simulator->where());
var_dump($other->stats()['taken'], preg_match('/^\d+\.\d+$/', $other->request()));
ob_start(); phpinfo(INFO_MODULES); echo str_contains(ob_get_clean(), 'Persistent sessions of this process => 2') ? "two\n" : "not two\n";
// PHP itself does not free it at exit.
unset($cycle, $call);
gc_collect_cycles();
--EXPECT--
own: second rejected: invalid token (status 8) "mine"
left: first rejected: invalid token (status 8) 2 to device 2 {"bad":[1,2.5,null,true,"\u0000"],"7":"x"}
bool(true)
string(6) "second"
string(6) "second"
NULL
NULL
Apns\ArgumentException: the persistent session "main" was made with other options
Apns\ArgumentException: the persistent session "main" was made with other options
Apns\ArgumentException: the persistent session "main" was made with other options
TypeError: option 'request' must be a string that is not empty
TypeError: option 'request' must be a string that is not empty
TypeError: user data of a persistent session outlives the request, so it must be null, bool, int, float, string, or arrays of these, nested at most 64 deep
TypeError: user data of a persistent session outlives the request, so it must be null, bool, int, float, string, or arrays of these, nested at most 64 deep
TypeError: user data of a persistent session outlives the request, so it must be null, bool, int, float, string, or arrays of these, nested at most 64 deep
TypeError: user data of a persistent session outlives the request, so it must be null, bool, int, float, string, or arrays of these, nested at most 64 deep
int(4)
left: second rejected: invalid token (status 8) fourth
1
int(0)
int(1)
two
