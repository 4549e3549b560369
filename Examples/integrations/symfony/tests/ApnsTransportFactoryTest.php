<?php

namespace Apns\Notifier\Tests;

use Apns\Notifier\ApnsTransportFactory;
use Symfony\Component\HttpClient\MockHttpClient;
use Symfony\Component\Notifier\Exception\InvalidArgumentException;
use Symfony\Component\Notifier\Test\TransportFactoryTestCase;
use Symfony\Component\Notifier\Transport\Dsn;
use Symfony\Component\Notifier\Transport\TransportFactoryInterface;

final class ApnsTransportFactoryTest extends TransportFactoryTestCase
{
    public function createFactory(): TransportFactoryInterface
    {
        return new ApnsTransportFactory(null, new MockHttpClient());
    }

    public static function createProvider(): iterable
    {
        $key = 'team=TEAM&topic=com.example.app&key=/AuthKey.p8';

        yield ['apns://api.push.apple.com?topic=com.example.app', 'apns://KEYID@default?'.$key];
        yield ['apns://api.sandbox.push.apple.com?topic=com.example.app', 'apns://KEYID@default?environment=sandbox&'.$key];
        yield ['apns://host.test:2197?topic=com.example.app', 'apns://KEYID@host.test:2197?'.$key];
        yield ['apns://api.push.apple.com', 'apns://default?certificate=/provider.pem'];
    }

    public static function supportsProvider(): iterable
    {
        yield [true, 'apns://KEYID@default?team=TEAM'];
        yield [false, 'somethingElse://KEYID@default'];
    }

    public static function unsupportedSchemeProvider(): iterable
    {
        yield ['somethingElse://KEYID@default'];
    }

    public static function incompleteDsnProvider(): iterable
    {
        yield 'missing key ID' => ['apns://default?team=TEAM&topic=com.example.app&key=/AuthKey.p8'];
    }

    public static function missingRequiredOptionProvider(): iterable
    {
        yield 'missing option: team' => ['apns://KEYID@default?topic=com.example.app&key=/AuthKey.p8'];
        yield 'missing option: topic' => ['apns://KEYID@default?team=TEAM&key=/AuthKey.p8'];
        yield 'missing option: key' => ['apns://KEYID@default?team=TEAM&topic=com.example.app'];
    }

    public function testTimeoutMustBeANumber()
    {
        $this->expectException(InvalidArgumentException::class);
        $this->createFactory()->create(new Dsn('apns://default?certificate=/provider.pem&timeout=soon'));
    }
}
