--TEST--
An event loop of streams and timers, as in ReactPHP
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

/** The relevant part of React\EventLoop\StreamSelectLoop. */
final class Loop
{
    private array $streams = [];
    private array $listeners = [];
    private array $timers = [];
    private bool $runs = false;

    public function addReadStream($stream, callable $listener): void
    {
        $this->streams[(int) $stream] = $stream;
        $this->listeners[(int) $stream] = $listener;
    }

    public function removeReadStream($stream): void
    {
        unset($this->streams[(int) $stream], $this->listeners[(int) $stream]);
    }

    public function addPeriodicTimer(float $interval, callable $callback): void
    {
        $this->timers[] = (object) ['due' => hrtime(true) / 1e9 + $interval, 'interval' => $interval, 'callback' => $callback];
    }

    public function stop(): void
    {
        $this->runs = false;
    }

    public function run(): void
    {
        $this->runs = true;
        while ($this->runs) {
            $due = min(array_map(fn ($timer) => $timer->due, $this->timers));
            $wait = max(0, (int) (($due - hrtime(true) / 1e9) * 1e6));
            $readable = $this->streams;
            $writable = $other = [];
            stream_select($readable, $writable, $other, intdiv($wait, 1000000), $wait % 1000000);
            foreach ($readable as $stream) if (isset($this->listeners[(int) $stream])) ($this->listeners[(int) $stream])($stream);
            foreach ($this->timers as $timer) {
                if ($timer->due > hrtime(true) / 1e9) continue;
                $timer->due += $timer->interval;
                ($timer->callback)();
            }
        }
    }
}

$simulator = new Simulator(['bad_tokens' => [Simulator::token(2)]]);
$session = $simulator->session(nonblocking: true, outcomes: 'each');
$loop = new Loop();
$stream = $session->stream();
$sent = $beats = $news = 0;
$kinds = [];
$isClosing = false;
$loop->addReadStream($stream, function ($stream) use ($session, $loop, &$kinds, &$isClosing, &$news) {
    try {
        $goesOn = $session->process();
    } catch (Apns\Exception $thrown) {
        $news++;
        return;
    }
    foreach ($session as $event) $kinds[$event->kind->value] = ($kinds[$event->kind->value] ?? 0) + 1;
    if (!$goesOn) {
        $loop->removeReadStream($stream);
        $loop->stop();
    }
});
$loop->addPeriodicTimer(0.001, function () use ($session, $loop, $stream, &$sent, &$beats, &$isClosing) {
    $beats++;
    try {
        for ($i = 0; $i < 50 && $sent < 2000; $i++, $sent++) $session->send(Simulator::token($sent === 700 ? 2 : 1), '{"aps":{}}');
        if ($sent < 2000) return;
        if (!$isClosing) $session->drain();
        $isClosing = true;
        $session->close(240000);
        $loop->removeReadStream($stream);
        $loop->stop();
    } catch (Apns\AgainException $thrown) {
        if (!$thrown->isRetryable()) echo "another status\n";
    }
});
$loop->run();
foreach ($session as $event) $kinds[$event->kind->value] = ($kinds[$event->kind->value] ?? 0) + 1;
ksort($kinds);
echo json_encode($kinds), ' ', $news, ' ', var_export($beats > 20, true), "\n";
var_dump($session->process(), $session->timeoutMs());
// The loop and its callbacks hold each other.
unset($loop);
gc_collect_cycles();
--EXPECT--
{"accepted":1999,"rejected":1} 0 true
bool(false)
NULL
