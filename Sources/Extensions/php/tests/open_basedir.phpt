--TEST--
open_basedir applies to certificates and strings
--EXTENSIONS--
apns
--FILE--
<?php
require __DIR__ . '/simulator.inc';

ini_set('open_basedir', __DIR__);
foreach ([
    fn () => new Apns\Credentials(certificate_file: '/etc/passwd'),
    fn () => new Apns\Credentials(ca_directory: '/etc/ssl'),
    fn () => new Apns\Credentials(crl_file: '/etc/passwd'),
    fn () => new Apns\Credentials(['crl_directory' => '/etc/ssl']),
    fn () => Apns\Strings::open('/etc/passwd'),
] as $call) echo @thrown($call), "\n";
foreach (['certificate_file', 'key_file', 'ca_file', 'ca_directory', 'token_key_file'] as $name) {
    echo $name, @ini_set("apns.$name", '/etc/passwd') === false ? ' is kept' : ' is set', ', ',
        ini_set("apns.$name", __FILE__) === false ? 'kept' : 'set', "\n";
}
--EXPECT--
Apns\ArgumentException: open_basedir does not allow /etc/passwd
Apns\ArgumentException: open_basedir does not allow /etc/ssl
Apns\ArgumentException: open_basedir does not allow /etc/passwd
Apns\ArgumentException: open_basedir does not allow /etc/ssl
Apns\ArgumentException: open_basedir does not allow /etc/passwd
certificate_file is kept, set
key_file is kept, set
ca_file is kept, set
ca_directory is kept, set
token_key_file is kept, set
