"""kalyke as in its README: its method makes a connection for each notification. Host and port are a property of its
class; the CA is in SSL_CERT_FILE."""

import asyncio
import os

from programs import DAY, HOST, PAYLOAD, push_together

os.environ["SSL_CERT_FILE"] = DAY["ca"]
from kalyke import ApnsClient, ApnsConfig  # noqa: E402
from kalyke.exceptions import ApnsProviderException  # noqa: E402

ApnsClient._base_url = f"https://{HOST}:{DAY['port']}"


async def run():
    client = ApnsClient(use_sandbox=False, team_id=DAY["team_id"], auth_key_id=DAY["key_id"], auth_key_filepath=DAY["key"])
    config = ApnsConfig(topic=DAY["topic"])

    async def push(token):
        try:
            await client.send_message(device_token=token, payload=PAYLOAD, apns_config=config)
        except ApnsProviderException as error:
            return f"rejected {type(error).__name__}"
        return "accepted"

    await push_together(push)


asyncio.run(run())
