--TEST--
Payloads are built, truncated and checked
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
    fn () => (new Apns\Payload())->set('alert', str_repeat('x', 5000))->write(),
    fn () => new Apns\Payload(limit: -1),
] as $call) echo thrown($call), "\n";
foreach (Apns\Payload::check('{"aps":{"alrt":1}}') as $finding) echo json_encode($finding), "\n";
foreach (Apns\Payload::check("{\n  \"aps\": 5}") as $finding) echo json_encode($finding), "\n";
var_dump(Apns\Payload::check('{"aps":{"alert":"x"}}'), count(Apns\Payload::check('{"aps":{' . implode(',', array_map(fn ($n) => "\"k$n\":1", range(1, 40))) . '}}')));
echo thrown(fn () => Apns\Payload::check('{}', -1)), "\n";
$payload = new Apns\Payload();
$live = (string) $payload->set('timestamp', 1800000000)->set('event', 'start')->set('content-state', ['score' => [1, 0]])
    ->set('attributes-type', 'Match')->set('attributes', [])->set('input-push-token', 1)
    ->set('alert', ['title' => ['loc-key' => 'GOAL', 'loc-args' => ['Jenna']], 'body' => 'b', 'sound' => 'goal.caf']);
echo $live, "\n";
var_dump(Apns\Payload::check($live));
foreach ([
    fn () => $payload->set('content-state', '{}'),
    fn () => $payload->set('content-state', [1]),
    fn () => $payload->set('title', ['loc_key' => 'GOAL']),
] as $call) echo thrown($call), "\n";
var_dump((string) $payload === $live);
echo $payload->reset()->set('content-changed', true), $payload->set('content-changed', 0), "\n";
echo thrown(fn () => $payload->set('content-changed', 'true')), "\n";
--EXPECT--
int(100)
int(390)
bool(true)
{"aps":{"badge":0,"content-available":1,"relevance-score":0.5,"url-args":["a","b"],"sound":{"critical":1,"name":"alarm.caf","volume":0.25}},"null":null,"true":true,"int":-9223372036854775808,"float":0.1,"text":"a\"\n/é"}
{"aps":{"content-available":1,"relevance-score":0.5,"url-args":["a","b"],"sound":{"critical":1,"name":"alarm.caf","volume":0.25},"alert":{"action-loc-key":null}}}
Apns\ArgumentException: Apple has no key "budge"; did you mean "badge"?
TypeError: "badge" must be of type int, string given
Apns\ArgumentException: "badge" is not a part of an alert
Apns\ArgumentException: the parts of an alert must have names
TypeError: "loc-args" must be of type array of string, int given
Apns\ArgumentException: title is not UTF-8 at byte 0
Apns\ArgumentException: relevance-score is NaN or infinite, which JSON cannot express
Apns\ArgumentException: custom key 'aps' is Apple's: set what is in it with apns_payload_set_string() and the like
Apns\ArgumentException: custom key 'x' is NaN or infinite, which JSON cannot express
Apns\ArgumentException: it cannot be encoded as JSON: Malformed UTF-8 characters, possibly incorrectly encoded, at [0]
Apns\ArgumentException: it cannot be encoded as JSON: Type is not supported
Apns\ArgumentException: the payload has 5020 bytes, 924 more than its limit of 4096
ValueError: option 'limit' must be between 0 and 9223372036854775807, -1 given
{"severity":"warning","offset":8,"line":1,"column":9,"message":"'alrt' is not a key of Apple's; 'alert' is"}
{"severity":"error","offset":11,"line":2,"column":10,"message":"'aps' is not an object"}
array(0) {
}
int(40)
ValueError: Apns\Payload::check(): Argument #2 ($limit) must be at least 1, or null
{"aps":{"timestamp":1800000000,"event":"start","content-state":{"score":[1,0]},"attributes-type":"Match","attributes":{},"input-push-token":1,"alert":{"title":{"loc-key":"GOAL","loc-args":["Jenna"]},"body":"b","sound":"goal.caf"}}}
array(0) {
}
TypeError: "content-state" must be of type array, string given
Apns\ArgumentException: content-state is not a JSON object
Apns\ArgumentException: title is not an object with loc-key, a string, and loc-args, an array of strings
bool(true)
{"aps":{"content-changed":true}}{"aps":{"content-changed":false}}
TypeError: "content-changed" must be of type int, string given
