"""http_clients.py CLIENT PORT TOKEN TOPIC: pushes twice on one connection with an HTTP client that knows nothing of the
relay, and prints status and apns-id of each response."""

import asyncio
import sys

client, port, token, topic = sys.argv[1:]
URL = f"http://127.0.0.1:{port}/3/device/{token}"
HEADERS = {"apns-topic": topic, "apns-priority": "10"}
PAYLOAD = {"aps": {"alert": "Hello"}}


def by_requests():
    import requests
    with requests.Session() as session:
        for _ in range(2):
            answer = session.post(URL, json=PAYLOAD, headers=HEADERS)
            print(answer.status_code, answer.headers["apns-id"])


def by_httpx(**versions):
    import httpx
    with httpx.Client(**versions) as session:
        for _ in range(2):
            answer = session.post(URL, json=PAYLOAD, headers=HEADERS)
            print(answer.status_code, answer.headers["apns-id"])


async def by_aiohttp():
    import aiohttp
    async with aiohttp.ClientSession() as session:
        for expects in False, True:
            async with session.post(URL, json=PAYLOAD, headers=HEADERS, expect100=expects) as answer:
                print(answer.status, answer.headers["apns-id"])


async def by_aioapns():
    """Only host, port and TLS are changed. It sends the host as `host`, not as `:authority`."""
    from aioapns import APNs, NotificationRequest
    from aioapns.connection import APNsProductionClientProtocol
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    APNsProductionClientProtocol.APNS_SERVER, APNsProductionClientProtocol.APNS_PORT = "127.0.0.1", int(port)
    key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    apns = APNs(key=key, key_id="ABC123DEFG", team_id="DEF123GHIJ", topic=topic, max_connections=1)
    apns.pool.ssl_context = None
    for _ in range(2):
        answer = await apns.send_notification(NotificationRequest(device_token=token, message=PAYLOAD))
        print(answer.status, answer.notification_id)


made = {
    "requests": by_requests, "httpx": by_httpx, "httpx by HTTP/2": lambda: by_httpx(http1=False, http2=True),
    "aiohttp": by_aiohttp, "aioapns": by_aioapns,
}[client]()
if made is not None:
    asyncio.run(made)
