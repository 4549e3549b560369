<?php

namespace Apns\Notifier;

use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Retry\RetryStrategyInterface;

/**
 * For a Messenger transport that carries push messages: does not repeat rejected ones. The session has already
 * retried those with a status of 429 or 5xx.
 */
final class ApnsRetryStrategy implements RetryStrategyInterface
{
    public function __construct(private RetryStrategyInterface $strategy)
    {
    }

    public function isRetryable(Envelope $message, ?\Throwable $throwable = null): bool
    {
        for ($e = $throwable; null !== $e; $e = $e->getPrevious()) {
            if ($e instanceof ApnsTransportException && true === $e->getEvent()?->isRejected()) {
                return false;
            }
        }

        return $this->strategy->isRetryable($message, $throwable);
    }

    public function getWaitingTime(Envelope $message, ?\Throwable $throwable = null): int
    {
        return $this->strategy->getWaitingTime($message, $throwable);
    }
}
