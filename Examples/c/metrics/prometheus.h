/*
 * A session's metrics in Prometheus' text format (version 0.0.4). Copy this file into your program;
 * Documentation/MONITORING.md explains the metrics.
 *
 *     FILE *file = fopen("/var/lib/node_exporter/apns.prom.new", "w");
 *     if (file && write_metrics(file, NULL, session) == 0 && fclose(file) == 0)
 *       rename("/var/lib/node_exporter/apns.prom.new", "/var/lib/node_exporter/apns.prom");
 */
#ifndef PROMETHEUS_H
#define PROMETHEUS_H

#include <stdint.h>
#include <stdio.h>

#ifndef APNS_APNS_H
#include <apns/apns.h>
#endif

/* The output file, and the labels of all samples, such as `app="shop"`, or NULL. */
typedef struct metrics_writer {
  FILE *file;
  const char *labels;
} metrics_writer;

static inline void write_family(metrics_writer to, const char *name, const char *type,
                                const char *help) {
  fprintf(to.file, "# HELP apns_%s %s\n# TYPE apns_%s %s\n", name, help, name, type);
}

/* Writes a sample up to its value; `label` may be NULL. */
static inline void begin_sample(metrics_writer to, const char *name, const char *label,
                                const char *text) {
  const char *labels = to.labels ? to.labels : "";
  fprintf(to.file, "apns_%s", name);
  if (label)
    fprintf(to.file, "{%s%s%s=\"%s\"}", labels, labels[0] ? "," : "", label, text);
  else if (labels[0])
    fprintf(to.file, "{%s}", labels);
}

static inline void write_labelled(metrics_writer to, const char *name, const char *label,
                                  const char *text, uint64_t value) {
  begin_sample(to, name, label, text);
  fprintf(to.file, " %llu\n", (unsigned long long)value);
}

/* Writes a family with one value. */
static inline void write_value(metrics_writer to, const char *name, const char *type,
                               const char *help, uint64_t value) {
  write_family(to, name, type, help);
  write_labelled(to, name, NULL, NULL, value);
}

/* Formats microseconds as seconds, with a decimal point in every locale. */
static inline int format_seconds(char *text, size_t capacity, uint64_t us) {
  unsigned fraction = (unsigned)(us % 1000000);
  int digits = 6;
  if (fraction == 0) return snprintf(text, capacity, "%llu", (unsigned long long)(us / 1000000));
  for (; fraction % 10 == 0; digits--) fraction /= 10;
  return snprintf(text, capacity, "%llu.%0*u", (unsigned long long)(us / 1000000), digits,
                  fraction);
}

static inline void write_seconds(metrics_writer to, const char *name, uint64_t us) {
  char text[40];
  format_seconds(text, sizeof text, us);
  begin_sample(to, name, NULL, NULL);
  fprintf(to.file, " %s\n", text);
}

static inline void write_response_times(metrics_writer to, const apns_session_metrics_t *metrics) {
  uint64_t responses = 0;
  char bound[40];
  size_t n;
  write_family(to, "response_duration_seconds", "histogram", "From a request to its response.");
  for (n = 0; n < APNS_METRICS_TIMES; n++) {
    responses += metrics->times[n];
    if (apns_metrics_bound_us(n) == UINT64_MAX)
      snprintf(bound, sizeof bound, "+Inf");
    else
      format_seconds(bound, sizeof bound, apns_metrics_bound_us(n));
    write_labelled(to, "response_duration_seconds_bucket", "le", bound, responses);
  }
  write_seconds(to, "response_duration_seconds_sum", metrics->response_us);
  write_labelled(to, "response_duration_seconds_count", NULL, NULL, responses);
}

/* Writes every reason, also those with 0: a rate needs the zero before the first. */
static inline void write_reasons(metrics_writer to, const char *name, const char *help,
                                 const uint64_t *reasons) {
  int n;
  write_family(to, name, "counter", help);
  for (n = 1; n < APNS_METRICS_REASONS - 1; n++)
    if (apns_reason_http_status((apns_reason_t)n) != 0)
      write_labelled(to, name, "reason", apns_reason_text((apns_reason_t)n), reasons[n]);
  write_labelled(to, name, "reason", "other", reasons[APNS_METRICS_REASONS - 1]);
}

static inline void write_rejects(metrics_writer to, const uint64_t *rejects) {
  const char *name = "rejected_statuses_total";
  int n;
  write_family(to, name, "counter", "Rejected over the binary interface, by its status.");
  for (n = 1; n <= APNS_REJECT_INVALID_TOKEN; n++)
    write_labelled(to, name, "status", apns_reject_text((apns_reject_t)n), rejects[n]);
  write_labelled(to, name, "status", "protocol error", rejects[APNS_METRICS_REJECTS - 2]);
  write_labelled(to, name, "status", "other", rejects[APNS_METRICS_REJECTS - 1]);
}

static inline void write_connections(metrics_writer to, const apns_session_metrics_t *metrics) {
  static const int failures[] = {APNS_ERR_MEMORY, APNS_ERR_TIMEOUT,     APNS_ERR_NETWORK,
                                 APNS_ERR_TLS,    APNS_ERR_CREDENTIALS, APNS_ERR_PROTOCOL};
  size_t n;
  write_family(to, "connections", "gauge", "Connections now.");
  write_labelled(to, "connections", "state", "connecting", metrics->connecting);
  write_labelled(to, "connections", "state", "open", metrics->open);
  write_labelled(to, "connections", "state", "draining", metrics->draining);
  write_labelled(to, "connections", "state", "standby", metrics->standby);
  write_family(to, "reconnect_backoff_seconds", "gauge", "How long no connection may be made.");
  write_seconds(to, "reconnect_backoff_seconds", (uint64_t)metrics->backoff_ms * 1000);
  write_family(to, "handshakes_total", "counter", "Connections made, by their handshake.");
  write_labelled(to, "handshakes_total", "kind", "tls12", metrics->tls12_full);
  write_labelled(to, "handshakes_total", "kind", "tls12_resumed", metrics->tls12_resumed);
  write_labelled(to, "handshakes_total", "kind", "tls13", metrics->tls13_full);
  write_labelled(to, "handshakes_total", "kind", "tls13_resumed", metrics->tls13_resumed);
  write_family(to, "connect_failures_total", "counter", "Connections that could not be made.");
  for (n = 0; n < sizeof failures / sizeof *failures; n++)
    write_labelled(to, "connect_failures_total", "status",
                   apns_status_name((apns_status_t)failures[n]),
                   metrics->connect_failures[-failures[n]]);
}

/** Writes the version of the library, once for each process. */
static inline void write_build_info(FILE *file) {
  const metrics_writer to = {file, NULL};
  write_family(to, "build_info", "gauge", "The version of libapns, with the value 1.");
  write_labelled(to, "build_info", "version", apns_version(), 1);
}

/** Writes the metrics of a session. `labels`, such as `app="shop"`, escaped by the caller, or NULL,
   are added to each sample. Each session needs its own file and its own labels. Returns 0, or -1
   if a call of the session or writing the file fails. */
static inline int write_metrics(FILE *file, const char *labels, const apns_session_t *session) {
  const metrics_writer to = {file, labels};
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_session_metrics_t metrics = APNS_SESSION_METRICS_INIT;
  const char *classes[] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
  size_t n;
  if (apns_session_stats(session, &stats, NULL) != APNS_OK ||
      apns_session_metrics(session, &metrics, NULL) != APNS_OK)
    return -1;

  write_family(to, "notifications_total", "counter", "Notifications with an outcome.");
  write_labelled(to, "notifications_total", "outcome", "accepted", stats.accepted);
  write_labelled(to, "notifications_total", "outcome", "rejected", stats.rejected);
  write_labelled(to, "notifications_total", "outcome", "unknown", stats.unknown);
  write_labelled(to, "notifications_total", "outcome", "cancelled", stats.cancelled);
  write_labelled(to, "notifications_total", "outcome", "expired", stats.expired);
  write_value(to, "notifications_queued_total", "counter", "Notifications that the session queued.",
              stats.taken);
  write_value(to, "notifications_unresolved", "gauge", "Notifications without an outcome.",
              stats.unresolved);
  write_value(to, "notifications_in_flight", "gauge",
              "Notifications that are written, without a response.", stats.in_flight);
  write_value(to, "outcomes_waiting", "gauge", "Outcomes that the program has not fetched.",
              stats.events);
  write_value(to, "window_bytes", "gauge", "Memory that unresolved notifications use.",
              stats.window);

  write_response_times(to, &metrics);
  write_family(to, "responses_total", "counter", "Responses over HTTP/2 by their status.");
  for (n = 2; n < sizeof classes / sizeof *classes + 1; n++)
    write_labelled(to, "responses_total", "status", classes[n - 1], metrics.classes[n]);
  write_reasons(to, "response_reasons_total", "Responses by their reason, retried or not.",
                metrics.reasons);
  write_reasons(to, "rejected_total", "Rejected notifications by their reason.",
                metrics.rejected_reasons);
  write_rejects(to, metrics.rejects);

  write_family(to, "resends_total", "counter", "Notifications that were sent again, by the cause.");
  write_labelled(to, "resends_total", "cause", "retry", metrics.retries_asked);
  write_labelled(to, "resends_total", "cause", "in_doubt", metrics.resends_in_doubt);
  write_labelled(to, "resends_total", "cause", "unprocessed", metrics.resends_unprocessed);

  write_connections(to, &metrics);
  write_value(to, "written_bytes_total", "counter", "Bytes written, before encryption.",
              metrics.bytes_written);
  write_value(to, "read_bytes_total", "counter", "Bytes read, after decryption.",
              metrics.bytes_read);
  write_value(to, "records_total", "counter", "TLS records written.", stats.records);
  write_value(to, "goaways_total", "counter", "GOAWAYs of the service.", metrics.goaways);
  write_value(to, "pings_total", "counter", "PINGs after silence.", metrics.pings);
  write_value(to, "resets_total", "counter", "Streams that the service reset.", metrics.resets);
  write_value(to, "response_timeouts_total", "counter", "Streams without a response in time.",
              metrics.timeouts);
  write_value(to, "provider_tokens_total", "counter", "Provider tokens used one after the other.",
              metrics.tokens);
  return ferror(file) ? -1 : 0;
}

#endif
