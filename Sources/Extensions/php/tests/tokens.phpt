--TEST--
Tokens as hex, base64 and bytes
--EXTENSIONS--
apns
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$token = Apns\Token::fromHex('<5F79cfda 4d01aa3a>');
echo $token, ' ', $token->hex, ' ', $token->toBase64(), ' ', bin2hex($token->toBytes()), "\n";
var_dump(Apns\Token::fromBase64($token->toBase64()) == $token, Apns\Token::fromBytes($token->toBytes()) == $token, (clone $token) == $token);
// A line as file(), fgets() and explode("\n") return it, but only one.
foreach (["5f79\n", "<5f 79>\r\n", "5f79\r", "5f79\n\n", "5f\n79", "\r\n", "5f79\n\r"] as $line) {
    echo json_encode($line), ': ';
    echo thrown(function () use ($line) { print Apns\Token::fromHex($line) . ' '; }), ', ';
    echo thrown(function () use ($line) { print Apns\Token::fromBase64(strtr($line, ['<' => '', '>' => '', ' ' => '', '5f' => 'X3', '79' => 'k=' ])) . ' '; }), "\n";
}
foreach ([
    fn () => Apns\Token::fromHex('5u79'),
    fn () => Apns\Token::fromHex(''),
    fn () => Apns\Token::fromBase64('a'),
    fn () => Apns\Token::fromBytes(''),
    fn () => Apns\Token::fromBytes(str_repeat('x', 101)),
    fn () => $token->hex = 'zz',
    fn () => new Apns\Token(),
] as $call) echo thrown($call), "\n";
--EXPECT--
5f79cfda4d01aa3a 5f79cfda4d01aa3a X3nP2k0Bqjo= 5f79cfda4d01aa3a
bool(true)
bool(true)
bool(true)
"5f79\n": 5f79 nothing thrown, 5f79 nothing thrown
"<5f 79>\r\n": 5f79 nothing thrown, 5f79 nothing thrown
"5f79\r": 5f79 nothing thrown, 5f79 nothing thrown
"5f79\n\n": Apns\ArgumentException: character 0x0a at 4 is not hex, Apns\ArgumentException: character 0x0a at 4 is not base64
"5f\n79": Apns\ArgumentException: character 0x0a at 2 is not hex, Apns\ArgumentException: character 0x0a at 2 is not base64
"\r\n": Apns\ArgumentException: no hex digit in the token, Apns\ArgumentException: no base64 digit in the token
"5f79\n\r": Apns\ArgumentException: character 0x0a at 4 is not hex, Apns\ArgumentException: character 0x0a at 4 is not base64
Apns\ArgumentException: character 'u' at 1 is not hex
Apns\ArgumentException: no hex digit in the token
Apns\ArgumentException: one base64 digit is left over: 1
Apns\ArgumentException: the device token has 0 bytes, not 1 to 100
Apns\ArgumentException: the device token has 101 bytes, not 1 to 100
Error: Cannot modify readonly property Apns\Token::$hex
Error: Call to private Apns\Token::__construct() from global scope
