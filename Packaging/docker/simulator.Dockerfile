# The simulator of APNs, for tests. Nothing but one static file is in the image; the directory is that of
# an unpacked bundle:
#
#   docker build -f simulator.Dockerfile -t apns-simulator libapns-VERSION-linux-PROCESSOR
#   docker run -p 127.0.0.1:8443:8443 -p 127.0.0.1:8080:8080 -v "$PWD/certificates":/srv apns-simulator
#
# The volume is where it writes its certificates, which are for localhost; it has to be writable for user
# 990 (or --user "$(id -u)"). Whoever reaches the page sees all pushes.
FROM scratch
COPY bin/apns /apns
COPY LICENSE licenses /licenses/
USER 990:990
WORKDIR /srv
EXPOSE 8443 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["/apns", "simulate"]
CMD ["--host", "0.0.0.0", "--dashboard-host", "0.0.0.0", "--dashboard-port", "8080", \
     "--certificates", "/srv/certificates"]
