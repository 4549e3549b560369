# The relay, with the tool that enqueues:
#
#   docker build -f Packaging/docker/relay.Dockerfile -t apns-relay .
#   docker run -v /srv/relay:/srv/relay -p 127.0.0.1:8199:8199 apns-relay
#
# /srv/relay has relay.yaml and the queue; `status.host: "0.0.0.0"` there lets the page out.
FROM swift:6.3-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
      libssl-dev libnghttp2-dev libc-ares-dev libsqlite3-dev libhiredis-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN swift build -c release --static-swift-stdlib --product apns \
    && Sources/build-relay -c release --static-swift-stdlib > /relay-is-at \
    && mkdir /out && install -s -m 755 .build/release/apns "$(cat /relay-is-at)" /out/

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
      ca-certificates libssl3 libnghttp2-14 libc-ares2 libsqlite3-0 libhiredis0.14 libstdc++6 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 990 --home-dir /srv/relay --create-home relay
COPY --from=build /out/ /usr/local/bin/
USER relay
WORKDIR /srv/relay
VOLUME /srv/relay
EXPOSE 8199
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/apns-relay"]
CMD ["--config", "relay.yaml"]
