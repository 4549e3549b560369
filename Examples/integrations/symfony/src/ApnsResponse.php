<?php

namespace Apns\Notifier;

use Apns\Event;
use Symfony\Component\HttpClient\Exception\ClientException;
use Symfony\Component\HttpClient\Exception\ServerException;
use Symfony\Component\HttpClient\Exception\TransportException;
use Symfony\Contracts\HttpClient\ResponseInterface;

/**
 * An outcome, as exceptions of Notifier carry it: APNs' response, or why none came.
 *
 * @internal
 */
final class ApnsResponse implements ResponseInterface
{
    private array $info;

    public function __construct(string $url, private ?Event $event, private string $error)
    {
        $this->info = [
            'http_code' => $event?->httpStatus ?? 0,
            'url' => $url,
            'response_headers' => [],
            'error' => $event?->httpStatus ? null : $error,
            'debug' => $error,
            'event' => $event,
        ];
    }

    public function getStatusCode(): int
    {
        if (!$this->info['http_code']) {
            throw new TransportException($this->error);
        }

        return $this->info['http_code'];
    }

    public function getHeaders(bool $throw = true): array
    {
        $this->check($throw);

        return null === $this->event->apnsId ? [] : ['apns-id' => [$this->event->apnsId]];
    }

    public function getContent(bool $throw = true): string
    {
        return json_encode($this->toArray($throw));
    }

    public function toArray(bool $throw = true): array
    {
        $this->check($throw);

        return array_filter(['reason' => $this->event->reasonText, 'timestamp' => 1000 * $this->event->timestamp]);
    }

    public function cancel(): void
    {
    }

    public function getInfo(?string $type = null): mixed
    {
        return null === $type ? $this->info : $this->info[$type] ?? null;
    }

    private function check(bool $throw): void
    {
        $code = $this->getStatusCode();
        if ($throw && 500 <= $code) {
            throw new ServerException($this);
        }
        if ($throw && 400 <= $code) {
            throw new ClientException($this);
        }
    }
}
