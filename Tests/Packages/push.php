<?php
// The provider of Examples/c/provider.c in PHP, with the same output.
[, $host, $port, $feedbackPort, $certificate, $ca, $file] = $argv;
$who = new Apns\Credentials(certificate_file: $certificate, ca_file: $ca);
$session = new Apns\Session($who, protocol: 'binary', host: $host, port: (int) $port, outcomes: 'failures');
$lines = $refused = 0;
foreach (file($file, FILE_IGNORE_NEW_LINES) as $text) {
    $lines++;
    [$token, $payload] = explode("\t", $text);
    try {
        $session->send($token, $payload, userData: $lines, more: true);
    } catch (Apns\ArgumentException $error) {
        $refused++;
        echo "line $lines: refused: {$error->getMessage()}\n";
    }
}
$session->drain(60000);
foreach ($session as $event) {
    echo "line $event->userData: $event\n";
}
$stats = $session->stats();
echo "lines $lines = accepted $stats[accepted] + rejected $stats[rejected]",
    " + refused $refused + unknown $stats[unknown]\n";
foreach (new Apns\Feedback($who, host: $host, port: (int) $feedbackPort) as $device) {
    echo "gone since $device->timestamp: $device->token\n";
}
