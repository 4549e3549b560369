<?php

namespace Apns\Laravel;

use Apns\ArgumentException;
use Apns\Event;
use Apns\Exception as ApnsException;
use Apns\SessionInterface;
use Apns\Token;
use Illuminate\Contracts\Config\Repository;
use Illuminate\Contracts\Container\Container;
use Illuminate\Contracts\Events\Dispatcher;
use Illuminate\Notifications\Events\NotificationFailed;
use Illuminate\Notifications\Notification;

class ApnsChannel
{
    /**
     * The container, which is asked for the session: the channel manager keeps this channel as long as the worker runs.
     *
     * @var \Illuminate\Contracts\Container\Container
     */
    protected $container;

    /**
     * The event dispatcher.
     *
     * @var \Illuminate\Contracts\Events\Dispatcher
     */
    protected $events;

    /**
     * Create a new channel instance.
     *
     * @param  \Illuminate\Contracts\Container\Container  $container
     * @param  \Illuminate\Contracts\Events\Dispatcher  $events
     * @return void
     */
    public function __construct(Container $container, Dispatcher $events)
    {
        $this->container = $container;
        $this->events = $events;
    }

    /**
     * Send the given notification to all devices of the notifiable entity.
     *
     * @param  mixed  $notifiable
     * @param  \Illuminate\Notifications\Notification  $notification
     * @return \Apns\Event[]|null
     *
     * @throws \Apns\Laravel\CouldNotSendNotification  if no device has an answer, so that the queue tries again
     */
    public function send($notifiable, Notification $notification)
    {
        $tokens = (array) $notifiable->routeNotificationFor('apn', $notification);

        if (! $tokens || ! $message = $notification->toApn($notifiable)) {
            return;
        }

        $config = $this->container->make(Repository::class)->get('broadcasting.connections.apn', []);
        $until = microtime(true) + ($config['timeout'] ?? 10);
        $events = [];

        foreach ($tokens as $token) {
            $end = $this->push($token, $message, $until);

            if ($end instanceof Event && $end->isAccepted()) {
                $events[] = $end;
                continue;
            }

            if (! $events && ! $this->isFinal($end)) {
                throw new CouldNotSendNotification($end);
            }

            if ($end instanceof Event) {
                $events[] = $end;
            }

            $this->events->dispatch(new NotificationFailed($notifiable, $notification, static::class, [
                'id' => $end instanceof Event ? $end->apnsId : null,
                'token' => $token,
                'error' => $end instanceof Event ? ($end->reasonText ?: $end->why) : $end->getMessage(),
                'outcome' => $end,
                'gone' => $this->isGone($end),
            ]));
        }

        return $events;
    }

    /**
     * Push to one device, and get its outcome or the reason why it has none.
     *
     * @param  string  $token
     * @param  \Apns\Laravel\ApnsMessage  $message
     * @param  float  $until
     * @return \Apns\Event|\Apns\Exception
     *
     * @throws \Apns\ArgumentException  if the message has an error
     */
    protected function push($token, ApnsMessage $message, $until)
    {
        try {
            $device = Token::fromHex($token);
        } catch (ArgumentException $e) {
            return $e;
        }

        $timeout = max(1, (int) ceil(1000 * ($until - microtime(true))));

        try {
            return $this->container->make(SessionInterface::class)
                ->push($device, $message->toPayload(), $timeout, ...$message->options);
        } catch (ArgumentException $e) {
            throw $e;
        } catch (ApnsException $e) {
            return $e;
        }
    }

    /**
     * Determine if trying again cannot help.
     *
     * @param  \Apns\Event|\Apns\Exception  $end
     * @return bool
     */
    protected function isFinal($end)
    {
        return $end instanceof Event ? $end->isRejected() : $end instanceof ArgumentException;
    }

    /**
     * Determine if the application should forget the device token.
     *
     * @param  \Apns\Event|\Apns\Exception  $end
     * @return bool
     */
    protected function isGone($end)
    {
        return $end instanceof Event ? $end->hasInvalidToken() : $end instanceof ArgumentException;
    }
}
