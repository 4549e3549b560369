--TEST--
phpinfo() tells of the extension, php.ini is checked, and a passphrase is not shown
--EXTENSIONS--
apns
--INI--
apns.host=gateway.example
apns.port=2195
apns.passphrase=hush
--FILE--
<?php
ob_start();
phpinfo(INFO_MODULES);
$text = ob_get_clean();
foreach (['apns support => enabled', 'libapns version => 0.1.0', 'apns.host => gateway.example => gateway.example',
    'apns.port => 2195 => 2195', 'apns.passphrase => set, not shown => set, not shown'] as $line) {
    echo str_contains($text, $line) ? 'has' : 'has not', ": $line\n";
}
var_dump(str_contains($text, 'hush'));
foreach (['65535', '65536', '-1', 'many', ''] as $port) {
    echo json_encode($port), ': ', ini_set('apns.port', $port) === false ? 'refused' : 'taken', "\n";
}
--EXPECT--
has: apns support => enabled
has: libapns version => 0.1.0
has: apns.host => gateway.example => gateway.example
has: apns.port => 2195 => 2195
has: apns.passphrase => set, not shown => set, not shown
bool(false)
"65535": taken
"65536": refused
"-1": refused
"many": refused
"": refused
