<?php
/** A page in php-fpm that pushes to ?token=, or without a token only answers. */
use Apns\Laravel\CouldNotSendNotification;
use Illuminate\Support\Facades\Notification as Notifications;

$answer = ['worker' => getmypid()];
if (isset($_GET['token'])) {
    require __DIR__ . '/app.php';
    $app = application(function (string $token, string $told) use (&$answer) { $answer['told'] = $told; });
    $app->make(Illuminate\Contracts\Console\Kernel::class)->bootstrap();
    try {
        Notifications::route('apn', $_GET['token'])->notifyNow(new Hello());
    } catch (CouldNotSendNotification $e) {
        $answer['told'] = trouble($e);
    }
}
echo json_encode($answer);
