/*
 * A daemon with an event loop of its own, which pushes at a steady pace while its heart beats
 * every millisecond, and says in one line of JSON what the library's calls cost it:
 * Tests/EventLoop/run reads it.
 *
 *   daemon name=value...
 *
 * Notification n has a token of 32 bytes that begins with 0xBD where it is bad and with 0x60
 * where it is not, and the payload {"aps":{},"n":n}. Session s of several sends the numbers from
 * s * count on.
 *
 * Each call of the library is measured: the CPU time that it took, and how often the thread gave
 * up its processor of its own accord in it, which is what a call that waits does, however busy
 * the machine is.
 */
#define _GNU_SOURCE
#include <apns/apns.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int word_count;
static char **words;

static const char *text_of(const char *name, const char *otherwise) {
  size_t length = strlen(name);
  for (int index = 1; index < word_count; index++)
    if (!strncmp(words[index], name, length) && words[index][length] == '=')
      return words[index] + length + 1;
  return otherwise;
}

static long number_of(const char *name, long otherwise) {
  const char *text = text_of(name, NULL);
  return text ? atol(text) : otherwise;
}

static double seconds_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double now(void) { return seconds_of(CLOCK_MONOTONIC); }

/* ---- What the library's calls cost ------------------------------------------- */

static struct {
  double longest_cpu, longest_wall, cpu;
  unsigned long calls, waits, above_5_ms;
  const char *longest_name, *waiting_name;
} cost = {.longest_name = "", .waiting_name = ""};
static double call_cpu, call_wall;
static long call_waits, call_faults;

static struct rusage usage_so_far(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage;
}

static void begin(void) {
  struct rusage usage = usage_so_far();
  call_waits = usage.ru_nvcsw, call_faults = usage.ru_majflt;
  call_wall = now();
  call_cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

static void ended(const char *name) {
  double cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID) - call_cpu, wall = now() - call_wall;
  struct rusage usage = usage_so_far();
  /* Where the system fetched a page from a disk, it waited for that, and not the library. */
  long waits = usage.ru_majflt == call_faults ? usage.ru_nvcsw - call_waits : 0;
  cost.calls++;
  cost.cpu += cpu;
  if (cpu > 5e-3) cost.above_5_ms++;
  if (wall > cost.longest_wall) cost.longest_wall = wall;
  if (cpu > cost.longest_cpu) {
    cost.longest_cpu = cpu;
    cost.longest_name = name;
  }
  if (waits > 0) {
    cost.waits += (unsigned long)waits;
    cost.waiting_name = name;
  }
}

/* ---- The sessions -------------------------------------------------------------- */

enum { NO_END, ACCEPTED, REJECTED, UNKNOWN };
static unsigned char *ends; /* of each notification, by number */
static unsigned long two_ends, again, full, news, bad_news;
static char last_news[240];

struct one {
  apns_session_t *session;
  long sent;
  bool is_done;
  bool has_outcomes; /* some may wait that there was no time for */
};
static struct one *sessions;
static long session_count, count, bad_every;

/* Thousands may come at once, so the loop goes on after some of them. */
static void take_outcomes(struct one *one) {
  apns_event_t event = APNS_EVENT_INIT;
  one->has_outcomes = true;
  for (int left = 300; left; left--) {
    begin();
    apns_status_t status = apns_session_next_event(one->session, &event, 1000, NULL);
    ended("next_event");
    if (status != APNS_OK) {
      one->has_outcomes = false;
      return;
    }
    size_t n = (size_t)(uintptr_t)event.user_data;
    if (ends[n] != NO_END) two_ends++;
    ends[n] = event.kind == APNS_EVENT_ACCEPTED   ? ACCEPTED
              : event.kind == APNS_EVENT_REJECTED ? REJECTED
                                                  : UNKNOWN;
  }
}

/* False: there is no room now. */
static bool send_one(struct one *one, uint32_t more) {
  apns_notification_t notification = APNS_NOTIFICATION_INIT;
  unsigned char token[32] = {0x60};
  char payload[64];
  long n = (one - sessions) * count + one->sent;
  if (bad_every && n % bad_every == bad_every / 2) token[0] = 0xBD;
  memcpy(token + 1, &n, sizeof n);
  notification.token = token;
  notification.token_length = sizeof token;
  notification.payload = payload;
  notification.payload_length =
      (size_t)snprintf(payload, sizeof payload, "{\"aps\":{},\"n\":%ld}", n);
  notification.user_data = (void *)(uintptr_t)n;
  begin();
  apns_status_t status = apns_session_send(one->session, &notification, more, NULL, NULL);
  ended("send");
  if (status == APNS_OK) one->sent++;
  if (status == APNS_ERR_AGAIN) again++;
  if (status == APNS_ERR_FULL) full++;
  if (status != APNS_OK && status != APNS_ERR_AGAIN && status != APNS_ERR_FULL) bad_news++;
  return status == APNS_OK;
}

static void process(struct one *one) {
  apns_error_t error = APNS_ERROR_INIT;
  begin();
  apns_status_t status = apns_session_process(one->session, &error);
  ended("process");
  if (status != APNS_OK && status != APNS_DONE) {
    news++;
    snprintf(last_news, sizeof last_news, "%s", error.message);
    if (status == APNS_ERR_AGAIN || status == APNS_ERR_ARGUMENT) bad_news++;
  }
  take_outcomes(one);
}

/* A name server that takes its time: the answer is known from then on. */
static double lookup_known;
static int look_up(const char *host, struct addrinfo **list, void *context) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
  (void)host, (void)context;
  if (now() < lookup_known) return APNS_LOOKUP_PENDING;
  return getaddrinfo("127.0.0.1", NULL, &hints, list);
}

/* ---- The loop -------------------------------------------------------------------- */

static int epoll, heart;
static double last_beat, last_beat_cpu, longest_gap, longest_gap_cpu;
static unsigned long session_wakes;

/* The clock's gap is also the machine's, which lets others run; the CPU time is this thread's
 * alone. */
static void beat(void) {
  double at = now(), cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  if (at - last_beat > longest_gap) longest_gap = at - last_beat;
  if (cpu - last_beat_cpu > longest_gap_cpu) longest_gap_cpu = cpu - last_beat_cpu;
  last_beat = at, last_beat_cpu = cpu;
}

static void beat_every(long nanoseconds) {
  struct itimerspec every = {{0, nanoseconds}, {0, nanoseconds}};
  timerfd_settime(heart, 0, &every, NULL);
  last_beat = now(), last_beat_cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* Goes round once; true: the heart has beaten. */
static bool turn(int wait_ms) {
  struct epoll_event found[64];
  for (long index = 0; index < session_count; index++)
    if (sessions[index].has_outcomes) {
      take_outcomes(&sessions[index]);
      wait_ms = 0;
    }
  int ready = epoll_wait(epoll, found, 64, wait_ms);
  bool has_beaten = false;
  for (int index = 0; index < ready; index++) {
    if (found[index].data.ptr) {
      session_wakes++;
      process(found[index].data.ptr);
      continue;
    }
    uint64_t beats;
    has_beaten = read(heart, &beats, sizeof beats) == sizeof beats;
    beat();
  }
  return has_beaten;
}

/* Everything is sent at its time, as far as there is room; what is owed by then, where others had
   the processor, goes out little by little. */
static bool send_due(double since, double rate, uint32_t more) {
  bool is_over = true;
  for (long index = 0; index < session_count; index++) {
    long due = (long)((now() - since) * rate / (double)session_count) + 1;
    if (due > count) due = count;
    for (int left = 20; left && sessions[index].sent < due; left--)
      if (!send_one(&sessions[index], more)) break;
    if (sessions[index].sent < count) is_over = false;
  }
  return is_over;
}

enum ending { DRAINING, CLOSING };

/* True when that is done everywhere. */
static bool end_all(enum ending how, int32_t milliseconds, apns_status_t *worst) {
  bool is_over = true;
  for (long index = 0; index < session_count; index++) {
    struct one *one = &sessions[index];
    apns_error_t error = APNS_ERROR_INIT;
    if (one->is_done) continue;
    begin();
    apns_status_t status = how == DRAINING
                               ? apns_session_drain(one->session, milliseconds, NULL, &error)
                               : apns_session_close(one->session, milliseconds, &error);
    ended(how == DRAINING ? "drain" : "close");
    take_outcomes(one);
    one->is_done = status == APNS_OK;
    if (!one->is_done) is_over = false;
    if (status != APNS_OK && status != APNS_ERR_AGAIN) *worst = status;
  }
  if (is_over)
    for (long index = 0; index < session_count; index++) sessions[index].is_done = false;
  return is_over;
}

static void list(const char *name, int end) {
  const char *comma = "";
  printf(", \"%s\": [", name);
  for (long n = 0; n < session_count * count; n++)
    if (ends[n] == end) {
      printf("%s%ld", comma, n);
      comma = ", ";
    }
  printf("]");
}

int main(int argc, char **argv) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_credentials_t *credentials = NULL;
  word_count = argc;
  words = argv;
  session_count = number_of("sessions", 1);
  count = number_of("count", 5000);
  bad_every = number_of("bad_every", 0);
  double rate = (double)number_of("rate", 5000), give_up = (double)number_of("seconds", 600);
  long idle = number_of("idle_ms", 0);
  bool is_http2 = !strcmp(text_of("protocol", "http2"), "http2");
  uint32_t more = number_of("more", 0) ? APNS_SEND_MORE : 0;
  who.certificate_file = text_of("certificate", NULL);
  who.ca_file = text_of("ca", NULL);
  sessions = calloc((size_t)session_count, sizeof *sessions);
  ends = calloc((size_t)(session_count * count), 1);
  epoll = epoll_create1(EPOLL_CLOEXEC);
  heart = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  if (!sessions || !ends || epoll_ctl(epoll, EPOLL_CTL_ADD, heart, &event) ||
      apns_credentials_new(&who, &credentials, &error)) {
    fprintf(stderr, "cannot start: %s\n", error.message);
    return 1;
  }
  lookup_known = now() + (double)number_of("lookup_ms", 0) / 1e3;
  const char *ports = text_of("port", "1");
  for (long index = 0; index < session_count; index++) {
    apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
    char *rest;
    options.nonblocking = 1;
    options.protocol = is_http2 ? APNS_PROTOCOL_HTTP2 : APNS_PROTOCOL_BINARY;
    if (is_http2) options.topic = "com.example.app";
    options.host = text_of("host", "127.0.0.1");
    options.server_name = "127.0.0.1";
    options.port = (uint16_t)strtol(ports, &rest, 10);
    if (*rest == ',') ports = rest + 1;
    options.connections = (uint32_t)number_of("connections", 1);
    options.connect_timeout_ms = (uint32_t)number_of("connect_timeout_ms", 0);
    options.write_timeout_ms = (uint32_t)number_of("write_timeout_ms", 0);
    options.answer_timeout_ms = (uint32_t)number_of("answer_timeout_ms", 0);
    options.reconnect_pause_max_ms = (uint32_t)number_of("reconnect_pause_max_ms", 500);
    options.window_bytes = (uint32_t)number_of("window", 0);
    options.report_accepted = 1;
    options.proxy_port = (uint16_t)number_of("proxy_port", 0);
    if (options.proxy_port) options.proxy_host = "127.0.0.1";
    if (number_of("lookup_ms", 0)) options.lookup = look_up;
    begin();
    apns_status_t status =
        apns_session_new(&options, credentials, &sessions[index].session, &error);
    ended("new");
    event.data.ptr = &sessions[index];
    if (status ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, apns_session_fd(sessions[index].session), &event)) {
      fprintf(stderr, "cannot make a session: %s\n", error.message);
      return 1;
    }
  }

  beat_every(1000000);
  double start = now();
  bool is_sent = false, is_drained = false, is_closed = false;
  while (!is_sent && now() - start < give_up)
    if (turn(-1)) is_sent = send_due(start, rate, more);
  apns_status_t worst = APNS_OK;
  double drain_until = now() + (double)number_of("drain_ms", 600000) / 1e3;
  while (!is_drained && now() < drain_until) {
    is_drained = end_all(DRAINING, 0, &worst);
    if (!is_drained) turn(-1);
  }
  double drained_at = now();

  /* Nothing is due now: whoever wakes up the loop has no reason. */
  unsigned long idle_wakes = 0;
  int32_t idle_due = 0;
  if (idle) {
    beat_every(0);
    double settled = now() + 1.5;
    while (now() < settled) turn(100);
    session_wakes = 0;
    double until = now() + (double)idle / 1e3;
    while (now() < until) turn((int)((until - now()) * 1e3) + 1);
    idle_wakes = session_wakes;
    idle_due = apns_session_timeout_ms(sessions[0].session);
    beat_every(1000000);
  }

  double close_until = now() + give_up;
  while (!is_closed && now() < close_until) {
    is_closed = end_all(CLOSING, (int32_t)number_of("close_ms", 1000), &worst);
    if (!is_closed) turn(-1);
  }
  unsigned long long taken = 0, resent = 0, connects = 0;
  for (long index = 0; index < session_count; index++) {
    apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
    do take_outcomes(&sessions[index]);
    while (sessions[index].has_outcomes);
    apns_session_stats(sessions[index].session, &stats, NULL);
    taken += stats.taken;
    resent += stats.resent;
    connects += stats.connects;
    begin();
    apns_session_free(sessions[index].session);
    ended("free");
  }
  printf(
      "{\"seconds\": %.3f, \"drained\": %s, \"closed\": %s, \"worst\": \"%s\", \"gap_ms\": %.2f, "
      "\"gap_cpu_ms\": %.2f, \"call_wall_ms\": %.2f, \"call_cpu_ms\": %.3f, \"call_name\": \"%s\", "
      "\"above_5_ms\": %lu, "
      "\"waits\": %lu, \"waiting_name\": \"%s\", \"calls\": %lu, \"cpu\": %.6f, \"taken\": %llu, "
      "\"resent\": %llu, \"connects\": %llu, \"two_ends\": %lu, \"again\": %lu, \"full\": %lu, "
      "\"news\": %lu, \"bad_news\": %lu, \"idle_wakes\": %lu, \"idle_due_ms\": %d",
      drained_at - start, is_drained ? "true" : "false", is_closed ? "true" : "false",
      apns_status_name(worst), longest_gap * 1e3, longest_gap_cpu * 1e3, cost.longest_wall * 1e3,
      cost.longest_cpu * 1e3, cost.longest_name, cost.above_5_ms, cost.waits, cost.waiting_name,
      cost.calls, cost.cpu, taken, resent, connects, two_ends, again, full, news, bad_news,
      idle_wakes, (int)idle_due);
  printf(", \"last_news\": \"");
  for (const char *byte = last_news; *byte; byte++) printf("%02x", (unsigned char)*byte);
  printf("\"");
  list("accepted", ACCEPTED);
  list("rejected", REJECTED);
  list("unknown", UNKNOWN);
  list("without_end", NO_END);
  printf("}\n");
  apns_credentials_free(credentials);
  free(ends);
  free(sessions);
  return 0;
}
