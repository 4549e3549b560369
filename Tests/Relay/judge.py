"""Checks the rules that must hold after faults: each notification has one outcome, and each repeated push has a fault
as its cause."""

import collections
import dataclasses


@dataclasses.dataclass
class Fault:
    """A fault that was inflicted. It has no time, because clocks of several programs differ."""

    # The length of the service's ledger before the fault.
    pushes: int
    # The number of times that a notification may be pushed again because of it.
    repeats: int = 1
    # The fault redelivers the entry, and the outcome's deliveries count that.
    is_delivery: bool = True
    # The process that met the fault continues, and may be given its former entry again.
    goes_on: bool = False
    # The queue lost writes that it had confirmed, so a relay may be given a finished entry again.
    forgets: bool = False
    # The IDs of entries that relays held or had finished when the service was killed and lost a part of its ledger.
    begun: frozenset = frozenset()


@dataclasses.dataclass
class Judgement:
    outcomes: int = 0
    lost: int = 0
    pushes: int = 0
    twice: int = 0
    unexplained: int = 0


def judged(wanted, rows, pushes, faults, forgotten=frozenset()):
    """`wanted`: the token of each ID and position. `rows`: the queue's outcomes. `pushes`: the service's ledger.
    `forgotten`: notifications for which Redis lost the entry or the outcome after it had confirmed it."""
    ends = collections.Counter((identifier, position) for identifier, position, *_ in rows)
    wanted = {one: token for one, token in wanted.items() if one in ends or one not in forgotten}
    lost = sum(ends[one] != 1 for one in wanted) + len(set(ends) - set(wanted))
    lost += sum(wanted.get((identifier, position)) != token or outcome != "accepted" for identifier, position, token, outcome, _ in rows)
    deliveries = {token: count for _, _, token, _, count in rows}
    arrived = collections.defaultdict(list)
    for place, push in enumerate(pushes):
        arrived[push["token"]].append((place, push["connection"]))
    # Every accepted push is in the ledger.
    begun = set().union(*(fault.begun for fault in faults))
    lost += len({token for (identifier, _), token in wanted.items() if identifier not in begun} - set(arrived))
    twice = {token: all for token, all in arrived.items() if len(all) > 1}
    unexplained = sum(not is_explained(all, deliveries.get(token, 0), faults) for token, all in twice.items())
    return Judgement(len(rows), lost, len(pushes), len(twice), unexplained)


def is_explained(pushed, deliveries, faults):
    # Connections end only by faults, so a relay has one, and pushes nothing twice on it. The exception: a relay that
    # lost its lease and continues may be given its former entry again.
    if len({connection for _, connection in pushed}) != len(pushed) and not any(fault.forgets or fault.goes_on for fault in faults):
        return False
    # The n-th repetition needs the n-th fault or a later one before it.
    starts = sorted(fault.pushes for fault in faults for _ in range(fault.repeats))
    repetitions = [place for place, _ in pushed][1:]
    if len(repetitions) > len(starts) or any(start > place for start, place in zip(starts, repetitions)):
        return False
    # Each repetition needs a delivery: a recorded notification is not delivered again.
    return len(repetitions) <= deliveries - 1 + sum(fault.repeats for fault in faults if not fault.is_delivery)


def judged_listener(written, rows, pushes, faults):
    """`written`: for each token, the runs of the relay in which a program wrote it. The listener makes the entries'
    IDs, so a resent notification may be in the queue twice. Returns the numbers of outcomes, lost, copies, pushes,
    twice and unexplained."""
    # Check each entry alone: its ID is also the push's apns-id.
    own = [(identifier, position, identifier, *rest) for identifier, position, _, *rest in rows]
    said = judged(
        {(identifier, position): identifier for identifier, position, *_ in rows}, own,
        [push | {"token": push["apns_id"]} for push in pushes], faults)
    entries = collections.defaultdict(list)
    for identifier, _, token, *_ in rows:
        entries[token].append(identifier)
    pushed = {push["token"] for push in pushes}
    lost = said.lost + len(set(written) - set(entries)) + len(set(written) - pushed) + len(set(entries) - set(written))
    copies = sum(len(all) - 1 for all in entries.values())
    unexplained = said.unexplained
    for token, all in entries.items():
        lives = written.get(token, [])
        unexplained += len(all) > len(lives) or len(set(lives)) < len(lives)
    return said.outcomes, lost, copies, said.pushes, said.twice, unexplained
