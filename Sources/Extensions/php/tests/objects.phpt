--TEST--
Objects that PHP makes in unusual ways do no harm
--EXTENSIONS--
apns
--SKIPIF--
<?php
require __DIR__ . '/skip.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$simulator = new Simulator();
$simulator->control('POST', '/unregistered', ['token' => 'abcd', 'timestamp' => 1]);
$session = $simulator->session(outcomes: 'each');
$session->send(Simulator::token(1), '{"aps":{}}');
$session->drain(240000);
$all = [$session, $simulator->credentials(), new Apns\Payload(), new Apns\Strings('a = b;'),
    Apns\Token::fromHex('abcd'), $session->nextEvent(), $session->events(), $simulator->feedback(), new Apns\FeedbackEntry('abcd')];
foreach ($all as $object) {
    $class = get_class($object);
    echo "$class\n";
    echo '  serialize: ', thrown(fn () => serialize($object)), "\n";
    echo '  unserialize: ', thrown(fn () => unserialize('O:' . strlen($class) . ":\"$class\":0:{}")), "\n";
    echo '  property: ', thrown(fn () => $object->other = 1), "\n";
    echo '  bare: ', thrown(function () use ($class) {
        $bare = (new ReflectionClass($class))->newInstanceWithoutConstructor();
        foreach (get_class_methods($bare) as $method) {
            try { $bare->$method(); } catch (Throwable) { }
        }
    }), "\n";
    echo '  subclass: ', (new ReflectionClass($class))->isFinal() ? 'final' : 'open', "\n";
    $again = new ReflectionMethod($class, '__construct');
    $again->setAccessible(true);
    $arguments = ['Apns\Strings' => ['a = b;'], 'Apns\Event' => [Apns\EventKind::Unknown], 'Apns\FeedbackEntry' => ['abcd']][$class] ?? [];
    echo '  again: ', thrown(fn () => $again->invoke($object, ...$arguments)), "\n";
    ob_start();
    var_dump($object, (array) $object, $object == $object);
    ob_end_clean();
    json_encode($object);
    var_export($object, true);
}
foreach ([$session, $all[1], $all[2], $all[3], $all[6], $all[7]] as $object) {
    echo thrown(fn () => clone $object), "\n";
}
var_dump(Apns\Token::fromHex('abcd') == Apns\Token::fromHex('ABCD'), Apns\Token::fromHex('abcd') == Apns\Token::fromHex('abce'));
echo thrown(function () use ($all) { $all[5]->kind = Apns\EventKind::Unknown; }), "\n";
echo thrown(function () use ($session) { foreach ($session as &$event); }), "\n";
--EXPECT--
Apns\Session
  serialize: Exception: Serialization of 'Apns\Session' is not allowed
  unserialize: Exception: Unserialization of 'Apns\Session' is not allowed
  property: Error: Cannot create dynamic property Apns\Session::$other
  bare: ReflectionException: Class Apns\Session is an internal class marked as final that cannot be instantiated without invoking its constructor
  subclass: final
  again: Error: Apns\Session is already constructed
Apns\Credentials
  serialize: Exception: Serialization of 'Apns\Credentials' is not allowed
  unserialize: Exception: Unserialization of 'Apns\Credentials' is not allowed
  property: Error: Cannot create dynamic property Apns\Credentials::$other
  bare: ReflectionException: Class Apns\Credentials is an internal class marked as final that cannot be instantiated without invoking its constructor
  subclass: final
  again: Error: Apns\Credentials is already constructed
Apns\Payload
  serialize: Exception: Serialization of 'Apns\Payload' is not allowed
  unserialize: Exception: Unserialization of 'Apns\Payload' is not allowed
  property: Error: Cannot create dynamic property Apns\Payload::$other
  bare: ReflectionException: Class Apns\Payload is an internal class marked as final that cannot be instantiated without invoking its constructor
  subclass: final
  again: Error: Apns\Payload is already constructed
Apns\Strings
  serialize: Exception: Serialization of 'Apns\Strings' is not allowed
  unserialize: Exception: Unserialization of 'Apns\Strings' is not allowed
  property: Error: Cannot create dynamic property Apns\Strings::$other
  bare: ReflectionException: Class Apns\Strings is an internal class marked as final that cannot be instantiated without invoking its constructor
  subclass: final
  again: Error: Apns\Strings is already constructed
Apns\Token
  serialize: Exception: Serialization of 'Apns\Token' is not allowed
  unserialize: Exception: Unserialization of 'Apns\Token' is not allowed
  property: Error: Cannot create dynamic property Apns\Token::$other
  bare: nothing thrown
  subclass: final
  again: nothing thrown
Apns\Event
  serialize: Exception: Serialization of 'Apns\Event' is not allowed
  unserialize: Exception: Unserialization of 'Apns\Event' is not allowed
  property: Error: Cannot create dynamic property Apns\Event::$other
  bare: nothing thrown
  subclass: final
  again: Error: Apns\Event is already constructed
Apns\Events
  serialize: Exception: Serialization of 'Apns\Events' is not allowed
  unserialize: Exception: Unserialization of 'Apns\Events' is not allowed
  property: Error: Cannot create dynamic property Apns\Events::$other
  bare: ReflectionException: Class Apns\Events is an internal class marked as final that cannot be instantiated without invoking its constructor
  subclass: final
  again: nothing thrown
Apns\Feedback
  serialize: Exception: Serialization of 'Apns\Feedback' is not allowed
  unserialize: Exception: Unserialization of 'Apns\Feedback' is not allowed
  property: Error: Cannot create dynamic property Apns\Feedback::$other
  bare: ReflectionException: Class Apns\Feedback is an internal class marked as final that cannot be instantiated without invoking its constructor
  subclass: final
  again: Error: Apns\Feedback is already constructed
Apns\FeedbackEntry
  serialize: Exception: Serialization of 'Apns\FeedbackEntry' is not allowed
  unserialize: Exception: Unserialization of 'Apns\FeedbackEntry' is not allowed
  property: Error: Cannot create dynamic property Apns\FeedbackEntry::$other
  bare: nothing thrown
  subclass: final
  again: Error: Apns\FeedbackEntry is already constructed
Error: Trying to clone an uncloneable object of class Apns\Session
Error: Trying to clone an uncloneable object of class Apns\Credentials
Error: Trying to clone an uncloneable object of class Apns\Payload
Error: Trying to clone an uncloneable object of class Apns\Strings
Error: Trying to clone an uncloneable object of class Apns\Events
Error: Trying to clone an uncloneable object of class Apns\Feedback
bool(true)
bool(false)
Error: Cannot modify readonly property Apns\Event::$kind
Error: An iterator cannot be used with foreach by reference
