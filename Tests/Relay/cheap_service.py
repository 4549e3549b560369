"""A cheap service, so that the relay dominates the measurement."""

import json
import pathlib
import subprocess


class Service:
    """Runs apns_http2_service of Tests/Benchmarks, which accepts everything after `delay_ms` milliseconds, and adds the device
    of each notification to the file `devices`; with `times` when it was read and answered. `before`: the words before the
    program. More options are the program's."""

    def __init__(self, program, delay_ms=0, devices=None, times=False, before=(), **more):
        self.devices = devices and pathlib.Path(devices)
        options = (f"--{name}={value}" for name, value in more.items())
        words = [*before, program, *options, str(delay_ms), *filter(None, [devices]), *["times"] * times]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = json.loads(self.process.stdout.readline())

    def tokens(self):
        return self.devices.read_text().split()

    def pushes_so_far(self):
        # A line is a token of 64 digits.
        return self.devices.stat().st_size // 65

    def stop(self):
        self.process.stdin.close()
        return json.loads(self.process.stdout.readline())

    def kill(self):
        self.process.kill()
        self.process.wait()
