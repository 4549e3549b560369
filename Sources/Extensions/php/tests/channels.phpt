--TEST--
Channels are created, described, listed and deleted, and a broadcast reaches a subscriber
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip_http2.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

const NOBODY = 'AAAAAAAAAAAAAAAAAAAAAA==';
$simulator = new Simulator([], '--http2-port', '0', '--channels-port', '0', '--channels-max', '2');
$where = ['host' => '127.0.0.1', 'port' => $simulator->ready['channels_port'], 'topic' => 'com.example.app'];
$channels = new Apns\Channels($simulator->identity(), $where);
var_dump($channels->response());

echo "- the life of a channel\n";
$first = $channels->create('latest');
$second = $channels->create(Apns\Storage::None);
$answer = $channels->response();
echo json_encode([$answer['http_status'], $answer['reason'], $answer['reason_text'], strlen($answer['request_id']), $answer['retry_after']]), "\n";
echo json_encode([$channels->describe($first), $channels->describe($second)]), "\n";
$all = $channels->list();
sort($all);
$made = [$first, $second];
sort($made);
var_dump($all === $made);

echo "- a broadcast\n";
$token = Simulator::token(1);
$simulator->control('POST', '/subscriptions', ['token' => $token, 'channel' => $first]);
$session = new Apns\Session($simulator->identity(), host: '127.0.0.1', port: $simulator->ready['http2_port'],
    protocol: 'http2', topic: 'com.example.app', outcomes: 'each');
$session->send(null, ['aps' => ['timestamp' => 1800000000, 'event' => 'update', 'content-state' => ['score' => 1]]], channelId: $first);
$session->drain(240000);
foreach ($session as $event) echo json_encode([$event->kind, $event->httpStatus, $event->token, strlen($event->uniqueId)]), "\n";
var_dump($simulator->control('GET', '/activities')['activities'][0]['token'] === $token);

echo "- refused\n";
try {
    $channels->create('none');
} catch (Apns\RejectedException $refused) {
    echo $refused->getMessage(), "\n";
    echo json_encode([$refused->reason === Apns\Reason::CannotCreateChannelConfig,
        $refused->reasonText, $refused->httpStatus, strlen($refused->requestId), $refused->retryAfter]), "\n";
}
$channels->delete($first);
var_dump($channels->list() === [$second]);
foreach ([
    fn () => $channels->delete($first),
    fn () => $channels->describe(NOBODY),
    fn () => $channels->describe('?'),
    fn () => $channels->describe("a\0b"),
    fn () => $channels->create('some'),
    fn () => $channels->create(2),
    fn () => $channels->create(null),
    fn () => $channels->stream(),
    fn () => $channels->timeoutMs(),
    fn () => new Apns\Channels($simulator->identity(), environment: 'staging'),
    fn () => new Apns\Channels($simulator->identity(), window_bytes: 7),
    fn () => new Apns\Channels(['token_key_file' => $simulator->ready['token_key'], 'key_id' => 'SIMULATOR1', 'team_id' => 'EXAMPLE123']),
    fn () => (new ReflectionClass(Apns\Channels::class))->newInstanceWithoutConstructor()->list(),
    fn () => clone $channels,
    fn () => $channels->__construct($simulator->identity()),
] as $call) echo thrown($call), "\n";

echo "- in doubt\n";
$stalled = new Simulator(['stall_after_bytes' => 1, 'services' => 'channels'], '--http2-port', '0', '--channels-port', '0');
$silent = new Apns\Channels($stalled->identity(), $where, port: $stalled->ready['channels_port'], answer_timeout_ms: 300);
try {
    $silent->create('none');
} catch (Apns\InDoubtException $doubt) {
    echo get_class($doubt), ' ', json_encode([$silent->response()]), "\n";
}

echo "- a loop\n";
$loop = new Apns\Channels($simulator->identity(), $where, nonblocking: true);
$stream = $loop->stream();
for ($again = 0; ; $again++) {
    try {
        var_dump($loop->list() === [$second]);
        break;
    } catch (Apns\AgainException) {
        $readable = [$stream];
        $writable = $other = [];
        if (!stream_select($readable, $writable, $other, 240)) die("nothing came\n");
    }
}
var_dump($again > 0, $loop->timeoutMs());
echo thrown(fn () => $loop->list()), "\n";
echo thrown(fn () => $loop->create('none')), "\n";
$loop->cancel();

echo "- a log, and a provider of tokens\n";
$lines = 0;
$asked = null;
$told = new Apns\Channels($simulator->identity(), $where, log_level: 'debug', log: function () use (&$lines, &$told) {
    $lines++;
    $told = null;
});
$told->list();
var_dump($lines > 0, $told);
$vault = new Apns\Channels(['token_provider' => fn () => throw new LogicException('the vault is shut'), 'ca_file' => $simulator->ready['ca']], $where);
echo thrown(fn () => $vault->list()), "\n";
// The session calls it again after a second.
do {
    $said = thrown(fn () => $vault->list());
} while ($said === 'Apns\CredentialsException: the token_callback failed');
echo "$said\n";
--EXPECT--
NULL
- the life of a channel
[201,null,"",36,0]
[{"storage":"latest","push_type":"liveactivity"},{"storage":"none","push_type":"liveactivity"}]
bool(true)
- a broadcast
["accepted",200,"",36]
bool(true)
- refused
the service refused to create a channel: 400 CannotCreateChannelConfig
[true,"CannotCreateChannelConfig",400,36,0]
bool(true)
Apns\RejectedException: the service refused to delete the channel: 400 ChannelNotRegistered
Apns\RejectedException: the service refused to describe the channel: 400 ChannelNotRegistered
Apns\ArgumentException: channel_id is not base64: character 0x3f at 0
Apns\ArgumentException: channel_id has a null byte
ValueError: Apns\Channels::create(): Argument #1 ($storage) must be 'none' or 'latest', 'some' given
TypeError: Apns\Channels::create(): Argument #1 ($storage) must be of type Apns\Storage or string, int given
TypeError: Apns\Channels::create(): Argument #1 ($storage) must be of type Apns\Storage or string, null given
Apns\ArgumentException: the channels object was made without nonblocking
Apns\ArgumentException: the channels object was made without nonblocking
ValueError: option 'environment' must be 'production' or 'sandbox', 'staging' given
ValueError: unknown option 'window_bytes'; it is an option of Apns\Session, not of Apns\Channels
Apns\ArgumentException: there is no topic: channels need the app's bundle id
ReflectionException: Class Apns\Channels is an internal class marked as final that cannot be instantiated without invoking its constructor
Error: Trying to clone an uncloneable object of class Apns\Channels
Error: Apns\Channels is already constructed
- in doubt
Apns\InDoubtException [null]
- a loop
bool(true)
bool(true)
NULL
Apns\AgainException: not done yet: the session continues with it
Apns\ArgumentException: another request is under way, to list the channels: repeat that call, or cancel it
- a log, and a provider of tokens
bool(true)
NULL
LogicException: the vault is shut
LogicException: the vault is shut
