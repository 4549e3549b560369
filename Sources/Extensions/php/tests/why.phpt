--TEST--
Event::$why describes each outcome
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip_http2.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

// Each status of the binary interface, and an unlisted one.
foreach ([1, 2, 3, 4, 5, 6, 7, 8, 128, 255, 77] as $status) {
    $simulator = new Simulator(['bad_every' => 1, 'bad_status' => $status]);
    $session = $simulator->session();
    $session->send(Simulator::token(1), '{"aps":{}}');
    $session->drain(240000);
    $event = $session->nextEvent();
    echo "{$event->kind->value} $event->why\n";
}
// Each HTTP/2 reason is in the list, with its text.
$simulator = new Simulator(['bad_prefixes' => ['ff']], '--http2-port', '0');
$session = new Apns\Session($simulator->identity(), host: '127.0.0.1', port: $simulator->ready['http2_port'], protocol: 'http2', retry_timeout_ms: -1);
foreach (Apns\Reason::cases() as $reason) {
    if ($reason === Apns\Reason::Other) continue;
    $text = $reason->value;
    $simulator->control('PATCH', '/faults', ['bad_reason' => $text]);
    $session->send('ff' . substr(Simulator::token(1), 2), '{"aps":{}}');
    try { $session->drain(240000); } catch (Apns\Exception $thrown) { echo $thrown->getMessage(), "\n"; }
    $event = $session->nextEvent();
    if ($event && $event->reason !== $reason) echo "$text came as {$event->reason?->value}\n";
    // An event that a test makes has the same text.
    $made = new Apns\Event(Apns\EventKind::Rejected, 'ff', $reason, timestamp: $event->timestamp ?? 0);
    if ($event && $made->why . $made->reasonText !== $event->why . $event->reasonText) echo "$made->why was made\n";
    echo $event ? preg_replace('/since [-\d]+ [:\d]+ UTC$/', 'since then', $event->why) . "\n" : "$text: no event\n";
}
$invalid = array_filter(Apns\Reason::cases(), fn ($reason) => (new Apns\Event(Apns\EventKind::Rejected, 'ff', $reason))->hasInvalidToken());
echo 'invalid tokens: ', implode(' ', array_column($invalid, 'value')), "\n";
$session = new Apns\Session($simulator->identity(), $simulator->where(), delivery: 'at_most_once');
$simulator->control('PUT', '/faults', ['cut_after' => 1, 'cut' => 'fin']);
$session->send(Simulator::token(1), '{"aps":{}}');
$session->drain(240000);
$event = $session->nextEvent();
echo "{$event->kind->value} $event->why\n";
--EXPECT--
rejected rejected: processing error (status 1): the gateway's own trouble; send it again later
rejected rejected: missing device token (status 2): the notification has no device token
rejected rejected: missing topic (status 3): the certificate names no app
rejected rejected: missing payload (status 4): the notification has no payload
rejected rejected: invalid token size (status 5): the gateway takes no token of this length
rejected rejected: invalid topic size (status 6): the certificate's topic has a length that the gateway does not take
rejected rejected: invalid payload size (status 7): the payload is longer than the gateway takes
rejected rejected: invalid token (status 8): not a device of this app in this environment
rejected rejected: protocol error (status 128): the gateway could not read the notification
rejected rejected: unknown (status 255): the gateway gives no reason
rejected rejected: unlisted status (status 77)
rejected: BadDeviceToken (HTTP 400): not a token, or one of the other environment: sandbox or production
rejected: DeviceTokenNotForTopic (HTTP 400): the token belongs to another app, not the topic's
rejected: MissingDeviceToken (HTTP 400): the notification has no device token
rejected: MissingTopic (HTTP 400): the session needs a topic: the app's bundle identifier
rejected: PayloadEmpty (HTTP 400): the notification has no payload
rejected: BadTopic (HTTP 400): the topic is not one
rejected: PayloadTooLarge (HTTP 413): the payload is longer than this kind of push may be
rejected: BadCollapseId (HTTP 400): the collapse_id is longer than 64 bytes
rejected: BadExpirationDate (HTTP 400): the expiry is not one
rejected: BadMessageId (HTTP 400): the apns_id is not a UUID
rejected: BadPriority (HTTP 400): the priority does not go with this kind of push
rejected: DuplicateHeaders (HTTP 400): a header field came twice
rejected: InvalidPushType (HTTP 400): the push_type is not the topic's; it follows topic and certificate if it is left away
rejected: BadPath (HTTP 404): the request went to a path that is not there
rejected: MethodNotAllowed (HTTP 405): the request was not a POST
rejected: IdleTimeout (HTTP 400): the connection was idle too long
rejected: ExpiredProviderToken (HTTP 403): the provider token is too old; look at the clock
rejected: UnrelatedKeyIdInToken (HTTP 403): another key was used on the same connection
rejected: TopicDisallowed (HTTP 400): this certificate or key may not push to the topic
rejected: BadCertificate (HTTP 403): the certificate is not one for pushing
rejected: BadCertificateEnvironment (HTTP 403): the certificate is for the other environment: sandbox or production
rejected: BadEnvironmentKeyIdInToken (HTTP 403): the key is for the other environment: sandbox or production
rejected: Forbidden (HTTP 403): the provider may not push this
rejected: InvalidProviderToken (HTTP 403): key, key_id and team_id do not belong together, or the key was revoked
rejected: MissingProviderToken (HTTP 403): no certificate was shown, so a provider token is needed
rejected: Unregistered (HTTP 410): the app is no longer on the device, since then
rejected: ExpiredToken (HTTP 410): the device token has expired, since then
rejected: TooManyProviderTokenUpdates (HTTP 429): new provider tokens come too often for one key
rejected: TooManyRequests (HTTP 429): too many pushes to one device
rejected: InternalServerError (HTTP 500): the service's own trouble
rejected: ServiceUnavailable (HTTP 503): the service is busy
rejected: Shutdown (HTTP 503): the service is going away
rejected: MissingChannelId (HTTP 400): the request names no channel
rejected: BadChannelId (HTTP 400): the channel's identifier is not one
rejected: ChannelNotRegistered (HTTP 400): there is no such channel of this app in this environment
rejected: CannotCreateChannelConfig (HTTP 400): the app has all the channels it may have
rejected: FeatureNotEnabled (HTTP 400): broadcasts are not enabled for this app
rejected: MissingPushType (HTTP 400): there is no apns-push-type
rejected: TopicMismatch (HTTP 400): the bundle id is another app's, or has other capitals than the app's
invalid tokens: BadDeviceToken DeviceTokenNotForTopic Unregistered ExpiredToken
unknown unknown: no answer came: the gateway ended the connection without naming one
