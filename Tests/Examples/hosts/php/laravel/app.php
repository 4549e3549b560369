<?php
/** An application of Laravel with this channel, for artisan and for a page. */
use Apns\Laravel\ApnsMessage;
use Apns\Laravel\CouldNotSendNotification;
use Illuminate\Bus\Queueable;
use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Notifications\Events\NotificationFailed;
use Illuminate\Notifications\Events\NotificationSent;
use Illuminate\Notifications\Notification;
use Illuminate\Support\Facades\Artisan;
use Illuminate\Support\Facades\Event;
use Illuminate\Support\Facades\Notification as Notifications;

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

/** The word for a notification without a response of APNs. */
function trouble(CouldNotSendNotification $e): string
{
    return isset($e->event) ? 'in doubt' : 'not sent';
}

/** @param callable(string, string, string): void $tell gets a token, how its notification ended, and why */
function application(callable $tell): Illuminate\Foundation\Application
{
    $app = new Illuminate\Foundation\Application(getenv('APNS_APP'));
    $app->singleton(Illuminate\Contracts\Console\Kernel::class, Kernel::class);
    $app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, Handler::class);
    $app->booted(function () use ($tell) {
        Event::listen(function (NotificationSent $sent) use ($tell) {
            foreach ($sent->response as $event) if ($event->isAccepted()) $tell($event->token, 'sent', '');
        });
        Event::listen(function (NotificationFailed $failed) use ($tell) {
            $tell($failed->data['token'], $failed->data['gone'] ? 'gone' : 'failed', $failed->data['error']);
        });
    });
    return $app;
}
