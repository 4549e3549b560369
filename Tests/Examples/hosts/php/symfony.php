<?php
/** The services of an application with Notifier, as FrameworkBundle would make them from notifier.yaml and messenger.yaml. */
use Apns\Notifier\ApnsTransportException;
use Apns\Notifier\ApnsTransportFactory;
use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\HttpClient\HttpClient;
use Symfony\Component\Notifier\Event\FailedMessageEvent;
use Symfony\Component\Notifier\Event\SentMessageEvent;
use Symfony\Component\Notifier\Transport;
use Symfony\Component\Notifier\Transport\Transports;

require __DIR__ . '/autoload.php';

/** @param callable(array): void $tell gets the application's news about each message */
function transports(EventDispatcher $dispatcher, callable $tell): Transports
{
    $dispatcher->addListener(SentMessageEvent::class, function (SentMessageEvent $sent) use ($tell): void {
        $tell(['token' => $sent->getMessage()->getOriginalMessage()->getRecipientId(), 'told' => 'sent']);
    });
    $dispatcher->addListener(FailedMessageEvent::class, function (FailedMessageEvent $failed) use ($tell): void {
        $e = $failed->getError();
        $told = 'not sent';
        if ($e instanceof ApnsTransportException && $e->isDeviceGone()) $told = 'gone';
        if ($e instanceof ApnsTransportException && $e->isInDoubt()) $told = 'in doubt';
        $tell(['token' => $failed->getMessage()->getRecipientId(), 'told' => $told, 'why' => $e->getMessage()]);
    });
    $factory = new ApnsTransportFactory($dispatcher, HttpClient::create());
    return (new Transport([$factory]))->fromStrings(['apns' => getenv('APNS_DSN')]);
}
