<?php
/**
 * A widely copied loop over 10,000 device tokens. Comments describe the old code.
 *
 *     php batch.php < tokens
 *
 * php.ini has the credentials (apns.token_key_file or apns.certificate_file; README.md), and
 * for a service other than today's APNs the host and the protocol (apns.host, apns.protocol).
 */

// Was stream_context_create() and stream_socket_client(), and an exit on failure.
$session = new Apns\Session(outcomes: 'failures');
$session->connect();
print "Connection OK\n";

$body = ['aps' => ['badge' => 1]];
// Was rand(), because there were no tokens. A generator needs no memory for the list.
$notifications = (function () use ($body) {
    for ($i = 0; ($deviceToken = fgets(STDIN)) !== false; $i++) {
        $body['aps']['alert'] = "Message $i";
        // The expiry was 864000, which is January 1970: APNs never stores such a message, and
        // the session refuses it. The session sets the identifier; $i comes back as user data.
        // The line feed at the token's end may stay.
        yield [
            'token' => $deviceToken,
            'payload' => $body,
            'expiry' => time() + 864000,
            'userData' => $i,
        ];
    }
})();

// Was one fwrite() for each, without reading, because a read after each was slow. So one bad
// token lost all later messages. The session resends them.
$sent = $session->sendMany($notifications);

// New: wait until each has its outcome.
$session->drain(60000);
foreach ($session as $event) {
    print "message $event->userData to $event->token $event->why\n";
}
$stats = $session->stats();
$unknown = $stats['unknown'] + $stats['expired'];
print "$sent sent = $stats[accepted] accepted + $stats[rejected] rejected + $unknown unknown\n";
$session->close();
