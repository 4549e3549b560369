<?php

namespace Apns\Laravel\Tests;

use Apns\ArgumentException;
use Apns\Event;
use Apns\EventKind;
use Apns\Laravel\ApnsChannel;
use Apns\Laravel\ApnsMessage;
use Apns\Laravel\ApnsServiceProvider;
use Apns\Laravel\CouldNotSendNotification;
use Apns\NetworkException;
use Apns\Reason;
use Apns\Session;
use Apns\SessionInterface;
use Apns\Token;
use Illuminate\Config\Repository;
use Illuminate\Container\Container;
use Illuminate\Contracts\Bus\Dispatcher as Bus;
use Illuminate\Contracts\Config\Repository as ConfigContract;
use Illuminate\Contracts\Events\Dispatcher as EventsContract;
use Illuminate\Database\DetectsLostConnections;
use Illuminate\Events\Dispatcher;
use Illuminate\Notifications\ChannelManager;
use Illuminate\Notifications\Events\NotificationFailed;
use Illuminate\Notifications\Events\NotificationSent;
use Illuminate\Notifications\Notification;
use PHPUnit\Framework\TestCase;

class ApnsChannelTest extends TestCase
{
    private Container $app;

    private Dispatcher $events;

    /** @var NotificationFailed[] */
    private array $failed = [];

    /** @var array<string, Event|\Exception> */
    private array $ends = [];

    private array $pushed = [];

    protected function setUp(): void
    {
        $this->app = new Container();
        $this->events = new Dispatcher($this->app);
        $this->events->listen(NotificationFailed::class, function (NotificationFailed $event) {
            $this->failed[] = $event;
        });
        $this->app->instance(EventsContract::class, $this->events);
        $this->app->instance(ConfigContract::class, new Repository(['broadcasting' => ['connections' => ['apn' => []]]]));
        $this->app->instance(\Illuminate\Contracts\Container\Container::class, $this->app);
        $this->app->instance('config', $this->app->make(ConfigContract::class));
        $this->app->instance(Bus::class, $this->createMock(Bus::class));
        $this->app->singleton(ChannelManager::class, fn ($app) => new ChannelManager($app));
        (new ApnsServiceProvider($this->app))->register();

        $session = $this->createMock(SessionInterface::class);
        $session->method('push')->willReturnCallback(function (Token $token, array $payload, int $timeoutMs, mixed ...$options) {
            $this->pushed[] = [$token->hex, $payload];
            $end = $this->ends[$token->hex] ?? new Event(EventKind::Accepted, $token->hex);

            return $end instanceof Event ? $end : throw $end;
        });
        $this->app->bind(SessionInterface::class, fn () => $session);
    }

    public function testMessage()
    {
        $message = ApnsMessage::create('Hello', 'World', ['url' => '/'], 0)->subtitle('New')->sound()->custom('id', 7);
        $this->assertSame([
            'aps' => ['alert' => ['title' => 'Hello', 'body' => 'World', 'subtitle' => 'New'], 'badge' => 0, 'sound' => 'default'],
            'url' => '/', 'id' => 7,
        ], $message->toPayload());
        $this->assertSame(['aps' => ['content-available' => 1]], ApnsMessage::create()->contentAvailable()->toPayload());
        $message = ApnsMessage::create('Hello')->title(null)->titleLocKey('T')->titleLocArgs(['a'])->setLocKey('B')->setLocArgs(['b']);
        $this->assertSame(['title-loc-key' => 'T', 'title-loc-args' => ['a'], 'loc-key' => 'B', 'loc-args' => ['b']], $message->alert);
        $this->assertSame(['aps' => ['alert' => 'Hi']], $message->setCustomAlert('Hi')->toPayload());
        $message->custom('id', 7)->setCustom([])->action('open', 3);
        $this->assertSame(['action' => ['action' => 'open', 'params' => 3]], $message->custom);
        $options = ApnsMessage::create()->pushType('alert')->collapseId('one')->priority(5)->expiresAt(0)->topic('a')->options;
        $this->assertSame(['pushType' => 'alert', 'collapseId' => 'one', 'priority' => 5, 'expiry' => 0, 'topic' => 'a'], $options);
    }

    public function testEachDeviceOfTheNotifiable()
    {
        $responses = [];
        $this->events->listen(NotificationSent::class, function (NotificationSent $sent) use (&$responses) {
            $responses = $sent->response;
        });
        $this->notify(['aa', 'bb']);
        $this->assertSame(['aa', 'bb'], array_column($this->pushed, 0));
        $this->assertSame([true, true], array_map(fn (Event $event) => $event->isAccepted(), $responses));
        $this->assertSame([], $this->failed);
    }

    public function testNothingToDo()
    {
        $this->notify([]);
        $this->assertSame([], $this->pushed);
    }

    public function testRejectedTokensAreFailed()
    {
        $this->ends['aa'] = new Event(EventKind::Rejected, 'aa', Reason::Unregistered, apnsId: 'eabeae54-14a8-11e5-b60b-1697f925ec7b');
        $this->ends['bb'] = new Event(EventKind::Rejected, 'bb', Reason::BadTopic);
        $this->notify(['aa', 'bb', 'no hex', 'cc']);
        $this->assertSame(['aa', 'bb', 'cc'], array_column($this->pushed, 0));
        $this->assertSame(['aa', 'bb', 'no hex'], array_map(fn ($event) => $event->data['token'], $this->failed));
        $this->assertSame([true, false, true], array_map(fn ($event) => $event->data['gone'], $this->failed));
        $this->assertSame('eabeae54-14a8-11e5-b60b-1697f925ec7b', $this->failed[0]->data['id']);
        $this->assertSame($this->ends['aa'], $this->failed[0]->data['outcome']);
        $this->assertSame('Unregistered', $this->failed[0]->data['error']);
        $this->assertStringContainsString('hex', $this->failed[2]->data['error']);
        $this->assertSame(ApnsChannel::class, $this->failed[0]->channel);
    }

    public function testWithoutAnAnswerTheQueueTriesAgain()
    {
        $this->ends['aa'] = new NetworkException('no route to host');
        try {
            $this->notify(['aa', 'bb']);
            $this->fail('nothing thrown');
        } catch (CouldNotSendNotification $e) {
            $this->assertSame('APNs has not answered', $e->getMessage());
            $this->assertSame(['why' => 'no route to host'], $e->context());
            $this->assertNull($e->event);
        }
        $this->assertSame([], $this->failed);
        $this->ends['aa'] = new Event(EventKind::Unknown, 'aa');
        $this->expectException(CouldNotSendNotification::class);
        $this->notify(['aa', 'bb']);
    }

    public function testTheWorkerDoesNotTakeItForALostDatabase()
    {
        $worker = new class() {
            use DetectsLostConnections {
                causedByLostConnection as public;
            }
        };
        $lost = new NetworkException('the connection broke: Connection reset by peer');
        $this->assertTrue($worker->causedByLostConnection($lost));
        $this->assertFalse($worker->causedByLostConnection(new CouldNotSendNotification($lost)));
        $unknown = new CouldNotSendNotification(new Event(EventKind::Unknown, 'aa'));
        $this->assertSame('APNs has not answered: Unknown', $unknown->getMessage());
    }

    public function testWithOneAnswerTheOthersAreFailed()
    {
        $this->ends['bb'] = new NetworkException('no route to host');
        $this->notify(['aa', 'bb']);
        $this->assertSame(['bb'], array_map(fn ($event) => $event->data['token'], $this->failed));
        $this->assertFalse($this->failed[0]->data['gone']);
    }

    public function testAWrongMessageIsAnError()
    {
        $this->ends['aa'] = new ArgumentException('the payload is too long');
        $this->expectException(ArgumentException::class);
        $this->notify(['aa']);
    }

    public function testTheChannelByItsClass()
    {
        $this->notify(['aa'], [ApnsChannel::class]);
        $this->assertSame(['aa'], array_column($this->pushed, 0));
    }

    public function testTheSessionIsThatOfTheProcess()
    {
        $certificate = getenv('APNS_CERTIFICATE') ?: $this->markTestSkipped('APNS_CERTIFICATE names none');
        (new ApnsServiceProvider($this->app))->register();
        $this->app['config']->set('broadcasting.connections.apn', ['certificate_path' => $certificate, 'production' => false]);
        $session = $this->app->make(SessionInterface::class);
        $this->assertInstanceOf(Session::class, $session);
        $this->assertSame($session->request(), $this->app->make(SessionInterface::class)->request());
        $this->assertSame(0, $session->stats()['connects']);
    }

    private function notify(array $tokens, array $channels = ['apn']): void
    {
        $notifiable = new class($tokens) {
            public function __construct(private array $tokens)
            {
            }

            public function routeNotificationFor(string $driver, Notification $notification = null): array
            {
                return $this->tokens;
            }
        };
        $notification = new class($channels) extends Notification {
            public function __construct(private array $channels)
            {
            }

            public function via($notifiable)
            {
                return $this->channels;
            }

            public function toApn($notifiable)
            {
                return ApnsMessage::create('Hello', 'World');
            }
        };
        $this->app->make(ChannelManager::class)->sendNow($notifiable, $notification);
    }
}
