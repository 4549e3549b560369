"""The bad days of Tests/Peers/run: faults of the simulator, its control API, or both."""

import dataclasses
import threading
import time

BAD, GONE = "BadDeviceToken", "Unregistered"


@dataclasses.dataclass
class Day:
    name: str
    sentence: str
    # They begin when this share of the notifications has arrived, and end after `seconds`.
    faults: dict = dataclasses.field(default_factory=dict)
    share: float = 0
    seconds: float | None = None
    # In the pause at half the service closes every connection, or accepts only younger provider tokens from then on.
    closes: bool = False
    age: int | None = None
    # Some devices are bad, some gone.
    has_bad: bool = False
    # The reasons that it may give for good devices.
    reasons: tuple = ()
    # In doubt: a response may be lost whose notification arrived.
    is_in_doubt: bool = False


def days(n):
    """The days for `n` notifications."""
    return [
        Day("good day", "Nothing happens."),
        Day("rolling GOAWAY",
            f"Each connection gets GOAWAY with NO_ERROR after {n // 20:,} notifications. It closes once those have their"
            " responses; later ones are not processed.",
            {"goaway_after": n // 20}),
        Day("sudden GOAWAY",
            f"Each connection gets GOAWAY with NO_ERROR after {n // 4:,} notifications, and closes without responses to the"
            " last of them and to the pending ones.",
            {"goaway_after": n // 4, "goaway": "immediate"}, is_in_doubt=True),
        Day("reset",
            f"Three times, after {n // 4:,} further ones, the connection of the last one is reset (RST), without responses to it"
            " and to the pending ones.",
            {"cut_after": n // 4 - 7, "cut": "reset", "times": 3, "count_over": "run"}, is_in_doubt=True),
        Day("stall",
            "When a quarter has arrived, the service reads nothing on any connection for 8 seconds.",
            {"stall_after_bytes": 1}, share=0.25, seconds=8, is_in_doubt=True),
        Day("503",
            "When a quarter has arrived, the response to each is 503 ServiceUnavailable for 3 seconds.",
            {"bad_every": 1, "bad_reason": "ServiceUnavailable"}, share=0.25, seconds=3, reasons=("ServiceUnavailable",)),
        Day("429",
            "The response to each twentieth is 429 TooManyRequests.",
            {"bad_every": 20, "bad_reason": "TooManyRequests"}, reasons=("TooManyRequests",)),
        Day("provider token expires",
            "In the pause at half the provider token becomes too old: the response is 403 ExpiredProviderToken. The service"
            " accepts new ones at any time, and each for 5 seconds.",
            {"token_renewal_min_s": 0}, age=5, reasons=("ExpiredProviderToken",)),
        Day("no response",
            "About five notifications arrive and get no response; their streams stay open.",
            {"no_answer": 5 / n}, is_in_doubt=True),
        Day("few streams",
            "When a quarter has arrived, SETTINGS allow 10 streams instead of 1,000, and each fiftieth stream of a connection"
            " is refused (REFUSED_STREAM).",
            {"streams_max": 10, "reset_every": 50}, share=0.25),
        Day("bad devices",
            "A twentieth of the devices gets 400 BadDeviceToken, and another one 410 Unregistered.",
            has_bad=True),
        Day("closed while idle",
            "In the pause at half the service closes all connections, without GOAWAY.",
            closes=True),
        Day("slow start",
            "Each TLS handshake takes 3 seconds longer.",
            {"handshake_delay_ms": 3000}),
    ]  # fmt: skip


class PlayedDay:
    """A day on one simulator."""

    def __init__(self, day, n, simulator):
        self.day, self.n, self.simulator = day, n, simulator
        self.is_over = threading.Event()
        if day.faults and not day.share:
            simulator.control("PUT", "/faults", day.faults)
        self.thread = threading.Thread(target=self.watch)

    def begin(self):
        self.began = time.time()
        self.thread.start()

    def watch(self):
        if self.day.share and self.arrives():
            self.simulator.control("PUT", "/faults", self.day.faults)
            if self.day.seconds and not self.is_over.wait(self.day.seconds):
                self.simulator.control("DELETE", "/faults")

    def arrives(self):
        """False if the client ended before."""
        while not self.is_over.wait(0.02):
            if self.simulator.control("GET", "/counters")[1]["accepted"] >= self.day.share * self.n:
                return True
        return False

    def pause(self):
        """At half, when every notification before it has its outcome."""
        if self.day.closes:
            self.end_connections("close_notify")
            time.sleep(0.5)  # The clients may notice the end before they send again.
        if self.day.age:
            time.sleep(max(0, self.began + self.day.age + 1 - time.time()))
            self.simulator.control("PATCH", "/faults", {"token_age_max_s": self.day.age})

    def end_connections(self, way):
        for one in self.simulator.control("GET", "/connections")[1]["connections"]:
            self.simulator.control("DELETE", f"/connections/{one['number']}?end={way}")

    def end(self):
        self.is_over.set()
        if self.thread.is_alive():
            self.thread.join()
        # Now the stalled connections are read.
        self.simulator.control("DELETE", "/faults")
