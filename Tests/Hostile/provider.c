/*
 * Plays a script of calls against a peer that means harm, and says in one line of JSON
 * how long each kind of call took beyond its deadline, what it came to, what the process
 * cost, and what became of each notification. Tests/Hostile/run judges it.
 *
 *   provider name=value... step...
 *
 *   connect          apns_session_connect()
 *   send:N           N notifications, with APNS_SEND_MORE but for the last; one that fails
 *                    is tried again for as long as `patience_ms` says
 *   push:N:MS        N notifications, each by itself, MS milliseconds apart; events are
 *                    polled with 0 in between, nothing else is called
 *   drain:MS         one apns_session_drain()
 *   finish:MS:TOTAL  drains of MS each, events taken in between, until all have their end
 *                    or TOTAL milliseconds passed
 *   next:MS          one apns_session_next_event()
 *   take             takes all events there are, with 0
 *   nap:MS           calls nothing
 *   close:MS         apns_session_close()
 *   feedback:N       opens the feedback at `feedback_port`, takes up to N tuples within
 *                    `patience_ms`
 *
 * Notification n has the payload {"aps":{},"n":n}, padded to `payload` bytes. After the last
 * step the session is closed where it is open (not with closes=0), all events are taken,
 * and the session is freed.
 *
 * What the machine is late is not the library's: the time for which the thread waited for a
 * processor, or what a second thread, which sleeps for 5 ms at a time, overslept, is taken
 * off the call that was under way. Where a call has not returned after 12 s, that thread says
 * so, {"stuck": "drain"}, and ends the process.
 */
#include <apns/apns.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

static unsigned long number_of(const char *name, unsigned long otherwise) {
  const char *text = text_of(name, NULL);
  return text ? strtoul(text, NULL, 10) : otherwise;
}

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void nap(double milliseconds) {
  if (milliseconds <= 0) return;
  struct timespec time = {(time_t)(milliseconds / 1e3),
                          (long)((long long)(milliseconds * 1e6) % 1000000000)};
  nanosleep(&time, NULL);
}

/* ---- The machine's own lateness ---------------------------------------------- */

static _Atomic double overslept, begun; /* `begun` is 0 while no call is under way */
static const char *_Atomic under_way;

static void *oversleep(void *unused) {
  for (;;) {
    double before = now_ms(), since = atomic_load(&begun);
    nap(5);
    /* The slowest of honest calls is done by then. */
    if (since > 0 && before - since > 12e3) {
      printf("{\"stuck\": \"%s\"}\n", atomic_load(&under_way));
      fflush(stdout);
      _Exit(3);
    }
    double late = now_ms() - before - 5;
    if (late > atomic_load(&overslept)) atomic_store(&overslept, late);
  }
  return unused;
}

/* ---- What calls came to ------------------------------------------------------ */

static struct call {
  const char *name;
  size_t count;
  double longest, late; /* milliseconds; `late` is beyond the deadline */
  size_t statuses[16];
  char message[sizeof((apns_error_t *)0)->message];
} calls[16];
static apns_error_t error = APNS_ERROR_INIT;

/* How long this thread was ready to run and waited for a processor, since it began; 0 where
   the kernel does not say. */
static double queued_ms(void) {
  static int schedstat = -2;
  unsigned long long ran, queued;
  char text[128] = "";
  if (schedstat == -2) schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (schedstat < 0 || pread(schedstat, text, sizeof text - 1, 0) <= 0) return 0;
  return sscanf(text, "%llu %llu", &ran, &queued) == 2 ? (double)queued / 1e6 : 0;
}

static double queued_before;

static double begin(const char *name) {
  queued_before = queued_ms();
  double now = now_ms();
  atomic_store(&overslept, 0.0);
  atomic_store(&under_way, name);
  atomic_store(&begun, now);
  return now;
}

/* The call may last for `allowed` milliseconds. */
static apns_status_t ended(double began, double allowed, apns_status_t status) {
  const char *name = atomic_load(&under_way);
  atomic_store(&begun, 0.0);
  double took = now_ms() - began, late = took - allowed;
  struct call *call = calls;
  while (call->name && strcmp(call->name, name)) call++;
  if (!call->count++) call->late = -1e9;
  call->name = name;
  if (late > 50) {
    double queued = queued_ms() - queued_before, slept = atomic_load(&overslept);
    late -= queued > slept ? queued : slept;
  }
  if (late > call->late) call->late = late;
  if (took > call->longest) call->longest = took;
  call->statuses[-status & 15]++;
  if (status != APNS_OK && status != APNS_DONE) {
    memcpy(call->message, error.message, sizeof call->message);
    if (strlen(error.message) >= sizeof error.message) abort();
  }
  return status;
}

/* The most that this process had, in KB; rusage's would be that of who forked it. */
static long memory(void) {
  char line[256];
  long most = -1;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, "VmHWM:", 6)) most = strtol(line + 6, NULL, 10);
  if (file) fclose(file);
  return most;
}

/* ---- Notifications and their ends -------------------------------------------- */

enum { NO_END, ACCEPTED, REJECTED, UNKNOWN };
static unsigned char *ends;
static size_t capacity, sent, two_ends;
static unsigned long connect_ms, write_ms, patience_ms;
static bool takes_events;
static apns_session_t *session;

static bool take(double allowed_ms) {
  apns_event_t event = APNS_EVENT_INIT;
  double began = begin("next_event");
  apns_status_t status = apns_session_next_event(session, &event, (int32_t)allowed_ms, &error);
  ended(began, allowed_ms, status);
  if (status != APNS_OK) return false;
  size_t n = (size_t)(uintptr_t)event.user_data;
  if (n >= capacity || ends[n] != NO_END) {
    two_ends++;
  } else {
    ends[n] = event.kind == APNS_EVENT_ACCEPTED   ? ACCEPTED
              : event.kind == APNS_EVENT_REJECTED ? REJECTED
                                                  : UNKNOWN;
  }
  return true;
}

static void take_all(void) {
  while (take(0)) continue;
}

static apns_status_t send_one(uint32_t flags) {
  static char payload[4096];
  uint8_t token[32] = {0x60};
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  memcpy(token + 8, &sent, sizeof sent);
  push.token = token;
  push.token_length = sizeof token;
  push.payload = payload;
  int pad = (int)number_of("payload", 0);
  push.payload_length = (size_t)snprintf(payload, sizeof payload,
                                         "{\"aps\":{},\"n\":%zu,\"pad\":\"%0*d\"}", sent, pad, 0);
  push.user_data = (void *)(uintptr_t)sent;
  double began = begin("send");
  apns_status_t status = apns_session_send(session, &push, flags, NULL, &error);
  ended(began, (double)(connect_ms + write_ms), status);
  if (status == APNS_OK) sent++;
  return status;
}

static void send_many(size_t count) {
  double began = now_ms();
  for (size_t done = 0; done < count && sent < capacity;) {
    apns_status_t status = send_one(done + 1 < count ? APNS_SEND_MORE : 0);
    if (status == APNS_OK) done++;
    if (takes_events && (status != APNS_OK || done % 500 == 0)) take_all();
    if (status == APNS_OK || (status == APNS_ERR_FULL && takes_events)) continue;
    if (!apns_status_is_retryable(status) || now_ms() - began > (double)patience_ms) return;
  }
}

static void finish(double each, double total) {
  double start = now_ms();
  for (;;) {
    double began = begin("drain");
    apns_status_t status = apns_session_drain(session, (int32_t)each, NULL, &error);
    ended(began, each, status);
    take_all();
    if (status == APNS_OK || now_ms() - start > total) return;
    if (!apns_status_is_retryable(status)) return;
  }
}

static size_t tuples, longest_token;

static void read_feedback(apns_credentials_t *credentials, size_t most) {
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  apns_feedback_t *feedback = NULL;
  options.host = "127.0.0.1";
  options.port = (uint16_t)number_of("feedback_port", 0);
  options.connect_timeout_ms = (uint32_t)connect_ms;
  options.read_timeout_ms = (uint32_t)number_of("read_timeout_ms", 500);
#ifdef HAS_LIST_TIMEOUT
  options.list_timeout_ms = (uint32_t)number_of("list_timeout_ms", 0);
  options.tuples_max = (uint32_t)number_of("tuples_max", 0);
#endif
  double start = now_ms(), began = begin("feedback_open");
  apns_status_t status = apns_feedback_open(&options, credentials, &feedback, &error);
  ended(began, (double)connect_ms, status);
  while (status == APNS_OK && tuples < most && now_ms() - start < (double)patience_ms) {
    began = begin("feedback_next");
    status = apns_feedback_next(feedback, &tuple, &error);
    ended(began, (double)options.read_timeout_ms, status);
    if (status == APNS_ERR_TIMEOUT) {
      status = APNS_OK;
      continue;
    }
    if (status != APNS_OK) break;
    tuples++;
    if (tuple.token_length > longest_token) longest_token = tuple.token_length;
  }
  began = begin("feedback_free");
  apns_feedback_free(feedback);
  ended(began, 0, APNS_OK);
}

static bool is_closed;

static void close_session(double allowed_ms) {
  double began = begin("close");
  apns_status_t status = apns_session_close(session, (int32_t)allowed_ms, &error);
  ended(began, allowed_ms, status);
  is_closed = true;
}

static void play(char *step, apns_credentials_t *credentials) {
  char *first = strchr(step, ':'), *second = first ? strchr(first + 1, ':') : NULL;
  if (first) *first++ = 0;
  double a = first ? strtod(first, NULL) : 0, b = second ? strtod(second + 1, NULL) : 0;
  if (!strcmp(step, "connect")) {
    double began = begin("connect");
    apns_status_t status = apns_session_connect(session, &error);
    ended(began, (double)connect_ms, status);
  } else if (!strcmp(step, "send")) {
    send_many((size_t)a);
  } else if (!strcmp(step, "push")) {
    double start = now_ms();
    for (size_t done = 0; done < (size_t)a; done++) {
      double due = start + b * (double)(done + 1);
      send_one(0);
      take_all();
      nap(due - now_ms());
    }
  } else if (!strcmp(step, "drain")) {
    double began = begin("drain");
    ended(began, a, apns_session_drain(session, (int32_t)a, NULL, &error));
    if (takes_events) take_all();
  } else if (!strcmp(step, "finish")) {
    finish(a, b);
  } else if (!strcmp(step, "next")) {
    take(a);
  } else if (!strcmp(step, "take")) {
    take_all();
  } else if (!strcmp(step, "nap")) {
    nap(a);
  } else if (!strcmp(step, "close")) {
    close_session(a);
  } else if (!strcmp(step, "feedback")) {
    read_feedback(credentials, (size_t)a);
  } else {
    fprintf(stderr, "no step is called %s\n", step);
    exit(2);
  }
}

/* ---- The one line ------------------------------------------------------------ */

static void list(const char *name, int end) {
  const char *comma = "";
  printf(", \"%s\": [", name);
  for (size_t n = 0; n < sent; n++)
    if (ends[n] == end) {
      printf("%s%zu", comma, n);
      comma = ", ";
    }
  printf("]");
}

/* Messages as hex: whatever is in them. */
static void print_calls(void) {
  printf(", \"calls\": {");
  for (struct call *call = calls; call->name; call++) {
    printf("%s\"%s\": {\"count\": %zu, \"longest\": %.1f, \"late\": %.1f, \"statuses\": {",
           call == calls ? "" : ", ", call->name, call->count, call->longest, call->late);
    const char *comma = "";
    for (int status = 0; status < 16; status++)
      if (call->statuses[status]) {
        printf("%s\"%s\": %zu", comma, apns_status_name((apns_status_t)-status),
               call->statuses[status]);
        comma = ", ";
      }
    printf("}, \"message\": \"");
    for (const char *byte = call->message; *byte; byte++) printf("%02x", (unsigned char)*byte);
    printf("\"}");
  }
  printf("}");
}

int main(int argc, char **argv) {
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  apns_credentials_t *credentials = NULL;
  pthread_t control;
  word_count = argc;
  words = argv;
  capacity = number_of("capacity", 100000);
  ends = calloc(capacity, 1);
  who.certificate_file = text_of("certificate", NULL);
  who.ca_file = text_of("ca", NULL);
  who.tls_max = (int32_t)number_of("tls_max", 0);
  who.token_key_file = text_of("token_key", NULL);
  if (who.token_key_file) who.key_id = "KEY4567890", who.team_id = "TEAM567890";
  options.host = "127.0.0.1";
  options.port = (uint16_t)number_of("port", 1);
  if (!strcmp(text_of("protocol", "http2"), "http2")) {
    options.protocol = APNS_PROTOCOL_HTTP2;
    options.topic = "com.example.app";
  }
  options.format = (int32_t)number_of("format", 0);
  options.connect_timeout_ms = (uint32_t)(connect_ms = number_of("connect_timeout_ms", 500));
  options.write_timeout_ms = (uint32_t)(write_ms = number_of("write_timeout_ms", 500));
  options.answer_timeout_ms = (uint32_t)number_of("answer_timeout_ms", 30000);
  options.retry_timeout_ms = (uint32_t)number_of("retry_timeout_ms", 0);
  options.reconnect_pause_max_ms = (uint32_t)number_of("reconnect_pause_max_ms", 0);
  options.window_bytes = (uint32_t)number_of("window", 0);
  options.connections = (uint32_t)number_of("connections", 1);
  options.ambiguous = (int32_t)number_of("ambiguous", 0);
  options.report_accepted = (int32_t)number_of("report_accepted", 1);
  options.proxy_host = text_of("proxy_port", NULL) ? "127.0.0.1" : NULL;
  options.proxy_port = (uint16_t)number_of("proxy_port", 0);
#ifdef HAS_PROVE_AFTER
  options.prove_after_ms = (int32_t)number_of("prove_after_ms", 0);
#endif
  patience_ms = number_of("patience_ms", 3000);
  takes_events = number_of("takes_events", 1) != 0;
  if (!ends || pthread_create(&control, NULL, oversleep, NULL) ||
      apns_credentials_new(&who, &credentials, &error) ||
      apns_session_new(&options, credentials, &session, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }

  double start = now_ms();
  for (int index = 1; index < argc; index++)
    if (!strchr(argv[index], '=')) play(argv[index], credentials);
  if (!is_closed && number_of("closes", 1)) close_session(300);
  double seconds = (now_ms() - start) / 1e3;
  take_all();

  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_session_stats(session, &stats, NULL);
  double began = begin("free");
  apns_session_free(session);
  ended(began, 0, APNS_OK);
  printf(
      "{\"seconds\": %.3f, \"cpu\": %.3f, \"memory\": %ld, \"taken\": %llu, \"accepted_count\": "
      "%llu, \"rejected_count\": %llu, \"unknown_count\": %llu, \"resent\": %llu, \"connects\": "
      "%llu, \"sent\": %zu, \"two_ends\": %zu, \"tuples\": %zu, \"longest_token\": %zu",
      seconds,
      (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
          (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
      memory(), (unsigned long long)stats.taken, (unsigned long long)stats.accepted,
      (unsigned long long)stats.rejected, (unsigned long long)stats.unknown,
      (unsigned long long)stats.resent, (unsigned long long)stats.connects, sent, two_ends, tuples,
      longest_token);
  print_calls();
  list("accepted", ACCEPTED);
  list("rejected", REJECTED);
  list("unknown", UNKNOWN);
  list("without_end", NO_END);
  printf("}\n");
  apns_credentials_free(credentials);
  free(ends);
  return 0;
}
