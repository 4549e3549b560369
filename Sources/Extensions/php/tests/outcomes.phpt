--TEST--
A service can be tested without a network: an interface to stand in for, outcomes and failures to return
--EXTENSIONS--
apns
--FILE--
<?php
use Apns\{Event, EventKind, FeedbackEntry, NetworkException, Reason, Reject, RejectedException, SessionInterface};

/** A class of the program. */
final class Greeter
{
    public array $gone = [];
    public function __construct(private SessionInterface $session) { }
    public function greet(string $token): bool
    {
        try {
            $event = $this->session->push($token, ['aps' => ['alert' => 'Hello']], expiry: new DateTimeImmutable('+1 hour'));
        } catch (Apns\Exception $failure) {
            return !$failure->isRetryable();
        }
        if ($event->reason === Reason::Unregistered) $this->gone[] = $event->token;
        return $event->isAccepted();
    }
}

/** A stand-in, as mocking libraries make one. */
final class Fake implements SessionInterface
{
    public array $outcomes = [];
    public function push($token, $payload, $timeoutMs = null, $userData = null, $expiry = null, $priority = null, $topic = null, $pushType = null, $collapseId = null, $apnsId = null, $channelId = null, $deadlineMs = null): Event
    {
        $next = array_shift($this->outcomes);
        return $next instanceof Throwable ? throw $next : $next;
    }
    public function send($token, $payload, $userData = null, $expiry = null, $priority = null, $more = false, $topic = null, $pushType = null, $collapseId = null, $apnsId = null, $channelId = null, $deadlineMs = null): int { return 1; }
    public function sendMany($notifications, $more = false): int { return 0; }
    public function flush(): void { }
    public function drain($timeoutMs = null): void { }
    public function cancel($identifier = null): int { return 0; }
    public function nextEvent($timeoutMs = 0): ?Event { return array_shift($this->outcomes); }
    public function events($timeoutMs = 0): iterable { yield from $this->outcomes; }
    public function gone(): array { return [new FeedbackEntry('abcd', 1800000000)]; }
    public function stats(): array { return []; }
    public function close($timeoutMs = null): void { }
    public function getIterator(): Iterator { return new ArrayIterator($this->outcomes); }
}

$fake = new Fake();
$fake->outcomes = [new Event(EventKind::Accepted), new Event(EventKind::Rejected, 'abcd', Reason::Unregistered), new NetworkException('no route')];
$greeter = new Greeter($fake);
var_dump($greeter->greet('aa'), $greeter->greet('abcd'), $greeter->greet('ab'), $greeter->gone, $fake->gone()[0]->timestamp);
var_dump(is_subclass_of(Apns\Session::class, SessionInterface::class), is_subclass_of(Apns\Channels::class, Apns\ChannelsInterface::class));

echo "- outcomes\n";
foreach ([
    new Event(EventKind::Accepted, 'aa', userData: ['user' => 7], identifier: 4294967295),
    new Event(EventKind::Accepted, httpStatus: 0),
    new Event(EventKind::Rejected, reason: Reason::TooManyRequests, retryAfter: 60),
    new Event(EventKind::Rejected, reason: Reason::Other, reasonText: 'NewReason', httpStatus: 418),
    new Event(EventKind::Rejected, reason: Reason::Unregistered, timestamp: 1800000000),
    new Event(EventKind::Rejected, reject: Reject::InvalidToken),
    new Event(EventKind::Rejected, rejectStatus: 9),
    new Event(EventKind::Unknown, reasonText: 'the connection broke', apnsId: 'an id', uniqueId: 'another', request: 'mine'),
    new Event(EventKind::Cancelled),
] as $event) {
    echo "$event | $event->why | ", json_encode([$event->kind, $event->token, $event->reason, $event->userData, $event->identifier, $event->httpStatus, $event->reasonText,
        $event->timestamp, $event->retryAfter, $event->apnsId, $event->uniqueId, $event->reject, $event->rejectStatus, $event->request]), "\n";
}
var_dump(new Event(EventKind::Accepted, 'aa') == new Event(EventKind::Accepted, 'aa'), $event->isCancelled(), $event->isAccepted());

echo "- refused\n";
foreach ([
    fn () => new Event(),
    fn () => new Event('accepted'),
    fn () => new Event(Reason::BadTopic),
    fn () => new Event(EventKind::Accepted, identifier: -1),
    fn () => new Event(EventKind::Accepted, httpStatus: 65536),
    fn () => new Event(EventKind::Accepted, rejectStatus: 256),
    fn () => new Event(EventKind::Unknown, reasonText: str_repeat('x', 64)),
    fn () => new Event(EventKind::Unknown, reasonText: "a\0b"),
    fn () => new FeedbackEntry(),
] as $call) {
    try {
        $call();
    } catch (Throwable $thrown) {
        echo get_class($thrown), ': ', $thrown->getMessage(), "\n";
    }
}
$refused = new RejectedException('no');
$refused->reason = Reason::FeatureNotEnabled;
var_dump($refused->reason->httpStatus());
--EXPECT--
bool(true)
bool(false)
bool(false)
array(1) {
  [0]=>
  string(4) "abcd"
}
int(1800000000)
bool(true)
bool(true)
- outcomes
accepted | accepted (HTTP 200) | ["accepted","aa",null,{"user":7},4294967295,200,"",0,0,null,null,null,0,null]
accepted | accepted | ["accepted","",null,null,0,0,"",0,0,null,null,null,0,null]
rejected: TooManyRequests (HTTP 429) | rejected: TooManyRequests (HTTP 429): too many pushes to one device | ["rejected","","TooManyRequests",null,0,429,"TooManyRequests",0,60,null,null,null,0,null]
rejected: NewReason (HTTP 418) | rejected: NewReason (HTTP 418) | ["rejected","","Other",null,0,418,"NewReason",0,0,null,null,null,0,null]
rejected: Unregistered (HTTP 410) | rejected: Unregistered (HTTP 410): the app is no longer on the device, since 2027-01-15 08:00:00 UTC | ["rejected","","Unregistered",null,0,410,"Unregistered",1800000000,0,null,null,null,0,null]
rejected: invalid token (status 8) | rejected: invalid token (status 8): not a device of this app in this environment | ["rejected","",null,null,0,0,"",0,0,null,null,8,8,null]
rejected: unlisted status (status 9) | rejected: unlisted status (status 9) | ["rejected","",null,null,0,0,"",0,0,null,null,null,9,null]
unknown: no answer came: the connection broke | unknown: no answer came: the connection broke | ["unknown","",null,null,0,0,"the connection broke",0,0,"an id","another",null,0,"mine"]
cancelled: taken back, and it did not arrive | cancelled: taken back, and it did not arrive | ["cancelled","",null,null,0,0,"",0,0,null,null,null,0,null]
bool(true)
bool(true)
bool(false)
- refused
ArgumentCountError: Apns\Event::__construct() expects at least 1 argument, 0 given
TypeError: Apns\Event::__construct(): Argument #1 ($kind) must be of type Apns\EventKind, string given
TypeError: Apns\Event::__construct(): Argument #1 ($kind) must be of type Apns\EventKind, Apns\Reason given
ValueError: Apns\Event::__construct(): Argument #5 ($identifier) must be between 0 and 4294967295
ValueError: Apns\Event::__construct(): Argument #6 ($httpStatus) must be between 0 and 65535
ValueError: Apns\Event::__construct(): Argument #13 ($rejectStatus) must be between 0 and 255
ValueError: Apns\Event::__construct(): Argument #7 ($reasonText) must have at most 63 bytes, and none that is NUL
ValueError: Apns\Event::__construct(): Argument #7 ($reasonText) must have at most 63 bytes, and none that is NUL
ArgumentCountError: Apns\FeedbackEntry::__construct() expects at least 1 argument, 0 given
int(400)
