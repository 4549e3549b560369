"""aioapns as in its README: one client, whose method retries by itself. Host and port are attributes of its class; the
CA is in its option ssl_context."""

import asyncio
import ssl

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsProductionClientProtocol
from programs import DAY, HOST, PAYLOAD, push_together


async def run():
    APNsProductionClientProtocol.APNS_SERVER, APNsProductionClientProtocol.APNS_PORT = HOST, DAY["port"]
    context = ssl.create_default_context(cafile=DAY["ca"])
    with open(DAY["key"]) as key:
        client = APNs(
            key=key.read(), key_id=DAY["key_id"], team_id=DAY["team_id"], topic=DAY["topic"], ssl_context=context)

    async def push(token):
        request = NotificationRequest(device_token=token, message=PAYLOAD, push_type=PushType.ALERT)
        result = await client.send_notification(request)
        return "accepted" if result.is_successful else f"rejected {result.description}"

    await push_together(push)


asyncio.run(run())
