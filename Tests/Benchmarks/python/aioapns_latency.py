"""aioapns_latency.py PORT CA KEY COUNT RATE FILE: as apns_http2_latency, by aioapns as in its README. KEY is a provider's key."""

import asyncio
import ssl
import sys
import time

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsProductionClientProtocol

MESSAGE = {"aps": {"alert": "x" * 180}}


async def run(port, ca, key, count, rate, file):
    APNsProductionClientProtocol.APNS_SERVER, APNsProductionClientProtocol.APNS_PORT = "localhost", int(port)
    context = ssl.create_default_context(cafile=ca)
    context.set_alpn_protocols(["h2"])
    with open(key) as text:
        client = APNs(key=text.read(), key_id="ABCDE12345", team_id="FGHIJ67890", topic="com.example.chess", ssl_context=context)

    async def push(index):
        request = NotificationRequest(device_token=f"{index:064x}", message=MESSAGE, push_type=PushType.ALERT)
        result = await client.send_notification(request)
        assert result.is_successful, result.description
        return time.monotonic_ns()

    # Makes the connection.
    await push(0)
    start, tasks, dues = time.monotonic_ns(), [], []
    for index in range(int(count)):
        dues.append(start + int(index * 1e9 / float(rate)) if float(rate) else start)
        if (left := dues[-1] - time.monotonic_ns()) > 0:
            await asyncio.sleep(left / 1e9)
        tasks.append(asyncio.create_task(push(index + 1)))
    ends = await asyncio.gather(*tasks)
    with open(file, "w") as out:
        for index, (due, end) in enumerate(zip(dues, ends)):
            out.write(f"{index + 1:064x} {due} {end}\n")


asyncio.run(run(*sys.argv[1:]))
