"""The file in which a host's application writes what it learns about each notification, a JSON object on each line."""

import json
import pathlib

from simulator import until


class Told:
    def __init__(self, path, *logs):
        self.path, self.logs = pathlib.Path(path), logs
        self.path.touch()

    def rows(self, *words):
        """The lines with one of these words as `told`. The last one may be half written."""
        return [row for row in map(json.loads, self.path.read_text().split("\n")[:-1]) if row["told"] in words]

    def tokens(self, *words):
        return {row["token"] for row in self.rows(*words)}

    def wait(self, holds):
        until(holds, lambda: "\n".join(log.read_text()[-3000:] for log in (self.path, *self.logs) if log.exists()))
