--TEST--
Signal handlers and the time limit work while a call waits
--EXTENSIONS--
apns
--INI--
error_log=/dev/null
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
if (!function_exists('pcntl_signal')) die('skip pcntl is not there');
if (!getenv('APNS_MODULE')) die('skip APNS_MODULE does not name the extension');
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

pcntl_async_signals(true);
$simulator = new Simulator(['stall_after_bytes' => 0, 'stall_ms' => 1000000]);

/** Sends the signal while this process waits. */
function later(int $signal, int $count = 1): mixed
{
    $program = "for n in " . implode(' ', range(1, $count)) . '; do sleep 0.2; kill -' . $signal . ' ' . getmypid() . '; done';
    return proc_open(['sh', '-c', $program], [], $pipes);
}

$took = fn (int $began): string => (hrtime(true) - $began) / 1e9 < 100 ? 'in time' : 'late';
$session = $simulator->session(close_timeout_ms: 0, log: fn () => null);
$session->send(Simulator::token(1), '{"aps":{}}');

// A handler that throws ends each waiting call; nothing is lost.
pcntl_signal(SIGTERM, fn () => throw new RuntimeException('told to end'));
$full = $simulator->session(close_timeout_ms: 0, window_bytes: 16384, write_timeout_ms: 200000, payload_max: 2048, log: fn () => null);
$listener = stream_socket_server('tcp://127.0.0.1:0');
$silent = ['host' => '127.0.0.1', 'port' => (int) substr(strrchr(stream_socket_get_name($listener, false), ':'), 1), 'connect_timeout_ms' => 200000];
$calls = [
    'drain' => fn () => $session->drain(200000),
    'nextEvent' => fn () => $session->nextEvent(200000),
    'events' => function () use ($session) { foreach ($session->events(200000) as $event) echo "an event\n"; },
    'send' => function () use ($full) { for ($n = 0;; $n++) $full->send(Simulator::token(1), ['aps' => (object) [], 'x' => str_repeat('x', 1500)]); },
    'sendMany' => fn () => $full->sendMany(array_fill(0, 100, ['token' => Simulator::token(1), 'payload' => ['aps' => (object) [], 'x' => str_repeat('x', 1500)]])),
    'connect' => fn () => (new Apns\Session($simulator->identity(), $silent))->connect(),
    'feedback' => fn () => (new Apns\Feedback($simulator->identity(), $silent))->read(),
];
foreach ($calls as $name => $call) {
    $child = later(SIGTERM);
    $began = hrtime(true);
    try { $call(); echo "$name returned\n"; }
    catch (RuntimeException $thrown) { echo "$name: ", $thrown->getMessage(), ', ', $took($began), "\n"; }
    proc_close($child);
}
var_dump($session->stats()['unknown'] + $session->stats()['unresolved']);

// Other handlers run while the call waits; each runs, whether the call throws or not.
$handled = 0;
pcntl_signal(SIGUSR1, function () use (&$handled) { $handled++; });
$session = $simulator->session(close_timeout_ms: 0, log: fn () => null);
$session->send(Simulator::token(1), '{"aps":{}}');
$child = later(SIGUSR1, 3);
echo strstr(thrown(fn () => call_user_func([$session, "drain"], 1500)), ":", true), "\n";
proc_close($child);
echo "$handled handled\n";

// A typical worker ends gracefully: everything sent has its outcome.
$worker = '[, $port, $provider, $ca] = $argv; pcntl_async_signals(true); $goes_on = true;
    pcntl_signal(SIGTERM, function () use (&$goes_on) { $goes_on = false; });
    $session = new Apns\Session(["certificate_file" => $provider, "ca_file" => $ca], protocol: "binary", host: "127.0.0.1", port: (int) $port, close_timeout_ms: 100);
    $session->send(str_repeat("01", 32), ["aps" => ["badge" => 1]]); echo "waiting\n";
    while ($goes_on) try { $session->drain(500); } catch (Apns\TimeoutException) {}
    echo "ends\n";';
$limit = '[, $port, $provider, $ca] = $argv; set_time_limit(1);
    $session = new Apns\Session(["certificate_file" => $provider, "ca_file" => $ca], protocol: "binary", host: "127.0.0.1", port: (int) $port, close_timeout_ms: 100);
    $session->send(str_repeat("01", 32), ["aps" => ["badge" => 1]]); echo "waiting\n";
    $session->drain(200000); echo "late\n";';
foreach ([SIGTERM => $worker, SIGPROF => $limit] as $signal => $program) {
    $command = [PHP_BINARY, '-n', '-d', 'extension=' . getenv('APNS_MODULE'), '-d', 'display_errors=1', '-d', 'html_errors=0', '--',
        (string) $simulator->ready['gateway_port'], $simulator->ready['provider'], $simulator->ready['ca']];
    $process = proc_open($command, [['pipe', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes, null, $program === $limit ? leaving() : null);
    fwrite($pipes[0], "<?php $program");
    fclose($pipes[0]);
    fgets($pipes[1]);
    usleep(200000);
    $began = hrtime(true);
    // The limit counts CPU time, and a wait uses none: the test sends the kernel's signal.
    proc_terminate($process, $signal);
    $said = stream_get_contents($pipes[1]);
    echo preg_replace(['/:\d+: /', '/ in Standard.*/', '/^\[.*?\] /m'], [':PORT: ', '', ''], trim($said)), "\n", $took($began), "\n";
    proc_close($process);
}
--EXPECT--
drain: told to end, in time
nextEvent: told to end, in time
events: told to end, in time
send: told to end, in time
sendMany: told to end, in time
connect: told to end, in time
feedback: told to end, in time
int(1)
Apns\TimeoutException
3 handled
ends
apns: 127.0.0.1:PORT: error: the session ended, and 1 notifications have no outcome
in time
Fatal error: Maximum execution time of 1 second exceeded
apns: 127.0.0.1:PORT: error: the session ended, and 1 notifications have no outcome
in time
