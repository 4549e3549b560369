--TEST--
Provider tokens: shared through a file, and given by a callable
--EXTENSIONS--
apns
--INI--
error_log=/dev/null
--SKIPIF--
<?php
require __DIR__ . '/skip_http2.inc';
?>
--FILE--
<?php
require __DIR__ . '/simulator.inc';

$simulator = new Simulator(['token_renewal_over' => 'key'], '--http2-port', '0');
$where = ['host' => '127.0.0.1', 'port' => $simulator->ready['http2_port'], 'protocol' => 'http2',
    'outcomes' => 'each', 'topic' => 'com.example.app'];
$key = dirname($simulator->ready['provider']) . '/provider-token.p8';
$ca = $simulator->ready['ca'];
$signing = ['token_key_file' => $key, 'key_id' => 'SIMULATOR1', 'team_id' => 'EXAMPLE123', 'ca_file' => $ca];
$directory = sys_get_temp_dir() . '/apns-tokens-' . getmypid();
mkdir($directory, 0700);

function push($who, array $where): string
{
    $session = new Apns\Session($who, $where);
    $session->send(Simulator::token(1), '{"aps":{}}');
    $session->drain(60000);
    return (string) $session->nextEvent();
}

function left(string $directory): string
{
    $names = array_map('basename', glob("$directory/*"));
    array_map('unlink', glob("$directory/*"));
    return json_encode($names);
}

echo "- shared\n";
ini_set('apns.token_cache', $directory);
foreach ([1, 2, 3] as $number) echo push(new Apns\Credentials($signing), $where), "\n";
printf("%o\n", fileperms("$directory/apns-EXAMPLE123-SIMULATOR1.token") & 0777);
echo left($directory), "\n";
$other = new Simulator([], '--http2-port', '0');
$there = ['port' => $other->ready['http2_port']] + $where;
push(new Apns\Credentials($signing, token_cache: 'off'), $there);
ini_set('apns.token_cache', 'off');
push(new Apns\Credentials($signing), $there);
echo left($directory), "\n";
push(new Apns\Credentials($signing, token_cache: "$directory/mine"), $there);
echo left($directory), "\n";
rmdir($directory);

echo "- given\n";
$asked = [];
$who = new Apns\Credentials(ca_file: $ca, token_provider: function (string $need) use (&$asked) {
    $asked[] = $need;
    return ['no.such-token', 3000];
});
echo push($who, $where), "\n", push($who, $where), "\n", json_encode($asked), json_encode($who->describe()), "\n";
// An array of options works too, and only the session keeps the callable.
echo push(['ca_file' => $ca, 'token_provider' => fn () => 'another'], $where), "\n";

echo "- thrown\n";
$answers = [new DomainException('the vault is sealed'), 'mended'];
$session = new Apns\Session(['ca_file' => $ca, 'token_provider' => function () use (&$answers) {
    $said = array_shift($answers);
    if ($said instanceof Throwable) throw $said;
    return $said;
}], $where);
echo thrown(function () use ($session) {
    $session->send(Simulator::token(1), '{"aps":{}}');
    $session->drain(60000);
}), "\n";
echo $session->stats()['unresolved'], " left\n";
// The session calls it again after a second.
while ($answers) {
    try {
        $session->drain(60000);
    } catch (Apns\CredentialsException) {
    }
}
echo $session->nextEvent(), "\n";

echo "- none\n";
foreach ([null, 7, '', str_repeat('x', 1001), [], ['a'], ['a', 'b'], ['a', -1], 'a b'] as $said) {
    $session = new Apns\Session(['ca_file' => $ca, 'token_provider' => fn () => $said], $where);
    echo thrown(function () use ($session) {
        $session->send(Simulator::token(1), '{"aps":{}}');
        $session->drain(60000);
    }), "\n";
    // Ends automatically, without calling it again.
    unset($session);
}
echo thrown(fn () => new Apns\Credentials(token_provider: 'no_such_function')), "\n";
echo thrown(fn () => new Apns\Credentials($signing, token_provider: fn () => null, token_cache: 'off')), "\n";
echo thrown(fn () => Apns\Session::persistent('main', ['ca_file' => $ca, 'token_provider' => fn () => null], $where)), "\n";
?>
--EXPECT--
- shared
accepted
accepted
accepted
600
["apns-EXAMPLE123-SIMULATOR1.token","apns-EXAMPLE123-SIMULATOR1.token.lock"]
[]
["mine","mine.lock"]
- given
rejected: InvalidProviderToken (HTTP 403)
rejected: InvalidProviderToken (HTTP 403)
["first"]null
rejected: InvalidProviderToken (HTTP 403)
- thrown
DomainException: the vault is sealed
1 left
rejected: InvalidProviderToken (HTTP 403)
- none
Apns\TimeoutException: the token_callback has no provider token at the moment
TypeError: token_provider must return [token, seconds], a token or null, not int
ValueError: a provider token has 1 to 1000 characters
ValueError: a provider token has 1 to 1000 characters
TypeError: token_provider must return [token, seconds], a token or null
TypeError: token_provider must return [token, seconds], a token or null
TypeError: token_provider must return [token, seconds], a token or null
TypeError: token_provider must return [token, seconds], a token or null
Apns\CredentialsException: the token_callback gave what is no token: letters, digits and -._~+/= only, without bearer
TypeError: option 'token_provider' must be a callable or null, string found
Apns\ArgumentException: more than one is given of token_key, token_private_key, sign_callback and token_callback
Apns\ArgumentException: a persistent session takes no token_provider, which ends with the request
