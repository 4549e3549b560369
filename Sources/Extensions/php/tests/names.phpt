--TEST--
An unknown option suggests the nearest one, wherever options are passed
--EXTENSIONS--
apns
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$who = new Apns\Credentials(dangerously_accept_any_peer: true);
$session = new Apns\Session($who, host: '127.0.0.1');
foreach ([
    'session' => fn ($name) => new Apns\Session($who, [$name => 1]),
    'named' => fn ($name) => new Apns\Session($who, ...[$name => 1]),
    'persistent' => fn ($name) => Apns\Session::persistent('x', $who, [$name => 1]),
    'credentials' => fn ($name) => new Apns\Credentials([$name => 'x']),
    'array' => fn ($name) => new Apns\Session([$name => 'x']),
    'feedback' => fn ($name) => new Apns\Feedback($who, [$name => 1]),
    'payload' => fn ($name) => new Apns\Payload([$name => 1]),
    'notification' => fn ($name) => $session->sendMany([['token' => 'aa', 'payload' => '{}', $name => 1]]),
    'key' => fn ($name) => (new Apns\Payload())->set($name, 'x'),
] as $what => $call) {
    foreach ([
        'session' => ['conect_timeout_ms', 'connect_timeout', 'connectTimeoutMs', 'CONNECT-TIMEOUT-MS', 'timeout', 'prot', 'hots', 'topics', 'proxie',
            'certificate_file', 'request', 'zebra', 'x', '', '5', "ho\nst\xff", "host\0", str_repeat('host', 100)],
        'named' => ['conect_timeout_ms'],
        'persistent' => ['requst', 'conections', 'passphrase'],
        'credentials' => ['certificat_file', 'cafile', 'keyId', 'passphrse', 'host', 'topic', 'request', 'pinned'],
        'array' => ['certificatefile', 'port'],
        'feedback' => ['list_timeout', 'tuple_max', 'window_bytes', 'ca_file'],
        'payload' => ['limt', 'trunkate'],
        'notification' => ['user_data', 'prioriy', 'apns-id', 'colapseId', 'push_type', 'name', 'more'],
        'key' => ['budge', 'threadid', 'aps'],
    ][$what] as $name) echo "$what ", substr(json_encode($name, JSON_INVALID_UTF8_SUBSTITUTE), 0, 40), ': ', thrown(fn () => $call($name)), "\n";
}
var_dump($session->stats()['taken']);
--EXPECT--
session "conect_timeout_ms": ValueError: unknown option 'conect_timeout_ms'; did you mean 'connect_timeout_ms'?
session "connect_timeout": ValueError: unknown option 'connect_timeout'; did you mean 'connect_timeout_ms'?
session "connectTimeoutMs": ValueError: unknown option 'connectTimeoutMs'; did you mean 'connect_timeout_ms'?
session "CONNECT-TIMEOUT-MS": ValueError: unknown option 'CONNECT-TIMEOUT-MS'; did you mean 'connect_timeout_ms'?
session "timeout": ValueError: unknown option 'timeout'; did you mean 'connect_timeout_ms'?
session "prot": ValueError: unknown option 'prot'; did you mean 'port'?
session "hots": ValueError: unknown option 'hots'; did you mean 'host'?
session "topics": ValueError: unknown option 'topics'; did you mean 'topic'?
session "proxie": ValueError: unknown option 'proxie'; did you mean 'proxy'?
session "certificate_file": ValueError: unknown option 'certificate_file'; it is an option of Apns\Credentials, not of Apns\Session
session "request": ValueError: unknown option 'request'; it is an option of Apns\Session::persistent(), not of Apns\Session
session "zebra": ValueError: unknown option 'zebra'
session "x": ValueError: unknown option 'x'
session "": ValueError: unknown option ''
session "5": ValueError: unknown option 5 of Apns\Session; options have names
session "ho\nst\ufffd": ValueError: unknown option '(6 bytes, not shown: line breaks or the like)'; did you mean 'host'?
session "host\u0000": ValueError: unknown option '(5 bytes, not shown: line breaks or the like)'; did you mean 'host'?
session "hosthosthosthosthosthosthosthosthosthos: ValueError: unknown option 'hosthosthosthosthosthosthosthosthosthosthosthosthosthosthosthost...'
named "conect_timeout_ms": ValueError: unknown option 'conect_timeout_ms'; did you mean 'connect_timeout_ms'?
persistent "requst": ValueError: unknown option 'requst'; did you mean 'request'?
persistent "conections": ValueError: unknown option 'conections'; did you mean 'connections'?
persistent "passphrase": ValueError: unknown option 'passphrase'; it is an option of Apns\Credentials, not of Apns\Session::persistent()
credentials "certificat_file": ValueError: unknown option 'certificat_file'; did you mean 'certificate_file'?
credentials "cafile": ValueError: unknown option 'cafile'; did you mean 'ca_file'?
credentials "keyId": ValueError: unknown option 'keyId'; did you mean 'key_id'?
credentials "passphrse": ValueError: unknown option 'passphrse'; did you mean 'passphrase'?
credentials "host": ValueError: unknown option 'host'; it is an option of Apns\Session, not of Apns\Credentials
credentials "topic": ValueError: unknown option 'topic'; it is an option of Apns\Session, not of Apns\Credentials
credentials "request": ValueError: unknown option 'request'; it is an option of Apns\Session::persistent(), not of Apns\Credentials
credentials "pinned": ValueError: unknown option 'pinned'; did you mean 'pinned_keys'?
array "certificatefile": ValueError: unknown option 'certificatefile'; did you mean 'certificate_file'?
array "port": ValueError: unknown option 'port'; it is an option of Apns\Session, not of Apns\Credentials
feedback "list_timeout": ValueError: unknown option 'list_timeout'; did you mean 'list_timeout_ms'?
feedback "tuple_max": ValueError: unknown option 'tuple_max'; did you mean 'tuples_max'?
feedback "window_bytes": ValueError: unknown option 'window_bytes'; it is an option of Apns\Session, not of Apns\Feedback
feedback "ca_file": ValueError: unknown option 'ca_file'; it is an option of Apns\Credentials, not of Apns\Feedback
payload "limt": ValueError: unknown option 'limt'; did you mean 'limit'?
payload "trunkate": ValueError: unknown option 'trunkate'; did you mean 'truncate'?
notification "user_data": ValueError: unknown option 'user_data'; did you mean 'userData'?
notification "prioriy": ValueError: unknown option 'prioriy'; did you mean 'priority'?
notification "apns-id": ValueError: unknown option 'apns-id'; did you mean 'apnsId'?
notification "colapseId": ValueError: unknown option 'colapseId'; did you mean 'collapseId'?
notification "push_type": ValueError: unknown option 'push_type'; did you mean 'pushType'?
notification "name": ValueError: unknown option 'name'
notification "more": ValueError: unknown option 'more'
key "budge": Apns\ArgumentException: Apple has no key "budge"; did you mean "badge"?
key "threadid": Apns\ArgumentException: Apple has no key "threadid"; did you mean "thread-id"?
key "aps": Apns\ArgumentException: Apple has no key "aps"
int(0)
