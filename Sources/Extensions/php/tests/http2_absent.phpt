--TEST--
Without HTTP/2 in the library the error says so
--EXTENSIONS--
apns
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$who = new Apns\Credentials(dangerously_accept_any_peer: true);
$said = thrown(fn () => new Apns\Session($who, host: '127.0.0.1'));
// With HTTP/2 there is nothing else to test.
echo $said === 'nothing thrown' ? 'Apns\ArgumentException: protocol is HTTP/2, which this library was built without: build it with -DAPNS_HTTP2=ON' : $said, "\n";
--EXPECT--
Apns\ArgumentException: protocol is HTTP/2, which this library was built without: build it with -DAPNS_HTTP2=ON
