--TEST--
Payloads are built, shortened and checked
--EXTENSIONS--
apns
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$payload = new Apns\Payload(limit: 100, truncate: true);
$payload->set('alert', ['title' => 'T', 'body' => str_repeat('ä', 200)])->set('sound', 'default')->add('a', ['x' => [1, 2.0, null, true]]);
$json = $payload->write($cut);
var_dump(strlen($json), $cut, json_decode($json) !== null);
$payload = new Apns\Payload();
echo $payload->set('title', 'gone')->reset()->set('badge', 0)->set('content-available', true)->set('relevance-score', 0.5)
    ->set('url-args', ['a', 'b'])->setCriticalSound('alarm.caf', 0.25)
    ->add('null', null)->add('true', true)->add('int', PHP_INT_MIN)->add('float', 0.1)->add('text', "a\"\n/é"), "\n";
echo $payload->removeCustom()->remove('badge')->set('action-loc-key', null), "\n";
foreach ([
    fn () => $payload->set('budge', 1),
    fn () => $payload->set('badge', '1'),
    fn () => $payload->set('alert', ['badge' => 1]),
    fn () => $payload->set('alert', ['x']),
    fn () => $payload->set('loc-args', [1]),
    fn () => $payload->set('title', "\xff"),
    fn () => $payload->set('relevance-score', NAN),
    fn () => $payload->add('aps', 1),
    fn () => $payload->add('x', NAN),
    fn () => $payload->add('x', ["\xff"]),
    fn () => $payload->add('x', fopen('php://memory', 'r')),
    fn () => (new Apns\Payload())->set('alert', str_repeat('x', 3000))->write(),
    fn () => new Apns\Payload(limit: -1),
] as $call) echo thrown($call), "\n";
foreach (Apns\Payload::check('{"aps":{"alrt":1}}') as $finding) echo json_encode($finding), "\n";
foreach (Apns\Payload::check("{\n  \"aps\": 5}") as $finding) echo json_encode($finding), "\n";
var_dump(Apns\Payload::check('{"aps":{"alert":"x"}}'), count(Apns\Payload::check('{"aps":{' . implode(',', array_map(fn ($n) => "\"k$n\":1", range(1, 40))) . '}}')));
echo thrown(fn () => Apns\Payload::check('{}', -1)), "\n";
--EXPECT--
int(100)
int(390)
bool(true)
{"aps":{"badge":0,"content-available":1,"relevance-score":0.5,"url-args":["a","b"],"sound":{"critical":1,"name":"alarm.caf","volume":0.25}},"null":null,"true":true,"int":-9223372036854775808,"float":0.1,"text":"a\"\n/é"}
{"aps":{"content-available":1,"relevance-score":0.5,"url-args":["a","b"],"sound":{"critical":1,"name":"alarm.caf","volume":0.25},"alert":{"action-loc-key":null}}}
Apns\ArgumentException: Apple has no key "budge"; did you mean "badge"?
TypeError: "badge" must be of type int, string given
Apns\ArgumentException: "badge" is no part of an alert
Apns\ArgumentException: the parts of an alert have names
TypeError: "loc-args" must be of type array of string, int given
Apns\ArgumentException: title is not UTF-8 at byte 0
Apns\ArgumentException: relevance-score is no number that JSON has: NaN or infinite
Apns\ArgumentException: custom key 'aps' is Apple's: apns_payload_set_string() and its like set what is in it
Apns\ArgumentException: custom key 'x' is no number that JSON has: NaN or infinite
Apns\ArgumentException: no JSON can be made of it: Malformed UTF-8 characters, possibly incorrectly encoded
Apns\ArgumentException: no JSON can be made of it: Type is not supported
Apns\ArgumentException: the payload has 3020 bytes, 972 more than its limit of 2048
ValueError: option 'limit' must be between 0 and 9223372036854775807, -1 given
{"severity":"warning","offset":8,"line":1,"column":9,"message":"'alrt' is no key of Apple's; 'alert' is"}
{"severity":"error","offset":11,"line":2,"column":10,"message":"'aps' is not an object"}
array(0) {
}
int(40)
ValueError: Apns\Payload::check(): Argument #2 ($limit) must not be negative
