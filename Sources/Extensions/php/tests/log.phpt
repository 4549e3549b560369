--TEST--
The option log: the error log, a PSR-3 logger, a callable; and what they may do
--EXTENSIONS--
apns
--SKIPIF--
<?php require __DIR__ . '/skip.inc'; ?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$file = tempnam(sys_get_temp_dir(), 'apns-log');
ini_set('error_log', $file);
ini_set('log_errors', '1');
$simulator = new Simulator();

function talk(Apns\Session $session): string
{
    $session->send(Simulator::token(1), '{"aps":{"alert":"a secret"}}');
    $session->drain(60000);
    $session->close(60000);
    return $session->stats()['accepted'] . " accepted\n";
}

function written(string $file): string
{
    $text = file_get_contents($file);
    file_put_contents($file, '');
    return $text;
}

echo "- error log\n", talk($simulator->session(log: true));
$text = written($file);
var_dump((bool) preg_match('/apns: 127\.0\.0\.1:\d+: info: connection 1: connected to /', $text));
var_dump(str_contains($text, 'info: closed after'));

echo "- callable\n";
$lines = [];
echo talk($simulator->session(log_level: 'trace', log: function (string $level, string $line, array $context) use (&$lines) {
    $lines[] = [$level, $line, $context];
}));
$kinds = array_column(array_column($lines, 2), 'kind');
var_dump(in_array('connected', $kinds), in_array('frame', $kinds), end($kinds));
var_dump(str_contains(json_encode($lines), 'secret'));
foreach ($lines as [$level, $line, $context]) {
    if ($context['kind'] === 'connected') {
        echo $level, ' ', preg_replace(['/:\d+/', '/\d+ ms/'], [':PORT', 'N ms'], $line), "\n";
        echo json_encode(array_keys($context)), "\n";
        break;
    }
}

echo "- PSR-3\n";
final class Psr
{
    public array $levels = [];
    public function log($level, string|Stringable $message, array $context = []): void { $this->levels[] = $level; }
}
$psr = new Psr();
echo talk($simulator->session(log: $psr)), json_encode(array_values(array_unique($psr->levels))), "\n";

echo "- throws\n";
echo talk($simulator->session(log: function () { throw new DomainException('of the logger'); }));
var_dump(str_contains(written($file), 'apns: the log threw DomainException: of the logger'));

echo "- uses the session\n";
$session = null;
$seen = 0;
$session = $simulator->session(log: function () use (&$session, &$seen) { $seen = $session->stats()['connects']; });
echo talk($session);
var_dump($seen > 0);
$session = null; // its logger holds it

echo "- refused\n";
foreach ([7, 'no such function', new stdClass()] as $log) {
    try {
        $simulator->session(log: $log);
    } catch (TypeError $error) {
        echo $error->getMessage(), "\n";
    }
}
try {
    Apns\Session::persistent('one', $simulator->credentials(), $simulator->where(), log: $psr);
} catch (Apns\ArgumentException $error) {
    echo $error->getMessage(), "\n";
}
unlink($file);
?>
--EXPECT--
- error log
1 accepted
bool(true)
bool(true)
- callable
1 accepted
bool(true)
bool(true)
string(6) "closed"
bool(false)
info connection 1: connected to 127.0.0.1:PORT at 127.0.0.1 in N ms
["kind","peer","connection","cause","count","milliseconds","left_out","resumed"]
- PSR-3
1 accepted
["info"]
- throws
1 accepted
bool(true)
- uses the session
1 accepted
bool(true)
- refused
option 'log' must be true, a callable or an object with a method log(), int found
option 'log' must be true, a callable or an object with a method log(), string found
option 'log' must be true, a callable or an object with a method log(), stdClass found
a persistent session takes no logger, which ends with the request: log is true or false
