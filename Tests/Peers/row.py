"""A row of a table: a peer, calls against it, and the expected results."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    group: str
    name: str
    # The peer's arguments: ("simulate", fault...), ("tls_peer", kind...), or those of peer.py.
    peer: tuple
    provider: tuple  # options name=value; the last of a name counts
    steps: str  # calls
    between: tuple = ()  # the faults of between.py
    meddle: object = None  # called with a function that sends requests to the simulator's control port, and an event
    # The rejected notifications and those that end connections, their outcomes, their responses, and whether all
    # others get through.
    bad: frozenset = frozenset()
    bad_outcomes: tuple = ("unknown", "rejected")
    answers: tuple = ()
    others_pass: bool = False
    # The maximum number of duplicates.
    duplicated: int = None
    is_resent: bool = False  # the harm must cause a resend or an unknown outcome
    connections: int = None
    refusals: int = 10  # how often one may arrive that the peer reports as not processed
    is_counted: bool = True  # the peer knows which notifications arrived
    all_succeed: bool = False  # no call except next_event may fail
    # True if an earlier TLS session must be offered, False if it must not.
    offers: bool = None
    statuses: tuple = ()  # (call, status) pairs that must occur, with no other failure
    note: str = ""  # the name of a figure of the peer or the provider to print
    cpu: float = None  # maximum share of the time
    memory_mb: int = None
    aspects: frozenset = frozenset()  # what the row covers, see cover()
    quick: bool = False  # played without --all

    def options(self):
        return dict(each.split("=", 1) for each in self.provider)


def planned(row):
    """How many notifications the steps send."""
    steps = (step.split(":") for step in row.steps.split())
    each = sum(int(step[1]) for step in steps if step[0] in ("send", "push"))
    return each * int(row.options().get("sessions", 1))


def peer(protocol):
    """A function for the arguments of peer.py with that protocol."""
    return lambda harm, **options: (protocol, f"harm={harm}", *(f"{key}={value}" for key, value in options.items()))


def cover(rows):
    """Chooses rows that together have every aspect of all rows."""
    missing, chosen = set().union(*(row.aspects for row in rows)), set()
    while missing:
        best = max(rows, key=lambda row: len(row.aspects & missing))
        missing -= best.aspects
        chosen.add(best)
    return [dataclasses.replace(row, quick=row.quick or row in chosen) for row in rows]
