<?php

/** An APNs for each test, on a simulator that all tests of the process share. */
trait ApnsSimulator
{
    private static ?array $simulator = null;

    /** The ports and the path of this test's world, and the files of certificates and keys. */
    private array $apns;

    /** @before */
    protected function startApns(): void
    {
        self::$simulator ??= self::startSimulator();
        $this->apns = self::request('POST', '/worlds') + self::$simulator;
    }

    /** @after */
    protected function endApns(): void
    {
        $this->control('DELETE', '');
    }

    /** The accepted pushes, at most 10,000. */
    private function pushes(): array
    {
        return $this->control('GET', '/accepted?limit=10000')['notifications'];
    }

    private function reject(string $token, string $reason): void
    {
        $this->control('POST', '/rejections', ['token' => $token, 'reason' => $reason]);
    }

    private function control(string $method, string $path, ?array $body = null): array
    {
        return self::request($method, $this->apns['path'] . $path, $body);
    }

    private static function request(string $method, string $path, ?array $body = null): array
    {
        $options = ['method' => $method, 'header' => 'content-type: application/json',
            'content' => $body === null ? '' : json_encode($body)];
        $address = 'http://127.0.0.1:' . self::$simulator['control_port'] . $path;
        return json_decode(file_get_contents($address, false, stream_context_create(['http' => $options])), true);
    }

    private static function startSimulator(): array
    {
        $directory = sys_get_temp_dir() . '/apns-simulator-' . getmypid();
        $command = [getenv('APNS_SIMULATOR') ?: 'apns', 'simulate', '--json', '--parent', getmypid(), '--log-level', 'error',
            '--http2-port', '0', '--control-port', '0', '--certificates', $directory];
        $process = proc_open(array_map('strval', $command), [1 => ['pipe', 'w']], $pipes);
        register_shutdown_function(function () use ($process, $directory) {
            proc_terminate($process);
            array_map('unlink', glob("$directory/*"));
            rmdir($directory);
        });
        return json_decode(fgets($pipes[1]), true);
    }
}
