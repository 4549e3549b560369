--TEST--
No backtrace shows an option's value
--EXTENSIONS--
apns
openssl
--INI--
zend.exception_ignore_args=0
zend.exception_string_param_max_len=200
--FILE--
<?php
$key = openssl_pkey_new(['private_key_type' => OPENSSL_KEYTYPE_EC, 'curve_name' => 'prime256v1']);
openssl_pkcs12_export(openssl_csr_sign(openssl_csr_new(['CN' => 'provider'], $key), null, $key, 1), $p12, $key, 'SECRET');
$secrets = ['certificate' => 'SECRET-certificate', 'key' => 'SECRET-key', 'token_key' => 'SECRET-token', 'passphrase' => 'SECRET-passphrase', 'key_id' => 'SECRET-id'];
$proxy = ['proxy' => 'http://SECRET-user%3A:SECRET-password@localhost:1', 'host' => 'localhost'];
// Not even from within the options' callables.
$asks = function () { debug_print_backtrace(); throw new Exception('asked'); };
$calls = [
    'in the array' => fn () => new Apns\Credentials($secrets),
    'by name' => fn () => new Apns\Credentials(...$secrets),
    'of a wrong type' => fn () => new Apns\Credentials(certificate: ['SECRET']),
    'unknown' => fn () => new Apns\Credentials(certificate: 'SECRET', another: 'SECRET'),
    'too many' => fn () => new Apns\Credentials([], null, null, null, 'SECRET'),
    'a session' => fn () => new Apns\Session($secrets, $proxy),
    'a session by name' => fn () => new Apns\Session($secrets, ...$proxy),
    'a session of a proxy' => fn () => new Apns\Session(null, ...$proxy),
    'a persistent one' => fn () => Apns\Session::persistent('main', $secrets, $proxy),
    'a persistent one by name' => fn () => Apns\Session::persistent('main', null, ...$proxy),
    'a persistent one of another type' => fn () => Apns\Session::persistent('main', $secrets, $proxy, ...['request' => 5, 'topic' => 'SECRET']),
    'feedback' => fn () => new Apns\Feedback($secrets, $proxy),
    'feedback by name' => fn () => new Apns\Feedback(null, ...$proxy),
    'channels' => fn () => new Apns\Channels($secrets, $proxy),
    'channels by name' => fn () => new Apns\Channels(null, ...$proxy),
    'a callable' => fn () => new Apns\Credentials(certificate: $p12, passphrase: $asks, key_id: 'SECRET'),
];
foreach ($calls as $name => $call) {
    ob_start();
    try {
        $call();
        echo 'nothing thrown: SECRET';
    } catch (Throwable $thrown) {
        echo $thrown->getTraceAsString();
        // The variables of the test's closures are not arguments of a call.
        $shown = array_column($thrown->getTrace(), 'args');
        array_walk_recursive($shown, function ($value) { if (is_scalar($value)) echo $value, "\n"; });
    }
    $text = ob_get_clean();
    // Before 8.2 PHP cannot hide parameters.
    if (PHP_VERSION_ID < 80200) $text = '';
    echo $name, ': ', str_contains($text, 'SECRET') ? $text : 'nothing', "\n";
}
// The named arguments belong to the call, and are freed with it.
try { new Apns\Credentials(...$secrets); } catch (Apns\Exception $thrown) { echo get_class($thrown), "\n"; }
--EXPECT--
in the array: nothing
by name: nothing
of a wrong type: nothing
unknown: nothing
too many: nothing
a session: nothing
a session by name: nothing
a session of a proxy: nothing
a persistent one: nothing
a persistent one by name: nothing
a persistent one of another type: nothing
feedback: nothing
feedback by name: nothing
channels: nothing
channels by name: nothing
a callable: nothing
Apns\CredentialsException
