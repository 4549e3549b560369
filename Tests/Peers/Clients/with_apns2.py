"""apns2 as in the README of its repository: batches, whose method reads the limit of streams. After an exception the
program makes another client. Host and port are attributes of its class; the CA is hyper's cert_loc."""

import hyper.tls
from apns2.client import APNsClient, Notification
from apns2.credentials import TokenCredentials
from apns2.payload import Payload
from programs import DAY, HOST, PAYLOAD, TOGETHER, believe, failed, halves

hyper.tls.cert_loc = DAY["ca"]
APNsClient.LIVE_SERVER, APNsClient.DEFAULT_PORT = HOST, DAY["port"]
payload = Payload(**PAYLOAD["aps"])
credentials = TokenCredentials(auth_key_path=DAY["key"], auth_key_id=DAY["key_id"], team_id=DAY["team_id"])
client = APNsClient(credentials=credentials)
for part in halves():
    for first in range(0, len(part), TOGETHER):
        batch = [Notification(token=token, payload=payload) for token in part[first : first + TOGETHER]]
        try:
            results = client.send_notification_batch(notifications=batch, topic=DAY["topic"])
        except Exception as error:
            results = {one.token: error for one in batch}
            client = APNsClient(credentials=credentials)
        for token, result in results.items():
            if isinstance(result, Exception):
                believe(token, failed(result))
            else:
                reason = result[0] if isinstance(result, tuple) else result
                believe(token, "accepted" if reason == "Success" else f"rejected {reason}")
