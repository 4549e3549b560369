"""What has to hold after faults: each notification has one outcome, and each repeated push its reason."""

import collections
import dataclasses


@dataclasses.dataclass
class Fault:
    """What was done to somebody. No clock says when: clocks of several programs agree only nearly."""

    # How many pushes the service's ledger had before that.
    pushes: int
    # How often a notification may be pushed again for it.
    repeats: int = 1
    # The entry is delivered again for it, which is counted in its outcome.
    is_delivery: bool = True
    # Who met it goes on afterwards, and may be given its own entry again.
    goes_on: bool = False
    # The queue forgot what it had confirmed, and may give a relay again what that has finished.
    forgets: bool = False
    # The ids of entries that relays had, or had done, when the service died with a part of its ledger.
    begun: frozenset = frozenset()


@dataclasses.dataclass
class Judgement:
    outcomes: int = 0
    lost: int = 0
    pushes: int = 0
    twice: int = 0
    unexplained: int = 0


def judged(wanted, rows, pushes, faults, forgotten=frozenset()):
    """`wanted`: the token of each id and position. `rows`: the queue's outcomes. `pushes`: the service's
    ledger. `forgotten`: those of which the queue's server forgot the entry, or the outcome, although it
    had said that it has it."""
    ends = collections.Counter((identifier, position) for identifier, position, *_ in rows)
    wanted = {one: token for one, token in wanted.items() if one in ends or one not in forgotten}
    lost = sum(ends[one] != 1 for one in wanted) + len(set(ends) - set(wanted))
    lost += sum(wanted.get((identifier, position)) != token or outcome != "accepted" for identifier, position, token, outcome, _ in rows)
    deliveries = {token: count for _, _, token, _, count in rows}
    arrived = collections.defaultdict(list)
    for place, push in enumerate(pushes):
        arrived[push["token"]].append((place, push["connection"]))
    # What was accepted is in the ledger.
    begun = set().union(*(fault.begun for fault in faults))
    lost += len({token for (identifier, _), token in wanted.items() if identifier not in begun} - set(arrived))
    twice = {token: all for token, all in arrived.items() if len(all) > 1}
    unexplained = sum(not is_explained(all, deliveries.get(token, 0), faults) for token, all in twice.items())
    return Judgement(len(rows), lost, len(pushes), len(twice), unexplained)


def is_explained(pushed, deliveries, faults):
    # No connection is lost but by a fault, so a relay has one, and pushes nothing twice on it; but one that was taken
    # for dead and goes on may be given its own entry again.
    if len({connection for _, connection in pushed}) != len(pushed) and not any(fault.forgets or fault.goes_on for fault in faults):
        return False
    # The n-th repetition is for the n-th fault, or a later one.
    starts = sorted(fault.pushes for fault in faults for _ in range(fault.repeats))
    repetitions = [place for place, _ in pushed][1:]
    if len(repetitions) > len(starts) or any(start > place for start, place in zip(starts, repetitions)):
        return False
    # Each was delivered for it: what is recorded is delivered no more.
    return len(repetitions) <= deliveries - 1 + sum(fault.repeats for fault in faults if not fault.is_delivery)


def judged_door(written, rows, pushes, faults):
    """`written`: to which life of the relay a program wrote each token, every time. There an entry's id is the door's
    own, so a notification that was sent again may be in the queue twice. Returns the numbers of
    outcomes, lost, copies, pushes, twice and unexplained."""
    # Each entry for itself: by its id, which is the push's too.
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
