<?php

namespace Apns\Laravel;

use Apns\Session;
use Apns\SessionInterface;
use Illuminate\Contracts\Config\Repository;
use Illuminate\Contracts\Container\Container;
use Illuminate\Notifications\ChannelManager;
use Illuminate\Support\ServiceProvider;

class ApnsServiceProvider extends ServiceProvider
{
    /**
     * Register the session and the channel "apn".
     *
     * @return void
     */
    public function register()
    {
        // Not a singleton: the extension keeps the session, connected, and a forked worker has another one.
        $this->app->bind(SessionInterface::class, function (Container $app) {
            return $this->session($app->make(Repository::class)->get('broadcasting.connections.apn', []));
        });

        $this->app->resolving(ChannelManager::class, function (ChannelManager $channels) {
            $channels->extend('apn', function (Container $app) {
                return $app->make(ApnsChannel::class);
            });
        });
    }

    /**
     * Get this process's session with the given configuration.
     *
     * @param  array  $config
     * @return \Apns\SessionInterface
     */
    protected function session(array $config)
    {
        $credentials = $this->only($config, ['ca_file' => 'ca_file'] + (isset($config['certificate_path']) ? [
            'certificate_path' => 'certificate_file',
            'certificate_secret' => 'passphrase',
        ] : [
            'key_id' => 'key_id',
            'team_id' => 'team_id',
            'private_key_path' => 'token_key_file',
            'private_key_content' => 'token_key',
            'private_key_secret' => 'passphrase',
        ]));

        $options = $this->only($config, ['app_bundle_id' => 'topic', 'host' => 'host', 'port' => 'port']);

        if (! isset($options['host'])) {
            $options['environment'] = ($config['production'] ?? true) ? 'production' : 'sandbox';
        }

        return Session::persistent('laravel '.md5(serialize([$credentials, $options])), $credentials, $options);
    }

    /**
     * Get the given options that are set, by the extension's names.
     *
     * @param  array  $config
     * @param  array  $names
     * @return array
     */
    private function only(array $config, array $names)
    {
        $options = [];

        foreach ($names as $name => $option) {
            if (isset($config[$name])) {
                $options[$option] = $config[$name];
            }
        }

        return $options;
    }
}
