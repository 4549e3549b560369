--TEST--
open_basedir holds for certificates and strings
--EXTENSIONS--
apns
--FILE--
<?php
require __DIR__ . '/simulator.inc';

ini_set('open_basedir', __DIR__);
foreach ([
    fn () => new Apns\Credentials(certificate_file: '/etc/passwd'),
    fn () => new Apns\Credentials(ca_directory: '/etc/ssl'),
    fn () => Apns\Strings::open('/etc/passwd'),
] as $call) echo @thrown($call), "\n";
--EXPECT--
Apns\ArgumentException: open_basedir keeps /etc/passwd shut
Apns\ArgumentException: open_basedir keeps /etc/ssl shut
Apns\ArgumentException: open_basedir keeps /etc/passwd shut
