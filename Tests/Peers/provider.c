/*
 * Plays a script of calls against a peer. Prints the cost and results of each kind of call, and the
 * outcome of each notification, as one JSON line for judge.py.
 *
 *   provider name=value... step...
 *
 *   connect      apns_session_connect()
 *   send:N       N notifications, with APNS_SEND_MORE except for the last; repeats a failed call
 *                for up to `timeout_ms`
 *   push:N:MS    N notifications, one every MS milliseconds, reading events in between
 *   seen         waits for a line from standard input: the peer has done its harm
 *   drain:MS     one apns_session_drain()
 *   finish:MS:T  drains of MS each, reading events in between, until all have an outcome (all but L
 *                with finish:MS:T:L) or T milliseconds have passed
 *   next:MS      one apns_session_next_event()
 *   take         reads all events
 *   nap:MS       calls nothing
 *   idle:MS      with loop=1: counts wake-ups of the loop while nothing is due
 *   close:MS     apns_session_close()
 *   feedback     reads the feedback at `feedback_port` for `timeout_ms`
 *
 * With loop=1 the `sessions` never wait: an event loop with a heartbeat every millisecond runs
 * while they send at `rate` a second, finish, idle and close.
 *
 * Notification n has a token that begins with 0xBD if it is bad (each `bad_every`th), else with
 * 0x60, and the payload {"aps":{},"n":n} plus `payload` bytes. After the last step the provider
 * closes the open sessions (not with closes=0), reads all events and frees the sessions.
 *
 * Other load on the machine does not count. So a call's time is the sum of its thread's CPU time,
 * its waits in poll() and nanosleep(), intercepted here and counted up to the requested time, and
 * its other waits, without the time in which the thread was ready to run. A few milliseconds of
 * these may be the system's: it waits for a file's page or its processor is taken. On SIGTERM, a
 * call that does not return is named: {"stuck": "drain"}.
 */
#define _GNU_SOURCE
#include <apns/binary.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
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

static double ms_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static double now_ms(void) { return ms_of(CLOCK_MONOTONIC); }
static double cpu_ms(void) { return ms_of(CLOCK_THREAD_CPUTIME_ID); }

static struct rusage usage_so_far(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage;
}

/* How long this thread was ready to run but had no processor. */
static double queued_ms(void) {
  static int file = -1;
  unsigned long long queued = 0;
  char text[128] = "";
  if (file < 0) file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (pread(file, text, sizeof text - 1, 0) > 0) sscanf(text, "%*u %llu", &queued);
  return (double)queued / 1e6;
}

/* ---- Waits of the current call -------------------------------------------------- */

static struct {
  long count, switches;
  double took, asked; /* `asked`: as `took`, but at most the requested time */
} waited;

static void add_wait(double since, double milliseconds, long switches) {
  double took = now_ms() - since;
  waited.count++;
  waited.switches += usage_so_far().ru_nvcsw - switches;
  waited.took += took;
  waited.asked += fmin(took, milliseconds);
}

int poll(struct pollfd *entries, nfds_t count, int milliseconds) {
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  double since = now_ms();
  long switches = usage_so_far().ru_nvcsw;
  int ready = ppoll(entries, count, milliseconds < 0 ? NULL : &time, NULL);
  if (milliseconds) add_wait(since, milliseconds < 0 ? INFINITY : milliseconds, switches);
  return ready;
}

int nanosleep(const struct timespec *time, struct timespec *rest) {
  double since = now_ms();
  long switches = usage_so_far().ru_nvcsw;
  int failed = clock_nanosleep(CLOCK_MONOTONIC, 0, time, rest);
  add_wait(since, (double)time->tv_sec * 1e3 + (double)time->tv_nsec / 1e6, switches);
  return failed ? -1 : 0;
}

static void nap(double milliseconds) {
  struct timespec time = {(time_t)(milliseconds / 1e3),
                          (long)((long long)(milliseconds * 1e6) % 1000000000)};
  if (milliseconds > 0) clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* ---- Results of calls --------------------------------------------------------- */

static struct call {
  const char *name;
  size_t count, early, waits, statuses[16];
  double cpu, longest, late, late_by_clock; /* milliseconds; late: beyond the deadline */
  char message[sizeof((apns_error_t *)0)->message];
} calls[16];
static apns_error_t error = APNS_ERROR_INIT;
static bool is_loop;

static const char *volatile under_way = "no call";
static double began, cpu_before, queued_before;
static struct rusage usage_before;

static void say_stuck(int number) {
  char text[80];
  int length = snprintf(text, sizeof text, "{\"stuck\": \"%s\"}\n", under_way);
  _exit(write(1, text, (size_t)length) == length ? number : 1);
}

static void begin(const char *name) {
  under_way = name;
  memset(&waited, 0, sizeof waited);
  usage_before = usage_so_far();
  queued_before = queued_ms();
  began = now_ms();
  cpu_before = cpu_ms();
}

/* The call may last `allowed` milliseconds; in a loop it may not wait. */
static apns_status_t ended(double allowed, apns_status_t status) {
  double cpu = cpu_ms() - cpu_before, took = now_ms() - began, elsewhere = 0;
  struct rusage usage = usage_so_far();
  /* A major page fault makes the system wait, which may hide a wait of the library. */
  if (usage.ru_nvcsw - usage_before.ru_nvcsw > waited.switches &&
      usage.ru_majflt == usage_before.ru_majflt)
    elsewhere = fmax(0, took - cpu - waited.took - (queued_ms() - queued_before));
  if (is_loop) allowed = 0;
  double late = cpu + waited.asked + elsewhere - allowed;
  struct call *call = calls;
  while (call->name && strcmp(call->name, under_way)) call++;
  if (!call->count++) call->late = call->late_by_clock = -INFINITY;
  call->name = under_way;
  call->cpu += cpu;
  call->waits += (size_t)waited.count;
  call->longest = fmax(call->longest, cpu + elsewhere);
  call->late = fmax(call->late, late);
  call->late_by_clock = fmax(call->late_by_clock, took - allowed);
  call->statuses[-status & 15]++;
  /* Another timeout may expire sooner. */
  if (status == APNS_ERR_TIMEOUT && took < allowed - 1 &&
      strstr(error.message, " still wait for an answer from "))
    call->early++;
  if (status != APNS_OK && status != APNS_DONE && status != APNS_ERR_AGAIN)
    memcpy(call->message, error.message, sizeof call->message);
  under_way = "no call";
  return status;
}

/* This process's peak memory in KB; rusage's would include the peak of the process that forked it.
 */
static long memory(void) {
  char line[256];
  long most = -1;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, "VmHWM:", 6)) most = strtol(line + 6, NULL, 10);
  if (file) fclose(file);
  return most;
}

/* ---- Notifications and their outcomes ---------------------------------------- */

static struct one {
  apns_session_t *session;
  long sent;
  bool is_done;
  bool has_outcomes; /* there was no time to read all of them */
} * sessions;
static long session_count, count; /* notifications per session */

enum { UNRESOLVED, ACCEPTED, REJECTED, UNKNOWN };
static unsigned char *outcomes;
static size_t outcome_count, two_outcomes, unexplained;
static double connect_ms, write_ms, timeout_ms;
static bool takes_events, is_drained, is_closed;

/* The responses to rejected notifications: the binary status, or the HTTP status and reason. */
static struct {
  char text[80];
  size_t count;
} answers[65];

static void count_answer(const char *text) {
  size_t index = 0;
  while (*answers[index].text && strcmp(answers[index].text, text) && index < 63) index++;
  strcpy(answers[index].text, text);
  answers[index].count++;
}

static bool take(struct one *one, double milliseconds) {
  apns_event_t event = APNS_EVENT_INIT;
  begin("next_event");
  if (ended(milliseconds, apns_session_next_event(one->session, &event,
                                                  is_loop ? 1000 : (int32_t)milliseconds, &error)))
    return false;
  size_t n = (size_t)(uintptr_t)event.user_data;
  if (n >= (size_t)(session_count * count) || outcomes[n] != UNRESOLVED) {
    two_outcomes++;
    return true;
  }
  outcome_count++;
  outcomes[n] = event.kind == APNS_EVENT_ACCEPTED   ? ACCEPTED
                : event.kind == APNS_EVENT_REJECTED ? REJECTED
                                                    : UNKNOWN;
  if (event.kind == APNS_EVENT_UNKNOWN && !event.reason_text[0]) unexplained++;
  if (event.kind != APNS_EVENT_REJECTED) return true;
  char text[80];
  snprintf(text, sizeof text, "%d", event.reject);
  count_answer(text);
  snprintf(text, sizeof text, "%d %s", event.http_status, event.reason_text);
  if (event.http_status) count_answer(text);
  return true;
}

/* An event loop reads some of the events that are ready and continues later. */
static void take_all(struct one *one) {
  one->has_outcomes = true;
  for (int left = 300; left && one->has_outcomes; left -= is_loop) one->has_outcomes = take(one, 0);
}

static apns_status_t send_one(struct one *one, uint32_t flags) {
  static char payload[4096];
  uint8_t token[32] = {0x60};
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  long n = (one - sessions) * count + one->sent, bad_every = number_of("bad_every", 0);
  int pad = (int)number_of("payload", 0);
  if (bad_every && n % bad_every == bad_every / 2) token[0] = 0xBD;
  memcpy(token + 8, &n, sizeof n);
  push.token = token;
  push.token_length = sizeof token;
  push.payload = payload;
  int length = snprintf(payload, sizeof payload, "{\"aps\":{},\"n\":%ld}", n);
  if (pad)
    length += snprintf(payload + length - 1, sizeof payload - (size_t)length, ",\"pad\":\"%0*d\"}",
                       pad, 0) -
              1;
  push.payload_length = (size_t)length;
  push.user_data = (void *)(uintptr_t)n;
  begin("send");
  apns_status_t status = apns_session_send(one->session, &push, flags, NULL, &error);
  ended(connect_ms + write_ms, status);
  if (status == APNS_OK) one->sent++;
  return status;
}

/* ---- Steps of a blocking session ---------------------------------------------- */

static void send_many(struct one *one, long wanted) {
  double start = now_ms();
  for (long done = 0; done < wanted;) {
    apns_status_t status = send_one(one, done + 1 < wanted ? APNS_SEND_MORE : 0);
    if (status == APNS_OK) done++;
    if (takes_events && (status != APNS_OK || done % 500 == 0)) take_all(one);
    if (status == APNS_OK || (status == APNS_ERR_FULL && takes_events)) continue;
    if (!apns_status_is_retryable(status) || now_ms() - start > timeout_ms) return;
  }
}

static void push_many(struct one *one, long wanted, double apart) {
  while (wanted--) {
    send_one(one, 0);
    take_all(one);
    nap(apart);
  }
}

static void connect_one(struct one *one) {
  begin("connect");
  ended(connect_ms, apns_session_connect(one->session, &error));
}

static apns_status_t drain(struct one *one, double milliseconds) {
  begin("drain");
  return ended(milliseconds, apns_session_drain(one->session, (int32_t)milliseconds, NULL, &error));
}

static void finish(struct one *one, double each, double total, size_t left) {
  double start = now_ms();
  apns_status_t status;
  do {
    status = drain(one, each);
    is_drained = status == APNS_OK;
    take_all(one);
  } while (!is_drained && now_ms() - start < total && apns_status_is_retryable(status) &&
           (size_t)one->sent > outcome_count + left);
}

static void read_feedback(apns_credentials_t *credentials) {
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  apns_feedback_t *feedback = NULL;
  options.peer.host = "127.0.0.1";
  options.peer.port = (uint16_t)number_of("feedback_port", 0);
  options.peer.connect_timeout_ms = (uint32_t)connect_ms;
  options.read_timeout_ms = (uint32_t)number_of("read_timeout_ms", 500);
  options.list_timeout_ms = (uint32_t)number_of("list_timeout_ms", 0);
  options.tuples_max = (uint32_t)number_of("tuples_max", 0);
  double start = now_ms();
  begin("feedback_open");
  apns_status_t status =
      ended(connect_ms, apns_feedback_open(&options, credentials, &feedback, &error));
  while (status == APNS_OK && now_ms() - start < timeout_ms) {
    begin("feedback_next");
    status = ended(options.read_timeout_ms, apns_feedback_next(feedback, &tuple, &error));
    if (status == APNS_ERR_TIMEOUT) status = APNS_OK;
  }
  begin("feedback_free");
  apns_feedback_free(feedback);
  ended(0, APNS_OK);
}

/* ---- The loop -------------------------------------------------------------------- */

static const double most_ms = 500e3;
static int epoll, heart;
static double last_beat, last_beat_cpu, longest_gap, longest_gap_cpu;
static size_t wakes, idle_wakes, late_passes;

static void beat_every(long nanoseconds) {
  struct itimerspec every = {{0, nanoseconds}, {0, nanoseconds}};
  timerfd_settime(heart, 0, &every, NULL);
  last_beat = now_ms(), last_beat_cpu = cpu_ms();
}

static void process(struct one *one) {
  begin("process");
  ended(0, apns_session_process(one->session, &error));
  take_all(one);
}

/* One pass of the loop; true if the heartbeat was due. */
static bool turn(int wait_ms) {
  struct epoll_event found[64];
  bool has_beaten = false;
  for (long index = 0; index < session_count; index++)
    if (sessions[index].has_outcomes) {
      take_all(&sessions[index]);
      wait_ms = 0;
    }
  int ready = epoll_wait(epoll, found, 64, wait_ms);
  for (int index = 0; index < ready; index++) {
    if (found[index].data.ptr) {
      wakes++;
      process(found[index].data.ptr);
      continue;
    }
    uint64_t beats;
    has_beaten = read(heart, &beats, sizeof beats) == sizeof beats;
    double now = now_ms(), cpu = cpu_ms();
    longest_gap = fmax(longest_gap, now - last_beat);
    longest_gap_cpu = fmax(longest_gap_cpu, cpu - last_beat_cpu);
    last_beat = now, last_beat_cpu = cpu;
  }
  return has_beaten;
}

/* Sends each notification when it is due, if there is room. Sends overdue ones a few at a time. */
static void send_paced(void) {
  double start = now_ms(), rate = (double)number_of("rate", 5000) / (double)session_count / 1e3;
  for (bool is_over = false; !is_over && now_ms() - start < most_ms;) {
    if (!turn(-1)) continue;
    is_over = true;
    for (long index = 0; index < session_count; index++) {
      struct one *one = &sessions[index];
      double due = (now_ms() - start) * rate + 1;
      for (int left = 20; left && one->sent < count && (double)one->sent < due; left--)
        if (send_one(one, 0)) break;
      if (one->sent < count) is_over = false;
    }
  }
}

/* Drains or closes all sessions for at most `total` milliseconds; true if that is finished. The
   pass that finds a close due also finishes it. */
static bool end_all(bool closes, double milliseconds, double total) {
  double start = now_ms();
  for (long index = 0; index < session_count; index++) sessions[index].is_done = false;
  for (;;) {
    bool is_over = true, was_due = closes && now_ms() - start > milliseconds + 20;
    for (long index = 0; index < session_count; index++) {
      struct one *one = &sessions[index];
      if (one->is_done) continue;
      begin(closes ? "close" : "drain");
      apns_status_t status =
          ended(0, closes ? apns_session_close(one->session, (int32_t)milliseconds, &error)
                          : apns_session_drain(one->session, (int32_t)milliseconds, NULL, &error));
      take_all(one);
      one->is_done = status == APNS_OK;
      if (!one->is_done) is_over = false;
    }
    if (is_over) return true;
    if (was_due) late_passes++;
    if (now_ms() - start > total) return false;
    turn(-1);
  }
}

/* After a quiet second nothing is due, so any wake-up is unnecessary. */
static void idle(double milliseconds) {
  double start = now_ms();
  beat_every(0);
  for (size_t before = wakes - 1; before != wakes && now_ms() - start < 60e3;) {
    before = wakes;
    for (double until = now_ms() + 1000; now_ms() < until && before == wakes;) turn(100);
  }
  wakes = 0;
  for (double now, until = now_ms() + milliseconds; (now = now_ms()) < until;)
    turn((int)(until - now) + 1);
  idle_wakes = wakes;
  beat_every(1000000);
}

/* A slow resolver: the answer is known from this time on. */
static double lookup_known;
static int look_up(const char *host, struct addrinfo **list, void *context) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
  (void)host, (void)context;
  if (now_ms() < lookup_known) return APNS_LOOKUP_PENDING;
  return getaddrinfo("127.0.0.1", NULL, &hints, list);
}

/* ---- The script ---------------------------------------------------------------- */

static void close_all(double milliseconds) {
  if (is_loop) {
    is_closed = end_all(true, milliseconds, most_ms);
    return;
  }
  begin("close");
  ended(milliseconds, apns_session_close(sessions->session, (int32_t)milliseconds, &error));
  is_closed = true;
}

/* Waits for a line in standard input; without one, judge.py notices. */
static void wait_until_seen(void) {
  struct pollfd entry = {0, POLLIN, 0};
  struct timespec most = {60, 0};
  char byte = 0;
  while (byte != '\n' && ppoll(&entry, 1, &most, NULL) > 0 && read(0, &byte, 1) == 1) continue;
}

static void play(const char *step, apns_credentials_t *credentials) {
  struct one *one = sessions;
  char name[16] = "";
  double a = 0, b = 0, c = 0;
  sscanf(step, "%15[^:]:%lf:%lf:%lf", name, &a, &b, &c);
#define IS(text) !strcmp(name, text)
  if (IS("connect")) connect_one(one);
  if (IS("send") && is_loop) send_paced();
  if (IS("send") && !is_loop) send_many(one, (long)a);
  if (IS("push")) push_many(one, (long)a, b);
  if (IS("seen")) wait_until_seen();
  if (IS("drain")) drain(one, a);
  if (IS("finish") && is_loop) is_drained = end_all(false, a, b);
  if (IS("finish") && !is_loop) finish(one, a, b, (size_t)c);
  if (IS("next")) take(one, a);
  if (IS("take") || (IS("drain") && takes_events)) take_all(one);
  if (IS("nap")) nap(a);
  if (IS("idle")) idle(a);
  if (IS("close")) close_all(a);
  if (IS("feedback")) read_feedback(credentials);
}

static void make_session(struct one *one, uint16_t port, const apns_credentials_t *credentials) {
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  apns_binary_options_t binary = APNS_BINARY_OPTIONS_INIT;
  apns_tuning_t tuning = APNS_TUNING_INIT;
  options.binary = &binary, options.tuning = &tuning;
#define NUMBER(in, field) in.field = (__typeof__(in.field))number_of(#field, 0)
  if (!strcmp(text_of("protocol", "http2"), "http2"))
    options.topic = text_of("topic", "com.example.app");
  else
    options.protocol = APNS_PROTOCOL_BINARY;
  options.peer.host = text_of("host", "127.0.0.1");
  options.peer.server_name = "127.0.0.1";
  options.peer.port = port;
  options.peer.connect_timeout_ms = (uint32_t)connect_ms;
  tuning.write_timeout_ms = (uint32_t)write_ms;
  NUMBER(binary, format);
  NUMBER(tuning, answer_timeout_ms);
  NUMBER(tuning, reconnect_pause_max_ms);
  NUMBER(binary, prove_after_ms);
  NUMBER(options, window_bytes);
  NUMBER(options, connections);
  NUMBER(binary, zero_proves);
  options.peer.proxy = text_of("proxy", NULL);
  if (!strcmp(text_of("delivery", "at_least_once"), "at_most_once"))
    options.delivery = APNS_DELIVERY_AT_MOST_ONCE;
  options.outcomes = (int32_t)number_of("outcomes", APNS_OUTCOMES_EACH);
  options.peer.nonblocking = is_loop;
  if (number_of("lookup_ms", 0)) options.peer.lookup = look_up;
  begin("new");
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = one};
  if (ended(0, apns_session_new(&options, credentials, &one->session, &error)) ||
      (is_loop && epoll_ctl(epoll, EPOLL_CTL_ADD, apns_session_fd(one->session), &event))) {
    fprintf(stderr, "cannot make a session: %s\n", error.message);
    exit(1);
  }
}

/* ---- The result ---------------------------------------------------------------- */

static void list(const char *name, int end) {
  const char *comma = "";
  printf(", \"%s\": [", name);
  for (long n = 0; n < session_count * count; n++)
    if (outcomes[n] == end && n % count < sessions[n / count].sent) {
      printf("%s%ld", comma, n);
      comma = ", ";
    }
  printf("]");
}

/* Messages in hex, because they may contain anything. */
static void print_calls(void) {
  for (struct call *call = calls; call->name; call++) {
    printf(
        "%s\"%s\": {\"count\": %zu, \"cpu\": %.3f, \"longest\": %.3f, \"late\": %.2f, "
        "\"late_by_clock\": %.2f, \"early\": %zu, \"waits\": %zu, \"statuses\": {",
        call == calls ? ", \"calls\": {" : ", ", call->name, call->count, call->cpu, call->longest,
        call->late, call->late_by_clock, call->early, call->waits);
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
  apns_credentials_t *credentials = NULL;
  word_count = argc;
  words = argv;
  signal(SIGTERM, say_stuck);
  for (int index = 1; index < argc; index++) {
    long each = 0;
    if (sscanf(argv[index], "send:%ld", &each) || sscanf(argv[index], "push:%ld", &each))
      count += each;
  }
  is_loop = number_of("loop", 0);
  session_count = number_of("sessions", 1);
  connect_ms = (double)number_of("connect_timeout_ms", 10000);
  write_ms = (double)number_of("write_timeout_ms", 10000);
  timeout_ms = (double)number_of("timeout_ms", 3000);
  takes_events = number_of("takes_events", 1);
  lookup_known = now_ms() + (double)number_of("lookup_ms", 0);
  who.certificate_file = text_of("certificate", NULL);
  who.ca_file = text_of("ca", NULL);
  who.token_key_file = text_of("token_key", NULL);
  who.token_cache_file = "off";
  who.key_id = text_of("key_id", NULL);
  who.team_id = text_of("team_id", NULL);
  sessions = calloc((size_t)session_count, sizeof *sessions);
  outcomes = calloc((size_t)(session_count * count) + 1, 1);
  epoll = epoll_create1(EPOLL_CLOEXEC);
  heart = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  if (!sessions || !outcomes || epoll_ctl(epoll, EPOLL_CTL_ADD, heart, &event) ||
      apns_credentials_new(&who, &credentials, &error)) {
    fprintf(stderr, "cannot start: %s\n", error.message);
    return 1;
  }
  char *ports = (char *)text_of("port", "1");
  for (long index = 0; index < session_count; index++) {
    uint16_t port = (uint16_t)strtol(ports, &ports, 10);
    make_session(&sessions[index], port, credentials);
    if (*ports == ',') ports++;
  }

  double start = now_ms();
  beat_every(1000000);
  for (int index = 1; index < argc; index++)
    if (!strchr(argv[index], '=')) play(argv[index], credentials);
  if (!is_closed && number_of("closes", 1)) close_all(300);
  double seconds = (now_ms() - start) / 1e3, cpu = ms_of(CLOCK_PROCESS_CPUTIME_ID) / 1e3;

  apns_session_stats_t sum = APNS_SESSION_STATS_INIT;
  long sent = 0;
  for (long index = 0; index < session_count; index++) {
    struct one *one = &sessions[index];
    apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
    do take_all(one);
    while (one->has_outcomes);
    apns_session_stats(one->session, &stats, NULL);
    sent += one->sent;
    sum.taken += stats.taken;
    sum.accepted += stats.accepted;
    sum.rejected += stats.rejected;
    sum.unknown += stats.unknown;
    sum.resent += stats.resent;
    sum.connects += stats.connects;
    begin("free");
    apns_session_free(one->session);
    ended(0, APNS_OK);
  }
#define COUNT(field) (unsigned long long)sum.field
  printf(
      "{\"seconds\": %.3f, \"cpu\": %.3f, \"memory\": %ld, \"sent\": %ld, \"taken\": %llu, "
      "\"accepted_count\": %llu, \"rejected_count\": %llu, \"unknown_count\": %llu, "
      "\"resent\": %llu, \"connects\": %llu, \"two_outcomes\": %zu, \"drained\": %d, \"closed\": "
      "%d, "
      "\"gap_ms\": %.2f, \"gap_cpu_ms\": %.2f, "
      "\"idle_wakes\": %zu, \"late_passes\": %zu, \"unexplained\": %zu",
      seconds, cpu, memory(), sent, COUNT(taken), COUNT(accepted), COUNT(rejected), COUNT(unknown),
      COUNT(resent), COUNT(connects), two_outcomes, is_drained, is_closed, longest_gap,
      longest_gap_cpu, idle_wakes, late_passes, unexplained);
  print_calls();
  printf(", \"answers\": {\"\": 0");
  for (size_t index = 0; *answers[index].text; index++)
    printf(", \"%s\": %zu", answers[index].text, answers[index].count);
  printf("}");
  list("accepted", ACCEPTED);
  list("rejected", REJECTED);
  list("unknown", UNKNOWN);
  list("unresolved", UNRESOLVED);
  printf("}\n");
  apns_credentials_free(credentials);
  free(outcomes);
  free(sessions);
  return 0;
}
