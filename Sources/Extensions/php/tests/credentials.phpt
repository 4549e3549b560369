--TEST--
Credentials from files and bytes, and errors in them
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$simulator = new Simulator();
$provider = file_get_contents($simulator->ready['provider']);
$one = new Apns\Credentials(certificate_file: $simulator->ready['provider']);
$two = new Apns\Credentials(['certificate' => $provider], ca_file: $simulator->ready['ca']);
var_dump($one->describe() === $two->describe(), $one->describe()['topics']);
var_dump((new Apns\Credentials())->describe());
foreach ([
    fn () => new Apns\Credentials(certificate_file: '/nowhere/provider.pem'),
    fn () => new Apns\Credentials(certificate: 'nonsense'),
    fn () => new Apns\Credentials(certificate: $provider, certificate_file: $simulator->ready['provider']),
    fn () => new Apns\Credentials(tls_min: 11),
    fn () => new Apns\Credentials(tls_min: Apns\TlsVersion::Tls13, tls_max: Apns\TlsVersion::Tls12),
    fn () => new Apns\Credentials(accept_expired: 2),
    fn () => new Apns\Credentials(certificate_fil: 'x'),
] as $call) echo preg_replace('~/\S+/~', '', thrown($call)), "\n";
$session = new Apns\Session($two, $simulator->where());
unset($two);
$session->connect();
echo 'connects ', $session->stats()['connects'], "\n";
// Without CA certificates, so the gateway is not trusted.
$other = new Apns\Session($one, $simulator->where(), connect_timeout_ms: 2000);
try { $other->connect(); } catch (Apns\TlsException $thrown) { echo get_class($thrown), ' ', $thrown->getCode(), ' ', var_export($thrown->getTlsCode() !== 0, true), "\n"; }
--EXPECT--
bool(true)
array(1) {
  [0]=>
  string(15) "com.example.app"
}
NULL
Apns\CredentialsException: certificate file provider.pem: No such file or directory
Apns\CredentialsException: certificate in memory holds no PEM certificate, and is neither DER nor PKCS#12
Apns\ArgumentException: both a file and bytes are given for the certificate
TypeError: option 'tls_min' must be of type Apns\TlsVersion or string, int given
Apns\ArgumentException: tls_max is below tls_min
ValueError: option 'accept_expired' must be true or false, on or off, '2' given
ValueError: unknown option 'certificate_fil'; did you mean 'certificate_file'?
connects 1
Apns\TlsException -7 true
