--TEST--
A key passed instead of a name appears in no message
--EXTENSIONS--
apns
--INI--
display_errors=1
html_errors=0
--FILE--
<?php
require __DIR__ . '/simulator.inc';

// Looks like a key.
$body = base64_encode(hash('sha512', 'a', true) . hash('sha512', 'b', true) . 'key');
$pem = "-----BEGIN PRIVATE KEY-----\n" . chunk_split($body, 64, "\n") . "-----END PRIVATE KEY-----\n";
$ids = ['key_id' => 'ABC123DEFG', 'team_id' => 'DEF123GHIJ'];
$shapes = [$pem, str_replace("\n", '\n', $pem), str_replace("\n", ' ', $pem), $body, str_repeat('x', 5000) . $body];
foreach (['', __DIR__] as $basedir) {
    if ($basedir) ini_set('open_basedir', $basedir);
    foreach ($shapes as $key) {
        ob_start();
        foreach ([
            fn () => new Apns\Credentials(['token_key_file' => $key] + $ids),
            fn () => new Apns\Credentials(['certificate_file' => $key]),
            fn () => new Apns\Credentials(['ca_directory' => $key]),
            fn () => new Apns\Credentials(['pinned_keys' => [$key]]),
            fn () => new Apns\Credentials(['tls_min' => $key]),
            fn () => new Apns\Credentials(['accept_expired' => $key]),
            fn () => new Apns\Credentials([$key => 1]),
            fn () => new Apns\Session(new Apns\Credentials(), ['port' => $key]),
            fn () => new Apns\Session(new Apns\Credentials(), ['protocol' => $key]),
            fn () => new Apns\Session(new Apns\Credentials(), ['checks' => $key]),
            fn () => new Apns\Session(new Apns\Credentials(), ['host' => $key]),
            fn () => new Apns\Session(new Apns\Credentials(), ['addresses' => $key]),
            fn () => new Apns\Payload([$key => 1]),
            fn () => Apns\Strings::open($key),
            fn () => ini_set('apns.token_key_file', $key),
            fn () => ini_set('apns.checks', $key),
            fn () => ini_set('apns.port', $key),
        ] as $call) echo thrown($call), "\n";
        ini_set('apns.token_key_file', '');
        $said = ob_get_clean();
        // The rest of a line may be cut off, so any part counts.
        for ($at = 0; $at + 8 <= strlen($body); $at++) {
            $part = substr($body, $at, 8);
            if (str_contains($said, $part)) exit("$part is in: $said");
        }
        if ($key === $pem) echo strtok($said, "\n"), "\n";
    }
}
?>
--EXPECTF--
Apns\CredentialsException: token_key file (%d bytes, not shown: PEM) is text, not the name of a file: text goes into token_key, in C token_key_bytes
Apns\ArgumentException: open_basedir does not allow (%d bytes, not shown: PEM)
