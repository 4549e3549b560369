--TEST--
php.ini gives HTTP/2 options that the script lacks, and does not break a script that sets them
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip_http2.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

// Each credentials object signs a new token.
$simulator = new Simulator(['token_renewal_min_s' => 0], '--http2-port', '0');
$ready = $simulator->ready;
const SETTINGS = ['protocol', 'host', 'port', 'topic', 'ca_file', 'certificate_file', 'token_key_file', 'key_id', 'team_id'];
$token = ['token_key_file' => $ready['token_key'], 'key_id' => $ready['token_key_id'], 'team_id' => $ready['token_team_id']];
$certificate = ['certificate_file' => $ready['provider']];
$http2 = ['protocol' => 'http2', 'host' => '127.0.0.1', 'port' => (string) $ready['http2_port'], 'ca_file' => $ready['ca']];
$topic = ['topic' => 'com.example.app'];
$binary = ['protocol' => 'binary', 'host' => '127.0.0.1', 'port' => $ready['gateway_port']];
$service = ['host' => '127.0.0.1', 'port' => $ready['http2_port']];

/** Only these settings. */
function ini(array ...$settings): void
{
    $settings = array_merge(...$settings);
    foreach (SETTINGS as $name) {
        ini_set("apns.$name", $settings[$name] ?? ($name === 'port' ? '0' : '')) !== false or print "apns.$name is refused\n";
    }
}

/** The result of one push, and its topic. */
function push(Apns\Session $session, ?string $topic = null): string
{
    global $simulator;
    $simulator->control('POST', '/reset');
    $session->send(Simulator::token(1), '{"aps":{}}', topic: $topic);
    $session->drain(240000);
    $event = $session->nextEvent();
    $session->close(1000);
    $one = $event->isAccepted() ? $simulator->accepted(1)[0] : [];
    return "$event by " . ($event->httpStatus ? 'HTTP/2' : 'binary') . ', topic ' . ($one['topic'] ?? 'none');
}
$all = ['outcomes' => 'each'];

echo "- php.ini\n";
ini($http2, $topic, $token);
echo push(new Apns\Session(null, $all)), "\n";
echo push(new Apns\Session(new Apns\Credentials(), $all)), "\n";
echo push(Apns\Session::persistent('a', null, $all)), "\n";
ini($http2, $certificate);
echo push(new Apns\Session(null, $all)), "\n";
ini(['protocol' => 'binary', 'port' => (string) $ready['gateway_port']] + $http2, $certificate, $topic, $token);
echo push(new Apns\Session(null, $all)), "\n";

echo "- the script wins\n";
ini($http2, $topic, $token, $certificate);
echo push(new Apns\Session(null, $all, topic: 'com.example.other')), "\n";
echo push(new Apns\Session(null, $all), 'com.example.third'), "\n";
echo push(new Apns\Session(null, $all + $binary)), "\n";
echo push(new Apns\Session(null, $all, host: 'localhost', protocol: Apns\Protocol::Http2)), "\n";
echo json_encode((new Apns\Credentials(key_id: 'ABCDEFGHIJ'))->describe()['key_id']), "\n";
echo json_encode((new Apns\Credentials(team_id: 'ABCDEFGHIJ'))->describe()['team_id']), "\n";
$described = (new Apns\Credentials($certificate))->describe();
echo json_encode([$described['key_id'], $described['topics']]), "\n";
echo thrown(fn () => new Apns\Credentials(token_key: file_get_contents($ready['token_key']))), "\n";
// Another host uses HTTP/2.
ini(['protocol' => 'binary'] + $http2, $certificate);
echo push(new Apns\Session(null, $all + $service)), "\n";
echo push(new Apns\Session(null, $all + $service, protocol: null)), "\n";
// Another certificate belongs to another app.
ini($http2, ['topic' => 'com.example.other'], $token);
echo push(new Apns\Session($certificate, $all)), "\n";
echo push(new Apns\Session(new Apns\Credentials($certificate), $all)), "\n";
// Another protocol has another host.
$message = thrown(fn () => (new Apns\Session($certificate, protocol: Apns\Protocol::Binary, connect_timeout_ms: 1))->connect());
echo str_contains($message, 'gateway.push.apple.com') ? 'the gateway of that protocol' : $message, "\n";
// The script's key with the identifiers of php.ini.
ini($http2, $topic, ['token_key_file' => ''] + $token);
echo push(new Apns\Session(['token_key_file' => $ready['token_key']], $all)), "\n";
$session = Apns\Session::persistent('b', ['token_key_file' => $ready['token_key']]);
ini($http2, ['topic' => 'com.example.other'], ['token_key_file' => ''] + $token);
echo thrown(fn () => Apns\Session::persistent('b', ['token_key_file' => $ready['token_key']])), "\n";

echo "- wrong\n";
ini(['protocol' => 'HTTP3'] + $http2, $topic, $token, $certificate);
echo thrown(fn () => new Apns\Session()), "\n";
echo thrown(fn () => Apns\Session::persistent('c')), "\n";
echo push(new Apns\Session(null, $all + $binary)), "\n";
echo push(new Apns\Session(null, $all, protocol: Apns\Protocol::Http2)), "\n";
foreach ([['key_id' => 'short'], ['key_id' => 'ABCDEFGHI-'], ['team_id' => 'much too long'], ['key_id' => ''], ['team_id' => ''],
    ['token_key_file' => '/nowhere/key.p8'], ['token_key_file' => $ready['ca']], ['topic' => "com.example\napp"], ['topic' => str_repeat('x', 300)]] as $wrong) {
    ini($wrong + $http2 + $topic + $token + $certificate);
    echo str_replace($ready['ca'], 'ca.pem', thrown(fn () => push(new Apns\Session(null, $all)))), "\n";
    // A session that does not use the wrong setting is not affected.
    thrown(fn () => push(new Apns\Session($certificate, $all))) === 'nothing thrown' or print "certificate\n";
    thrown(fn () => push(new Apns\Session(null, $all + $binary))) === 'nothing thrown' or print "binary\n";
    if (isset($wrong['topic'])) echo push(new Apns\Session(null, $all, topic: 'com.example.app')), "\n";
}
foreach (SETTINGS as $name) @ini_set("apns.$name", "a\0b") === false or print "apns.$name takes a NUL\n";
--EXPECT--
- php.ini
accepted by HTTP/2, topic com.example.app
accepted by HTTP/2, topic com.example.app
accepted by HTTP/2, topic com.example.app
accepted by HTTP/2, topic com.example.app
accepted by binary, topic none
- the script wins
accepted by HTTP/2, topic com.example.other
accepted by HTTP/2, topic com.example.third
accepted by binary, topic none
accepted by HTTP/2, topic com.example.app
"ABCDEFGHIJ"
"ABCDEFGHIJ"
[null,["com.example.app"]]
Apns\ArgumentException: key_id is missing; the token_key needs it
accepted by HTTP/2, topic com.example.app
accepted by HTTP/2, topic com.example.app
accepted by HTTP/2, topic com.example.app
accepted by HTTP/2, topic com.example.app
the gateway of that protocol
accepted by HTTP/2, topic com.example.app
Apns\ArgumentException: the persistent session "b" was made with other options
- wrong
Apns\ArgumentException: apns.protocol of php.ini is "HTTP3", not "http2" or "binary"
Apns\ArgumentException: apns.protocol of php.ini is "HTTP3", not "http2" or "binary"
accepted by binary, topic none
accepted by HTTP/2, topic com.example.app
Apns\ArgumentException: apns.key_id of php.ini is "short", not 10 letters and digits
Apns\ArgumentException: apns.key_id of php.ini is "ABCDEFGHI-", not 10 letters and digits
Apns\ArgumentException: apns.team_id of php.ini is "much too long", not 10 letters and digits
Apns\ArgumentException: apns.token_key_file of php.ini needs apns.key_id
Apns\ArgumentException: apns.token_key_file of php.ini needs apns.team_id
Apns\CredentialsException: apns.token_key_file of php.ini: token_key file /nowhere/key.p8: No such file or directory
Apns\CredentialsException: apns.token_key_file of php.ini: token_key file ca.pem holds no private key in PEM, but a certificate
Apns\ArgumentException: apns.topic of php.ini: topic cannot have character 0x0a at 11
accepted by HTTP/2, topic com.example.app
Apns\ArgumentException: apns.topic of php.ini: topic has more than 255 bytes
accepted by HTTP/2, topic com.example.app
