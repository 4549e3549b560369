<?php
/** A page in php-fpm that pushes to ?token=, or without a token only answers. */
use Apns\Notifier\ApnsOptions;
use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\Notifier\Exception\TransportExceptionInterface;
use Symfony\Component\Notifier\Message\PushMessage;
use Symfony\Component\Notifier\Texter;

require __DIR__ . '/symfony.php';

$told = ['worker' => getmypid()];
if (isset($_GET['token'])) {
    $texter = new Texter(transports(new EventDispatcher(), function (array $news) use (&$told) { $told += $news; }));
    try {
        $texter->send(new PushMessage('Hello', 'World', (new ApnsOptions($_GET['token']))->badge(1)));
    } catch (TransportExceptionInterface $e) {
        // The listener knows.
    }
}
echo json_encode($told);
