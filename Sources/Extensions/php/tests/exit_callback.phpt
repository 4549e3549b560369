--TEST--
exit() and exceptions while the library asks for a passphrase
--EXTENSIONS--
apns
openssl
--SKIPIF--
<?php
if (!extension_loaded('openssl')) die('skip openssl is not there');
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$key = openssl_pkey_new(['private_key_bits' => 2048]);
openssl_pkey_export($key, $text, 'sesame');
$certificate = '';
openssl_x509_export(openssl_csr_sign(openssl_csr_new(['commonName' => 'provider'], $key), null, $key, 2), $certificate);
$make = fn ($passphrase) => new Apns\Credentials(certificate: $certificate, key: $text, passphrase: $passphrase);
var_dump(str_contains($make('sesame')->describe()['subject'], 'CN=provider'));
echo $make(function ($file) { var_dump($file); return 'sesame'; })->describe()['chain_length'], "\n";
echo thrown(fn () => $make(fn () => throw new DomainException('nobody says'))), "\n";
echo get_debug_type((function () use ($make) { try { $make(fn () => null); } catch (Throwable $t) { return $t; } })()), "\n";
echo get_debug_type((function () use ($make) { try { $make(fn () => str_repeat('x', 5000)); } catch (Throwable $t) { return $t; } })()), "\n";
echo thrown(fn () => $make(5)), "\n";
echo thrown(fn () => $make("a\0b")), "\n";
try {
    $make('wrong');
} catch (Apns\CredentialsException $thrown) {
    echo get_class($thrown), ' ', $thrown->getCause()->value, "\n";
    // Before 8.2 PHP cannot hide it in a trace.
    var_dump(PHP_VERSION_ID >= 80200 && preg_match('/wrong/', print_r($thrown->getTrace()[0], true)) === 1);
}
$make(fn () => exit("exit in a passphrase\n"));
--EXPECT--
bool(true)
NULL
1
DomainException: nobody says
Apns\CredentialsException
Apns\CredentialsException
TypeError: option 'passphrase' must be of type string or callable, int given
ValueError: option 'passphrase' must not contain null bytes
Apns\CredentialsException passphrase_wrong
bool(false)
exit in a passphrase
