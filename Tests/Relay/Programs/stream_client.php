<?php
// stream_client.php PORT FEEDBACK_PORT CERTIFICATE TOKENS: uses stream_socket_client only, as forum answers of 2014
// advised: the enhanced format, and a check for an error packet that does not wait. After a bad token it reconnects and
// continues. The last notification is always bad, because its token is empty. Then it reads the feedback list. Prints a
// line for each reported token, after "packet" or "feedback".
function open($port, $certificate) {
    $ctx = stream_context_create();
    stream_context_set_option($ctx, 'ssl', 'local_cert', $certificate);
    $fp = stream_socket_client("ssl://localhost:$port", $err, $errstr, 60, STREAM_CLIENT_CONNECT | STREAM_CLIENT_PERSISTENT, $ctx);
    if (!$fp) exit("Failed to connect: $err $errstr");
    return $fp;
}

function checkAppleErrorResponse($fp, $waits = false) {
    stream_set_blocking($fp, (int) $waits);
    $answer = fread($fp, 6);
    stream_set_blocking($fp, 1);
    return $answer ? unpack('Ccommand/Cstatus_code/Nidentifier', $answer) : null;
}

$tokens = preg_split('/\s+/', file_get_contents($argv[4]), -1, PREG_SPLIT_NO_EMPTY);
if ($tokens) $tokens[] = '';
for ($next = 0; $next < count($tokens); ) {
    $fp = open($argv[1], $argv[3]);
    $answer = null;
    for (; $next < count($tokens) && !$answer; $next++) {
        $payload = json_encode(array('aps' => array('alert' => 'Hello', 'sound' => 'default')));
        $msg = pack("C", 1) . pack("N", $next) . pack("N", time() + 90 * 24 * 60 * 60) . pack("n", strlen($tokens[$next]) / 2)
            . pack('H*', $tokens[$next]) . pack("n", strlen($payload)) . $payload;
        @fwrite($fp, $msg);
        $answer = checkAppleErrorResponse($fp);
    }
    $answer = $answer ?: checkAppleErrorResponse($fp, true);
    if (!$answer) exit("no answer");
    $next = $answer['identifier'] + 1;
    if ($next < count($tokens)) {
        if ($answer['status_code'] != 8) exit("status $answer[status_code]");
        print "packet {$tokens[$answer['identifier']]}\n";
    }
    fclose($fp);
}

$fp = open($argv[2], $argv[3]);
while (!feof($fp)) {
    $data = fread($fp, 38);
    if (strlen($data)) print 'feedback ' . unpack("N1timestamp/n1length/H*devtoken", $data)['devtoken'] . "\n";
}
fclose($fp);
