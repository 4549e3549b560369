--TEST--
A script that pushes and exits: everything is delivered, or the number of unresolved notifications is logged
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

const BEGINNING = '[, $count, $port, $provider, $ca] = $argv;
    $make = fn (mixed ...$options) => new Apns\Session(["certificate_file" => $provider, "ca_file" => $ca], ["host" => "127.0.0.1", "port" => (int) $port, "protocol" => "%s"], ...$options);
    $push = function ($session) use ($count) { for ($n = 0; $n < $count; $n++) $session->send(str_repeat("01", 32), ["aps" => ["badge" => $n]]); return $session; };';

function run(Simulator $simulator, string $program, int $count, string $protocol, ?array $environment = null): string
{
    $command = [PHP_BINARY, '-n', '-d', 'extension=' . getenv('APNS_MODULE'), '-d', 'display_errors=0', '-d', 'log_errors=0'];
    $port = $simulator->ready[$protocol === 'http2' ? 'http2_port' : 'gateway_port'];
    array_push($command, '-r', sprintf(BEGINNING, $protocol) . $program, '--', (string) $count, (string) $port, $simulator->ready['provider'], $simulator->ready['ca']);
    $process = proc_open($command, [['file', '/dev/null', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes, null, $environment);
    $said = stream_get_contents($pipes[1]);
    proc_close($process);
    // The error log prefixes each line with the time.
    return trim(preg_replace(['/^\[.*?\] /m', '/:\d+:/'], ['', ':PORT:'], $said));
}

$ample = 'close_timeout_ms: 200000';
$ends = [
    'end' => "\$session = \$push(\$make($ample));",
    'exit' => "\$session = \$push(\$make($ample)); exit(0);",
    'throw' => "\$session = \$push(\$make($ample)); throw new Exception('something else');",
    'fatal error' => "\$session = \$push(\$make($ample)); ini_set('memory_limit', '8M'); str_repeat('x', 1 << 30);",
    'function' => "(function () use (\$make, \$push) { \$push(\$make($ample)); })();",
    'cycle' => "\$thing = new stdClass; \$thing->me = \$thing; \$thing->session = \$push(\$make($ample)); unset(\$thing);",
    'shutdown' => "\$session = \$make($ample); register_shutdown_function(\$push, \$session);",
    'nonblocking' => "\$session = \$push(\$make($ample, nonblocking: true));",
    'persistent' => "\$session = \$push(Apns\Session::persistent('one', ['certificate_file' => \$provider, 'ca_file' => \$ca], host: '127.0.0.1', port: (int) \$port, protocol: '%s', $ample));",
];
foreach (['gateway_port' => 'binary', 'http2_port' => 'http2'] as $protocol) foreach ([300, 2000] as $count) foreach ($ends as $name => $program) {
    if ($count === 2000 && $name !== 'end') continue;
    $simulator = new Simulator([], '--http2-port', '0');
    $said = run($simulator, str_replace('%s', $protocol, $program), $count, $protocol, $name === 'cycle' ? leaving() : null);
    if (str_contains($said, 'PHP')) die($said);
    $accepted = $simulator->counters()["accepted"];
    if ($said !== '' || $accepted !== $count) echo "$name, $protocol: $accepted of $count; $said\n";
    unset($simulator);
}

$stalled = new Simulator(['stall_after_bytes' => 0, 'stall_ms' => 100000]);
$losses = [
    '$session = $push($make(close_timeout_ms: 100));',
    '$session = $push($make(close_timeout_ms: 100, log: false)); exit(0);',
    '$session = $push($make(close_timeout_ms: 100)); ini_set("memory_limit", "8M"); str_repeat("x", 1 << 30);',
    '$session = $push($make(close_timeout_ms: 100, nonblocking: true)); unset($session); echo "goes on";',
    'ini_set("apns.close_timeout_ms", 0); $session = $push($make()); $session = null; echo "goes on";',
    '$session = $push($make(close_timeout_ms: 100, log_level: "error", log: function ($level, $line, $more) { echo "$level: $line ($more[kind], $more[count])"; }));',
];
foreach ($losses as $program) echo run($stalled, $program, 100, 'binary'), "\n";
echo ini_get('apns.close_timeout_ms'), "\n";
--EXPECT--
apns: 127.0.0.1:PORT: error: the session ended, and 100 notifications have no outcome
apns: 127.0.0.1:PORT: error: the session ended, and 100 notifications have no outcome
apns: 127.0.0.1:PORT: error: the session ended, and 100 notifications have no outcome
apns: 127.0.0.1:PORT: error: the session ended, and 100 notifications have no outcome
goes on
apns: 127.0.0.1:PORT: error: the session ended, and 100 notifications have no outcome
goes on
error: the session ended, and 100 notifications have no outcome (closed, 100)
5000
