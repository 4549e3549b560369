<?php
// Prints whether php.ini's passphrase opens the key, and what a script can read of it.
ini_set('apns.key_file', $_GET['key']);
try {
    $opens = (new Apns\Credentials())->describe() !== null;
} catch (Apns\CredentialsException) {
    $opens = false;
}
$seen = [ini_get('apns.passphrase'), get_cfg_var('apns.passphrase'), ini_get_all('apns')['apns.passphrase'], ini_set('apns.passphrase', 'x')];
ini_restore('apns.passphrase');
$seen[] = ini_get('apns.passphrase');
echo json_encode(['opens' => $opens, 'seen' => str_contains(json_encode($seen), 'SECRET')]);
