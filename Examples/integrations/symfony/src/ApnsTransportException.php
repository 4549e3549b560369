<?php

namespace Apns\Notifier;

use Apns\Event;
use Symfony\Component\Notifier\Exception\TransportException;

/**
 * A notification that APNs rejected, or that it has not answered in time.
 */
final class ApnsTransportException extends TransportException
{
    /**
     * How it ended; null: it was never queued, because APNs cannot be reached.
     */
    public function getEvent(): ?Event
    {
        return $this->getResponse()->getInfo('event');
    }

    /**
     * Whether the application should forget the device token.
     */
    public function isDeviceGone(): bool
    {
        return true === $this->getEvent()?->hasInvalidToken();
    }

    /**
     * Whether it may have arrived, so that sending it again may show it twice.
     */
    public function isInDoubt(): bool
    {
        return true === $this->getEvent()?->isUnknown();
    }
}
