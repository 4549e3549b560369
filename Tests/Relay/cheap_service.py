"""A cheap service, so that the relay dominates the measurement."""

import json
import subprocess


class Service:
    """Runs apns_http2_service of Tests/Benchmarks, which accepts everything after `delay_ms` milliseconds."""

    def __init__(self, program, delay_ms=0):
        self.process = subprocess.Popen([program, str(delay_ms)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        return json.loads(self.process.stdout.readline())

    def kill(self):
        self.process.kill()
        self.process.wait()
