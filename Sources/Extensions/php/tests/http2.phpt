--TEST--
HTTP/2 with a certificate and with provider tokens: responses, and refusals before sending
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip_http2.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

const UUID = '123e4567-e89b-12d3-a456-42665544000a';
$simulator = new Simulator(['bad_tokens' => ['ff']], '--http2-port', '0');
$where = ['host' => '127.0.0.1', 'port' => $simulator->ready['http2_port'],
    'protocol' => Apns\Protocol::Http2, 'outcomes' => Apns\Outcomes::Each];
$token = Simulator::token(1);
$gone = Simulator::token(2);
$simulator->control('POST', '/unregistered', ['token' => $gone]);

echo "- every field\n";
$session = new Apns\Session($simulator->identity(), $where);
$session->send($token, '{"aps":{}}', ['user' => 7], expiry: 4000000000, priority: 5,
    topic: 'com.example.app.location-query', pushType: Apns\PushType::Location, collapseId: 'score', apnsId: strtoupper(UUID));
$session->sendMany([
    ['token' => $token, 'payload' => ['aps' => ['content-available' => 1]]],
    ['token' => $token, 'payload' => ['aps' => ['content-changed' => true]], 'pushType' => Apns\PushType::Widgets,
        'priority' => Apns\Priority::Low, 'topic' => 'com.example.app.push-type.widgets', 'collapseId' => 'x', 'apnsId' => UUID, 'userData' => 8],
    ['token' => 'ff', 'payload' => '{}', 'userData' => 9],
    ['token' => $gone, 'payload' => '{}', 'userData' => 10],
]);
$session->drain(240000);
foreach ($simulator->accepted(3) as $one) {
    echo json_encode([$one['topic'], $one['push_type'], $one['priority'], $one['expiration'], $one['collapse_id']]), "\n";
}
$events = iterator_to_array($session->events());
usort($events, fn ($a, $b) => $a->identifier <=> $b->identifier);
foreach ($events as $event) {
    echo "$event ", json_encode([$event->userData, $event->httpStatus, $event->reason, $event->reject, $event->reasonText,
        $event->apnsId === UUID, strlen($event->apnsId), abs($event->timestamp - time()) < 3600]), "\n";
}

echo "- how long, and one as its parameters\n";
$one = ['token' => $token, 'payload' => '{"aps":{}}', 'userData' => 11];
foreach ([null, 0, 4000000000, '4000000000', new DateTimeImmutable('@4000000001')] as $expiry) {
    $session->send(...$one, expiry: $expiry);
    $session->sendMany([$one + ['expiry' => $expiry]]);
}
$session->drain(240000);
foreach (array_slice($simulator->accepted(13), 3) as $sent) echo json_encode($sent['expiration']), ' ';
echo count(iterator_to_array($session->events())), "\n";

echo "- gone\n";
foreach ($session->gone() as $entry) {
    echo $entry->token === $gone ? 'the device' : 'another', ' ', abs($entry->timestamp - time()) < 3600 ? 'today' : 'once', "\n";
}
echo count($session->gone()), "\n";
try {
    (new Apns\Session($simulator->identity(), protocol: 'binary'))->gone();
} catch (Apns\ArgumentException $error) {
    echo $error->getMessage(), "\n";
}

echo "- provider tokens\n";
$key = dirname($simulator->ready['provider']) . '/provider-token.p8';
$names = ['key_id' => 'SIMULATOR1', 'team_id' => 'EXAMPLE123', 'ca_file' => $simulator->ready['ca']];
foreach (['token_key_file' => $key, 'token_key' => file_get_contents($key)] as $option => $value) {
    // Each needs its own service, which refuses a second token so soon.
    $other = new Simulator([], '--http2-port', '0');
    $who = new Apns\Credentials($names, ...[$option => $value]);
    $bearer = new Apns\Session($who, $where, port: $other->ready['http2_port'], topic: 'com.example.app');
    for ($number = 0; $number < 100; $number++) $bearer->send($token, '{"aps":{}}', more: true);
    $bearer->drain(240000);
    echo count(array_filter(iterator_to_array($bearer->events()), fn ($event) => $event->isAccepted() && $event->httpStatus === 200)), "\n";
}
echo json_encode($who->describe()), "\n";

echo "- refused\n";
foreach ([
    fn () => (new Apns\Session($who, $where))->send($token, '{}'),
    fn () => $session->send($token, '{}', topic: "a\0b"),
    fn () => $session->send($token, '{}', pushType: 1),
    fn () => $session->send($token, '{}', pushType: Apns\PushType::Background, priority: 10),
    fn () => $session->send($token, '{}', priority: 7),
    fn () => $session->send($token, '{}', collapseId: str_repeat('x', 65)),
    fn () => $session->send($token, '{}', apnsId: '7'),
    fn () => $session->sendMany([['token' => $token, 'payload' => '{}', 'topic' => 7]]),
    fn () => new Apns\Session($who, $where, protocol: 9),
    fn () => new Apns\Session($who, $where, topic: []),
    fn () => new Apns\Credentials($names, token_key: 'nonsense'),
    fn () => new Apns\Credentials($names),
    fn () => new Apns\Credentials(token_key_file: $key, key_id: 'short', team_id: 'EXAMPLE123'),
] as $call) echo thrown($call), "\n";
echo $session->stats()['taken'], " taken\n";

echo "- words\n";
echo Apns\Reason::Unregistered->httpStatus(), ' ', Apns\Reason::Other->httpStatus(), "\n";
--EXPECT--
- every field
["com.example.app.location-query","location","5","4000000000","score"]
["com.example.app","background","5",null,null]
["com.example.app.push-type.widgets","widgets","1",null,"x"]
accepted [{"user":7},200,null,null,"",true,36,false]
accepted [null,200,null,null,"",false,36,false]
accepted [8,200,null,null,"",true,36,false]
rejected: BadDeviceToken (HTTP 400) [9,400,"BadDeviceToken",8,"BadDeviceToken",false,36,false]
rejected: Unregistered (HTTP 410) [10,410,"Unregistered",null,"Unregistered",false,36,true]
- how long, and one as its parameters
null null "0" "0" "4000000000" "4000000000" "4000000000" "4000000000" "4000000001" "4000000001" 10
- gone
the device today
0
over the binary interface, the feedback service lists the devices that are gone
- provider tokens
100
100
{"subject":null,"topics":[],"not_before":0,"not_after":0,"environments":[],"chain_length":0,"key_id":"SIMULATOR1","team_id":"EXAMPLE123"}
- refused
Apns\ArgumentException: there is no topic, and a provider token needs one
Apns\ArgumentException: topic has a null byte
TypeError: Apns\Session::send(): Argument #8 ($pushType) must be of type Apns\PushType or string, int given
Apns\ArgumentException: priority is 10, but a background push needs 5
Apns\ArgumentException: priority is 7, not 1, 5 or 10
Apns\ArgumentException: collapse_id has more than 64 bytes
Apns\ArgumentException: apns_id is not a UUID
TypeError: 'topic' of a notification must be of type string, int given
TypeError: option 'protocol' must be of type Apns\Protocol or string, int given
TypeError: option 'topic' must be of type string, array given
Apns\CredentialsException: token_key in memory holds no private key in PEM or DER
Apns\ArgumentException: key_id or team_id is given without a token_key
Apns\ArgumentException: key_id has 5 characters, not 10
15 taken
- words
410 0
