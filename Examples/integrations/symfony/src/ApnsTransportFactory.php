<?php

namespace Apns\Notifier;

use Symfony\Component\Notifier\Exception\IncompleteDsnException;
use Symfony\Component\Notifier\Exception\InvalidArgumentException;
use Symfony\Component\Notifier\Exception\UnsupportedSchemeException;
use Symfony\Component\Notifier\Transport\AbstractTransportFactory;
use Symfony\Component\Notifier\Transport\Dsn;
use Symfony\Component\Notifier\Transport\TransportInterface;

/**
 * apns://KEYID@default?team=TEAM&topic=com.example.app&key=/path/AuthKey.p8
 * apns://default?certificate=/path/provider.pem
 *
 * Further options: environment, timeout, ca_file.
 */
final class ApnsTransportFactory extends AbstractTransportFactory
{
    /**
     * @return ApnsTransport
     */
    public function create(Dsn $dsn): TransportInterface
    {
        if ('apns' !== $dsn->getScheme()) {
            throw new UnsupportedSchemeException($dsn, 'apns', $this->getSupportedSchemes());
        }

        if (null !== $certificate = $dsn->getOption('certificate')) {
            $credentials = ['certificate_file' => $certificate];
        } else {
            $credentials = [
                'key_id' => $dsn->getUser() ?? throw new IncompleteDsnException('The key ID is not set.', 'apns://'.$dsn->getHost()),
                'team_id' => $dsn->getRequiredOption('team'),
                'token_key_file' => $dsn->getRequiredOption('key'),
            ];
        }
        $credentials += array_filter(['ca_file' => $dsn->getOption('ca_file')]);

        // The topic of a certificate is in it.
        $topic = null === $certificate ? $dsn->getRequiredOption('topic') : $dsn->getOption('topic');

        $timeout = $dsn->getOption('timeout', '5');
        if (!is_numeric($timeout) || 0 >= $timeout) {
            throw new InvalidArgumentException(sprintf('The timeout must be a number of seconds, not "%s".', $timeout));
        }

        $host = 'default' === $dsn->getHost() ? null : $dsn->getHost();
        $environment = $dsn->getOption('environment', 'production');

        return (new ApnsTransport($credentials, $topic, $environment, (float) $timeout, null, $this->client, $this->dispatcher))
            ->setHost($host)
            ->setPort($dsn->getPort());
    }

    protected function getSupportedSchemes(): array
    {
        return ['apns'];
    }
}
