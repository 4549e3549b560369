<?php

/**
 * The classes of the extension. Names and options are those of apns.h, which explains
 * each of them. Numbers may come as text, switches as "on" and "off"
 * too, and enumerations by name: protocol "http2", format "enhanced", ambiguous "report",
 * tls_min "1.2", as parse_ini_file() and getenv() give them.
 *
 * Constants are in constants.h, which Sources/Extensions/generate makes from apns.h.
 *
 * @generate-class-entries
 */

namespace Apns;

/** A failure of the library. Each status has a class of its own. */
class Exception extends \RuntimeException
{
    /** One of the class's constants; the exception's code too. */
    public int $status = 0;
    /** errno, 0 where the system was not at fault. */
    public int $systemError = 0;
    /** OpenSSL's error code, 0 where there is none. */
    public int $tlsCode = 0;
    /**
     * The status with which a gateway would have refused the notification, token or payload
     * that was refused here, so that a script needs one table for both: a constant of
     * Apns\Reject; 0: there is none.
     */
    public int $reject = 0;
    /**
     * What exactly went wrong, for programs; the message is for people: one of the CAUSE_
     * constants. 0, CAUSE_NONE: the status says it all.
     */
    public int $cause = 0;
    /** By sendMany(): how many notifications it had taken before. */
    public int $taken = 0;

    /** The same call may succeed later without a change. */
    public function isRetryable(): bool {}
}

/** A mistake of the caller; retrying cannot help. */
class ArgumentException extends Exception {}
/** The system has no memory left. */
class MemoryException extends Exception {}
/** A deadline passed; nothing is lost by it. */
class TimeoutException extends Exception {}
/** Name, connection or peer failed. */
class NetworkException extends Exception {}
/** Handshake or verification failed. */
class TlsException extends Exception {}
/** A certificate, a key or trust anchors cannot be used. */
class CredentialsException extends Exception {}
/** The peer broke the protocol. */
class ProtocolException extends Exception {}
/** Outcomes wait: take them. */
class FullException extends Exception {}
/** The session was closed. */
class ClosedException extends Exception {}
/** Made by another process, before a fork(). */
class ForkedException extends Exception {}

/** Why a gateway rejected a notification over the binary interface: Event::$reject. */
final class Reject
{
    /** The status in words. */
    public static function text(int $reject): string {}
}

/** Why APNs rejected a notification over HTTP/2: Event::$reason. */
final class Reason
{
    /** As APNs writes it, such as "BadDeviceToken". */
    public static function text(int $reason): string {}

    /** The HTTP status that APNs answers with for it; 0 for none. */
    public static function httpStatus(int $reason): int {}
}

/** What kind of push a notification is, for HTTP/2. */
final class PushType
{
    /** As APNs reads it, such as "alert". */
    public static function text(int $type): string {}
}

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
     * Either case, with the angle brackets and spaces of NSData; a line feed at the end, as
     * file() and fgets() leave it there, is no part of it.
     */
    public static function fromHex(string $text): Token {}

    public static function fromBase64(string $text): Token {}

    public static function fromBytes(string $bytes): Token {}

    public function toBase64(): string {}

    public function toBytes(): string {}

    public function __toString(): string {}
}

/**
 * Who the provider is and whom it trusts.
 *
 * @strict-properties
 * @not-serializable
 */
final class Credentials
{
    /**
     * Options: certificate_file, certificate, key_file, key, passphrase (a string, or a
     * callable that is given the file's name and returns one or null), ca_file,
     * ca_directory, tls_min, tls_max, accept_expired, dangerously_accept_any_peer; for
     * HTTP/2 token_key_file, token_key, key_id, team_id. Also crl_file, crl_directory,
     * pinned_keys (an array of "sha256//..."), security_level (1 to 5).
     *
     * Of php.ini, apns.certificate_file with apns.key_file and apns.passphrase, and
     * apns.token_key_file, a .p8, stand in where neither a certificate nor a key for tokens is
     * said; a session takes those of its protocol, and for HTTP/2 the key for tokens where there
     * are both. apns.key_id, unless it is that of another key in php.ini, and apns.team_id stand
     * in for those that are not said; apns.ca_file and apns.ca_directory where both are not.
     *
     * Backtraces show none of this, but with PHP 8.1 what is a parameter or stands in the
     * array. apns.passphrase is for php.ini, a pool or a directory, not for ini_set(), and no
     * function tells a script of it.
     */
    public function __construct(array $options = [], callable|string|null $passphrase = null, ?string $key = null, ?string $token_key = null, mixed ...$named) {}

    /**
     * subject, topics, not_before, not_after, environments, chain_length, key_id, team_id;
     * subject is null where there is no certificate, and so are key_id and team_id where
     * there is no key for tokens. Null where there is neither.
     */
    public function describe(): ?array {}
}

/**
 * A payload in the making.
 *
 * @strict-properties
 * @not-serializable
 */
final class Payload implements \Stringable
{
    /** Options: limit, suffix, truncate. */
    public function __construct(array $options = [], mixed ...$named) {}

    /** One of Apple's keys, by its name in the JSON; for "alert" an array sets its parts. */
    public function set(string $key, array|string|int|float|bool|null $value): Payload {}

    /** A sound that plays even on a muted device. */
    public function setCriticalSound(string $name, float $volume = 1.0): Payload {}

    /** A key of the app's own: anything that json_encode() takes. */
    public function add(string $name, mixed $value): Payload {}

    public function remove(string $key): Payload {}

    public function removeCustom(): Payload {}

    public function reset(): Payload {}

    /**
     * The JSON; $cut is how many bytes of the text were left off.
     *
     * @param int $cut
     */
    public function write(&$cut = null): string {}

    public function __toString(): string {}

    /**
     * Checks a payload made elsewhere, and returns arrays of severity ("error" or "warning"),
     * offset, line, column, message. Limit 0 is that of the framed format.
     */
    public static function check(string $json, int $limit = 0): array {}
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
 * How a notification ended.
 *
 * @strict-properties
 * @not-serializable
 */
final class Event
{
    /** ACCEPTED, REJECTED or UNKNOWN. */
    public readonly int $kind;
    /** The status of the binary interface, a constant of Apns\Reject; else 0. */
    public readonly int $reject;
    /** The reason of HTTP/2, a constant of Apns\Reason; else 0. */
    public readonly int $reason;
    /** Of the answer, such as 200; HTTP/2 only, else 0. */
    public readonly int $httpStatus;
    /** UNIX seconds since when the device is gone (410); 0: not given. */
    public readonly int $timestamp;
    /** The apns-id: the caller's, or the one from the service; HTTP/2 only, else null. */
    public readonly ?string $apnsId;
    /** The reason as the service wrote it, also one that is not listed. */
    public readonly string $reasonText;
    /** What send() returned. */
    public readonly int $identifier;
    /** The device token, in lowercase hex. */
    public readonly string $token;
    /** What send() was given. */
    public readonly mixed $userData;
    /** With a persistent session: the name of the request that sent it; else null. */
    public readonly ?string $request;
    /** "accepted", "rejected" or "unknown". */
    public readonly string $kindText;
    /**
     * How it ended and why, in one line of plain words for a log or a person, such as
     * "rejected: TopicDisallowed (HTTP 400): this certificate or key may not push to the topic".
     */
    public readonly string $why;

    private function __construct() {}

    public function isAccepted(): bool {}

    public function isRejected(): bool {}

    public function isUnknown(): bool {}

    /** "accepted", "rejected: invalid token", "rejected: BadDeviceToken", "unknown". */
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
 * A provider's session with one gateway. A foreach over it takes the outcomes that have
 * come.
 *
 * @strict-properties
 * @not-serializable
 */
final class Session implements \IteratorAggregate
{
    /**
     * Credentials are made once and shared, or given as the array of their options; null
     * takes those of php.ini. Options are the fields of apns_session_options_t.
     *
     * Unlike there, `checks` is on: a payload with an error, and an expiry that lies in the past
     * or looks like a duration, are an ArgumentException. true or "all", false or "none",
     * "payload", "expiry", or bits of the constants.
     *
     * Of php.ini, apns.protocol, "binary" or "http2", stands in where neither protocol nor host
     * is said; apns.host with apns.server_name, and apns.port, unless the script speaks another
     * protocol; apns.topic by HTTP/2, unless the script names its certificate, which may be
     * another app's; apns.connect_timeout_ms, apns.write_timeout_ms and apns.checks where they are
     * not said.
     */
    public function __construct(Credentials|array|null $credentials = null, array $options = [], ?string $proxy_password = null, mixed ...$named) {}

    /**
     * The session that this process keeps under a name, made if there is none.
     *
     * Option "request" is the name of this request in its events, by default its number in
     * this process. Options other than those it was made with are an error.
     */
    public static function persistent(string $name, Credentials|array|null $credentials = null, array $options = [], ?string $proxy_password = null, mixed ...$named): Session {}

    public function connect(): void {}

    /**
     * Takes a notification and returns its identifier. The token is hex or a Token, the
     * payload JSON, an array or a Payload. With $more it may wait for the next one. The
     * parameters after $more are for HTTP/2: topic, a constant of Apns\PushType or its word
     * ("background"), collapse-id, a UUID.
     */
    public function send(Token|string $token, Payload|array|string $payload, mixed $userData = null, int $expiry = 0, int $priority = 0, bool $more = false, ?string $topic = null, int|string $pushType = 0, ?string $collapseId = null, ?string $apnsId = null): int {}

    /**
     * Takes many and returns how many: arrays with token, payload and, where wanted,
     * user_data, expiry, priority, topic, push_type, collapse_id, apns_id.
     */
    public function sendMany(iterable $notifications, bool $more = false): int {}

    public function flush(): void {}

    /** Waits until the end of every notification is known. */
    public function drain(int $timeoutMs = -1): void {}

    /** Waits up to $timeoutMs for the next outcome; null: there is none. */
    public function nextEvent(int $timeoutMs = 0): ?Event {}

    /** The outcomes, waiting up to $timeoutMs for each. */
    public function events(int $timeoutMs = 0): Events {}

    /** The next outcome of a notification that an earlier request sent. */
    public function nextLeftEvent(int $timeoutMs = 0): ?Event {}

    /** The outcomes of what earlier requests sent, each with the name of its request. */
    public function leftEvents(int $timeoutMs = 0): Events {}

    public function getIterator(): \Iterator {}

    /**
     * HTTP/2: takes the list of devices that no longer have the app, from the service's answers
     * to this session (410), each once: FeedbackEntry objects, as Feedback gives them for the
     * binary interface.
     */
    public function gone(): array {}

    /** The counts of apns_session_stats_t. */
    public function stats(): array {}

    /** The name of this request in its events; null where the session is not persistent. */
    public function request(): ?string {}

    public function close(int $timeoutMs = -1): void {}
}

/**
 * A device that no longer has the app.
 *
 * @strict-properties
 * @not-serializable
 */
final class FeedbackEntry
{
    /** UNIX seconds at which it was found gone. */
    public readonly int $timestamp;
    /** The device token, in lowercase hex. */
    public readonly string $token;

    private function __construct() {}
}

/**
 * The feedback service's list while it is read, for foreach.
 *
 * @strict-properties
 * @not-serializable
 */
final class Feedback implements \IteratorAggregate
{
    /** Connects. Options are the fields of apns_feedback_options_t. */
    public function __construct(Credentials|array|null $credentials = null, array $options = [], ?string $proxy_password = null, mixed ...$named) {}

    /** The next one; null: the list has ended. */
    public function read(): ?FeedbackEntry {}

    public function getIterator(): \Iterator {}
}
