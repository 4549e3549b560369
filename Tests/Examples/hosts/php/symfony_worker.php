<?php
/**
 * A queue of Messenger in Redis: `produce` puts a message for each token of the standard input into it; `consume`
 * forks two workers for it, after a push of the parent to the given token.
 */
use Apns\Notifier\ApnsOptions;
use Apns\Notifier\ApnsRetryStrategy;
use Symfony\Component\DependencyInjection\Container;
use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\Messenger\Bridge\Redis\Transport\Connection;
use Symfony\Component\Messenger\Bridge\Redis\Transport\RedisTransport;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\EventListener\DispatchPcntlSignalListener;
use Symfony\Component\Messenger\EventListener\SendFailedMessageForRetryListener;
use Symfony\Component\Messenger\EventListener\StopWorkerOnSigtermSignalListener;
use Symfony\Component\Messenger\Handler\HandlersLocator;
use Symfony\Component\Messenger\MessageBus;
use Symfony\Component\Messenger\Middleware\HandleMessageMiddleware;
use Symfony\Component\Messenger\Retry\MultiplierRetryStrategy;
use Symfony\Component\Messenger\Worker;
use Symfony\Component\Notifier\Message\PushMessage;
use Symfony\Component\Notifier\Messenger\MessageHandler;

require __DIR__ . '/symfony.php';

/** A container that returns one service for any name. */
function holding(object $service): Psr\Container\ContainerInterface
{
    return new class($service) implements Psr\Container\ContainerInterface {
        public function __construct(private object $service) {}
        public function get(string $id): object { return $this->service; }
        public function has(string $id): bool { return true; }
    };
}

function queue(string $consumer): RedisTransport
{
    return new RedisTransport(Connection::fromDsn("redis://127.0.0.1/push/workers/$consumer"));
}

function message(string $token): PushMessage
{
    return new PushMessage('Hello', 'World', new ApnsOptions($token));
}

[, $action] = $argv;
if ($action === 'produce') {
    $queue = queue('none');
    while ($token = trim(fgets(STDIN))) $queue->send(new Envelope(message($token)));
    exit;
}

[, , $first, $log] = $argv;
$dispatcher = new EventDispatcher();
$transports = transports($dispatcher, function (array $news) use ($log): void {
    file_put_contents($log, json_encode($news + ['worker' => getmypid()]) . "\n", FILE_APPEND);
});
$transports->send(message($first));
$children = [];
foreach (['one', 'two'] as $name) {
    if ($pid = pcntl_fork()) {
        $children[] = $pid;
        continue;
    }
    $queue = queue($name);
    $handler = new MessageHandler($transports);
    $bus = new MessageBus([new HandleMessageMiddleware(new HandlersLocator([PushMessage::class => [$handler]]))]);
    // Each message is repeated until APNs has answered it.
    $strategy = new ApnsRetryStrategy(new MultiplierRetryStrategy(1000, 200, 1));
    $dispatcher->addSubscriber(new SendFailedMessageForRetryListener(holding($queue), holding($strategy)));
    $dispatcher->addSubscriber(new DispatchPcntlSignalListener());
    $dispatcher->addSubscriber(new StopWorkerOnSigtermSignalListener());
    (new Worker(['push' => $queue], $bus, $dispatcher))->run(['sleep' => 10000]);
    exit;
}
pcntl_async_signals(true);
pcntl_signal(SIGTERM, function () use ($children) { foreach ($children as $pid) posix_kill($pid, SIGTERM); }, false);
$status = 0;
foreach ($children as $pid) {
    while (pcntl_waitpid($pid, $ended) < 0);
    $status |= $ended;
}
exit($status ? 1 : 0);
