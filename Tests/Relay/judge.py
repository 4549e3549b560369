"""What has to hold after faults: each notification has one outcome, and each repeated push its reason."""

import collections
import dataclasses


@dataclasses.dataclass
class Fault:
    """What was done to somebody, between two times."""

    start: float
    end: float
    # How often a notification may be pushed again for it.
    repeats: int = 1
    # The entry is delivered again for it, which is counted in its outcome.
    is_delivery: bool = True
    # Who met it goes on afterwards, and may push what somebody else has recorded meanwhile.
    goes_on: bool = False
    # The queue forgot what it had confirmed, and may give a relay again what that has finished.
    forgets: bool = False
    # The service died with what it was about to write into its ledger.
    takes_ledger: bool = False


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
    lost += sum(wanted.get((identifier, position)) != token or outcome != "accepted" for identifier, position, token, outcome, _, _ in rows)
    recorded = {token: (deliveries, at / 1000) for _, _, token, _, deliveries, at in rows}
    arrived = collections.defaultdict(list)
    for push in pushes:
        arrived[push["token"]].append((push["time"], push["connection"]))
    # What was accepted is in the ledger.
    for token in set(wanted.values()) - set(arrived):
        _, at = recorded.get(token, (0, 0))
        lost += not any(fault.takes_ledger and fault.start - 1 <= at <= fault.end + 0.2 for fault in faults)
    twice = {token: all for token, all in arrived.items() if len(all) > 1}
    unexplained = sum(not is_explained(all, *recorded.get(token, (0, 0)), faults) for token, all in twice.items())
    return Judgement(len(rows), lost, len(pushes), len(twice), unexplained)


def is_explained(pushed, deliveries, recorded, faults):
    # No connection is lost but by a fault, so a relay has one, and pushes nothing twice on it; but one that was taken
    # for dead and goes on may be given its own entry again.
    if len({connection for _, connection in pushed}) != len(pushed) and not any(fault.forgets or fault.goes_on for fault in faults):
        return False
    # The n-th repetition is for the n-th fault, or a later one.
    starts = sorted(fault.start for fault in faults for _ in range(fault.repeats))
    repetitions = [moment for moment, _ in sorted(pushed)][1:]
    if len(repetitions) > len(starts) or any(start > moment + 0.001 for start, moment in zip(starts, repetitions)):
        return False
    if len(repetitions) > deliveries - 1 + sum(fault.repeats for fault in faults if not fault.is_delivery):
        return False
    # What the first relay wrote may be read after it is dead; later ones wrote before they recorded.
    in_order = sorted(pushed, key=lambda push: push[1])
    return all(
        moment <= recorded + 0.002 or any(fault.goes_on and fault.end <= moment + 0.001 for fault in faults)
        for moment, _ in in_order[1:])


def judged_door(written, rows, pushes, faults):
    """`written`: when a program wrote each token to the door, every time. There an entry's id is the door's
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
        times = written.get(token, [])
        again = sum(any(before < fault.start < after for fault in faults) for before, after in zip(times, times[1:]))
        unexplained += len(all) - 1 > again or len(times) - 1 > again
    return said.outcomes, lost, copies, said.pushes, said.twice, unexplained
