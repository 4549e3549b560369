--TEST--
phpinfo() shows the extension, php.ini is checked, and a passphrase is hidden
--EXTENSIONS--
apns
--INI--
apns.host=gateway.example
apns.port=2195
apns.passphrase=hush
apns.protocol=http2
apns.topic=com.example.app
apns.key_id=ABC123DEFG
apns.team_id=DEF123GHIJ
--FILE--
<?php
// A key's path is shown, its contents never.
$key = __DIR__ . '/info.p8';
file_put_contents($key, "-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n");
ini_set('apns.token_key_file', $key);
ob_start();
phpinfo(INFO_MODULES);
$text = ob_get_clean();
foreach (['apns support => enabled', 'libapns version => 0.2.0', 'apns.host => gateway.example => gateway.example',
    'apns.port => 2195 => 2195', 'apns.passphrase => set, not shown => set, not shown', 'apns.protocol => http2 => http2',
    'apns.topic => com.example.app => com.example.app', 'apns.key_id => ABC123DEFG => ABC123DEFG',
    'apns.team_id => DEF123GHIJ => DEF123GHIJ', "apns.token_key_file => $key => no value"] as $line) {
    echo str_contains($text, $line) ? 'has' : 'has not', ': ', str_replace(__DIR__, '', $line), "\n";
}
var_dump(str_contains($text, 'hush'));
foreach (['65535', '65536', '-1', 'many', ''] as $port) {
    echo json_encode($port), ': ', @ini_set('apns.port', $port) === false ? 'refused' : 'taken', "\n";
}
--CLEAN--
<?php
@unlink(__DIR__ . '/info.p8');
?>
--EXPECT--
has: apns support => enabled
has: libapns version => 0.2.0
has: apns.host => gateway.example => gateway.example
has: apns.port => 2195 => 2195
has: apns.passphrase => set, not shown => set, not shown
has: apns.protocol => http2 => http2
has: apns.topic => com.example.app => com.example.app
has: apns.key_id => ABC123DEFG => ABC123DEFG
has: apns.team_id => DEF123GHIJ => DEF123GHIJ
has: apns.token_key_file => /info.p8 => no value
bool(false)
"65535": taken
"65536": refused
"-1": refused
"many": refused
"": refused
