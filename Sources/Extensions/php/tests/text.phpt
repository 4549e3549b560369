--TEST--
Numbers, booleans and words are accepted as text, as parse_ini_file(), getenv() and a database return them
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip_http2.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$simulator = new Simulator([], '--http2-port', '0');
$ready = $simulator->ready;
$token = Simulator::token(1);

echo "- an ini file\n";
$settings = parse_ini_string(<<<INI
    [who]
    certificate_file = "$ready[provider]"
    ca_file = "$ready[ca]"
    tls_min = 1.2
    tls_max = "1.3"
    accept_expired = no
    [http2]
    host = 127.0.0.1
    port = "$ready[http2_port]"
    protocol = http2
    outcomes = each
    zero_proves = on
    no_standby = off
    connect_timeout_ms = 20000
    ping_after_ms = -1
    [binary]
    host = 127.0.0.1
    port = $ready[gateway_port]
    protocol = Binary
    format = enhanced
    delivery = at_most_once
    outcomes = Each
    zero_proves =
    INI, true);
foreach (['http2', 'binary'] as $where) {
    $session = new Apns\Session($settings['who'], $settings[$where]);
    $session->send($token, '{"aps":{}}', expiry: 4000000000);
    $session->drain(240000);
    $event = $session->nextEvent();
    echo $event, ' ', $event->httpStatus, "\n";
}
echo $simulator->accepted(2)[1]['command'], " is the command\n";
$numbers = ['connections' => ' 1', 'window_bytes' => "65536\n", 'quiet_period_ms' => '0', 'format' => 'ENHANCED', 'port' => '0443', 'zero_proves' => 1, 'no_standby' => 'FALSE'];
// The values are the same, so the session is the same.
$same = ['connections' => 1, 'window_bytes' => 65536, 'quiet_period_ms' => 0, 'format' => Apns\Format::Enhanced, 'port' => 443, 'zero_proves' => true, 'no_standby' => false];
Apns\Session::persistent('text', $settings['who'], $numbers);
echo thrown(fn () => Apns\Session::persistent('text', $settings['who'], $same)), "\n";
echo thrown(fn () => Apns\Session::persistent('text', $settings['who'], ['port' => 444] + $same)), "\n";

echo "- a row\n";
$session = new Apns\Session($settings['who'], $settings['http2']);
$session->sendMany([
    ['token' => $token, 'payload' => '{"aps":{}}', 'expiry' => '4000000001', 'priority' => '5', 'pushType' => 'background', 'topic' => null],
    ['token' => $token, 'payload' => '{"aps":{}}', 'pushType' => 'alert'],
]);
$session->send($token, '{"aps":{}}', pushType: 'Location');
$session->drain(240000);
foreach (array_slice($simulator->accepted(5), -3) as $one) echo json_encode([$one['push_type'], $one['priority'], $one['expiration']]), "\n";
foreach (Apns\PushType::cases() as $type) {
    foreach ([$type, $type->value] as $given) {
        $one = thrown(fn () => $session->send($token, '{"aps":{}}', pushType: $given, priority: 7));
        // The option is known, so only the priority is wrong.
        str_contains($one, 'priority') or print "$type->name: $one\n";
    }
}

echo "- wrong\n";
foreach ([
    ['port' => 'https'], ['port' => '70000'], ['port' => '-1'], ['port' => ''], ['port' => '4.5'], ['port' => '1e2'], ['port' => '0x10'],
    ['port' => "443\0"], ['port' => str_repeat('9', 40)], ['port' => "a\nb\xff"], ['port' => 443.0], ['port' => true],
    ['keepalive_ms' => '-3000000000'], ['keepalive_ms' => 0], ['retry_timeout_ms' => '0'], ['port' => 0], ['window_bytes' => '4294967296'],
    ['protocol' => 'htpp2'], ['protocol' => 'carrier pigeon'], ['protocol' => "http2\0"], ['protocol' => ''], ['protocol' => false],
    ['format' => 'framd'], ['delivery' => 'at_most_onc'], ['outcomes' => 'failure'], ['no_standby' => 'maybe'], ['no_standby' => "on\0"], ['no_standby' => 2],
    ['no_standby' => 1.0], ['no_standby' => str_repeat('long ', 100)],
] as $options) echo thrown(fn () => new Apns\Session($settings['who'], $options)), "\n";
foreach ([['tls_min' => '1.1'], ['tls_max' => '1.4'], ['tls_min' => 1.2]] as $options) echo thrown(fn () => new Apns\Credentials($options)), "\n";
foreach ([['pushType' => 'alrt'], ['pushType' => 5.0], ['expiry' => '1e9'], ['expiry' => []], ['priority' => 'high']] as $more) {
    echo thrown(fn () => $session->sendMany([['token' => $token, 'payload' => '{}'] + $more])), "\n";
}
echo thrown(fn () => $session->send($token, '{}', pushType: 'allert')), "\n";
--EXPECT--
- an ini file
accepted 200
accepted 0
1 is the command
nothing thrown
Apns\ArgumentException: the persistent session "text" was made with other options
- a row
["background","5","4000000001"]
["alert",null,null]
["location",null,null]
- wrong
ValueError: option 'port' must be a whole number between 1 and 65535, 'https' given
ValueError: option 'port' must be between 1 and 65535, 70000 given
ValueError: option 'port' must be between 1 and 65535, -1 given
ValueError: option 'port' must be a whole number between 1 and 65535, '' given
ValueError: option 'port' must be a whole number between 1 and 65535, '4.5' given
ValueError: option 'port' must be a whole number between 1 and 65535, '1e2' given
ValueError: option 'port' must be a whole number between 1 and 65535, '0x10' given
ValueError: option 'port' must be a whole number between 1 and 65535, '(4 bytes, not shown: line breaks or the like)' given
ValueError: option 'port' must be a whole number between 1 and 65535, '9999999999999999999999999999999999999999' given
ValueError: option 'port' must be a whole number between 1 and 65535, '(4 bytes, not shown: line breaks or the like)' given
TypeError: option 'port' must be of type int, float given
TypeError: option 'port' must be of type int, bool given
ValueError: option 'keepalive_ms' must be between -1 and 2147483647, -3000000000 given
ValueError: option 'keepalive_ms' must not be 0; null is its default
ValueError: option 'retry_timeout_ms' must not be 0; null is its default
ValueError: option 'port' must be between 1 and 65535, 0 given
ValueError: option 'window_bytes' must be between 1 and 4294967295, 4294967296 given
ValueError: option 'protocol' must be 'http2' or 'binary', 'htpp2' given; did you mean 'http2'?
ValueError: option 'protocol' must be 'http2' or 'binary', 'carrier pigeon' given
ValueError: option 'protocol' must be 'http2' or 'binary', '(6 bytes, not shown: line breaks or the like)' given; did you mean 'http2'?
ValueError: option 'protocol' must be 'http2' or 'binary', '' given
TypeError: option 'protocol' must be of type Apns\Protocol or string, bool given
ValueError: option 'format' must be 'simple', 'enhanced' or 'framed', 'framd' given; did you mean 'framed'?
ValueError: option 'delivery' must be 'at_least_once' or 'at_most_once', 'at_most_onc' given; did you mean 'at_most_once'?
ValueError: option 'outcomes' must be 'all', 'each' or 'failures', 'failure' given; did you mean 'failures'?
ValueError: option 'no_standby' must be true or false, on or off, 'maybe' given
ValueError: option 'no_standby' must be true or false, on or off, '(3 bytes, not shown: line breaks or the like)' given
ValueError: option 'no_standby' must be true or false, on or off, '2' given
TypeError: option 'no_standby' must be of type bool, float given
ValueError: option 'no_standby' must be true or false, on or off, 'long long long long long long long long long long long long long...' given
ValueError: option 'tls_min' must be '1.2' or '1.3', '1.1' given
ValueError: option 'tls_max' must be '1.2' or '1.3', '1.4' given
TypeError: option 'tls_min' must be of type Apns\TlsVersion or string, float given
ValueError: 'pushType' of a notification must be 'alert', 'background', 'location', 'voip', 'complication', 'fileprovider', 'mdm', 'liveactivity', 'pushtotalk', 'widgets' or 'controls', 'alrt' given; did you mean 'alert'?
TypeError: 'pushType' of a notification must be of type Apns\PushType or string, float given
ValueError: 'expiry' of a notification must be a whole number, '1e9' given
TypeError: 'expiry' of a notification must be of type DateTimeInterface, int or null, array given
ValueError: 'priority' of a notification must be a whole number, 'high' given
ValueError: Apns\Session::send(): Argument #8 ($pushType) must be 'alert', 'background', 'location', 'voip', 'complication', 'fileprovider', 'mdm', 'liveactivity', 'pushtotalk', 'widgets' or 'controls', 'allert' given; did you mean 'alert'?
