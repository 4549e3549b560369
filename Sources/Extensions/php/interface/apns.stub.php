<?php

/**
 * The classes of the extension; enums.stub.php has its enumerations. Names and options are
 * those of apns.h, which explains each of them. Null is an option's default, and 0 is 0.
 * Numbers may also be given as text, switches as "on" and "off", and cases of enumerations by
 * their values: protocol "http2", delivery "at_most_once", tls_min "1.2", as parse_ini_file()
 * and getenv() give them.
 *
 * @generate-class-entries
 */

namespace Apns;

/**
 * A failure of the library. Each status has its own class, and the exception's code is its number
 * in C.
 */
interface Exception extends \Throwable
{
    /** Whether the same call may succeed later without a change. */
    public function isRetryable(): bool;

    /** The exact error, for programs; the message is for people. Null: the class says everything. */
    public function getCause(): ?Cause;

    /** errno; 0: the system did not fail. */
    public function getSystemError(): int;

    /** OpenSSL's error code, or 0. */
    public function getTlsCode(): int;

    /**
     * A gateway's status for the notification, token or payload that this call refused, so that a
     * script needs only one table.
     */
    public function getReject(): ?Reject;

    /** From sendMany(): how many notifications were queued. */
    public function getTaken(): int;
}

/** A failure at run time: the base of most classes below. */
class RuntimeException extends \RuntimeException implements Exception
{
    private ?Cause $cause = null;
    private int $systemError = 0;
    private int $tlsCode = 0;
    private ?Reject $reject = null;
    private int $taken = 0;

    public function isRetryable(): bool {}

    public function getCause(): ?Cause {}

    public function getSystemError(): int {}

    public function getTlsCode(): int {}

    public function getReject(): ?Reject {}

    public function getTaken(): int {}
}

/** An error of the caller; retrying cannot help. */
class ArgumentException extends \InvalidArgumentException implements Exception
{
    private ?Cause $cause = null;
    private int $systemError = 0;
    private int $tlsCode = 0;
    private ?Reject $reject = null;
    private int $taken = 0;

    /** @implementation-alias Apns\RuntimeException::isRetryable */
    public function isRetryable(): bool {}

    /** @implementation-alias Apns\RuntimeException::getCause */
    public function getCause(): ?Cause {}

    /** @implementation-alias Apns\RuntimeException::getSystemError */
    public function getSystemError(): int {}

    /** @implementation-alias Apns\RuntimeException::getTlsCode */
    public function getTlsCode(): int {}

    /** @implementation-alias Apns\RuntimeException::getReject */
    public function getReject(): ?Reject {}

    /** @implementation-alias Apns\RuntimeException::getTaken */
    public function getTaken(): int {}
}

/** The system has no memory left. */
class MemoryException extends RuntimeException {}
/** A deadline passed; nothing is lost by it. */
class TimeoutException extends RuntimeException {}
/** Name, connection or peer failed. */
class NetworkException extends RuntimeException {}
/** Handshake or verification failed. */
class TlsException extends RuntimeException {}
/** A certificate, a key or CA certificates cannot be used. */
class CredentialsException extends RuntimeException {}
/** The peer broke the protocol. */
class ProtocolException extends RuntimeException {}
/** The window is full of outcomes: take them. */
class FullException extends RuntimeException {}
/** The session was closed. */
class ClosedException extends RuntimeException {}
/** Made by another process, before a fork(). */
class ForkedException extends RuntimeException {}
/** With `nonblocking`: not yet. Wait for the stream, then continue. */
class AgainException extends RuntimeException {}
/** From Channels: APNs rejected the request. */
class RejectedException extends RuntimeException
{
    public ?Reason $reason = null;
    /** The reason as APNs wrote it, even if it is not listed. */
    public string $reasonText = "";
    public int $httpStatus = 0;
    /** The apns-request-id, for questions to Apple; "" if APNs gave no ID. */
    public string $requestId = "";
    /** After how many seconds to repeat the request; 0: repeating it is pointless. */
    public int $retryAfter = 0;
}
/** From Channels::create(): there was no response, and the channel may have been created. */
class InDoubtException extends RuntimeException {}

/**
 * A device token.
 *
 * @strict-properties
 * @not-serializable
 */
final class Token
{
    /** In lowercase hex. */
    public readonly string $hex;

    private function __construct() {}

    /**
     * Either case, with the angle brackets and spaces of NSData. A line feed at the end, as
     * file() and fgets() leave it, is ignored.
     */
    public static function fromHex(string $text): Token {}

    public static function fromBase64(string $text): Token {}

    public static function fromBytes(string $bytes): Token {}

    public function toBase64(): string {}

    public function toBytes(): string {}

    public function __toString(): string {}
}

/**
 * The provider's identity, and the CA certificates that it trusts.
 *
 * @strict-properties
 * @not-serializable
 */
final class Credentials
{
    /**
     * Options: certificate_file, certificate, key_file, key, passphrase (a string, or a
     * callable that gets the file's name and returns a string or null), ca_file,
     * ca_directory, tls_min, tls_max, accept_expired, dangerously_accept_any_peer; for
     * HTTP/2 token_key_file, token_key, key_id, team_id. Also crl_file, crl_directory,
     * pinned_keys (an array of "sha256//..."), security_level (1 to 5).
     *
     * token_cache is the file by which the processes of this machine share one provider token,
     * a directory for it, which ends in "/", or "off". Default: a file in the directory of
     * php.ini's apns.token_cache, the environment's APNS_TOKEN_CACHE, XDG_RUNTIME_DIR or
     * /run/user, if there is such a directory ("off" for the first two: no file). token_provider, instead of a token_key, is a
     * callable that returns the token: it gets "first", "aged" or "refused", and returns the
     * token, [token, seconds] to be called again after that time, or null for not now. The methods
     * of a session call it and throw its exceptions; queued notifications stay queued. Not for
     * persistent sessions.
     *
     * If neither a certificate nor a signing key is given, php.ini's apns.certificate_file,
     * apns.key_file and apns.passphrase are used, and its apns.token_key_file, a .p8. A session
     * uses those of its protocol, and for HTTP/2 the signing key if there are both. apns.key_id,
     * unless it belongs to another key in php.ini, and apns.team_id replace missing ones, and
     * apns.ca_file and apns.ca_directory are used if neither is given.
     *
     * Backtraces show none of this, except on PHP 8.1 the parameters and the array.
     * apns.passphrase is for php.ini, a pool or a directory, not for ini_set(), and no function
     * shows it to a script.
     */
    public function __construct(array $options = [], callable|string|null $passphrase = null, ?string $key = null, ?string $token_key = null, mixed ...$named) {}

    /**
     * subject, topics, not_before, not_after, environments, chain_length, key_id, team_id;
     * subject is null without a certificate, key_id and team_id are null without a signing key.
     * Null without either.
     */
    public function describe(): ?array {}
}

/**
 * A payload that is being built.
 *
 * @strict-properties
 * @not-serializable
 */
final class Payload implements \Stringable
{
    /** Options: limit (null: what the session and the push type allow; 4,096 in write()), suffix, truncate. */
    public function __construct(array $options = [], mixed ...$named) {}

    /**
     * Sets one of Apple's keys, by its name in the JSON; for "alert" an array sets its parts. For Live
     * Activities "content-state" and "attributes" are arrays with names, and "title" and "body" may be
     * arrays too. "content-changed" of widgets is true.
     */
    public function set(string $key, array|string|int|float|bool|null $value): Payload {}

    /** A sound that plays even on a muted device. */
    public function setCriticalSound(string $name, float $volume = 1.0): Payload {}

    /** Sets a custom key to any value that json_encode() accepts. */
    public function add(string $name, mixed $value): Payload {}

    public function remove(string $key): Payload {}

    public function removeCustom(): Payload {}

    public function reset(): Payload {}

    /**
     * The JSON; $cut gets how many bytes of the text were truncated.
     *
     * @param int $cut
     */
    public function write(&$cut = null): string {}

    public function __toString(): string {}

    /**
     * Checks a payload made elsewhere, and returns arrays of severity ("error" or "warning"),
     * offset, line, column, message. Limit null means 4,096 bytes.
     *
     * @phpstan-return list<array{severity: string, offset: int, line: int, column: int, message: string}>
     */
    public static function check(string $json, ?int $limit = null): array {}
}

/**
 * A Localizable.strings file.
 *
 * @strict-properties
 * @not-serializable
 */
final class Strings
{
    public function __construct(string $bytes) {}

    public static function open(string $file): Strings {}

    public function has(string $key): bool {}

    public function get(string $key): string {}

    public function format(string $key, string ...$args): string {}
}

/**
 * How a notification ended. A session makes it; tests make their own.
 *
 * @strict-properties
 * @not-serializable
 */
final class Event
{
    public readonly EventKind $kind;
    /** The device token, in lowercase hex. */
    public readonly string $token;
    /** Why APNs rejected it, over HTTP/2; Other if the reason in reasonText is not listed. */
    public readonly ?Reason $reason;
    /** The $userData of send(). */
    public readonly mixed $userData;
    /** The number that send() returned. */
    public readonly int $identifier;
    /** The HTTP status of the response, such as 200; HTTP/2 only, else 0. */
    public readonly int $httpStatus;
    /** The reason as APNs wrote it, even if it is not listed. */
    public readonly string $reasonText;
    /** When the device was gone (410), in UNIX seconds; 0: not given. */
    public readonly int $timestamp;
    /** After how many seconds to send it again; 0: that is pointless, or the time is unknown. */
    public readonly int $retryAfter;
    /**
     * The apns-id: the caller's, or the one from APNs; HTTP/2 only, else null. For a broadcast its
     * apns-request-id.
     */
    public readonly ?string $apnsId;
    /** The apns-unique-id, by which Apple's console finds it; null if APNs gives no ID, as in production. */
    public readonly ?string $uniqueId;
    /** Why a gateway rejected it, over the binary interface; null for a status that Apple never listed. */
    public readonly ?Reject $reject;
    /** That status as a number; 0 without a status. */
    public readonly int $rejectStatus;
    /** With a persistent session: the name of the request that sent it; else null. */
    public readonly ?string $request;
    /**
     * How it ended and why, in one line of plain words for a log or a person, such as
     * "rejected: TopicDisallowed (HTTP 400): this certificate or key may not push to the topic".
     */
    public readonly string $why;

    /**
     * For tests: new Event(EventKind::Rejected, $token, Reason::Unregistered). If $httpStatus and
     * $reasonText are null, they are those of the reason; an accepted notification has status 200.
     */
    public function __construct(EventKind $kind, string $token = "", ?Reason $reason = null, mixed $userData = null, int $identifier = 0, ?int $httpStatus = null, ?string $reasonText = null, int $timestamp = 0, int $retryAfter = 0, ?string $apnsId = null, ?string $uniqueId = null, ?Reject $reject = null, ?int $rejectStatus = null, ?string $request = null) {}

    public function isAccepted(): bool {}

    public function isRejected(): bool {}

    public function isUnknown(): bool {}

    /** Taken back by cancel(); it did not arrive. */
    public function isCancelled(): bool {}

    /** Its deadline_ms passed; it did not arrive. */
    public function isExpired(): bool {}

    /**
     * Whether no later push to its token can arrive: the device is gone (410), or the token is bad.
     * Remove the token, unless the device registered again after $timestamp. If many tokens turn
     * out bad at once, check the environment and the topic first.
     */
    public function hasInvalidToken(): bool {}

    /** "accepted", "rejected: BadDeviceToken (HTTP 400)", or "unknown: ", "cancelled: " and
     * "expired: " with why. */
    public function __toString(): string {}
}

/**
 * Outcomes, for foreach; see Session::events().
 *
 * @strict-properties
 * @not-serializable
 */
final class Events implements \IteratorAggregate
{
    private function __construct() {}

    public function getIterator(): \Iterator {}
}

/**
 * The interface of Session, so that a test can replace it. A foreach over it takes the outcomes
 * that have arrived.
 */
interface SessionInterface extends \IteratorAggregate
{
    public function push(Token|string|null $token, Payload|array|string $payload, ?int $timeoutMs = null, mixed $userData = null, \DateTimeInterface|int|null $expiry = null, Priority|int|null $priority = null, ?string $topic = null, PushType|string|null $pushType = null, ?string $collapseId = null, ?string $apnsId = null, ?string $channelId = null, ?int $deadlineMs = null): Event;

    public function send(Token|string|null $token, Payload|array|string $payload, mixed $userData = null, \DateTimeInterface|int|null $expiry = null, Priority|int|null $priority = null, bool $more = false, ?string $topic = null, PushType|string|null $pushType = null, ?string $collapseId = null, ?string $apnsId = null, ?string $channelId = null, ?int $deadlineMs = null): int;

    public function sendMany(iterable $notifications, bool $more = false): int;

    public function flush(): void;

    public function drain(?int $timeoutMs = null): void;

    public function cancel(?int $identifier = null): int;

    public function nextEvent(?int $timeoutMs = 0): ?Event;

    /** @phpstan-return iterable<Event> */
    public function events(?int $timeoutMs = 0): iterable;

    /** @phpstan-return list<FeedbackEntry> */
    public function gone(): array;

    /** @phpstan-return array<string, int> */
    public function stats(): array;

    public function close(?int $timeoutMs = null): void;
}

/**
 * A provider's session with one gateway. A foreach over it takes the outcomes that have
 * arrived.
 *
 * @strict-properties
 * @not-serializable
 */
final class Session implements SessionInterface
{
    /**
     * Credentials are made once and shared, or given as an array of their options; null means
     * those of php.ini. Options are the fields of apns_session_options_t.
     *
     * Unlike there, `checks` is on: a payload with an error, and an expiry that is in the past
     * or looks like a duration, throw an ArgumentException. Values are those of Checks; true is all,
     * false none.
     *
     * php.ini's apns.protocol, "http2" (the default) or "binary", is used if neither protocol nor host is
     * given; apns.host with apns.server_name, and apns.port, unless the script uses another
     * protocol; apns.topic over HTTP/2, unless the script gives its own certificate, which may
     * be for another app; apns.connect_timeout_ms, apns.write_timeout_ms and apns.checks if they
     * are not given.
     *
     * With `nonblocking` no method waits, for a script with an event loop: see stream() and
     * process(). The send methods take a notification while the window has room, else they throw
     * an AgainException. connect(), flush(), drain() and close() begin their work and throw it until
     * it is done.
     *
     * A session that was not closed is drained and closed with the last reference to it, or with the
     * script, after exit() and after a fatal error too, with `nonblocking` too: within
     * `close_timeout_ms`, 5,000 unless the script or apns.close_timeout_ms of php.ini sets it; 0 does
     * not wait. Then the number of missing outcomes is one line in the `log`, or in PHP's error log.
     * A child made by a fork sends nothing for its parent.
     *
     * `log` gets lines about what the session does, up to `log_level`: true is PHP's error log. An
     * object with a method log(), such as a PSR-3 logger, and a callable take the level as PSR-3
     * names it, the line, and an array of kind, peer, connection, cause, count, milliseconds,
     * left_out and resumed. They are called after the method that did it; their exceptions go to
     * the error log.
     */
    public function __construct(Credentials|array|null $credentials = null, array $options = [], ?string $proxy = null, mixed ...$named) {}

    /**
     * The session that this process keeps under a name; it is made if it does not exist.
     *
     * The option "request" is the name of this request in its events, by default its number in
     * this process. Options that differ from those it was made with are an error, and so is
     * `nonblocking`.
     */
    public static function persistent(string $name, Credentials|array|null $credentials = null, array $options = [], ?string $proxy = null, mixed ...$named): Session {}

    /**
     * Rotates the session's credentials, such as a certificate renewed before it expires. New
     * connections use them. Open connections take no new notifications and are closed gracefully,
     * so that nothing is lost or sent twice. Does not wait. Not for a persistent session: give
     * persistent() another name.
     */
    public function useCredentials(Credentials|array $credentials): void {}

    public function connect(): void {}

    /**
     * Queues a notification and returns its identifier. The token is hex or a Token, the payload
     * JSON, an array or a Payload. APNs keeps it until $expiry, in UNIX seconds or as a DateTime;
     * 0: it tries once; null: not given. With $more it may wait for the next one. The parameters
     * after $more are for HTTP/2; $apnsId is a UUID. With $channelId, as Channels::create() returns
     * it, $token is null: the notification is a broadcast to all devices that subscribe to the
     * channel. It updates or ends Live Activities, and its topic is the app's bundle ID. It has its
     * outcome $deadlineMs after it was queued: null: the session's deadline_ms; -1: no limit.
     */
    public function send(Token|string|null $token, Payload|array|string $payload, mixed $userData = null, \DateTimeInterface|int|null $expiry = null, Priority|int|null $priority = null, bool $more = false, ?string $topic = null, PushType|string|null $pushType = null, ?string $collapseId = null, ?string $apnsId = null, ?string $channelId = null, ?int $deadlineMs = null): int {}

    /**
     * Sends one notification and returns its outcome, also if it is accepted, within $timeoutMs for
     * all of it: connecting, writing, waiting for the response. Null: connect_timeout_ms,
     * write_timeout_ms and answer_timeout_ms together; -1: no limit, as in every method with
     * $timeoutMs. The other parameters are those of send().
     *
     * After an exception it was not queued. If the time passes later, or nothing can be sent without
     * a change, it is taken back: its outcome is cancelled if nothing of it was written, so that it
     * may be sent again, or unknown if it may have arrived. The outcomes of send() stay for
     * nextEvent(). If a signal handler throws, the outcome is an event too.
     */
    public function push(Token|string|null $token, Payload|array|string $payload, ?int $timeoutMs = null, mixed $userData = null, \DateTimeInterface|int|null $expiry = null, Priority|int|null $priority = null, ?string $topic = null, PushType|string|null $pushType = null, ?string $collapseId = null, ?string $apnsId = null, ?string $channelId = null, ?int $deadlineMs = null): Event {}

    /**
     * Queues many notifications and returns how many: arrays with the parameters of send() by their
     * names, so that send(...$one) sends one of them. All except payload, and token or channelId, are
     * optional; more is not allowed.
     *
     * @phpstan-param iterable<array{token?: Token|string|null, payload: Payload|array|string, userData?: mixed, expiry?: \DateTimeInterface|int|string|null, priority?: Priority|int|string|null, topic?: ?string, pushType?: PushType|string|null, collapseId?: ?string, apnsId?: ?string, channelId?: ?string, deadlineMs?: int|string|null}> $notifications
     */
    public function sendMany(iterable $notifications, bool $more = false): int {}

    public function flush(): void {}

    /** Waits until the outcome of every notification is known. */
    public function drain(?int $timeoutMs = null): void {}

    /**
     * Takes back the notification with that identifier, or with null all of the session, those of
     * earlier requests too. After this call the session does not begin to write or resend any of
     * them. Unwritten notifications end as cancelled, or as unknown if an earlier connection may have
     * delivered them; the others still wait for their responses. Returns how many ended; each has its
     * event.
     */
    public function cancel(?int $identifier = null): int {}

    /** Waits up to $timeoutMs for the next outcome; null if no outcome has arrived. */
    public function nextEvent(?int $timeoutMs = 0): ?Event {}

    /** The outcomes, waiting up to $timeoutMs for each. */
    public function events(?int $timeoutMs = 0): Events {}

    /** The next outcome of a notification that an earlier request sent. */
    public function nextLeftEvent(?int $timeoutMs = 0): ?Event {}

    /** The outcomes of notifications that earlier requests sent, each with its request's name. */
    public function leftEvents(?int $timeoutMs = 0): Events {}

    public function getIterator(): \Iterator {}

    /**
     * HTTP/2: takes the list of gone devices, from APNs' responses to this session (410), each once,
     * as Feedback gives them for the binary interface.
     *
     * @phpstan-return list<FeedbackEntry>
     */
    public function gone(): array {}

    /**
     * The counts of apns_session_stats_t, and `left`: how many leftEvents() has.
     *
     * @phpstan-return array<string, int>
     */
    public function stats(): array {}

    /**
     * Figures for a monitoring system, by the names of apns_session_metrics_t. `times` counts responses
     * by the longest time of each step, in microseconds; `classes` by hundreds of the HTTP status;
     * `reasons`, `rejected_reasons`, `rejects` and `connect_failures` have the words that occurred.
     *
     * @phpstan-return array<string, int|array<int|string, int>>
     */
    public function metrics(): array {}

    /** The name of this request in its events; null: the session is not persistent. */
    public function request(): ?string {}

    public function close(?int $timeoutMs = null): void {}

    /**
     * With `nonblocking`: a stream that becomes readable whenever process() has something to do,
     * for stream_select() and event loops such as ReactPHP's and Revolt's. It has nothing to read.
     * Closing it does not close the session, nor the reverse.
     *
     * @return resource
     */
    public function stream() {}

    /**
     * With `nonblocking`: does what can be done now, for about a millisecond at most, and
     * returns: connects, writes, reads responses, resends, closes. True: the session continues.
     * False: it has closed. An exception is information, such as a failed connection: nothing is
     * lost, and the session retries automatically.
     */
    public function process(): bool {}

    /**
     * With `nonblocking`: in how many ms process() is due; null: not before the stream is readable.
     * The stream becomes readable at that time automatically.
     */
    public function timeoutMs(): ?int {}
}

/**
 * A gone device.
 *
 * @strict-properties
 * @not-serializable
 */
final class FeedbackEntry
{
    /** The device token, in lowercase hex. */
    public readonly string $token;
    /** When APNs or the gateway found it gone, in UNIX seconds. */
    public readonly int $timestamp;

    /** For tests; a session and a feedback make their own. */
    public function __construct(string $token, int $timestamp = 0) {}
}

/**
 * The feedback service's list, for foreach.
 *
 * @strict-properties
 * @not-serializable
 */
final class Feedback implements \IteratorAggregate
{
    /**
     * Connects. Options are the fields of apns_feedback_options_t. With `nonblocking` nothing
     * waits, and read() throws an AgainException until an entry is there: see stream().
     */
    public function __construct(Credentials|array|null $credentials = null, array $options = [], ?string $proxy = null, mixed ...$named) {}

    /** The next one; null: the list has ended. */
    public function read(): ?FeedbackEntry {}

    public function getIterator(): \Iterator {}

    /**
     * With `nonblocking`: a stream that becomes readable whenever read() has something to do, as
     * Session::stream() gives it.
     *
     * @return resource
     */
    public function stream() {}
}

/** The interface of Channels, for tests. */
interface ChannelsInterface
{
    public function create(Storage|string $storage): string;

    /** @phpstan-return array{storage: ?Storage, push_type: ?PushType} */
    public function describe(string $channelId): array;

    public function delete(string $channelId): void;

    /** @phpstan-return list<string> */
    public function list(): array;
}

/**
 * The channels of an app, for broadcasts: see Session::send(). The first request connects.
 *
 * @strict-properties
 * @not-serializable
 */
final class Channels implements ChannelsInterface
{
    /**
     * Options are the fields of apns_channels_options_t, and `log`, as a session has it. php.ini's
     * apns.connect_timeout_ms applies, and its apns.topic unless the script gives its own certificate.
     *
     * With `nonblocking` nothing waits: a request throws an AgainException until it is answered.
     * Make the same call again when stream() is readable.
     */
    public function __construct(Credentials|array|null $credentials = null, array $options = [], ?string $proxy = null, mixed ...$named) {}

    /**
     * Creates a channel and returns its identifier. With Storage::Latest the latest update is kept
     * for devices that subscribe to the channel later.
     * After an InDoubtException the channel may have been created: look at list().
     */
    public function create(Storage|string $storage): string {}

    /**
     * The options of a channel.
     *
     * @phpstan-return array{storage: ?Storage, push_type: ?PushType}
     */
    public function describe(string $channelId): array {}

    public function delete(string $channelId): void {}

    /**
     * The identifiers of all channels of the app.
     *
     * @phpstan-return list<string>
     */
    public function list(): array {}

    /**
     * APNs' response to the last request, or null.
     *
     * @phpstan-return ?array{http_status: int, reason: ?Reason, reason_text: string, request_id: string, retry_after: int}
     */
    public function response(): ?array {}

    /** With `nonblocking`: abandons the pending request, which APNs may carry out nevertheless. */
    public function cancel(): void {}

    /**
     * With `nonblocking`: a stream that becomes readable whenever the pending request has something
     * to do, as Session::stream() gives it.
     *
     * @return resource
     */
    public function stream() {}

    /** With `nonblocking`: in how many ms the request is due; null: not before stream() is readable. */
    public function timeoutMs(): ?int {}
}
