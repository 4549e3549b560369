<?php
/** Loads Debian's packages of a framework, and the Composer package in the directory $APNS_PACKAGE. */
$package = getenv('APNS_PACKAGE');
$composer = json_decode(file_get_contents("$package/composer.json"), true);
spl_autoload_register(function (string $class) use ($package, $composer): void {
    foreach ($composer['autoload-dev']['psr-4'] + $composer['autoload']['psr-4'] as $prefix => $directory) {
        $file = "$package/$directory" . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
        if (str_starts_with($class, $prefix) && is_file($file)) {
            require $file;
            return;
        }
    }
});
foreach (explode(' ', getenv('APNS_DEBIAN')) as $file) require "/usr/share/php/$file/autoload.php";
