"""producer.py QUEUE SEED COUNT: adds the entries that a seed generates, in transactions of several. After each durable
transaction it prints the number of entries so far, or "away" while the queue rejects it; then it retries. It may be run
again."""

import json
import pathlib
import random
import sqlite3
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Simulator"))

import redis_cluster  # noqa: E402
import redis_queue  # noqa: E402
from relaying import identifier, token  # noqa: E402

PAUSE = 0.02


def plan(seed, count):
    """Generates entries, most of them with one token; every token occurs once."""
    chance = random.Random(f"entries {seed}")
    entries, number = [], seed * 1_000_000
    for index in range(count):
        several = chance.choice([1, 1, 1, 1, 1, 1, 1, 3, 40])
        tokens = [token(number + n) for n in range(several)]
        number += several
        entries.append({"id": identifier(seed, index), "tokens": tokens})
    return entries


def add_to_file(database, batch):
    database.execute("BEGIN IMMEDIATE")
    try:
        for entry in batch:
            one = len(entry["tokens"]) == 1
            database.execute(
                "INSERT OR IGNORE INTO entries (app, id, token, tokens, payload) VALUES ('shop', ?, ?, ?, ?)",
                (entry["id"], entry["tokens"][0] if one else None, None if one else json.dumps(entry["tokens"]), '{"aps":{"alert":"Hello"}}'))
        database.execute("COMMIT")
    except sqlite3.OperationalError:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def main(queue, seed, count):
    chance, entries, done = random.Random(), plan(seed, count), 0
    in_redis = queue.startswith(("unix:", "cluster:"))
    if in_redis:
        adding = redis_cluster.ClusterAdding(queue) if queue.startswith("cluster:") else redis_queue.Adding(queue)
    else:
        database = sqlite3.connect(queue, timeout=60, isolation_level=None)
    while done < len(entries):
        batch = entries[done:done + chance.randint(1, 12)]
        try:
            if in_redis:
                adding.add(batch)
            else:
                add_to_file(database, batch)
        except (OSError, redis_queue.Refusal, sqlite3.OperationalError):
            print("away", flush=True)
            # The backoff of a rejected producer.
            time.sleep(PAUSE)
            continue
        done += len(batch)
        print(done, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
