<?php
/**
 * Laravel's artisan in an application with this channel. `push` queues a notification for each token of the standard
 * input; `queue:work` is Laravel's. The file $APNS_TOLD gets a line for each event.
 */
use Apns\Laravel\ApnsMessage;
use Illuminate\Bus\Queueable;
use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Notifications\Events\NotificationFailed;
use Illuminate\Notifications\Events\NotificationSent;
use Illuminate\Notifications\Notification;
use Illuminate\Queue\Events\JobExceptionOccurred;
use Illuminate\Support\Facades\Artisan;
use Illuminate\Support\Facades\Event;
use Illuminate\Support\Facades\Notification as Notifications;
use Symfony\Component\Console\Input\ArgvInput;
use Symfony\Component\Console\Output\ConsoleOutput;

error_reporting(E_ALL & ~E_DEPRECATED);
require __DIR__ . '/../autoload.php';

class Hello extends Notification implements ShouldQueue
{
    use Queueable;

    public $tries = 0;
    public $backoff = 1;

    public function via($notifiable)
    {
        return ['apn'];
    }

    public function toApn($notifiable)
    {
        return ApnsMessage::create('Hello', 'World')->badge(1);
    }
}

class Kernel extends Illuminate\Foundation\Console\Kernel
{
    protected function commands()
    {
        Artisan::command('push', function () {
            while ($token = trim(fgets(STDIN))) {
                Notifications::route('apn', $token)->notify(new Hello());
            }
        });
    }
}

class Handler extends Illuminate\Foundation\Exceptions\Handler {}

function tell(string $token, string $told, string $why = ''): void
{
    $line = json_encode(compact('token', 'told', 'why') + ['worker' => getmypid()]);
    file_put_contents(getenv('APNS_TOLD'), "$line\n", FILE_APPEND);
}

$app = new Illuminate\Foundation\Application(getenv('APNS_APP'));
$app->singleton(Illuminate\Contracts\Console\Kernel::class, Kernel::class);
$app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, Handler::class);
$app->booted(function () {
    Event::listen(function (NotificationSent $sent) {
        foreach ($sent->response as $event) if ($event->isAccepted()) tell($event->token, 'sent');
    });
    Event::listen(function (NotificationFailed $failed) {
        tell($failed->data['token'], $failed->data['gone'] ? 'gone' : 'failed', (string) $failed->data['error']);
    });
    Event::listen(function (JobExceptionOccurred $error) {
        $job = unserialize($error->job->payload()['data']['command']);
        $told = isset($error->exception->event) ? 'in doubt' : 'not sent';
        $why = $error->exception->getMessage() . ': ' . $error->exception->context()['why'];
        tell($job->notifiables->first()->routes['apn'], $told, $why);
    });
});
$kernel = $app->make(Illuminate\Contracts\Console\Kernel::class);
exit($kernel->handle(new ArgvInput(), new ConsoleOutput()));
