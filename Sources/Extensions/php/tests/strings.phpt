--TEST--
Localizable.strings is read and filled in
--EXTENSIONS--
apns
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$strings = new Apns\Strings("/* c */ \"GAME\" = \"%2\$@ and %@ play\"; a = \"100 %%\";");
echo $strings->format('GAME', 'Jenna', 'Frank'), '|', $strings->get('GAME'), '|', $strings->format('a'), "\n";
var_dump($strings->has('GAME'), $strings->has('game'));
foreach ([
    fn () => $strings->get('none'),
    fn () => $strings->format('GAME', 'one'),
    fn () => $strings->format('GAME', 'one', "a\0b"),
    fn () => $strings->format('GAME', 'one', new stdClass),
    fn () => new Apns\Strings('a = '),
    fn () => Apns\Strings::open('/nowhere/Localizable.strings'),
    fn () => Apns\Strings::open("a\0b"),
] as $call) echo thrown($call), "\n";
$file = tempnam(sys_get_temp_dir(), 'apns');
file_put_contents($file, 'hello = welt;');
echo Apns\Strings::open($file)->get('hello'), "\n";
unlink($file);
--EXPECT--
Frank and Jenna play|%2$@ and %@ play|100 %
bool(true)
bool(false)
Apns\ArgumentException: there is no string for the key "none"
Apns\ArgumentException: line 1, column 19: the text uses argument 2, but the number of arguments is 1 (key "GAME")
ValueError: Apns\Strings::format(): Argument #3 must not contain any null bytes
Error: Object of class stdClass could not be converted to string
Apns\ArgumentException: strings in memory, line 1, column 5: expected a value, not the end
Apns\ArgumentException: strings file /nowhere/Localizable.strings: No such file or directory
ValueError: Apns\Strings::open(): Argument #1 ($file) must not contain any null bytes
welt
