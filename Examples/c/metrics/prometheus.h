/*
 * A session's statistics as Prometheus reads them (its text format, version 0.0.4). One file to be
 * copied; what to make of the numbers is in Documentation/WATCHING.md.
 *
 *     FILE *file = fopen("/var/lib/node_exporter/apns.prom.new", "w");
 *     if (file && write_metrics(file, session) == 0 && fclose(file) == 0)
 *       rename("/var/lib/node_exporter/apns.prom.new", "/var/lib/node_exporter/apns.prom");
 */
#ifndef PROMETHEUS_H
#define PROMETHEUS_H

#include <stdint.h>
#include <stdio.h>

#ifndef APNS_APNS_H
#include <apns/apns.h>
#endif

static inline void write_family(FILE *file, const char *name, const char *type, const char *help) {
  fprintf(file, "# HELP apns_%s %s\n# TYPE apns_%s %s\n", name, help, name, type);
}

/* A family with one value. */
static inline void write_value(FILE *file, const char *name, const char *type, const char *help,
                               uint64_t value) {
  write_family(file, name, type, help);
  fprintf(file, "apns_%s %llu\n", name, (unsigned long long)value);
}

static inline void write_labelled(FILE *file, const char *name, const char *label, const char *text,
                                  uint64_t value) {
  fprintf(file, "apns_%s{%s=\"%s\"} %llu\n", name, label, text, (unsigned long long)value);
}

/* Microseconds as seconds, with a point in every locale. */
static inline void write_seconds(FILE *file, uint64_t us) {
  unsigned fraction = (unsigned)(us % 1000000);
  int digits = 6;
  fprintf(file, "%llu", (unsigned long long)(us / 1000000));
  for (; digits > 1 && fraction % 10 == 0; digits--) fraction /= 10;
  if (fraction > 0) fprintf(file, ".%0*u", digits, fraction);
}

static inline void write_answer_times(FILE *file, const apns_session_metrics_t *metrics) {
  uint64_t answers = 0;
  size_t n;
  write_family(file, "answer_seconds", "histogram", "From a request to its answer.");
  for (n = 0; n < APNS_METRICS_TIMES; n++) {
    answers += metrics->times[n];
    fputs("apns_answer_seconds_bucket{le=\"", file);
    if (apns_metrics_bound_us(n) == UINT64_MAX)
      fputs("+Inf", file);
    else
      write_seconds(file, apns_metrics_bound_us(n));
    fprintf(file, "\"} %llu\n", (unsigned long long)answers);
  }
  fputs("apns_answer_seconds_sum ", file);
  write_seconds(file, metrics->answer_us);
  fprintf(file, "\napns_answer_seconds_count %llu\n", (unsigned long long)answers);
}

/* Each reason, whether it came or not: a rate needs the zero before the first. */
static inline void write_reasons(FILE *file, const char *name, const char *help,
                                 const uint64_t *reasons) {
  int n;
  write_family(file, name, "counter", help);
  for (n = 1; n < APNS_METRICS_REASONS - 1; n++)
    if (apns_reason_http_status((apns_reason_t)n) != 0)
      write_labelled(file, name, "reason", apns_reason_text((apns_reason_t)n), reasons[n]);
  write_labelled(file, name, "reason", "other", reasons[APNS_METRICS_REASONS - 1]);
}

static inline void write_rejects(FILE *file, const uint64_t *rejects) {
  const char *name = "rejected_statuses_total";
  int n;
  write_family(file, name, "counter", "Rejected over the binary interface, by its status.");
  for (n = 1; n <= APNS_REJECT_INVALID_TOKEN; n++)
    write_labelled(file, name, "status", apns_reject_text((apns_reject_t)n), rejects[n]);
  write_labelled(file, name, "status", "protocol error", rejects[APNS_METRICS_REJECTS - 2]);
  write_labelled(file, name, "status", "other", rejects[APNS_METRICS_REJECTS - 1]);
}

static inline void write_connections(FILE *file, const apns_session_metrics_t *metrics) {
  static const int failures[] = {APNS_ERR_MEMORY, APNS_ERR_TIMEOUT,     APNS_ERR_NETWORK,
                                 APNS_ERR_TLS,    APNS_ERR_CREDENTIALS, APNS_ERR_PROTOCOL};
  size_t n;
  write_family(file, "connections", "gauge", "Connections now.");
  write_labelled(file, "connections", "state", "connecting", metrics->connecting);
  write_labelled(file, "connections", "state", "open", metrics->open);
  write_labelled(file, "connections", "state", "draining", metrics->draining);
  write_labelled(file, "connections", "state", "standby", metrics->standby);
  write_family(file, "pause_seconds", "gauge", "How long no connection may be made.");
  fputs("apns_pause_seconds ", file);
  write_seconds(file, (uint64_t)metrics->pause_ms * 1000);
  fputs("\n", file);
  write_family(file, "handshakes_total", "counter", "Connections made, by their handshake.");
  write_labelled(file, "handshakes_total", "kind", "tls12", metrics->tls12_full);
  write_labelled(file, "handshakes_total", "kind", "tls12_resumed", metrics->tls12_resumed);
  write_labelled(file, "handshakes_total", "kind", "tls13", metrics->tls13_full);
  write_labelled(file, "handshakes_total", "kind", "tls13_resumed", metrics->tls13_resumed);
  write_family(file, "connect_failures_total", "counter", "Connections that could not be made.");
  for (n = 0; n < sizeof failures / sizeof *failures; n++)
    write_labelled(file, "connect_failures_total", "status",
                   apns_status_name((apns_status_t)failures[n]),
                   metrics->connect_failures[-failures[n]]);
}

/** Writes everything there is to say of a session; several sessions need a file each. 0, or -1: the
    session does not answer, or the file did not take it. */
static inline int write_metrics(FILE *file, const apns_session_t *session) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_session_metrics_t metrics = APNS_SESSION_METRICS_INIT;
  const char *classes[] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
  size_t n;
  if (apns_session_stats(session, &stats, NULL) != APNS_OK ||
      apns_session_metrics(session, &metrics, NULL) != APNS_OK)
    return -1;

  write_family(file, "notifications_total", "counter", "Notifications with an outcome.");
  write_labelled(file, "notifications_total", "outcome", "accepted", stats.accepted);
  write_labelled(file, "notifications_total", "outcome", "rejected", stats.rejected);
  write_labelled(file, "notifications_total", "outcome", "unknown", stats.unknown);
  write_value(file, "taken_total", "counter", "Notifications that the session took.", stats.taken);
  write_value(file, "unresolved", "gauge", "Notifications without an outcome.", stats.unresolved);
  write_value(file, "in_flight", "gauge", "Those of them that were written.", stats.in_flight);
  write_value(file, "outcomes_waiting", "gauge", "Outcomes that nobody took yet.", stats.events);
  write_value(file, "window_bytes", "gauge", "Memory that unresolved notifications use.",
              stats.window);

  write_answer_times(file, &metrics);
  write_family(file, "answers_total", "counter", "Answers over HTTP/2, by their status.");
  for (n = 2; n < sizeof classes / sizeof *classes + 1; n++)
    write_labelled(file, "answers_total", "status", classes[n - 1], metrics.classes[n]);
  write_reasons(file, "answer_reasons_total", "Answers by their reason, tried again or not.",
                metrics.reasons);
  write_reasons(file, "rejected_total", "Rejected notifications by their reason.",
                metrics.rejected_reasons);
  write_rejects(file, metrics.rejects);

  write_family(file, "sent_again_total", "counter", "Notifications that were sent again.");
  write_labelled(file, "sent_again_total", "why", "asked", metrics.retries_asked);
  write_labelled(file, "sent_again_total", "why", "in_doubt", metrics.resends_in_doubt);
  write_labelled(file, "sent_again_total", "why", "unprocessed", metrics.resends_unprocessed);

  write_connections(file, &metrics);
  write_value(file, "written_bytes_total", "counter", "Bytes written, before encryption.",
              metrics.bytes_written);
  write_value(file, "read_bytes_total", "counter", "Bytes read, after decryption.",
              metrics.bytes_read);
  write_value(file, "records_total", "counter", "TLS records written.", stats.records);
  write_value(file, "goaways_total", "counter", "GOAWAYs of the service.", metrics.goaways);
  write_value(file, "pings_total", "counter", "PINGs after silence.", metrics.pings);
  write_value(file, "resets_total", "counter", "Streams that the service reset.", metrics.resets);
  write_value(file, "overdue_total", "counter", "Streams without an answer in time.",
              metrics.overdue);
  write_value(file, "provider_tokens_total", "counter", "Provider tokens used one after the other.",
              metrics.tokens);
  return ferror(file) ? -1 : 0;
}

#endif
