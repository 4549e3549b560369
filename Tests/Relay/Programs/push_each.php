<?php
// push_each.php PORT CERTIFICATE FIRST COUNT: a connection for each push, closed without a look,
// as the class of 2012 does it.
for ($number = (int) $argv[3]; $number < $argv[3] + $argv[4]; $number++) {
    $ctx = stream_context_create();
    stream_context_set_option($ctx, 'ssl', 'local_cert', $argv[2]);
    $fp = stream_socket_client("ssl://localhost:$argv[1]", $err, $errstr, 60, STREAM_CLIENT_CONNECT, $ctx);
    if (!$fp) {
        print "Failed to connect $err $errstr\n";
        exit(1);
    }
    $payload = json_encode(array('aps' => array('alert' => 'Hello')));
    $token = sprintf('%064x', $number);
    $msg = chr(0) . pack("n", 32) . pack('H*', str_replace(' ', '', $token)) . pack("n", strlen($payload)) . $payload;
    fwrite($fp, $msg);
    fclose($fp);
}
