--TEST--
The stubs, which editors and static analysis read, say what the extension is
--EXTENSIONS--
apns
--SKIPIF--
<?php
if (!is_file(dirname(__DIR__) . '/interface/enums.stub.php')) die('skip the stubs are not here');
?>
--FILE--
<?php
/** Since 8.2 iterable is short for two types. */
function type(?ReflectionType $type): string
{
    return $type == 'Traversable|array' ? 'iterable' : (string) $type;
}

/** All that reflection knows of the classes of a namespace. */
function described(): array
{
    $all = [];
    foreach ([...get_declared_classes(), ...get_declared_interfaces()] as $name) {
        if (!str_starts_with($name, 'Apns\\')) continue;
        $class = new ReflectionClass($name);
        $interfaces = $class->getInterfaceNames();
        sort($interfaces);
        // An enumeration is final without a word, and only some versions say so.
        $one = [$class->isEnum() ? [] : Reflection::getModifierNames($class->getModifiers()), $class->isInterface(), $class->isEnum(),
            $class->getParentClass() ? $class->getParentClass()->name : null, $interfaces];
        if ($class->isEnum()) foreach ($name::cases() as $case) $one["case $case->name"] = $case->value;
        foreach ($class->getProperties() as $property) {
            if ($property->class !== $name) continue;
            $one["\$$property->name"] = [Reflection::getModifierNames($property->getModifiers()), type($property->getType()),
                $property->hasDefaultValue() ? $property->getDefaultValue() : 'none'];
        }
        foreach ($class->getMethods() as $method) {
            if ($method->class !== $name) continue;
            $parameters = [];
            foreach ($method->getParameters() as $parameter) {
                $parameters[] = [$parameter->name, type($parameter->getType()), $parameter->isOptional(), $parameter->isVariadic(),
                    $parameter->isPassedByReference(), $parameter->isDefaultValueAvailable() ? $parameter->getDefaultValue() : 'none'];
            }
            $one["$method->name()"] = [Reflection::getModifierNames($method->getModifiers()), type($method->getReturnType()), $parameters];
        }
        ksort($one);
        $all[$name] = $one;
    }
    ksort($all);
    return $all;
}

if (!extension_loaded('apns')) {
    // The child's turn: here the stubs are the classes.
    foreach (['enums', 'apns'] as $name) require $argv[1] . "/interface/$name.stub.php";
    echo json_encode(described());
    exit;
}
$said = shell_exec(escapeshellarg(PHP_BINARY) . ' -n ' . escapeshellarg(__FILE__) . ' ' . escapeshellarg(dirname(__DIR__)));
$stubs = json_decode($said, true) ?? die("the stubs cannot be read: $said");
$extension = json_decode(json_encode(described()), true);
foreach (array_unique([...array_keys($stubs), ...array_keys($extension)]) as $class) {
    foreach (array_unique([...array_keys($stubs[$class] ?? []), ...array_keys($extension[$class] ?? [])]) as $what) {
        [$stub, $real] = [$stubs[$class][$what] ?? null, $extension[$class][$what] ?? null];
        if ($stub !== $real) echo "$class $what: stub ", json_encode($stub), ', extension ', json_encode($real), "\n";
    }
}
var_dump(count($extension) > 40);
--EXPECT--
bool(true)
