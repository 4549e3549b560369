<?php

namespace Apns\Notifier;

use Apns\ArgumentException;
use Apns\Exception as ApnsException;
use Apns\Session;
use Apns\SessionInterface;
use Symfony\Component\Notifier\Exception\InvalidArgumentException;
use Symfony\Component\Notifier\Exception\LogicException;
use Symfony\Component\Notifier\Exception\UnsupportedMessageTypeException;
use Symfony\Component\Notifier\Message\MessageInterface;
use Symfony\Component\Notifier\Message\PushMessage;
use Symfony\Component\Notifier\Message\SentMessage;
use Symfony\Component\Notifier\Transport\AbstractTransport;
use Symfony\Contracts\EventDispatcher\EventDispatcherInterface;
use Symfony\Contracts\HttpClient\HttpClientInterface;

final class ApnsTransport extends AbstractTransport
{
    protected const HOST = 'api.push.apple.com';

    /**
     * @param array $credentials The options of Apns\Credentials
     * @param float $timeout     The seconds within which send() returns or throws
     */
    public function __construct(
        private array $credentials,
        private ?string $topic = null,
        private string $environment = 'production',
        private float $timeout = 5.0,
        private ?SessionInterface $session = null,
        ?HttpClientInterface $client = null,
        ?EventDispatcherInterface $dispatcher = null,
    ) {
        parent::__construct($client, $dispatcher);
    }

    public function __toString(): string
    {
        return sprintf('apns://%s%s', $this->getEndpoint(), null === $this->topic ? '' : '?topic='.$this->topic);
    }

    public function supports(MessageInterface $message): bool
    {
        return $message instanceof PushMessage && (null === $message->getOptions() || $message->getOptions() instanceof ApnsOptions);
    }

    protected function doSend(MessageInterface $message): SentMessage
    {
        if (!$message instanceof PushMessage) {
            throw new UnsupportedMessageTypeException(__CLASS__, PushMessage::class, $message);
        }
        if ($message->getOptions() && !$message->getOptions() instanceof ApnsOptions) {
            throw new LogicException(sprintf('The "%s" transport only supports instances of "%s" for options.', __CLASS__, ApnsOptions::class));
        }
        if (!$options = $message->getOptions()) {
            throw new InvalidArgumentException(sprintf('The "%s" transport needs the device token, in an instance of "%s".', __CLASS__, ApnsOptions::class));
        }

        ['token' => $token, 'aps' => $aps, 'data' => $data, 'headers' => $headers] = $options->toArray();
        $alert = array_filter(['title' => $message->getSubject(), 'body' => $message->getContent()], 'strlen') + ($aps['alert'] ?? []);
        if ($alert) {
            $aps['alert'] = $alert;
        }
        $url = sprintf('https://%s/3/device/%s', $this->getEndpoint(), $token);

        try {
            $payload = json_encode(['aps' => (object) $aps] + $data, \JSON_THROW_ON_ERROR);
            $event = $this->getSession()->push($token, $payload, (int) ceil(1000 * $this->timeout), ...$headers);
        } catch (ArgumentException|\JsonException $e) {
            throw new InvalidArgumentException('Unable to push the APNs message: '.$e->getMessage(), 0, $e);
        } catch (ApnsException $e) {
            throw new ApnsTransportException('Could not reach APNs: '.$e->getMessage(), new ApnsResponse($url, null, $e->getMessage()), 0, $e);
        }

        if (!$event->isAccepted()) {
            throw new ApnsTransportException('Unable to push the APNs message: '.$event->why, new ApnsResponse($url, $event, $event->why));
        }

        $sentMessage = new SentMessage($message, (string) $this);
        $sentMessage->setMessageId((string) $event->apnsId);

        return $sentMessage;
    }

    /**
     * The session that this process keeps, connected, also over requests in php-fpm. A forked
     * child has another one, so this is called for each message. It renews provider tokens, and closed connections.
     */
    private function getSession(): SessionInterface
    {
        if (null !== $this->session) {
            return $this->session;
        }

        $options = ['connect_timeout_ms' => (int) ceil(1000 * $this->timeout)];
        $options += null === $this->host ? ['environment' => $this->environment] : ['host' => $this->host];
        if (null !== $this->port) {
            $options['port'] = $this->port;
        }
        if (null !== $this->topic) {
            $options['topic'] = $this->topic;
        }

        return Session::persistent('notifier '.md5(serialize([$this->credentials, $options])), $this->credentials, $options);
    }

    protected function getDefaultHost(): string
    {
        return 'sandbox' === $this->environment ? 'api.sandbox.push.apple.com' : self::HOST;
    }
}
