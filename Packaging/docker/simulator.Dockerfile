# The simulator of APNs, for tests:
#
#   docker build -f Packaging/docker/simulator.Dockerfile -t apns-simulator .
#   docker run -p 127.0.0.1:8443:8443 -p 127.0.0.1:8080:8080 -v "$PWD/certificates":/srv/certificates apns-simulator
#
# Its certificates are for localhost. Whoever reaches the page sees all pushes.
FROM swift:6.3-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
      libssl-dev libnghttp2-dev libc-ares-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN swift build -c release --static-swift-stdlib --product apns \
    && mkdir /out && install -s -m 755 .build/release/apns /out/

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
      libssl3 libnghttp2-14 libc-ares2 libstdc++6 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 990 --home-dir /srv --create-home simulator
COPY --from=build /out/ /usr/local/bin/
USER simulator
WORKDIR /srv
EXPOSE 8443 2195 2196 8080
ENTRYPOINT ["/usr/local/bin/apns", "simulate"]
CMD ["--host", "0.0.0.0", "--http2-port", "8443", "--dashboard-host", "0.0.0.0", "--dashboard-port", "8080", \
     "--certificates", "/srv/certificates"]
