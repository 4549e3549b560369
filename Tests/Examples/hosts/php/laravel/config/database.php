<?php
return [
    'default' => 'none',
    'connections' => [],
    'redis' => ['client' => 'phpredis', 'default' => ['host' => '127.0.0.1', 'port' => 6379, 'database' => 0]],
];
