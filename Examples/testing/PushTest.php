<?php

require_once __DIR__ . '/ApnsSimulator.php';

use PHPUnit\Framework\TestCase;

/** Here the program that pushes is curl. */
final class PushTest extends TestCase
{
    use ApnsSimulator;

    private const TOKEN = '5f79cfda5f79cfda5f79cfda5f79cfda5f79cfda5f79cfda5f79cfda5f79cfda';

    public function testTheAlertArrives(): void
    {
        $this->assertSame('200', $this->push('{"aps":{"alert":"Hello"}}'));
        [$push] = $this->pushes();
        $this->assertSame(self::TOKEN, $push['token']);
        $this->assertSame('Hello', json_decode($push['payload'])->aps->alert);
    }

    public function testABadToken(): void
    {
        $this->reject(self::TOKEN, 'BadDeviceToken');
        $this->assertSame('400', $this->push('{"aps":{"alert":"Hello"}}'));
        $this->assertSame([], $this->pushes());
    }

    /** The status. */
    private function push(string $payload): string
    {
        $address = "https://127.0.0.1:{$this->apns['http2_port']}/3/device/" . self::TOKEN;
        $command = ['curl', '--silent', '--http2', '--output', '/dev/null', '--write-out', '%{http_code}',
            '--cacert', $this->apns['ca'], '--cert', $this->apns['provider'], '--data-binary', $payload, $address];
        return shell_exec(implode(' ', array_map('escapeshellarg', $command)));
    }
}
