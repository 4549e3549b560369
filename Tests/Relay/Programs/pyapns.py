# pyapns.py PORT FEEDBACK_PORT CERTIFICATE TOKENS: pushes to the tokens in that file with PyAPNs ("apns" on PyPI) in its
# enhanced mode, for Python 2; then reads the feedback list. Prints a line for each reported token, after "packet" or
# "feedback".
import sys
import time

from apns import APNs, Payload

told = []
tokens = open(sys.argv[4]).read().split()
apns = APNs(use_sandbox=False, cert_file=sys.argv[3], enhanced=True)
for connection, port in (apns.gateway_server, sys.argv[1]), (apns.feedback_server, sys.argv[2]):
    connection.server, connection.port = "localhost", int(port)


def response_listener(error_response):
    assert error_response["status"] == 8, error_response
    told.append("packet " + tokens[error_response["identifier"] - 1])


apns.gateway_server.register_response_listener(response_listener)
for number, token in enumerate(tokens):
    apns.gateway_server.send_notification(token, Payload(alert="Hello"), identifier=number + 1, expiry=int(time.time()) + 3600)
# The library's thread reads error packets and resends after a bad token, but does not report when it has finished.
while tokens:
    before = len(told)
    time.sleep(4)
    if len(told) == before:
        break
apns.gateway_server.force_close()
for token, _ in apns.feedback_server.items():
    told.append("feedback " + token)
print("\n".join(told))
