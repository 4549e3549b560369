<?php

namespace Apns\Notifier;

use Apns\Priority;
use Apns\PushType;
use Symfony\Component\Notifier\Message\MessageOptionsInterface;

/**
 * The device token, and what a PushMessage cannot say. The message's subject and content are the alert's title and body.
 *
 * @see https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification
 */
final class ApnsOptions implements MessageOptionsInterface
{
    private array $headers = [];

    /**
     * @param string $token The device token, in hex
     * @param array  $aps   Apple's keys, by their names in the payload
     * @param array  $data  The app's own keys
     */
    public function __construct(
        private string $token,
        private array $aps = [],
        private array $data = [],
    ) {
    }

    public function toArray(): array
    {
        return ['token' => $this->token, 'aps' => $this->aps, 'data' => $this->data, 'headers' => $this->headers];
    }

    public function getRecipientId(): ?string
    {
        return $this->token;
    }

    /**
     * @return $this
     */
    public function subtitle(string $subtitle): static
    {
        $this->aps['alert']['subtitle'] = $subtitle;

        return $this;
    }

    /**
     * @return $this
     */
    public function badge(int $badge): static
    {
        $this->aps['badge'] = $badge;

        return $this;
    }

    /**
     * @return $this
     */
    public function sound(string $sound): static
    {
        $this->aps['sound'] = $sound;

        return $this;
    }

    /**
     * @return $this
     */
    public function category(string $category): static
    {
        $this->aps['category'] = $category;

        return $this;
    }

    /**
     * @return $this
     */
    public function threadId(string $threadId): static
    {
        $this->aps['thread-id'] = $threadId;

        return $this;
    }

    /**
     * @return $this
     */
    public function mutableContent(): static
    {
        $this->aps['mutable-content'] = 1;

        return $this;
    }

    /**
     * @return $this
     */
    public function contentAvailable(): static
    {
        $this->aps['content-available'] = 1;

        return $this;
    }

    /**
     * @return $this
     */
    public function interruptionLevel(string $level): static
    {
        $this->aps['interruption-level'] = $level;

        return $this;
    }

    /**
     * @return $this
     */
    public function data(array $data): static
    {
        $this->data = $data;

        return $this;
    }

    /**
     * Until when APNs keeps trying; 0: it tries once.
     *
     * @return $this
     */
    public function expiry(\DateTimeInterface|int $expiry): static
    {
        $this->headers['expiry'] = $expiry;

        return $this;
    }

    /**
     * @return $this
     */
    public function priority(Priority|int $priority): static
    {
        $this->headers['priority'] = $priority;

        return $this;
    }

    /**
     * @return $this
     */
    public function topic(string $topic): static
    {
        $this->headers['topic'] = $topic;

        return $this;
    }

    /**
     * @return $this
     */
    public function pushType(PushType|string $pushType): static
    {
        $this->headers['pushType'] = $pushType;

        return $this;
    }

    /**
     * A later message with the same ID replaces this one on the device.
     *
     * @return $this
     */
    public function collapseId(string $collapseId): static
    {
        $this->headers['collapseId'] = $collapseId;

        return $this;
    }

    /**
     * @return $this
     */
    public function apnsId(string $apnsId): static
    {
        $this->headers['apnsId'] = $apnsId;

        return $this;
    }
}
