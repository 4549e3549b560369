<?php
// batch_loop.php PORT CERTIFICATE COUNT: the loop that web pages of 2013 recommended for sending to many devices, with
// their expiry, which is a duration. It reads no error packet.
$pass = '';
$ctx = stream_context_create();
stream_context_set_option($ctx, 'ssl', 'local_cert', $argv[2]);
stream_context_set_option($ctx, 'ssl', 'passphrase', $pass);
$fp = stream_socket_client("ssl://localhost:$argv[1]", $err, $errstr, 60, STREAM_CLIENT_CONNECT, $ctx);
if(!$fp) {
    print "Failed to connect $err $errstr";
    exit();
} else {
    print "Connection OK\n";
}
$body = array('aps' => array('badge' => 1));
for($i = 0; $i <= $argv[3]; $i++) {
    $deviceToken = md5(time() . rand(0, 9999999)) . md5(time() . rand(0, 9999999));
    $body['aps']['alert'] = md5(time() . rand(0, 9999999));
    $payload = json_encode($body);
    $msg = pack('CNNnH*', 1, $i, 864000, 32, $deviceToken)
        . pack('n', strlen($payload))
        . $payload;
    print "sending message :" . $payload . "\n";
    fwrite($fp, $msg);
}
