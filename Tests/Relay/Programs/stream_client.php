<?php
// stream_client.php PORT FEEDBACK_PORT CERTIFICATE TOKENS: stream_socket_client and nothing else, as answers of 2014 advised:
// the enhanced format, and a look at the answer that does not wait; behind a bad one it connects again and
// goes on. Then it reads the feedback. Prints what it was told: a line for each token, behind "packet" or "feedback".
function open($port, $certificate) {
    $ctx = stream_context_create();
    stream_context_set_option($ctx, 'ssl', 'local_cert', $certificate);
    $fp = stream_socket_client("ssl://localhost:$port", $err, $errstr, 60, STREAM_CLIENT_CONNECT | STREAM_CLIENT_PERSISTENT, $ctx);
    if (!$fp) exit("Failed to connect: $err $errstr");
    return $fp;
}

function checkAppleErrorResponse($fp) {
    stream_set_blocking($fp, 0);
    $answer = fread($fp, 6);
    stream_set_blocking($fp, 1);
    return $answer ? unpack('Ccommand/Cstatus_code/Nidentifier', $answer) : null;
}

$tokens = preg_split('/\s+/', file_get_contents($argv[4]), -1, PREG_SPLIT_NO_EMPTY);
for ($next = 0; $next < count($tokens); ) {
    $fp = open($argv[1], $argv[3]);
    $answer = null;
    for (; $next < count($tokens) && !$answer; $next++) {
        $payload = json_encode(array('aps' => array('alert' => 'Hello', 'sound' => 'default')));
        $msg = pack("C", 1) . pack("N", $next) . pack("N", time() + 90 * 24 * 60 * 60) . pack("n", 32)
            . pack('H*', $tokens[$next]) . pack("n", strlen($payload)) . $payload;
        @fwrite($fp, $msg);
        $answer = checkAppleErrorResponse($fp);
    }
    // Workaround to check if there were any errors during the last seconds of sending.
    for ($pause = 0; $pause < 6 && !$answer; $pause++) {
        usleep(500000);
        $answer = checkAppleErrorResponse($fp);
    }
    if ($answer) {
        if ($answer['status_code'] != 8) exit("status $answer[status_code]");
        print "packet {$tokens[$answer['identifier']]}\n";
        $next = $answer['identifier'] + 1;
    }
    fclose($fp);
}

$fp = open($argv[2], $argv[3]);
while (!feof($fp)) {
    $data = fread($fp, 38);
    if (strlen($data)) print 'feedback ' . unpack("N1timestamp/n1length/H*devtoken", $data)['devtoken'] . "\n";
}
fclose($fp);
