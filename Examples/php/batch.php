<?php
/**
 * A loop over 10,000 device tokens as it went round, with what changed.
 *
 *     php batch.php < tokens
 *
 * As whom is php.ini's to say (apns.token_key_file or apns.certificate_file; README.md), and
 * where and by which protocol, if not to today's APNs (apns.host, apns.protocol).
 */

// Was stream_context_create() and stream_socket_client(), and an exit where that failed.
$session = new Apns\Session();
$session->connect();
print "Connection OK\n";

$body = ['aps' => ['badge' => 1]];
// Was rand() for want of tokens. A generator, so that any number of them fits in memory.
$notifications = (function () use ($body) {
    for ($i = 0; ($deviceToken = fgets(STDIN)) !== false; $i++) {
        $body['aps']['alert'] = "Message $i";
        // The expiry was 864000, which is January 1970: such a message is never stored, and
        // refused here. The identifier is the session's own; what was $i comes back as user
        // data. The line feed at the token's end may stay.
        yield [
            'token' => $deviceToken,
            'payload' => $body,
            'expiry' => time() + 864000,
            'user_data' => $i,
        ];
    }
})();

// Was an fwrite() each, and no look at the answer, for a read after each was slow: so one
// bad token lost all that followed it until somebody noticed. Here they are sent again.
$sent = $session->sendMany($notifications);

// Was nothing at all: the end of each is known.
$session->drain(60000);
foreach ($session as $event) {
    print "message $event->userData to $event->token $event->why\n";
}
$stats = $session->stats();
print "$sent sent = $stats[accepted] accepted + $stats[rejected] rejected + $stats[unknown] unknown\n";
$session->close();
