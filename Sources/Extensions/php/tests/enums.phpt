--TEST--
Enumerations and options are those of apns.h
--EXTENSIONS--
apns
--SKIPIF--
<?php
if (!getenv('APNS_HEADER')) die('skip APNS_HEADER does not name apns.h');
?>
--FILE--
<?php
$header = file_get_contents(getenv('APNS_HEADER')) . file_get_contents(dirname(getenv('APNS_HEADER')) . '/binary.h');
$enumerations = ['REJECT' => 'Reject', 'TLS' => 'TlsVersion', 'ENVIRONMENT' => 'Environment', 'EVENT' => 'EventKind', 'FORMAT' => 'Format',
    'DELIVERY' => 'Delivery', 'PROTOCOL' => 'Protocol', 'REASON' => 'Reason', 'PUSH_TYPE' => 'PushType', 'CHECK' => 'Checks', 'STORAGE' => 'Storage',
    'CAUSE' => 'Cause', 'LOG' => 'LogLevel'];
$seen = 0;
$who = new Apns\Credentials();
preg_match_all('/^\s+(APNS_(' . implode('|', array_keys($enumerations)) . ')_((?!KIND_)\w+)) = (-?\d+)/m', $header, $found, PREG_SET_ORDER);
foreach ($found as [, $name, $kind, $short, $value]) {
    if ($short === 'DEFAULT' || ($short === 'NONE' && in_array($kind, ['REJECT', 'REASON', 'CAUSE']))) continue;
    // Underscores and capitals are each language's own.
    $wanted = strtolower(str_replace('_', '', is_numeric($short[0]) ? "$kind$short" : $short));
    $case = array_values(array_filter("Apns\\$enumerations[$kind]"::cases(), fn ($case) => strtolower($case->name) === $wanted))[0] ?? null;
    if (!$case) echo "Apns\\$enumerations[$kind] has no $short\n";
    elseif ($kind === 'REJECT' && $case->value !== (int) $value) echo "$name is not $value\n";
    $seen++;
}
echo $seen > 140 ? 'all there' : "only $seen", "\n";
var_dump(Apns\PushType::from('liveactivity') === Apns\PushType::LiveActivity, Apns\Reject::tryFrom(9), Apns\Priority::from(10)->name);
// Options are the fields of the structures, but for those that lengths and pointers make.
foreach (['session' => Apns\Session::class, 'feedback' => null, 'channels' => Apns\Channels::class] as $noun => $class) {
    $within = ['peer', "{$noun}_options", ...($noun === 'session' ? ['tuning', 'binary_options'] : [])];
    preg_match_all('/typedef struct apns_(?:' . implode('|', $within) . ') \{(.*?)\} apns_/s', $header, $bodies);
    preg_match_all('/^\s+(?:const char \*|u?int\d+_t )(\w+)(?=;)/m', preg_replace('~/\*.*?\*/~s', '', implode($bodies[1])), $fields);
    if (count($bodies[1]) !== count($within)) echo "structures are missing\n";
    foreach ($fields[1] as $field) {
        // wait_max_ms is for hosts with their own event loop or signals.
        if (preg_match('/^reserved|^wait_max_ms$/', $field)) continue;
        $value = in_array($field, ['environment', 'protocol', 'delivery', 'outcomes', 'log_level', 'format', 'checks']) ? ['environment' => 'sandbox', 'protocol' => 'http2', 'delivery' => 'at_most_once', 'outcomes' => 'each', 'log_level' => 'info', 'format' => 'simple', 'checks' => 'all'][$field] : (str_contains($field, 'host') || preg_match('/name|proxy$|topic|addresses|schedule/', $field) ? 'x' : (preg_match('/report|proves|standby|nonblocking|from_environment$/', $field) ? true : 1));
        try {
            if ($class) new $class($who, [$field => $value]);
            else new Apns\Feedback($who, [$field => $value, 'proxy_hots' => 1]);
        } catch (ValueError | TypeError $thrown) { if (!str_contains($thrown->getMessage(), 'proxy_hots')) echo "$noun: ", $thrown->getMessage(), "\n"; }
        catch (Apns\ArgumentException) { }
    }
}
--EXPECT--
all there
bool(true)
NULL
string(9) "Immediate"
