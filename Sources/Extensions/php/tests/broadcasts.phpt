--TEST--
Broadcasts: notifications with a channel instead of a device
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
const NOBODY = 'AAAAAAAAAAAAAAAAAAAAAA==';
$update = ['aps' => ['timestamp' => 1800000000, 'event' => 'update', 'content-state' => ['score' => 1]]];
$simulator = new Simulator([], '--http2-port', '0', '--channels-port', '0');
$session = new Apns\Session($simulator->identity(), host: '127.0.0.1', port: $simulator->ready['http2_port'],
    protocol: 'http2', topic: 'com.example.app', outcomes: 'each');

echo "- a channel that is not there\n";
$session->send(null, $update, 1, apnsId: UUID, channelId: NOBODY);
$built = (new Apns\Payload())->set('timestamp', 1800000000)->set('event', 'update')->set('content-state', ['score' => 2]);
$session->sendMany([
    ['payload' => $built, 'userData' => 2, 'channelId' => NOBODY],
    ['token' => null, 'payload' => $update, 'userData' => 3, 'channelId' => NOBODY, 'pushType' => 'liveactivity',
        'priority' => 5, 'topic' => 'com.example.app.push-type.liveactivity', 'apnsId' => UUID],
    ['token' => Simulator::token(1), 'payload' => '{"aps":{}}', 'userData' => 4, 'channelId' => null],
]);
$session->drain(240000);
$events = iterator_to_array($session->events());
usort($events, fn ($a, $b) => $a->identifier <=> $b->identifier);
foreach ($events as $event) {
    echo "$event ", json_encode([$event->userData, $event->httpStatus, $event->reason === Apns\Reason::ChannelNotRegistered,
        $event->token === '', $event->apnsId === UUID]), "\n";
}
echo $events[0]->why, "\n";

echo "- what Apple's console finds\n";
echo json_encode([$events[0]->uniqueId, end($events)->uniqueId === $simulator->accepted(1)[0]['unique_id'], strlen(end($events)->uniqueId)]), "\n";

echo "- refused\n";
$start = ['aps' => ['event' => 'start'] + $update['aps']];
foreach ([
    fn () => $session->send(Simulator::token(1), $update, channelId: NOBODY),
    fn () => $session->send(null, $update),
    fn () => $session->send(null, $update, channelId: ''),
    fn () => $session->send(null, $update, channelId: '?'),
    fn () => $session->send(null, $update, channelId: "a\0b"),
    fn () => $session->send(null, $update, collapseId: 'x', channelId: NOBODY),
    fn () => $session->send(null, $update, pushType: 'alert', channelId: NOBODY),
    fn () => $session->send(null, $start, channelId: NOBODY),
    fn () => $session->send(null, str_repeat(' ', 5121), channelId: NOBODY),
    fn () => $session->sendMany([['payload' => $update]]),
    fn () => $session->sendMany([['payload' => $update, 'channelId' => 7]]),
    fn () => $session->sendMany([['payload' => $update, 'chanelId' => NOBODY]]),
    fn () => $simulator->session()->send(null, $update, channelId: NOBODY),
] as $call) echo thrown($call), "\n";
echo $session->stats()['taken'], " taken\n";
--EXPECT--
- a channel that is not there
rejected: ChannelNotRegistered (HTTP 400) [1,400,true,true,true]
rejected: ChannelNotRegistered (HTTP 400) [2,400,true,true,false]
rejected: ChannelNotRegistered (HTTP 400) [3,400,true,true,true]
accepted [4,200,false,false,false]
rejected: ChannelNotRegistered (HTTP 400): there is no such channel of this app in this environment
- what Apple's console finds
[null,true,36]
- refused
Apns\ArgumentException: a notification has a token or a channel_id, not both
TypeError: a device token must be of type Apns\Token or string, null given
Apns\ArgumentException: the device token has 0 bytes, not 1 to 100
Apns\ArgumentException: channel_id is not base64: character 0x3f at 0
Apns\ArgumentException: channel_id has a null byte
Apns\ArgumentException: a broadcast has no collapse_id
Apns\ArgumentException: push_type is 1, but a broadcast is for Live Activities
Apns\ArgumentException: event is "start", but a broadcast cannot start a Live Activity
Apns\ArgumentException: the payload has 5121 bytes, more than 5120
TypeError: a device token must be of type Apns\Token or string, null given
TypeError: 'channelId' of a notification must be of type string, int given
ValueError: unknown option 'chanelId'; did you mean 'channelId'?
Apns\ArgumentException: the binary interface has no channels: broadcasts need HTTP/2
4 taken
