<?php
return [
    'connections' => [
        'apn' => [
            'key_id' => env('APN_KEY_ID'),
            'team_id' => env('APN_TEAM_ID'),
            'app_bundle_id' => env('APN_BUNDLE_ID'),
            'private_key_path' => env('APN_PRIVATE_KEY'),
            'production' => true,
            // For the simulator.
            'host' => '127.0.0.1',
            'port' => env('APN_PORT'),
            'ca_file' => env('APN_CA_FILE'),
            'timeout' => 1,
        ],
    ],
];
