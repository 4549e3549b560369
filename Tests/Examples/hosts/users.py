"""Users of a site who ask for one push after the other."""

import collections
import queue
import threading

from simulator import DEADLINE


class Users:
    """`count` users at once. `ask` has the site push to a token and returns the site's answer, which has `told`; if
    that is "not sent" or "in doubt", a user asks again."""

    def __init__(self, count, ask):
        self.ask, self.waiting, self.told = ask, queue.Queue(), collections.defaultdict(list)
        # Nobody begins to ask while `starting` is held; the tokens without an answer are in `pending`.
        self.starting, self.pending, self.changed = threading.Lock(), set(), threading.Condition()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while (one := self.waiting.get()) is not None:
            with self.starting:
                self.pending.add(one)
            told = self.ask(one)["told"]
            with self.changed:
                self.pending.discard(one)
                self.told[one].append(told)
                self.changed.notify_all()
            if told in ("not sent", "in doubt"):
                self.waiting.put(one)

    def count(self, *words):
        return sum(told.count(word) for told in list(self.told.values()) for word in words)

    def tokens(self, word):
        return {one for one, told in self.told.items() if word in told}

    def wait(self, count, *words):
        with self.changed:
            assert self.changed.wait_for(lambda: self.count(*words) >= count, DEADLINE), self.told

    def end(self):
        for _ in self.threads:
            self.waiting.put(None)
        for thread in self.threads:
            thread.join(DEADLINE)
