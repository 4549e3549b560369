"""httpx with h2: the client that programs write by hand. The provider token is renewed after 50 minutes; nothing is
retried. The CA is in the option verify."""

import asyncio
import ssl
import time

import httpx
import jwt
from programs import DAY, HOST, PAYLOAD, push_together

made = {"at": 0.0, "token": ""}


def provider_token():
    if time.time() - made["at"] > 50 * 60:
        with open(DAY["key"]) as key:
            made["at"] = time.time()
            claims = {"iss": DAY["team_id"], "iat": int(made["at"])}
            made["token"] = jwt.encode(claims, key.read(), algorithm="ES256", headers={"kid": DAY["key_id"]})
    return made["token"]


async def run():
    context = ssl.create_default_context(cafile=DAY["ca"])
    async with httpx.AsyncClient(http2=True, verify=context, base_url=f"https://{HOST}:{DAY['port']}") as client:

        async def push(token):
            headers = {"authorization": f"bearer {provider_token()}", "apns-topic": DAY["topic"], "apns-push-type": "alert"}
            response = await client.post(f"/3/device/{token}", json=PAYLOAD, headers=headers)
            return "accepted" if response.status_code == 200 else f"rejected {response.json()['reason']}"

        await push_together(push)


asyncio.run(run())
