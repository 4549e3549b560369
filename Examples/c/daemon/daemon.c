/*
 * A provider daemon without threads, where only one poll() waits. It reads notifications, a JSON
 * object on each line, from a UNIX socket, pushes them through one session, and logs each
 * outcome. SIGTERM ends it when all outcomes are known; SIGHUP makes it read certificate and
 * keys again. README.md describes the lines and the log.
 *
 *   cc daemon.c -lapns -lnghttp2 -lcares -lssl -lcrypto -ljansson -o daemon
 *   daemon [--protocol http2|binary] [--topic ID] [--p8 FILE --key-id ID --team-id ID]
 *          SOCKET HOST PORT [CERTIFICATE|- [CA]]
 */
#include <apns/binary.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 64, LINE_MAX_BYTES = 8192, NAME_MAX_BYTES = 64 };
enum { PROVE_MS = 1000, DRAIN_MS = 10000, CLOSE_MS = 1000 };
enum { SESSION, LISTENER, FIRST_CLIENT, POLLED = FIRST_CLIENT + CLIENTS };

struct client {
  int fd; /* -1 if the place is free */
  unsigned long number, line;
  bool ended, waits; /* waits: for room in the session, with complete lines */
  bool is_skipping;  /* the rest of a line that is too long */
  size_t length;
  char text[LINE_MAX_BYTES];
};

static apns_session_t *session;
static int listener;
static struct client clients[CLIENTS];
static size_t turn;                           /* the client that is read first */
static unsigned long taken, refused, ends[8]; /* ends: by apns_event_kind_t */
static int64_t end_ms;                        /* the deadline of the end; 0 while running */
static bool is_http2 = true, is_stalled, is_refusing;
static apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
static volatile sig_atomic_t is_told_to_stop, is_told_to_renew;

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Makes the session's descriptor readable, so that poll() returns, or does not start to wait. */
static void note(int signal) {
  int before = errno;
  if (signal == SIGHUP) is_told_to_renew = 1;
  if (signal != SIGHUP) is_told_to_stop = 1;
  apns_session_wake(session);
  errno = before;
}

static int fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  return EXIT_FAILURE;
}

static void refuse(const char *name, const char *why) {
  printf("%s: refused: %s\n", name, why);
  refused++;
}

/* Logs all outcomes that have arrived, and returns false if there are none. user_data is the
   notification's name, which we free. */
static bool take_outcomes(void) {
  apns_event_t event = APNS_EVENT_INIT;
  bool is_any = false;
  for (; apns_session_next_event(session, &event, 0, NULL) == APNS_OK; is_any = true) {
    char *name = event.user_data;
    const char *why = event.reason_text, *id = event.apns_id; /* HTTP/2; else "" */
    if (event.kind == APNS_EVENT_ACCEPTED)
      printf("%s: accepted", name);
    else if (event.kind == APNS_EVENT_REJECTED)
      printf("%s: rejected: %s", name, *why ? why : apns_reject_text((apns_reject_t)event.reject));
    else
      printf("%s: %s: %s", name, event.kind == APNS_EVENT_EXPIRED ? "expired" : "unknown",
             *why ? why : "no response before the end");
    printf(*id ? ", apns-id %s\n" : "\n", id);
    if (event.kind >= APNS_EVENT_ACCEPTED && event.kind <= APNS_EVENT_EXPIRED) ends[event.kind]++;
    free(name);
  }
  return is_any;
}

/* Queues a notification, connected or not. Returns false if the session has no room until
   earlier notifications have their outcomes. */
static bool push(const char *name, apns_notification_t *notification) {
  apns_error_t error = APNS_ERROR_INIT;
  if (is_refusing) return refuse(name, "the daemon ends"), true;
  if (!(notification->user_data = strdup(name))) return refuse(name, "out of memory"), true;
  for (;;) {
    apns_status_t status = apns_session_send(session, notification, APNS_SEND_MORE, NULL, &error);
    if (status == APNS_OK) return taken++, true;
    if ((status == APNS_ERR_AGAIN || status == APNS_ERR_FULL) && take_outcomes()) continue;
    free(notification->user_data);
    is_stalled = status == APNS_ERR_AGAIN || status == APNS_ERR_FULL;
    if (!is_stalled) refuse(name, error.message);
    return !is_stalled;
  }
}

/* The number of a push type by its name, or APNS_PUSH_TYPE_DEFAULT for an unknown name. */
static apns_push_type_t push_type_of(const char *name) {
  apns_push_type_t type = APNS_PUSH_TYPE_CONTROLS;
  while (type && strcmp(name, apns_push_type_text(type)) != 0) type--;
  return type;
}

/* The error in a line's fields, or NULL. */
static const char *fault_of(const char *id, const json_t *payload, int priority, const char *type) {
  if (*id == 0 || strlen(id) > NAME_MAX_BYTES) return "id must have 1 to 64 bytes";
  for (const char *at = id; *at; at++)
    if ((unsigned char)*at < ' ' || *at == 0x7F) return "id contains a control character";
  if (!json_is_object(payload)) return "payload is not an object";
  if (priority < 0 || priority > 10) return "priority is not from 1 to 10";
  if (type && !push_type_of(type)) return "push_type is unknown";
  return NULL;
}

/* Handles one line. Returns false if it must wait; then it is handled again. `place` is its name
   if it has no id. */
static bool take_line(const char *text, size_t length, const char *place) {
  json_error_t fault;
  apns_error_t error = APNS_ERROR_INIT;
  apns_notification_t notification = APNS_NOTIFICATION_INIT;
  uint8_t token[APNS_TOKEN_MAX];
  const char *hex = "", *id = place, *why = fault.text, *type = NULL;
  json_t *payload = NULL;
  json_int_t expiry = 0;
  int priority = 0, deadline_ms = 0;
  bool is_done = true;
  char *json = NULL;

  json_t *line = json_loadb(text, length, JSON_REJECT_DUPLICATES, &fault);
  if (line &&
      json_unpack_ex(line, &fault, JSON_STRICT,
                     "{s?s, s:s, s:o, s?I, s?i, s?i, s?s, s?s, s?s, s?s}", "id", &id, "token", &hex,
                     "payload", &payload, "expiry", &expiry, "priority", &priority, "deadline_ms",
                     &deadline_ms, "topic", &notification.topic, "push_type", &type, "collapse_id",
                     &notification.collapse_id, "apns_id", &notification.apns_id) == 0 &&
      !(why = fault_of(id, payload, priority, type)) &&
      (json = json_dumps(payload, JSON_COMPACT))) {
    notification.token = token;
    notification.payload = json;
    notification.payload_length = strlen(json);
    notification.expiry = expiry;
    notification.priority = (uint8_t)priority;
    notification.deadline_ms = deadline_ms;
    notification.push_type = type ? (uint8_t)push_type_of(type) : 0;
    size_t limit = !is_http2                                       ? APNS_PAYLOAD_MAX_FRAMED
                   : notification.push_type == APNS_PUSH_TYPE_VOIP ? APNS_PAYLOAD_MAX_VOIP
                                                                   : APNS_PAYLOAD_MAX_HTTP2;
    if (apns_token_from_hex(hex, strlen(hex), token, sizeof token, &notification.token_length,
                            &error) ||
        apns_payload_check(json, notification.payload_length, limit, NULL, 0, NULL, &error))
      why = error.message;
    else
      is_done = push(id, &notification);
  }
  /* Do not log an invalid id as the line's name. */
  if (why) refuse(payload && strncmp(why, "id ", 3) != 0 ? id : place, why);
  free(json);
  json_decref(line);
  return is_done;
}

/* Handles all complete lines of a client. Returns false if they must wait. */
static bool take_lines(struct client *client) {
  client->waits = false;
  for (;;) {
    char *newline = memchr(client->text, '\n', client->length), place[48];
    bool is_full = !newline && client->length == sizeof client->text;
    size_t length = newline ? (size_t)(newline - client->text) : client->length;
    if (!newline && !is_full && !(client->ended && length)) break;
    snprintf(place, sizeof place, "%lu.%lu", client->number, client->line + 1);
    if (is_full && !client->is_skipping) {
      refuse(place, "the line is longer than 8192 bytes");
    } else if (!client->is_skipping && length && !take_line(client->text, length, place)) {
      client->waits = true;
      return false;
    }
    client->is_skipping = is_full;
    if (!is_full) client->line++;
    client->length -= length + (newline != NULL);
    memmove(client->text, client->text + length + (newline != NULL), client->length);
  }
  if (client->ended) {
    close(client->fd);
    client->fd = -1;
  }
  return true;
}

/* Handles waiting lines, and reads only once, so that other clients and the session are served. */
static void hear(struct client *client, bool is_readable) {
  if (client->waits && !take_lines(client)) return;
  if (!is_readable || client->fd < 0) return;
  ssize_t count =
      read(client->fd, client->text + client->length, sizeof client->text - client->length);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) client->ended = true;
  if (count > 0) client->length += (size_t)count;
  take_lines(client);
}

/* While the session has no room, no client is read: lines wait in the sockets. */
static void hear_clients(const struct pollfd *polled) {
  for (size_t n = 0, first = turn; n < CLIENTS && !is_stalled; n++) {
    size_t at = (first + n) % CLIENTS;
    hear(&clients[at], polled[FIRST_CLIENT + at].revents != 0);
    if (is_stalled) turn = at;
  }
}

static struct client *free_place(void) {
  for (struct client *client = clients; client < clients + CLIENTS; client++)
    if (client->fd < 0) return client;
  return NULL;
}

static bool has_clients(void) {
  for (struct client *client = clients; client < clients + CLIENTS; client++)
    if (client->fd >= 0) return true;
  return false;
}

/* Linux still returns the data that the client had sent, and then the end. */
static void hear_no_more(int fd) { shutdown(fd, SHUT_RD); }

static void welcome(void) {
  static unsigned long number;
  struct client *client;
  while (listener >= 0 && (client = free_place())) {
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) {
      if (!end_ms) return;
      close(listener); /* every waiting connection is accepted */
      listener = -1;
      return;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    memset(client, 0, offsetof(struct client, text));
    client->fd = fd;
    client->number = ++number;
    if (end_ms) hear_no_more(fd);
  }
}

/* Starts to connect, so that an error in host or credentials shows before the first line. */
static void begin_to_connect(void) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status = apns_session_connect(session, &error);
  if (status != APNS_OK && status != APNS_ERR_AGAIN)
    fprintf(stderr, "waiting: %s\n", error.message);
}

/* Continues the session's work, and logs the outcomes. */
static void process(void) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status = apns_session_process(session, &error);
  if (status != APNS_OK && status != APNS_DONE) fprintf(stderr, "waiting: %s\n", error.message);
  if (take_outcomes()) is_stalled = false;
}

/* Reads certificate and keys again, from the same files. Notifications in flight are not affected.
   If the new credentials are invalid, the session keeps the old ones. */
static void renew(void) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_t *credentials = NULL;
  is_told_to_renew = 0;
  if (apns_credentials_new(&who, &credentials, &error) ||
      apns_session_use_credentials(session, credentials, &error))
    fprintf(stderr, "not renewed: %s\n", error.message);
  else
    printf("renewed\n");
  apns_credentials_free(credentials);
}

/* Clients can no longer connect or send. Lines that they sent before are still pushed. */
static void begin_to_end(const char *path) {
  end_ms = now_ms() + DRAIN_MS;
  unlink(path);
  for (struct client *client = clients; client < clients + CLIENTS; client++)
    if (client->fd >= 0) hear_no_more(client->fd);
}

/* Takes the next step of the end: drain, then close. Returns true after the last step. */
static bool end(void) {
  welcome();
  if (!is_refusing) {
    bool is_drained = listener < 0 && !has_clients() &&
                      apns_session_drain(session, 0, NULL, NULL) != APNS_ERR_AGAIN;
    if (!is_drained && now_ms() < end_ms) return false;
    /* Refuse the lines that still wait, so that each is logged. */
    for (is_refusing = true, is_stalled = false; has_clients(); welcome())
      for (struct client *client = clients; client < clients + CLIENTS; client++)
        while (client->fd >= 0) hear(client, true);
  }
  return apns_session_close(session, CLOSE_MS, NULL) != APNS_ERR_AGAIN;
}

/* The timeout of poll(): the deadline of the end. The session's own deadlines make its descriptor
   readable. */
static int time_left(void) {
  if (!end_ms || is_refusing) return -1;
  int64_t left = end_ms - now_ms();
  return left > 0 ? (int)left : 0;
}

/* Returns false if poll() fails. */
static bool serve(const char *path) {
  for (;;) {
    struct pollfd polled[POLLED]; /* poll() ignores a descriptor of -1 */
    if (is_told_to_renew) renew();
    if (is_told_to_stop && !end_ms) begin_to_end(path);
    if (end_ms && end()) return true;
    polled[SESSION] = (struct pollfd){.fd = apns_session_fd(session), .events = POLLIN};
    polled[LISTENER] = (struct pollfd){.fd = free_place() ? listener : -1, .events = POLLIN};
    for (size_t at = 0; at < CLIENTS; at++)
      polled[FIRST_CLIENT + at] =
          (struct pollfd){.fd = is_stalled ? -1 : clients[at].fd, .events = POLLIN};
    if (poll(polled, POLLED, time_left()) < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (polled[SESSION].revents) process();
    hear_clients(polled);
    if (polled[LISTENER].revents) welcome();
  }
}

static bool listen_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  strcpy(address.sun_path, path);
  fcntl(listener, F_SETFL, O_NONBLOCK);
  fcntl(listener, F_SETFD, FD_CLOEXEC);
  return !bind(listener, (struct sockaddr *)&address, sizeof address) && !listen(listener, CLIENTS);
}

/* Returns false if the command line is invalid. The remaining arguments begin at optind. */
static bool read_options(int argc, char **argv, apns_session_options_t *where) {
  static const struct option names[] = {
      {"protocol", required_argument, NULL, 'p'}, {"topic", required_argument, NULL, 't'},
      {"p8", required_argument, NULL, '8'},       {"key-id", required_argument, NULL, 'k'},
      {"team-id", required_argument, NULL, 'm'},  {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
    if (option == '?') return false;
    if (option == 't') where->topic = optarg;
    if (option == '8') who.token_key_file = optarg;
    if (option == 'k') who.key_id = optarg;
    if (option == 'm') who.team_id = optarg;
    if (option != 'p') continue;
    is_http2 = strcmp(optarg, "http2") == 0;
    if (!is_http2 && strcmp(optarg, "binary") != 0) return false;
  }
  int left = argc - optind;
  if (left < 3 || left > 5) return false;
  where->protocol = is_http2 ? APNS_PROTOCOL_HTTP2 : APNS_PROTOCOL_BINARY;
  where->peer.host = argv[optind + 1];
  where->peer.port = (uint16_t)atoi(argv[optind + 2]);
  if (left > 3 && strcmp(argv[optind + 3], "-") != 0) who.certificate_file = argv[optind + 3];
  if (left > 4) who.ca_file = argv[optind + 4];
  return true;
}

int main(int argc, char **argv) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
  apns_credentials_t *credentials = NULL;
  struct sigaction action = {.sa_handler = note};

  if (!read_options(argc, argv, &where)) {
    fprintf(
        stderr,
        "usage: %s [--protocol http2|binary] [--topic ID] [--p8 FILE --key-id ID --team-id ID]\n"
        "       SOCKET HOST PORT [CERTIFICATE|- [CA]]\n",
        argv[0]);
    return 2;
  }
  const char *path = argv[optind];
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t at = 0; at < CLIENTS; at++) clients[at].fd = -1;

  where.peer.nonblocking = 1;
  where.outcomes = APNS_OUTCOMES_EACH;
  /* The binary interface never says that it accepted something, so what was in flight for so
     long is proven, which costs a connection. */
  apns_binary_options_t binary = APNS_BINARY_OPTIONS_INIT;
  binary.prove_after_ms = PROVE_MS;
  where.binary = &binary;
  if (apns_credentials_new(&who, &credentials, &error) ||
      apns_session_new(&where, credentials, &session, &error))
    return fail("cannot start", error.message);
  apns_credentials_free(credentials);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGHUP, &action, NULL);

  if (!listen_at(path)) return fail(path, strerror(errno));
  printf("ready: %s\n", path);
  begin_to_connect();
  if (!serve(path)) return fail("poll", strerror(errno));
  take_outcomes();
  printf("drained: %lu queued = %lu accepted + %lu rejected + %lu unknown", taken,
         ends[APNS_EVENT_ACCEPTED], ends[APNS_EVENT_REJECTED], ends[APNS_EVENT_UNKNOWN]);
  if (ends[APNS_EVENT_EXPIRED]) printf(" + %lu expired", ends[APNS_EVENT_EXPIRED]);
  printf("; %lu refused\n", refused);
  action.sa_handler = SIG_IGN; /* the session can no longer be woken */
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  apns_session_free(session);
  return ends[APNS_EVENT_UNKNOWN] + ends[APNS_EVENT_EXPIRED] ? EXIT_FAILURE : EXIT_SUCCESS;
}
