"""A service that costs little, so that it is the relay that is measured."""

import json
import subprocess


class Service:
    """apns_http2_service of Tests/Benchmarks: it accepts all, after so many milliseconds."""

    def __init__(self, program, delay_ms=0):
        self.process = subprocess.Popen([program, str(delay_ms)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        return json.loads(self.process.stdout.readline())

    def kill(self):
        self.process.kill()
        self.process.wait()
