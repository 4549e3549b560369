# The relay, with the tool that enqueues. Two static files and the public certification authorities are in
# the image; the directory is that of an unpacked bundle, with a ca-certificates.crt put there:
#
#   cp /etc/ssl/certs/ca-certificates.crt libapns-VERSION-linux-PROCESSOR
#   docker build -f relay.Dockerfile -t apns-relay libapns-VERSION-linux-PROCESSOR
#   docker run -v /srv/relay:/srv -p 127.0.0.1:8199:8199 apns-relay
#
# /srv/relay has relay.yaml and the queue, and is user 990's (or --user "$(id -u)"). In relay.yaml
# `status.host: "0.0.0.0"` lets the page out of the container. Its signal to stop, SIGTERM, drains: give it
# more than drain_timeout, as by --stop-timeout 60.
FROM scratch
COPY bin/apns bin/apns-relay /
COPY LICENSE licenses /licenses/
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
USER 990:990
WORKDIR /srv
EXPOSE 8199
STOPSIGNAL SIGTERM
# With another --config this needs it too.
HEALTHCHECK CMD ["/apns-relay", "health", "--config", "relay.yaml"]
ENTRYPOINT ["/apns-relay"]
CMD ["--config", "relay.yaml"]
