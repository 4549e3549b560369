<?php

namespace Apns\Notifier\Tests;

use Apns\Event;
use Apns\EventKind;
use Apns\NetworkException;
use Apns\Notifier\ApnsOptions;
use Apns\Notifier\ApnsRetryStrategy;
use Apns\Notifier\ApnsTransport;
use Apns\Notifier\ApnsTransportException;
use Apns\Reason;
use Apns\SessionInterface;
use Symfony\Component\HttpClient\Exception\ClientException;
use Symfony\Component\HttpClient\MockHttpClient;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Exception\HandlerFailedException;
use Symfony\Component\Messenger\Retry\MultiplierRetryStrategy;
use Symfony\Component\Notifier\Event\FailedMessageEvent;
use Symfony\Component\Notifier\Exception\InvalidArgumentException;
use Symfony\Component\Notifier\Message\MessageOptionsInterface;
use Symfony\Component\Notifier\Message\PushMessage;
use Symfony\Component\Notifier\Message\SmsMessage;
use Symfony\Component\Notifier\Test\TransportTestCase;
use Symfony\Component\Notifier\Transport\FailoverTransport;
use Symfony\Component\Notifier\Transport\NullTransport;
use Symfony\Component\Notifier\Transport\TransportInterface;
use Symfony\Contracts\EventDispatcher\EventDispatcherInterface;
use Symfony\Contracts\HttpClient\Exception\TransportExceptionInterface;
use Symfony\Contracts\HttpClient\HttpClientInterface;

final class ApnsTransportTest extends TransportTestCase
{
    private const TOKEN = '5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412';

    /**
     * @return ApnsTransport
     */
    public static function createTransport(?HttpClientInterface $client = null, ?SessionInterface $session = null, ?EventDispatcherInterface $dispatcher = null): TransportInterface
    {
        return new ApnsTransport([], 'com.example.app', 'production', 3, $session, $client ?? new MockHttpClient(), $dispatcher);
    }

    public static function toStringProvider(): iterable
    {
        yield ['apns://api.push.apple.com?topic=com.example.app', self::createTransport()];
    }

    public static function supportedMessagesProvider(): iterable
    {
        yield [new PushMessage('Hello!', 'Symfony Notifier')];
        yield [new PushMessage('Hello!', 'Symfony Notifier', new ApnsOptions(self::TOKEN))];
    }

    public static function unsupportedMessagesProvider(): iterable
    {
        yield [new SmsMessage('0670802161', 'Hello!')];
    }

    public function testSupportsOnlyItsOwnOptions()
    {
        $options = $this->createMock(MessageOptionsInterface::class);
        $this->assertFalse(self::createTransport()->supports(new PushMessage('Hello!', 'Symfony Notifier', $options)));
    }

    public function testSend()
    {
        $session = $this->createMock(SessionInterface::class);
        $session->expects($this->once())->method('push')->willReturnCallback(function (string $token, string $payload, int $timeoutMs, mixed ...$headers) {
            $this->assertSame(self::TOKEN, $token);
            $this->assertSame('{"aps":{"badge":0,"alert":{"title":"Hello!","body":"World","subtitle":"New"}},"url":"\/1"}', $payload);
            $this->assertSame(3000, $timeoutMs);

            return new Event(EventKind::Accepted, $token, apnsId: 'eabeae54-14a8-11e5-b60b-1697f925ec7b');
        });
        $options = (new ApnsOptions(self::TOKEN))->badge(0)->subtitle('New')->data(['url' => '/1'])->collapseId('one');
        $sent = self::createTransport(null, $session)->send(new PushMessage('Hello!', 'World', $options));
        $this->assertSame('eabeae54-14a8-11e5-b60b-1697f925ec7b', $sent->getMessageId());
    }

    public function testSilentMessageHasNoAlert()
    {
        $session = $this->createMock(SessionInterface::class);
        $session->expects($this->once())->method('push')
            ->with(self::TOKEN, '{"aps":{"content-available":1}}')
            ->willReturn(new Event(EventKind::Accepted, self::TOKEN));
        self::createTransport(null, $session)->send(new PushMessage('', '', (new ApnsOptions(self::TOKEN))->contentAvailable()));
    }

    public function testRejectedTokenSaysThatTheDeviceIsGone()
    {
        $e = $this->sendAndFail(new Event(EventKind::Rejected, self::TOKEN, Reason::Unregistered, timestamp: 1290000000));
        $this->assertStringContainsString('Unregistered', $e->getMessage());
        $this->assertTrue($e->isDeviceGone());
        $this->assertFalse($e->isInDoubt());
        $this->assertSame(410, $e->getResponse()->getStatusCode());
        $this->assertSame(['reason' => 'Unregistered', 'timestamp' => 1290000000000], $e->getResponse()->toArray(false));
        $this->expectException(ClientException::class);
        $e->getResponse()->getContent();
    }

    public function testBadTopicIsNotTheDevicesFault()
    {
        $this->assertFalse($this->sendAndFail(new Event(EventKind::Rejected, self::TOKEN, Reason::BadTopic))->isDeviceGone());
        $this->assertTrue($this->sendAndFail(new Event(EventKind::Rejected, self::TOKEN, Reason::BadDeviceToken))->isDeviceGone());
    }

    public function testNoAnswer()
    {
        $e = $this->sendAndFail(new Event(EventKind::Unknown, self::TOKEN));
        $this->assertTrue($e->isInDoubt());
        $this->assertFalse($e->isDeviceGone());
        $this->assertSame(0, $e->getResponse()->getInfo('http_code'));
    }

    public function testUnreachable()
    {
        $e = $this->sendAndFail(new NetworkException('no route to host'));
        $this->assertSame('Could not reach APNs: no route to host', $e->getMessage());
        $this->assertNull($e->getEvent());
        $this->assertFalse($e->isDeviceGone());
        $this->expectException(TransportExceptionInterface::class);
        $e->getResponse()->getStatusCode();
    }

    public function testFailover()
    {
        $session = $this->createMock(SessionInterface::class);
        $session->method('push')->willThrowException(new NetworkException('no route to host'));
        $transport = new FailoverTransport([self::createTransport(null, $session), new NullTransport()]);
        $sent = $transport->send(new PushMessage('Hello!', 'World', new ApnsOptions(self::TOKEN)));
        $this->assertSame('null', $sent->getTransport());
    }

    public function testMessengerRepeatsWhatWasNotRejected()
    {
        $message = new Envelope(new PushMessage('Hello!', 'World', new ApnsOptions(self::TOKEN)));
        $strategy = new ApnsRetryStrategy(new MultiplierRetryStrategy(3));
        foreach ([
            [false, new Event(EventKind::Rejected, self::TOKEN, Reason::Unregistered)],
            [true, new Event(EventKind::Unknown, self::TOKEN)],
            [true, new NetworkException('no route to host')],
        ] as [$expected, $end]) {
            $this->assertSame($expected, $strategy->isRetryable($message, new HandlerFailedException($message, [$this->sendAndFail($end)])));
        }
    }

    public function testNoOptions()
    {
        $this->expectException(InvalidArgumentException::class);
        self::createTransport(null, $this->createMock(SessionInterface::class))->send(new PushMessage('Hello!', 'World'));
    }

    /**
     * What the session itself refuses, without a network.
     *
     * @testWith ["not hex", "Hello!"]
     *           ["5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412", "\u0001"]
     */
    public function testRefusedArguments(string $token, string $subject)
    {
        $certificate = getenv('APNS_CERTIFICATE') ?: $this->markTestSkipped('APNS_CERTIFICATE names none');
        $transport = new ApnsTransport(['certificate_file' => $certificate], 'com.example.app', client: new MockHttpClient());
        $transport->setHost('127.0.0.1')->setPort(1);
        $options = "\u{1}" === $subject ? new ApnsOptions($token, ['badge' => 'one']) : new ApnsOptions($token);
        $this->expectException(InvalidArgumentException::class);
        $transport->send(new PushMessage($subject, '', $options));
    }

    private function sendAndFail(Event|NetworkException $end): ApnsTransportException
    {
        $session = $this->createMock(SessionInterface::class);
        $end instanceof Event ? $session->method('push')->willReturn($end) : $session->method('push')->willThrowException($end);
        $dispatcher = $this->createMock(EventDispatcherInterface::class);
        $told = [];
        $dispatcher->method('dispatch')->willReturnCallback(function (object $event) use (&$told) {
            return $told[] = $event;
        });
        try {
            self::createTransport(null, $session, $dispatcher)->send(new PushMessage('Hello!', 'World', new ApnsOptions(self::TOKEN)));
        } catch (ApnsTransportException $e) {
            $this->assertInstanceOf(FailedMessageEvent::class, end($told));
            $this->assertSame($e, end($told)->getError());

            return $e;
        }
        $this->fail('nothing thrown');
    }
}
