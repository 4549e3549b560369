--TEST--
A misspelt or invalid setting in php.ini is reported at startup
--EXTENSIONS--
apns
--SKIPIF--
<?php
if (!getenv('APNS_MODULE')) die('skip APNS_MODULE does not name the extension');
?>
--FILE--
<?php
$file = __DIR__ . '/ini_errors.ini';
// No other file is read.
$alone = ['PHP_INI_SCAN_DIR' => ''] + getenv();
foreach ([
    'apns.port = 2195', 'apns.port = "443"', 'apns.port =', 'apns.close_timeout_ms =', 'apns.port = many', 'apns.port = 65536',
    'apns.connect_timeout_ms = -1', 'apns.write_timeout_ms = 5s', 'apns.prot = 2195', 'apns.conect_timeout_ms = 5', 'apns.passphrse = hush',
    'apns.zebra = 1', 'apns.checks = off', 'apns.checks = expiry', 'apns.checks = sometimes', 'apnsx.port = 1', "apns.topic = com.example.app\n; apns.tpic = x",
] as $line) {
    file_put_contents($file, "$line\n");
    $command = [PHP_BINARY, '-c', $file, '-d', 'extension=' . getenv('APNS_MODULE'), '-d', 'display_startup_errors=1', '-d', 'display_errors=1',
        '-r', 'echo implode(" ", array_map(ini_get(...), ["apns.port", "apns.close_timeout_ms", "apns.checks"])), "\n";'];
    $pipes = [];
    $process = proc_open($command, [['file', '/dev/null', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes, null, $alone);
    echo "- $line\n", trim(stream_get_contents($pipes[1])), "\n";
    proc_close($process);
}
echo "- ini_set()\n";
var_dump(@ini_set('apns.port', 'many'), error_get_last()['message'], ini_set('apns.port', '443'), ini_get('apns.port'));
--CLEAN--
<?php
@unlink(__DIR__ . '/ini_errors.ini');
?>
--EXPECT--
- apns.port = 2195
2195 5000 all
- apns.port = "443"
443 5000 all
- apns.port =
0 5000 all
- apns.close_timeout_ms =
0 5000 all
- apns.port = many
Warning: apns.port must be a whole number between 0 and 65535, 'many' given in Unknown on line 0
0 5000 all
- apns.port = 65536
Warning: apns.port must be a whole number between 0 and 65535, '65536' given in Unknown on line 0
0 5000 all
- apns.connect_timeout_ms = -1
Warning: apns.connect_timeout_ms must be a whole number between 0 and 2147483647, '-1' given in Unknown on line 0
0 5000 all
- apns.write_timeout_ms = 5s
Warning: apns.write_timeout_ms must be a whole number between 0 and 2147483647, '5s' given in Unknown on line 0
0 5000 all
- apns.prot = 2195
Warning: unknown setting 'apns.prot' in php.ini; did you mean 'apns.port'? in Unknown on line 0
0 5000 all
- apns.conect_timeout_ms = 5
Warning: unknown setting 'apns.conect_timeout_ms' in php.ini; did you mean 'apns.connect_timeout_ms'? in Unknown on line 0
0 5000 all
- apns.passphrse = hush
Warning: unknown setting 'apns.passphrse' in php.ini; did you mean 'apns.passphrase'? in Unknown on line 0
0 5000 all
- apns.zebra = 1
Warning: unknown setting 'apns.zebra' in php.ini in Unknown on line 0
0 5000 all
- apns.checks = off
0 5000
- apns.checks = expiry
0 5000 expiry
- apns.checks = sometimes
Warning: apns.checks must be 'all', 'payload', 'expiry' or 'none', 'sometimes' given in Unknown on line 0
0 5000 all
- apnsx.port = 1
0 5000 all
- apns.topic = com.example.app
; apns.tpic = x
0 5000 all
- ini_set()
bool(false)
string(66) "apns.port must be a whole number between 0 and 65535, 'many' given"
string(1) "0"
string(3) "443"
