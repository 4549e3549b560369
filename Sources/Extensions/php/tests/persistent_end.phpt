--TEST--
At the end of the process unflushed notifications are written and unread outcomes are logged
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
if (!getenv('APNS_MODULE')) die('skip APNS_MODULE does not name the extension');
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$code = <<<'CODE'
[$identity, $where] = json_decode($argv[1], true);
$session = Apns\Session::persistent('main', $identity, $where, request: 'cron');
$session->send(hash('sha256', '1'), '{"aps":{}}', more: true);
$session->send(hash('sha256', '2'), '{"aps":{}}', more: true);
echo "script done\n";
CODE;
$simulator = new Simulator(['bad_tokens' => [hash('sha256', '2')]]);
$command = [PHP_BINARY, '-n', '-d', 'extension=' . getenv('APNS_MODULE'), '-d', 'log_errors=1', '-d', 'error_log=', '-r', $code, '--', json_encode([$simulator->identity(), $simulator->where()])];
$process = proc_open($command, [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes);
echo preg_replace('/^\[.*\] /m', '', stream_get_contents($pipes[1]));
echo proc_close($process), ' ', count($simulator->accepted(1)), "\n";
--EXPECT--
script done
apns: session "main" ends, and nobody took the outcome of notification 2 of request "cron" to d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35: rejected, invalid token
0 1
