--TEST--
php.ini's passphrase opens its key, and no function shows it to a script
--EXTENSIONS--
apns
openssl
--INI--
apns.passphrase=hush-hush
--FILE--
<?php
$key = openssl_pkey_new(['private_key_type' => OPENSSL_KEYTYPE_EC, 'curve_name' => 'prime256v1']);
$certificate = openssl_csr_sign(openssl_csr_new(['CN' => 'provider'], $key), null, $key, 1);
openssl_x509_export_to_file($certificate, __DIR__ . '/passphrase.crt');
openssl_pkey_export_to_file($key, __DIR__ . '/passphrase.key', 'hush-hush');
ini_set('apns.certificate_file', __DIR__ . '/passphrase.crt');
ini_set('apns.key_file', __DIR__ . '/passphrase.key');
$opens = fn () => (new Apns\Credentials())->describe()['chain_length'];
echo $opens(), "\n";
var_dump(ini_get('apns.passphrase'), get_cfg_var('apns.passphrase'), ini_get_all('apns')['apns.passphrase'], ini_get_all('apns', false)['apns.passphrase']);
var_dump(str_contains(serialize(ini_get_all()), 'hush'));
// A script cannot change it either, nor get it by changing it.
var_dump(ini_set('apns.passphrase', 'other'), ini_get('apns.passphrase'));
ini_restore('apns.passphrase');
var_dump(ini_get('apns.passphrase'));
echo $opens(), "\n";
ob_start();
phpinfo();
echo preg_match('/apns\.passphrase => .*/', $text = ob_get_clean(), $line), " $line[0]\n";
// This test's command line has it, and phpinfo() may show argv.
--CLEAN--
<?php
@unlink(__DIR__ . '/passphrase.crt');
@unlink(__DIR__ . '/passphrase.key');
?>
--EXPECT--
1
string(0) ""
string(0) ""
array(3) {
  ["global_value"]=>
  string(0) ""
  ["local_value"]=>
  string(0) ""
  ["access"]=>
  int(6)
}
string(0) ""
bool(false)
bool(false)
string(0) ""
string(0) ""
1
1 apns.passphrase => set, not shown => set, not shown
