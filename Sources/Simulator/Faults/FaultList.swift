extension FaultField {
  package static let all = groups.flatMap(\.fields)

  /// By subject.
  package static let groups: [(title: String, fields: [FaultField])] = [
    (
      "Which connections, and how often",
      [
        .range(
          "connections", \.connections, 1,
          "only on these connections, counted from 1: those to the gateway, over both protocols, "
            + "and to channel management, and those to the feedback service",
          value: "n|first-last"),
        .choice(
          "services", \.services,
          "only on connections for pushes and feedback, or only on those for channel "
            + "management; default: all"),
        .share("connection_share", \.connectionShare, "only on this share of connections"),
        .count(
          "times", \.times, 1,
          "how often cut_after, cut_after_bytes, shutdown_after and stall_after_bytes happen in "
            + "total; default: every time"),
        .choice(
          "count_over", \.counting,
          "whether bad_every, cut_after, shutdown_after and goaway_after count the notifications "
            + "of each connection or of the whole run; default: bad_every the run, the others each "
            + "connection"),
      ]
    ),
    (
      "Which notifications are bad",
      [
        .tokens("bad_tokens", \.badTokens, "notifications to these tokens"),
        .tokens("bad_prefixes", \.badPrefixes, "notifications to tokens with these prefixes"),
        .count(
          "bad_every", \.badEvery, 1,
          "every n-th valid notification, over all connections unless "
            + "count_over is connection"),
        .share(
          "bad_share", \.badShare,
          "notifications to this share of all tokens; the same seed picks the same tokens"),
        .statuses(
          "bad_status", \.badStatuses,
          "the status with which they are rejected; if several, one is drawn; default: 8"),
        .choice(
          "sentinel", \.sentinel,
          "how to answer a notification without a token or with an empty one: with its identifier, "
            + "with identifier 0, or not at all; default: own"),
        .status("sentinel_status", \.sentinelStatus, "the status of that answer; default: 2"),
      ]
    ),
    (
      "Error packets",
      [
        .range("error_delay_ms", \.errorDelay, 0, "the delay of the error packet"),
        .share(
          "no_packet", \.noPacket, "this share of rejections ends the connection without a packet"),
        .share("identifier_zero", \.identifierZero, "this share of error packets has identifier 0"),
        .range(
          "close_delay_ms", \.closeDelay, 0,
          "the time between packet and close; input that arrives meanwhile is discarded; "
            + "default: 50"),
        .flag("one_segment", \.oneSegment, "sends the packet and the close together"),
        .choice(
          "close", \.ending,
          "how the connection ends after the packet, or instead of it; with stall it stays open "
            + "and is not read any more; default: close_notify"),
      ]
    ),
    (
      "Closes without a rejection",
      [
        .range(
          "shutdown_after", \.shutdownAfter, 1,
          "sends status 10 after n accepted notifications, then closes as `close` says; for HTTP/2 "
            + "use goaway_after"),
        .range(
          "cut_after", \.cutAfter, 1,
          "closes as `cut` says after n accepted notifications, without a packet"),
        .range(
          "cut_after_bytes", \.cutAfterBytes, 0, "the same after n bytes, even within a frame"),
        .choice(
          "cut", \.cutEnding,
          "how the connection ends then; with stall it stays open and is not read for "
            + "stall_ms; default: fin"),
        .count(
          "feedback_cut_bytes", \.feedbackCut, 0,
          "the same after n bytes of feedback, even within a tuple; the rest of the list is lost"),
      ]
    ),
    (
      "HTTP/2: limits of a connection",
      [
        .count(
          "streams_max", \.streamsMax, 0,
          "the maximum number of open streams, sent to open connections too; default: 1000, and 1 "
            + "until a provider token was valid"),
        .count(
          "streams_after_rejection", \.rejectedStreams, 1,
          "the maximum after a rejected push, until the next one is accepted"),
        .count(
          "window_bytes", \.windowSize, 0,
          "the flow-control window of each stream, sent to open connections too; default: 65535"),
        .count(
          "connection_window_bytes", \.connectionWindowSize, 1,
          "the flow-control window of each new connection; a smaller one works by "
            + "withholding credit; default: 65535"),
        .share(
          "credit_share", \.creditShare,
          "the share of a window that is used before credit is given; default: 0.5"),
        .flag("no_pong", \.noPong, "does not acknowledge PING"),
      ]
    ),
    (
      "HTTP/2: responses",
      [
        .reasons(
          "bad_reason", \.badReasons,
          "the response to bad pushes: one of Apple's reasons, or a status and any other word, "
            + "such as \"418 Teapot\"; if several, one is drawn; default: BadDeviceToken; a 410 "
            + "also puts the device into the feedback"),
        .share("reset_share", \.resetShare, "this share of good pushes gets RST_STREAM"),
        .count(
          "reset_every", \.resetEvery, 1, "every n-th good push of a connection gets RST_STREAM"),
        .status(
          "reset_code", \.resetCode,
          "the code of RST_STREAM; default: 7, REFUSED_STREAM; with any other code the push was "
            + "accepted"),
        .range(
          "gone_delay_s", \.goneDelay, 0,
          "how long after it was found gone pushes to a device are still accepted; the same seed "
            + "draws the same time for a token"),
        .share("no_answer", \.noAnswer, "this share of accepted pushes gets no response"),
        .range("answer_delay_ms", \.answerDelay, 0, "the delay of responses"),
        .choice(
          "answers", \.answers,
          "which responses are sent together: those to everything received in one read, each alone "
            + "in a separate write and TLS record, or all within answer_batch_ms; default: read"),
        .count(
          "answer_batch_ms", \.answerBatchTime, 0,
          "the time since the first pending response; default: 20"),
      ]
    ),
    (
      "HTTP/2: GOAWAY",
      [
        .range(
          "goaway_after", \.goawayAfter, 1,
          "sends GOAWAY after n accepted notifications; later ones are not processed"),
        .range("goaway_age_s", \.goawayAge, 0, "sends GOAWAY this long after the handshake"),
        .choice(
          "goaway", \.goaway,
          "when the connection then closes as `close` says: graceful, once all earlier pushes have "
            + "a response; immediate, without responses to the last one and to all pending ones; "
            + "open, never; default: graceful"),
        .status("goaway_error", \.goawayError, "the code of GOAWAY; default: 0, NO_ERROR"),
        .text("goaway_reason", \.goawayReason, "GOAWAY contains {\"reason\": \"…\"}"),
      ]
    ),
    (
      "HTTP/2: provider tokens",
      [
        .seconds(
          "token_age_max_s", \.tokenAge,
          "older tokens get ExpiredProviderToken; default: 3600"),
        .seconds(
          "token_renewal_min_s", \.tokenRenewal,
          "a token issued sooner after another gets TooManyProviderTokenUpdates; default: "
            + "1200; 0 accepts all"),
        .choice(
          "token_renewal_over", \.tokenScope,
          "which other tokens count: those of the same connection, of the same key, or of the "
            + "same key from the same address; default: connection"),
      ]
    ),
    (
      "Reading and sending",
      [
        .range("stall_after_bytes", \.stallAfter, 0, "stops reading after n bytes"),
        .range("stall_ms", \.stallTime, 0, "how long each stall lasts; default: forever"),
        .count("read_bytes_per_second", \.readRate, 1, "reads at most this fast"),
        .count("record_bytes", \.recordSize, 1, "the maximum size of a TLS record"),
        .count(
          "segment_bytes", \.segmentSize, 1, "the maximum size of a TCP segment after the handshake"
        ),
        .count("segment_gap_ms", \.segmentGap, 0, "the time between two segments; default: 1"),
      ]
    ),
    (
      "Start of a connection",
      [
        .count(
          "refuse_ms", \.refuseTime, 0,
          "refuses all connections, on both ports, for this long after it is set"),
        .range(
          "handshake_delay_ms", \.handshakeDelay, 0, "delays reading the client's hello by this"),
        .alert(
          "handshake_alert", \.handshakeAlert,
          "answers the client's hello with this fatal alert: a number, or a name such as "
            + "handshake_failure"),
        .bound("tls_min", \.tlsMin, "the lowest TLS version"),
        .bound("tls_max", \.tlsMax, "the highest TLS version"),
        .flag(
          "session_tickets", \.sessionTickets,
          "sends session tickets, readable bytes without data, right after the handshake; not over "
            + "HTTP/2; implies TLS 1.3"),
      ]
    ),
  ]
}
