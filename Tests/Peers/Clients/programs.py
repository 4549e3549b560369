"""The common part of the clients' programs: how they begin, wait at half, and note what they believe."""

import asyncio
import json
import sys

# port, ca, key, key_id, team_id, topic; tokens: the devices; beliefs: the file for what the program believes
DAY = json.loads(open(sys.argv[1]).read())
HOST = "localhost"
PAYLOAD = {"aps": {"alert": "Hello", "sound": "default"}}
# So many notifications are under way together, where the program decides.
TOGETHER = 100

beliefs = open(DAY["beliefs"], "w")  # noqa: SIM115


def believe(token, word):
    print(token, word, file=beliefs, flush=True)


def failed(error):
    return f"failed {type(error).__name__}"


def report(word):
    """Tells the runner where the program is, and waits until it may continue."""
    print(word, flush=True)
    sys.stdin.readline()


def halves():
    """The devices, half of them before a pause."""
    tokens = DAY["tokens"]
    for word, part in ("ready", tokens[: len(tokens) // 2]), ("half", tokens[len(tokens) // 2 :]):
        report(word)
        yield part
    print("end", flush=True)


async def push_together(push):
    """For asyncio: `push` returns what is believed of one notification, or raises."""
    loop, room, parts, end = asyncio.get_running_loop(), asyncio.Semaphore(TOGETHER), halves(), object()

    async def one(token):
        async with room:
            try:
                word = await push(token)
            except Exception as error:
                word = failed(error)
            believe(token, word)

    # The loop continues during the pause, as it does in a server.
    while (part := await loop.run_in_executor(None, next, parts, end)) is not end:
        await asyncio.gather(*map(one, part))
