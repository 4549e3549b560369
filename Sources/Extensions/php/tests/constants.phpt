--TEST--
Constants are those of apns.h
--EXTENSIONS--
apns
--SKIPIF--
<?php
if (!getenv('APNS_HEADER')) die('skip APNS_HEADER does not name apns.h');
?>
--FILE--
<?php
$header = file_get_contents(getenv('APNS_HEADER')) . file_get_contents(dirname(getenv('APNS_HEADER')) . '/binary.h');
$classes = ['APNS_ERR_' => 'Exception', 'APNS_REJECT_' => 'Reject', 'APNS_TLS_' => 'Credentials', 'APNS_ENVIRONMENT_' => 'Session',
    'APNS_EVENT_' => 'Event', 'APNS_FORMAT_' => 'Session', 'APNS_DELIVERY_' => 'Session',
    'APNS_PROTOCOL_' => 'Session', 'APNS_REASON_' => 'Reason', 'APNS_PUSH_TYPE_' => 'PushType', 'APNS_CHECK_' => 'Session', 'APNS_STORAGE_' => 'Channels'];
$seen = 0;
$who = new Apns\Credentials();
preg_match_all('/^\s+(APNS_(ERR|REJECT|TLS|ENVIRONMENT|EVENT|FORMAT|DELIVERY|PROTOCOL|REASON|PUSH_TYPE|CHECK|STORAGE)_(\w+)) = (-?\d+)/m', $header, $found, PREG_SET_ORDER);
foreach ($found as [, $name, $kind, $short, $value]) {
    if ($short === 'DEFAULT' || $short === 'BUFFER_SMALL') continue;
    $constant = 'Apns\\' . $classes["APNS_{$kind}_"] . '::' . (in_array($kind, ['FORMAT', 'DELIVERY', 'TLS', 'ENVIRONMENT', 'PROTOCOL', 'CHECK', 'STORAGE']) ? "{$kind}_$short" : $short);
    if (!defined($constant)) echo "$constant is missing\n";
    elseif (constant($constant) !== (int) $value) echo "$constant is not $value\n";
    $seen++;
}
echo $seen > 70 ? 'all there' : "only $seen", "\n";
// Options are the fields of the structures, but for those that lengths and pointers make.
foreach (['session' => Apns\Session::class, 'feedback' => null, 'channels' => Apns\Channels::class] as $noun => $class) {
    $within = ['peer', "{$noun}_options", ...($noun === 'session' ? ['tuning', 'binary_options'] : [])];
    preg_match_all('/typedef struct apns_(?:' . implode('|', $within) . ') \{(.*?)\} apns_/s', $header, $bodies);
    preg_match_all('/^\s+(?:const char \*|u?int\d+_t )(\w+)(?=;)/m', preg_replace('~/\*.*?\*/~s', '', implode($bodies[1])), $fields);
    if (count($bodies[1]) !== count($within)) echo "structures are missing\n";
    foreach ($fields[1] as $field) {
        // wait_max_ms is for hosts with an event loop, or signals, of their own.
        if (preg_match('/^reserved|^wait_max_ms$/', $field)) continue;
        $value = str_contains($field, 'host') || preg_match('/name|proxy$|topic|addresses|schedule/', $field) ? 'x' : (preg_match('/report|proves|standby|nonblocking|from_environment$/', $field) ? true : 1);
        try {
            if ($class) new $class($who, [$field => $value]);
            else new Apns\Feedback($who, [$field => $value, 'proxy_hots' => 1]);
        } catch (ValueError | TypeError $thrown) { if (!str_contains($thrown->getMessage(), 'proxy_hots')) echo "$noun: ", $thrown->getMessage(), "\n"; }
        catch (Apns\ArgumentException) { }
    }
}
--EXPECT--
all there
