--TEST--
Pinned keys, revocation lists and the security level
--EXTENSIONS--
apns
openssl
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$simulator = new Simulator();
$connect = function (mixed ...$options) use ($simulator) {
    (new Apns\Session(new Apns\Credentials($simulator->identity(), ...$options), $simulator->where()))->connect();
    return 'connected';
};
$details = openssl_pkey_get_details(openssl_pkey_get_public(file_get_contents($simulator->ready['ca'])));
$pin = 'sha256//' . base64_encode(hash('sha256', base64_decode(preg_replace('/-----.*?-----|\s/', '', $details['key'])), true));
$other = 'sha256//' . base64_encode(str_repeat("\0", 32));
echo $connect(pinned_keys: [$other, $pin]), "\n";
foreach ([
    fn () => $connect(pinned_keys: [$other]),
    fn () => $connect(pinned_keys: []),
    fn () => $connect(pinned_keys: $pin),
    fn () => $connect(pinned_keys: [5]),
    fn () => $connect(pinned_keys: ["$pin\0"]),
    fn () => $connect(pinned_keys: array_fill(0, 200, $pin)),
    fn () => $connect(pinned_keys: [str_replace('256', '1', $pin)]),
    fn () => $connect(crl_file: '/nonexistent/list.crl'),
    fn () => $connect(crl_directory: __DIR__),
    fn () => $connect(security_level: 6),
] as $call) echo preg_replace('/;? its own key is .*| \(certificate.*/', '', thrown($call)), "\n";
// Other pinned keys belong to another persistent session.
$get = fn (array $pins) => Apns\Session::persistent('pinned', $simulator->identity() + ['pinned_keys' => $pins], $simulator->where());
$get([$pin, $other]);
echo thrown(fn () => $get([$pin, $other])), "\n", thrown(fn () => $get([$pin])), "\n";
--EXPECTF--
connected
Apns\TlsException: 127.0.0.1 is not verified: no key in its chain is pinned
Apns\ArgumentException: pinned_key_count is not between 1 and 100
TypeError: option 'pinned_keys' must be of type array, string given
TypeError: option 'pinned_keys' must be an array of strings, int found
ValueError: option 'pinned_keys' must not contain null bytes
Apns\ArgumentException: pinned_key_count is not between 1 and 100
Apns\ArgumentException: pinned_keys[0] is not sha256// followed by 32 bytes in base64: (50 bytes, not shown: perhaps a key)
Apns\CredentialsException: crl file /nonexistent/list.crl: No such file or directory
Apns\TlsException: 127.0.0.1 is not verified: unable to get certificate CRL; crl_file and crl_directory have no list for it
Apns\ArgumentException: security_level is 6, not 1 to 5
nothing thrown
Apns\ArgumentException: the persistent session "pinned" was made with other options
