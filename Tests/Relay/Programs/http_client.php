<?php
// http_client.php PORT TOKEN TOPIC: like http_clients.py, with PHP's curl.
[, $port, $token, $topic] = $argv;
$curl = curl_init("http://127.0.0.1:$port/3/device/$token");
$ids = [];
curl_setopt_array($curl, [
    CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_2_0, CURLOPT_RETURNTRANSFER => true,
    CURLOPT_POSTFIELDS => '{"aps":{"alert":"Hello"}}', CURLOPT_HTTPHEADER => ["apns-topic: $topic"],
    CURLOPT_HEADERFUNCTION => function ($curl, $line) use (&$ids) {
        if (preg_match('/^apns-id: *(\S+)/i', $line, $match)) {
            $ids[] = $match[1];
        }
        return strlen($line);
    },
]);
for ($count = 0; $count < 2; $count++) {
    if (curl_exec($curl) === false) {
        exit(curl_error($curl) . "\n");
    }
    echo curl_getinfo($curl, CURLINFO_HTTP_CODE), ' ', $ids[$count], "\n";
}
