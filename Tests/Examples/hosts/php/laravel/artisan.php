<?php
/**
 * Laravel's artisan. `push` queues a notification for each token of the standard input; `queue:work` is Laravel's. The file
 * $APNS_TOLD gets a line for each event.
 */
use Illuminate\Queue\Events\JobExceptionOccurred;
use Illuminate\Support\Facades\Event;
use Symfony\Component\Console\Input\ArgvInput;
use Symfony\Component\Console\Output\ConsoleOutput;

require __DIR__ . '/app.php';

$tell = function (string $token, string $told, string $why): void {
    $line = json_encode(compact('token', 'told', 'why') + ['worker' => getmypid()]);
    file_put_contents(getenv('APNS_TOLD'), "$line\n", FILE_APPEND);
};
$app = application($tell);
$app->booted(function () use ($tell) {
    Event::listen(function (JobExceptionOccurred $error) use ($tell) {
        $job = unserialize($error->job->payload()['data']['command']);
        $why = $error->exception->getMessage() . ': ' . $error->exception->context()['why'];
        $tell($job->notifiables->first()->routes['apn'], trouble($error->exception), $why);
    });
});
$kernel = $app->make(Illuminate\Contracts\Console\Kernel::class);
exit($kernel->handle(new ArgvInput(), new ConsoleOutput()));
