/*
 * A provider daemon without any thread: takes notifications, a JSON object on each
 * line, from whoever connects to a UNIX socket, pushes them through one session that
 * it keeps alive, and logs the end of each. SIGTERM ends it when all is known.
 * README.md says what a line holds and what is logged.
 *
 *   cc daemon.c -lapns -lnghttp2 -lssl -lcrypto -ljansson -o daemon
 *   daemon [--protocol binary|http2] [--topic ID] [--p8 FILE --key-id ID --team-id ID]
 *          SOCKET HOST PORT [CERTIFICATE|- [CA]]
 */
#include <apns/apns.h>
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
enum { IDLE_MS = 1000, RETRY_MS = 1000, DRAIN_MS = 10000 };

struct client {
  int fd; /* -1: the place is free */
  unsigned long number, line;
  bool ended, is_skipping; /* the rest of a line too long */
  size_t length;
  char text[LINE_MAX_BYTES];
};

static apns_session_t *session;
static struct client clients[CLIENTS];
static unsigned long taken, refused, ends[4]; /* by apns_event_kind_t */
static int64_t last_taken_ms, retry_ms;       /* not before this, when there is no gateway */
static bool is_http2, is_stopping;
static int wake[2];

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void stop(int signal) {
  int before = errno;
  (void)signal;
  if (write(wake[1], "", 1) < 0) { /* full: it is known already */
  }
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

/* Logs every outcome there is. user_data is the notification's name, and ours to free. */
static void take_outcomes(void) {
  apns_event_t event = APNS_EVENT_INIT;
  while (apns_session_next_event(session, &event, 0, NULL) == APNS_OK) {
    char *name = event.user_data;
    const char *why = event.reason_text, *id = event.apns_id; /* HTTP/2; else "" */
    if (event.kind == APNS_EVENT_ACCEPTED)
      printf("%s: accepted", name);
    else if (event.kind == APNS_EVENT_REJECTED)
      printf("%s: rejected: %s", name, *why ? why : apns_reject_text((apns_reject_t)event.reject));
    else
      printf("%s: unknown: %s", name, *why ? why : "the connection ended first");
    printf(*id ? ", apns-id %s\n" : "\n", id);
    if (event.kind >= APNS_EVENT_ACCEPTED && event.kind <= APNS_EVENT_UNKNOWN) ends[event.kind]++;
    free(name);
  }
}

/* Hands a notification to the session; false: it has to wait for a gateway. */
static bool push(const char *name, apns_notification_t *notification) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  if (!(notification->user_data = strdup(name))) return false;
  while ((status = apns_session_send(session, notification, APNS_SEND_MORE, NULL, &error)) ==
         APNS_ERR_FULL)
    take_outcomes();
  if (status == APNS_OK) {
    taken++;
    last_taken_ms = now_ms();
    return true;
  }
  free(notification->user_data);
  if (apns_status_is_retryable(status) && !is_stopping) {
    fprintf(stderr, "waiting: %s\n", error.message);
    retry_ms = now_ms() + RETRY_MS;
    return false;
  }
  refuse(name, error.message);
  return true;
}

/* The number of a push type by its name; APNS_PUSH_TYPE_DEFAULT: there is none such. */
static apns_push_type_t push_type_of(const char *name) {
  apns_push_type_t type = APNS_PUSH_TYPE_CONTROLS;
  while (type && strcmp(name, apns_push_type_text(type)) != 0) type--;
  return type;
}

/* What is wrong with what a line holds; NULL: nothing. */
static const char *fault_of(const char *id, const json_t *payload, int priority, const char *type) {
  if (*id == 0 || strlen(id) > NAME_MAX_BYTES) return "id has to have 1 to 64 bytes";
  for (const char *at = id; *at; at++)
    if ((unsigned char)*at < ' ' || *at == 0x7F) return "id has a control character in it";
  if (!json_is_object(payload)) return "payload is not an object";
  if (priority < 0 || priority > 10) return "priority is not from 1 to 10";
  if (type && !push_type_of(type)) return "push_type is none of APNs'";
  return NULL;
}

/* One line; false: it has to wait, and comes again. `place` is its name where it has none. */
static bool take_line(const char *text, size_t length, const char *place) {
  json_error_t fault;
  apns_error_t error = APNS_ERROR_INIT;
  apns_notification_t notification = APNS_NOTIFICATION_INIT;
  uint8_t token[APNS_TOKEN_MAX];
  const char *hex = "", *id = place, *why = fault.text, *type = NULL;
  json_t *payload = NULL;
  json_int_t expiry = 0;
  int priority = 0;
  bool is_done = true;
  char *json = NULL;

  json_t *line = json_loadb(text, length, JSON_REJECT_DUPLICATES, &fault);
  if (line &&
      json_unpack_ex(line, &fault, JSON_STRICT, "{s?s, s:s, s:o, s?I, s?i, s?s, s?s, s?s, s?s}",
                     "id", &id, "token", &hex, "payload", &payload, "expiry", &expiry, "priority",
                     &priority, "topic", &notification.topic, "push_type", &type, "collapse_id",
                     &notification.collapse_id, "apns_id", &notification.apns_id) == 0 &&
      !(why = fault_of(id, payload, priority, type)) &&
      (json = json_dumps(payload, JSON_COMPACT))) {
    notification.token = token;
    notification.payload = json;
    notification.payload_length = strlen(json);
    notification.expiry = expiry;
    notification.priority = (uint8_t)priority;
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
  /* An id that cannot be logged is not the line's name. */
  if (why) refuse(payload && strncmp(why, "id ", 3) != 0 ? id : place, why);
  free(json);
  json_decref(line);
  return is_done;
}

/* All whole lines a client has sent; false: they have to wait. */
static bool take_lines(struct client *client) {
  for (;;) {
    char *newline = memchr(client->text, '\n', client->length), place[48];
    bool is_full = !newline && client->length == sizeof client->text;
    size_t length = newline ? (size_t)(newline - client->text) : client->length;
    if (!newline && !is_full && !(client->ended && length)) break;
    snprintf(place, sizeof place, "%lu.%lu", client->number, client->line + 1);
    if (is_full && !client->is_skipping) {
      refuse(place, "the line is longer than 8192 bytes");
    } else if (!client->is_skipping && length && !take_line(client->text, length, place)) {
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

/* Reads what there is and takes it. Where the lines have to wait the client waits too. */
static void hear(struct client *client) {
  while (client->fd >= 0) {
    if (client->length && !take_lines(client)) return;
    ssize_t count =
        read(client->fd, client->text + client->length, sizeof client->text - client->length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) client->ended = true;
    if (count > 0) client->length += (size_t)count;
    if (!take_lines(client)) return;
  }
}

static void welcome(int listener) {
  static unsigned long number;
  for (struct client *client = clients; client < clients + CLIENTS; client++) {
    if (client->fd >= 0) continue;
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) return;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    memset(client, 0, offsetof(struct client, text));
    client->fd = fd;
    client->number = ++number;
  }
}

static size_t unresolved(void) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  return apns_session_stats(session, &stats, NULL) ? 0 : (size_t)stats.unresolved;
}

/* Once in a while and after each batch: writes, hears, and by the binary interface, where
   silence is no answer, proves what was long silent. */
static void tend(void) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status = apns_session_flush(session, &error);
  take_outcomes();
  if (status == APNS_OK && !is_http2 && unresolved() && now_ms() - last_taken_ms >= IDLE_MS) {
    status = apns_session_drain(session, DRAIN_MS, NULL, &error);
    take_outcomes();
  }
  if (status != APNS_OK && status != APNS_ERR_FULL) {
    fprintf(stderr, "waiting: %s\n", error.message);
    retry_ms = now_ms() + RETRY_MS;
  }
}

static void serve(int listener) {
  for (;;) {
    struct pollfd polled[CLIENTS + 2];
    struct client *whose[CLIENTS + 2];
    nfds_t count = 0;
    int64_t wait = retry_ms - now_ms();
    polled[count++] = (struct pollfd){.fd = wake[0], .events = POLLIN};
    if (wait <= 0) { /* else nobody is heard, and their lines wait in their sockets */
      polled[count++] = (struct pollfd){.fd = listener, .events = POLLIN};
      for (struct client *client = clients; client < clients + CLIENTS; client++) {
        if (client->fd < 0) continue;
        whose[count] = client;
        polled[count++] = (struct pollfd){.fd = client->fd, .events = POLLIN};
      }
      wait = unresolved() ? IDLE_MS / 10 : -1;
    }
    if (poll(polled, count, (int)wait) < 0 && errno != EINTR) return;
    if (polled[0].revents) return;
    if (count > 1 && polled[1].revents) welcome(listener);
    for (nfds_t at = 2; at < count && retry_ms <= now_ms(); at++)
      if (polled[at].revents) hear(whose[at]);
    /* Lines that had to wait are tried again. */
    for (size_t at = 0; at < CLIENTS && retry_ms <= now_ms(); at++)
      if (clients[at].fd >= 0 && clients[at].length) take_lines(&clients[at]);
    if (retry_ms <= now_ms()) tend();
  }
}

static int listen_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  fcntl(listener, F_SETFL, O_NONBLOCK);
  fcntl(listener, F_SETFD, FD_CLOEXEC);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, CLIENTS))
    return -1;
  return listener;
}

/* False: that is no way to call it. What is left of `argv` begins at optind. */
static bool read_options(int argc, char **argv, apns_credentials_options_t *who,
                         apns_session_options_t *where) {
  static const struct option names[] = {
      {"protocol", required_argument, NULL, 'p'}, {"topic", required_argument, NULL, 't'},
      {"p8", required_argument, NULL, '8'},       {"key-id", required_argument, NULL, 'k'},
      {"team-id", required_argument, NULL, 'm'},  {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
    if (option == '?') return false;
    if (option == 't') where->topic = optarg;
    if (option == '8') who->token_key_file = optarg;
    if (option == 'k') who->key_id = optarg;
    if (option == 'm') who->team_id = optarg;
    if (option != 'p') continue;
    is_http2 = strcmp(optarg, "http2") == 0;
    if (!is_http2 && strcmp(optarg, "binary") != 0) return false;
  }
  int left = argc - optind;
  if (left < 3 || left > 5) return false;
  where->protocol = is_http2 ? APNS_PROTOCOL_HTTP2 : APNS_PROTOCOL_BINARY;
  where->host = argv[optind + 1];
  where->port = (uint16_t)atoi(argv[optind + 2]);
  if (left > 3 && strcmp(argv[optind + 3], "-") != 0) who->certificate_file = argv[optind + 3];
  if (left > 4) who->ca_file = argv[optind + 4];
  return true;
}

int main(int argc, char **argv) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
  apns_credentials_t *credentials = NULL;
  struct sigaction action = {.sa_handler = stop};

  if (!read_options(argc, argv, &who, &where)) {
    fprintf(
        stderr,
        "usage: %s [--protocol binary|http2] [--topic ID] [--p8 FILE --key-id ID --team-id ID]\n"
        "       SOCKET HOST PORT [CERTIFICATE|- [CA]]\n",
        argv[0]);
    return 2;
  }
  const char *path = argv[optind];
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t at = 0; at < CLIENTS; at++) clients[at].fd = -1;
  if (pipe(wake)) return fail("pipe", strerror(errno));
  fcntl(wake[1], F_SETFL, O_NONBLOCK);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);

  where.report_accepted = 1;
  if (apns_credentials_new(&who, &credentials, &error) ||
      apns_session_new(&where, credentials, &session, &error))
    return fail("cannot start", error.message);
  apns_credentials_free(credentials);
  if (apns_session_connect(session, &error)) fprintf(stderr, "waiting: %s\n", error.message);

  int listener = listen_at(path);
  if (listener < 0) return fail(path, strerror(errno));
  printf("ready: %s\n", path);
  serve(listener);

  /* What was handed in before the signal is still pushed. */
  is_stopping = true;
  unlink(path);
  welcome(listener);
  close(listener);
  for (struct client *client = clients; client < clients + CLIENTS; client++) {
    if (client->fd >= 0 && client->length) take_lines(client);
    hear(client);
  }
  if (apns_session_drain(session, DRAIN_MS, NULL, &error))
    fprintf(stderr, "not all is known: %s\n", error.message);
  apns_session_close(session, 1000, NULL);
  take_outcomes();
  printf("drained: %lu taken = %lu accepted + %lu rejected + %lu unknown; %lu refused\n", taken,
         ends[APNS_EVENT_ACCEPTED], ends[APNS_EVENT_REJECTED], ends[APNS_EVENT_UNKNOWN], refused);
  apns_session_free(session);
  return ends[APNS_EVENT_UNKNOWN] ? EXIT_FAILURE : EXIT_SUCCESS;
}
