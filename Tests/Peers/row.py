"""A row of a table: a peer, calls against it, and the expected results."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    group: str
    name: str
    # Its words: ("simulate", fault...), ("tls_peer", kind...), or those of peer.py.
    peer: tuple
    provider: tuple  # its options, name=value; the last one of a name counts
    steps: str  # its calls
    between: tuple = ()  # the words of between.py
    meddle: object = None  # called with a function that asks the simulator's control port, and an event
    # The rejected notifications and those that kill connections, their outcomes, their responses, and whether all
    # others get through.
    bad: frozenset = frozenset()
    bad_ends: tuple = ("unknown", "rejected")
    answers: tuple = ()
    others_pass: bool = False
    # The highest number of duplicates in all.
    duplicated: int = None
    is_resent: bool = False  # something was sent again, or is unknown: that is how the harm is felt
    connections: int = None
    refusals: int = 10  # how often one may arrive that the peer says it did not process
    is_counted: bool = True  # the peer knows which notifications arrived
    all_succeed: bool = False  # no call but next_event may fail
    # True if an earlier TLS session must be offered, False if it must not.
    offers: bool = None
    statuses: tuple = ()  # (call, status) that has to be met, and no failure but it
    note: str = ""  # what the peer noted, or the provider told, by that name is shown
    cpu: float = None  # at most this share of the time
    memory_mb: int = None
    aspects: frozenset = frozenset()  # what the row tries, see cover()
    quick: bool = False  # played without --all

    def options(self):
        return dict(each.split("=", 1) for each in self.provider)


def planned(row):
    """How many notifications the steps are to send."""
    steps = (step.split(":") for step in row.steps.split())
    each = sum(int(step[1]) for step in steps if step[0] in ("send", "push"))
    return each * int(row.options().get("sessions", 1))


def peer(protocol):
    """A function for the words of peer.py with that protocol."""
    return lambda harm, **options: (protocol, f"harm={harm}", *(f"{key}={value}" for key, value in options.items()))


def cover(rows):
    """Chooses rows that together have every aspect of all rows."""
    missing, chosen = set().union(*(row.aspects for row in rows)), set()
    while missing:
        best = max(rows, key=lambda row: len(row.aspects & missing))
        missing -= best.aspects
        chosen.add(best)
    return [dataclasses.replace(row, quick=row.quick or row in chosen) for row in rows]
