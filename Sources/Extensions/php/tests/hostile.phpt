--TEST--
Scripts that throw, close and collect at the worst moments
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$simulator = new Simulator(['bad_every' => 3]);
$token = Simulator::token(1);

/** Uses the session and throws when it is destroyed. */
final class Throwing
{
    public function __construct(private ?Apns\Session $session, public mixed $other = null) {}
    public function __destruct()
    {
        global $token;
        try {
            $this->session?->send($token, '{"aps":{}}');
            $this->session?->nextEvent();
        } catch (Apns\Exception) {
        }
        throw new DomainException('from a destructor');
    }
}

/** Calls a function when it is written as JSON. */
final class Doing implements JsonSerializable
{
    public function __construct(private Closure $what) {}
    public function jsonSerialize(): mixed { return ($this->what)(); }
}

// Destructors of user data that throw, in each place where it may be freed.
$session = $simulator->session();
// Written by drain(), so that no outcome comes before it.
for ($i = 0; $i < 30; $i++) $session->send($token, '{"aps":{}}', new Throwing($session), more: true);
echo 'drain: ', thrown(fn () => $session->drain(240000)), "\n";
echo 'events: ', thrown(function () use ($session) { foreach ($session as $event) unset($event); }), "\n";
echo 'again: ', thrown(function () use ($session) {
    do {
        try {
            $event = $session->nextEvent(1000);
        } catch (DomainException) {
            $event = true;
        }
    } while ($event);
}), "\n";
$session->send($token, '{"aps":{}}', new Throwing(null));
echo 'last: ', thrown(function () use (&$session) { $session = null; }), "\n";

// The session is closed or freed during its own call.
$session = $simulator->session();
echo 'closed by the payload: ', thrown(fn () => $session->send($token, ['a' => new Doing(fn () => $session->close(1000))])), "\n";
$session = $simulator->session();
echo 'gone by the payload: ', thrown(function () use (&$session, $token) {
    $session->send($token, ['aps' => new stdClass, 'a' => new Doing(function () use (&$session) { $session = null; gc_collect_cycles(); return 1; })]);
}), "\n";
$session = $simulator->session();
echo 'gone by the generator: ', thrown(function () use (&$session, $token) {
    $session->sendMany((function () use (&$session, $token) {
        yield ['token' => $token, 'payload' => '{"aps":{}}'];
        $session = null;
        gc_collect_cycles();
        yield ['token' => $token, 'payload' => '{"aps":{}}'];
    })());
}), "\n";
$session = $simulator->session();
$list = [['token' => $token, 'payload' => ['aps' => new Doing(function () use (&$list) { $list = null; gc_collect_cycles(); return new stdClass; })]]];
echo 'the list gone: ', thrown(function () use ($session, &$list) { $session->sendMany($list); }), "\n";
echo 'within itself: ', thrown(function () use ($session, $token) {
    $session->sendMany((function () use ($session, $token) {
        yield ['token' => $token, 'payload' => '{"aps":{}}'];
        $session->sendMany((function () use ($session, $token) {
            yield ['token' => $token, 'payload' => '{"aps":{}}'];
            foreach ($session->events() as $event) yield ['token' => $token, 'payload' => $event];
            throw new LogicException('inner');
        })());
    })());
}), "\n";
echo 'an array in itself: ', thrown(function () use ($session, $token) {
    $loop = [];
    $loop['aps'] = &$loop;
    $session->send($token, $loop);
}), "\n";
$payload = new Apns\Payload();
echo 'the payload by its own value: ', thrown(function () use (&$payload) {
    $payload->add('x', [new Doing(function () use (&$payload) { $payload->reset(); $payload->add('x', 1); $payload = null; return 2; })]);
}), "\n";

// Loops that close the session they read, and two at once.
$session = $simulator->session(outcomes: 'each');
for ($i = 0; $i < 9; $i++) $session->send($token, '{"aps":{}}');
$session->drain(240000);
$seen = 0;
foreach ($session as $one) {
    foreach ($session->events() as $two) {
        $seen += 2;
        $session->close(0);
        break;
    }
}
echo "seen $seen\n";
$events = $session->events();
unset($session);
foreach ($events as $event) echo "left $event\n";

// A reference cycle through the session, and what is left when the script ends.
$session = $simulator->session();
$weak = WeakReference::create($session);
$ring = [$session];
$ring[] = &$ring;
for ($i = 0; $i < 3; $i++) $session->send($token, '{"aps":{}}', [$ring, fn () => $session]);
unset($ring, $session, $events, $event, $one, $two);
gc_collect_cycles();
echo 'the cycle: ', $weak->get() ? 'still there' : 'gone', "\n";
$left = $simulator->session();
$left->send($token, '{"aps":{}}', fn () => $token);
echo "done\n";
--EXPECT--
drain: DomainException: from a destructor
events: nothing thrown
again: nothing thrown
last: DomainException: from a destructor
closed by the payload: Apns\ClosedException: the session was closed
gone by the payload: nothing thrown
gone by the generator: nothing thrown
the list gone: nothing thrown
within itself: LogicException: inner
an array in itself: Apns\ArgumentException: it cannot be encoded as JSON: Recursion detected
the payload by its own value: Apns\ArgumentException: custom key 'x' is there already
seen 8
the cycle: gone
done
