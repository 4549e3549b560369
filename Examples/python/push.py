import libapns

client = libapns.Client(certificate="provider.pem")
print(client.push("5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412", {"aps": {"alert": "Hello"}}))
