/*
 * A plugin for Mosquitto 2.0: a message to push/<app>/<token> goes to APNs as well. README.md
 * describes its options and outcomes.
 *
 *   cc -shared -fPIC mosquitto_apns.c $(pkg-config --cflags --libs apns) -o mosquitto_apns.so
 *
 * All of it runs on the broker's one thread, in its callbacks. The broker calls TICK after each
 * round of its loop, at least ten times a second; the session never waits.
 */
#include <apns/apns.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* In this order. */
#include <mosquitto.h>
#include <mosquitto_broker.h>
#include <mosquitto_plugin.h>
#include <mqtt_protocol.h>

#define TOPIC "push/"
#define OUTCOME_TOPIC "push-outcome"
enum { TOPIC_MAX = 512, ANSWER_MAX = 1024, JSON_MAX = 640 };
enum { OUTCOMES_PER_TICK = 100, TURNS_PER_TICK = 5 };
enum { END_MS = 5000, CLOSE_MS = 1000 };

/* Where the outcome of a push goes: the notification's user_data. */
struct request {
  char *topic, *response_topic, *client_id;
  void *correlation;
  uint16_t correlation_length;
};

struct plugin {
  mosquitto_plugin_id_t *identifier;
  apns_session_t *session;
  char *options[8]; /* values, in the order of `names` */
  bool has_ticked, is_full;
};

enum { KEY_FILE, KEY_ID, TEAM_ID, CERTIFICATE_FILE, CA_FILE, HOST, PORT, ENVIRONMENT };
static const char *const names[] = {"key_file", "key_id", "team_id", "certificate_file",
                                    "ca_file",  "host",   "port",    "environment"};

static void request_free(void *user_data) {
  struct request *request = user_data;
  if (!request) return;
  mosquitto_free(request->topic);
  free(request->response_topic);
  mosquitto_free(request->client_id);
  free(request->correlation);
  mosquitto_free(request);
}

/* ---- Outcomes ---- */

/* These leave room for the last brace. `text` has no control characters. */
static void append_string(char *json, const char *name, const char *text) {
  size_t length = strlen(json), capacity = JSON_MAX - 1;
  length += (size_t)snprintf(json + length, capacity - length, ",\"%s\":\"", name);
  for (; *text && length + 4 < capacity; text++) {
    if (*text == '"' || *text == '\\') json[length++] = '\\';
    json[length++] = *text;
  }
  snprintf(json + length, capacity - length, "\"");
}

static void append_number(char *json, const char *name, long long number) {
  size_t length = strlen(json);
  snprintf(json + length, JSON_MAX - 1 - length, ",\"%s\":%lld", name, number);
}

static void publish(const char *client_id, const char *topic, const struct request *request,
                    const char *json) {
  mosquitto_property *properties = NULL;
  if (request->correlation)
    mosquitto_property_add_binary(&properties, MQTT_PROP_CORRELATION_DATA, request->correlation,
                                  request->correlation_length);
  if (mosquitto_broker_publish_copy(client_id, topic, (int)strlen(json), json, 1, false,
                                    properties)) {
    mosquitto_log_printf(MOSQ_LOG_ERR, "APNs: outcome not published: %s", json);
    mosquitto_property_free_all(&properties);
  }
}

/* To everybody who may read it. A response topic is the publisher's own choice, which no access
   list has seen, so only the publisher gets the outcome there. */
static void tell(const struct request *request, const char *json) {
  char topic[sizeof OUTCOME_TOPIC + TOPIC_MAX] = OUTCOME_TOPIC;
  if (request->topic)
    snprintf(topic, sizeof topic, OUTCOME_TOPIC "%s", request->topic + strlen(TOPIC) - 1);
  publish(NULL, topic, request, json);
  if (request->response_topic) publish(request->client_id, request->response_topic, request, json);
}

/* The app and the beginning of the device token, for the log. */
static void log_outcome(const struct request *request, const char *what) {
  const char *place = request->topic ? request->topic + strlen(TOPIC) : "";
  const char *slash = strchr(place, '/');
  int length = slash ? (int)(slash - place) + 1 : 0;
  mosquitto_log_printf(MOSQ_LOG_NOTICE, "APNs: push to %.*s%.8s... %s", length, place,
                       place + length, what);
}

static void take_outcome(const apns_event_t *event, bool is_end) {
  char json[JSON_MAX], line[160];
  struct request *request = event->user_data;

  snprintf(json, sizeof json, "{\"outcome\":\"%s\"", apns_event_kind_text(event->kind));
  if (*event->reason_text) append_string(json, "reason", event->reason_text);
  if (event->http_status) append_number(json, "status", event->http_status);
  if (event->timestamp) append_number(json, "gone_since", event->timestamp);
  if (event->retry_after_s) append_number(json, "retry_after_s", event->retry_after_s);
  if (*event->apns_id) append_string(json, "apns_id", event->apns_id);
  strcat(json, "}");
  /* At the end nobody is connected any more. */
  if (!is_end) tell(request, json);
  if (event->kind != APNS_EVENT_ACCEPTED) {
    apns_event_describe(event, line, sizeof line);
    log_outcome(request, line);
  }
  request_free(request);
}

static void take_outcomes(struct plugin *plugin, int most, bool is_end) {
  apns_event_t event = APNS_EVENT_INIT;
  while (most-- > 0 && apns_session_next_event(plugin->session, &event, 0, NULL) == APNS_OK)
    take_outcome(&event, is_end);
}

static int on_tick(int event, void *event_data, void *userdata) {
  struct plugin *plugin = userdata;
  struct pollfd watched = {.fd = apns_session_fd(plugin->session), .events = POLLIN};
  (void)event, (void)event_data;

  plugin->has_ticked = true;
  for (int turn = 0; turn < TURNS_PER_TICK && poll(&watched, 1, 0) > 0; turn++)
    apns_session_process(plugin->session, NULL); /* failures are in the log */
  take_outcomes(plugin, OUTCOMES_PER_TICK, false);
  return MOSQ_ERR_SUCCESS;
}

/* ---- Messages ---- */

/* Fills in a header of APNs from a user property. Returns false if it is wrong. */
static bool set_header(apns_notification_t *push, const char *name, char **value) {
  char *end = "";
  long long number = strtoll(*value, &end, 10);
  bool is_number = **value >= '0' && **value <= '9' && *end == 0;

  if (strcmp(name, "apns-collapse-id") == 0 && !push->collapse_id) {
    push->collapse_id = *value;
    *value = NULL; /* now the caller's, to free after the send */
  } else if (strcmp(name, "apns-priority") == 0 && is_number && number > 0 && number <= 10) {
    push->priority = (uint8_t)number;
  } else if (strcmp(name, "apns-expiration") == 0 && is_number) {
    push->expiry = number ? number : APNS_EXPIRY_ONCE;
  } else if (strcmp(name, "apns-push-type") == 0) {
    for (int type = APNS_PUSH_TYPE_ALERT; type <= APNS_PUSH_TYPE_CONTROLS; type++)
      if (strcmp(*value, apns_push_type_text((apns_push_type_t)type)) == 0)
        push->push_type = (uint8_t)type;
    return push->push_type != 0;
  } else {
    return strncmp(name, "apns-", 5) != 0;
  }
  return true;
}

/* Returns why the headers are refused, or NULL. */
static const char *read_headers(apns_notification_t *push, const mosquitto_property *properties) {
  const mosquitto_property *at = properties;
  const char *why = NULL;
  char *name = NULL, *value = NULL;

  for (bool is_later = false; !why; is_later = true) {
    at = mosquitto_property_read_string_pair(at, MQTT_PROP_USER_PROPERTY, &name, &value, is_later);
    if (!at) break;
    if (!name || !value || !set_header(push, name, &value))
      why = "a user property apns-... is unknown, repeated or has a wrong value";
    free(name);
    free(value);
    name = value = NULL;
  }
  return why;
}

/* Returns NULL without memory. */
static struct request *request_new(const struct mosquitto_evt_message *message) {
  struct request *request = mosquitto_calloc(1, sizeof *request);
  const char *client_id = mosquitto_client_id(message->client);
  if (!request) return NULL;
  mosquitto_property_read_string(message->properties, MQTT_PROP_RESPONSE_TOPIC,
                                 &request->response_topic, false);
  mosquitto_property_read_binary(message->properties, MQTT_PROP_CORRELATION_DATA,
                                 &request->correlation, &request->correlation_length, false);
  if (request->response_topic &&
      (!*request->response_topic || mosquitto_pub_topic_check(request->response_topic))) {
    free(request->response_topic); /* the broker does not check it */
    request->response_topic = NULL;
  }
  request->client_id = mosquitto_strdup(client_id ? client_id : "");
  if (request->client_id) return request;
  request_free(request);
  return NULL;
}

/* Returns why a message is refused, or NULL when the session has it and its request. */
static const char *push(struct plugin *plugin, const struct mosquitto_evt_message *message,
                        struct request *request, apns_status_t *status, apns_error_t *error) {
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  uint8_t token[APNS_TOKEN_MAX];
  char app[TOPIC_MAX];
  const char *why = NULL, *hex = strchr(message->topic + strlen(TOPIC), '/');
  size_t answer = request->correlation_length + strlen(request->client_id);

  *status = APNS_ERR_ARGUMENT;
  if (request->response_topic) answer += strlen(request->response_topic);
  if (strlen(message->topic) >= TOPIC_MAX || !hex || strchr(hex + 1, '/'))
    return "the topic is not " TOPIC "APP/TOKEN";
  if (!(request->topic = mosquitto_strdup(message->topic))) return "out of memory";
  if (answer > ANSWER_MAX) return "response topic, correlation data and client ID are too long";

  snprintf(app, sizeof app, "%.*s", (int)(hex - message->topic - (long)strlen(TOPIC)),
           message->topic + strlen(TOPIC));
  push.topic = app;
  push.token = token;
  push.payload = message->payload ? message->payload : "";
  push.payload_length = message->payloadlen;
  push.user_data = request;
  if (apns_token_from_hex(hex + 1, strlen(hex + 1), token, sizeof token, &push.token_length, error))
    return error->message;
  why = read_headers(&push, message->properties);
  if (!why) {
    /* The next tick writes it. */
    *status = apns_session_send(plugin->session, &push, APNS_SEND_MORE, NULL, error);
    if (*status == APNS_ERR_FULL) {
      take_outcomes(plugin, OUTCOMES_PER_TICK, false);
      *status = apns_session_send(plugin->session, &push, APNS_SEND_MORE, NULL, error);
    }
    if (*status != APNS_OK) why = error->message;
  }
  free((char *)push.collapse_id);
  return why;
}

static void refuse(struct request *request, const char *why) {
  char json[JSON_MAX] = "{\"outcome\":\"refused\"";
  append_string(json, "reason", why);
  strcat(json, "}");
  tell(request, json);
}

static int on_message(int event, void *event_data, void *userdata) {
  struct plugin *plugin = userdata;
  struct mosquitto_evt_message *message = event_data;
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status = APNS_ERR_MEMORY;
  struct request *request;
  const char *why;
  bool can_tell = mosquitto_client_protocol_version(message->client) == 5;
  (void)event;

  if (strncmp(message->topic, TOPIC, strlen(TOPIC)) != 0) return MOSQ_ERR_SUCCESS;
  if (!plugin->has_ticked) {
    mosquitto_log_printf(
        MOSQ_LOG_ERR, "APNs: with per_listener_settings this broker never calls the plugin's tick");
    return MOSQ_ERR_NOT_SUPPORTED;
  }
  if (!(request = request_new(message))) return MOSQ_ERR_NOMEM;
  why = push(plugin, message, request, &status, &error);
  if (!why) {
    plugin->is_full = false;
    return MOSQ_ERR_SUCCESS;
  }

  bool is_full = status == APNS_ERR_FULL || apns_status_is_retryable(status);
  if (is_full && !plugin->is_full)
    mosquitto_log_printf(MOSQ_LOG_WARNING, "APNs: the session is full, messages are refused");
  if (is_full) plugin->is_full = true;
  /* MQTT 3 cannot refuse one message. Its client loses the connection and sends the message again
     when it is back. No second try helps where the message is wrong. */
  if (is_full && !can_tell && message->qos > 0) {
    request_free(request);
    return MOSQ_ERR_NOMEM;
  }
  refuse(request, is_full ? "the session is full" : why);
  request_free(request);
  return can_tell ? MOSQ_ERR_ACL_DENIED : MOSQ_ERR_SUCCESS;
}

/* ---- Start, reload, end ---- */

static void on_log(const apns_log_record_t *record, void *context) {
  static const int levels[] = {MOSQ_LOG_INFO,   MOSQ_LOG_ERR,  MOSQ_LOG_WARNING,
                               MOSQ_LOG_NOTICE, MOSQ_LOG_INFO, MOSQ_LOG_DEBUG};
  bool is_known = record->level >= 0 && (size_t)record->level < sizeof levels / sizeof *levels;
  (void)context;
  mosquitto_log_printf(is_known ? levels[record->level] : MOSQ_LOG_DEBUG, "APNs: %s", record->line);
}

static apns_status_t credentials_new(const struct plugin *plugin, apns_credentials_t **credentials,
                                     apns_error_t *error) {
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  who.token_key_file = plugin->options[KEY_FILE];
  who.key_id = plugin->options[KEY_ID];
  who.team_id = plugin->options[TEAM_ID];
  who.certificate_file = plugin->options[CERTIFICATE_FILE];
  who.ca_file = plugin->options[CA_FILE];
  return apns_credentials_new(&who, credentials, error);
}

/* Reads certificate and key again. The broker calls the next plugin only after PLUGIN_DEFER. */
static int on_reload(int event, void *event_data, void *userdata) {
  struct plugin *plugin = userdata;
  apns_credentials_t *credentials = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  (void)event, (void)event_data;

  if (credentials_new(plugin, &credentials, &error) ||
      apns_session_use_credentials(plugin->session, credentials, &error))
    mosquitto_log_printf(MOSQ_LOG_ERR, "APNs: the old credentials stay in use: %s", error.message);
  apns_credentials_free(credentials);
  return MOSQ_ERR_PLUGIN_DEFER;
}

/* Returns false if an option is unknown or wrong. */
static bool read_options(struct plugin *plugin, apns_session_options_t *where,
                         const struct mosquitto_opt *opts, int opt_count) {
  enum { COUNT = sizeof names / sizeof *names };
  for (int n = 0; n < opt_count; n++) {
    size_t at = 0;
    while (at < COUNT && strcmp(opts[n].key, names[at]) != 0) at++;
    if (at == COUNT || plugin->options[at]) {
      mosquitto_log_printf(MOSQ_LOG_ERR, "APNs: plugin_opt_%s is unknown or repeated", opts[n].key);
      return false;
    }
    if (!(plugin->options[at] = mosquitto_strdup(opts[n].value))) return false;
  }

  if (!plugin->options[KEY_FILE] && !plugin->options[CERTIFICATE_FILE]) {
    mosquitto_log_printf(MOSQ_LOG_ERR,
                         "APNs: plugin_opt_key_file or plugin_opt_certificate_file is missing");
    return false;
  }
  const char *port = plugin->options[PORT], *environment = plugin->options[ENVIRONMENT];
  char *end = "";
  unsigned long number = port ? strtoul(port, &end, 10) : 0;
  if (*end || number > 65535) {
    mosquitto_log_printf(MOSQ_LOG_ERR, "APNs: plugin_opt_port is not a port");
    return false;
  }
  if (environment && strcmp(environment, "sandbox") != 0 &&
      strcmp(environment, "production") != 0) {
    mosquitto_log_printf(MOSQ_LOG_ERR, "APNs: plugin_opt_environment is sandbox or production");
    return false;
  }
  where->peer.host = plugin->options[HOST];
  where->peer.port = (uint16_t)number;
  if (environment && strcmp(environment, "sandbox") == 0)
    where->environment = APNS_ENVIRONMENT_SANDBOX;
  return true;
}

static void plugin_free(struct plugin *plugin) {
  apns_session_free(plugin->session);
  for (size_t at = 0; at < sizeof names / sizeof *names; at++) mosquitto_free(plugin->options[at]);
  mosquitto_free(plugin);
}

int mosquitto_plugin_version(int supported_version_count, const int *supported_versions) {
  for (int n = 0; n < supported_version_count; n++)
    if (supported_versions[n] == MOSQ_PLUGIN_VERSION) return MOSQ_PLUGIN_VERSION;
  return -1;
}

/* The broker has forked and given up its privileges. */
int mosquitto_plugin_init(mosquitto_plugin_id_t *identifier, void **userdata,
                          struct mosquitto_opt *opts, int opt_count) {
  apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
  apns_credentials_t *credentials = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  struct plugin *plugin = mosquitto_calloc(1, sizeof *plugin);
  int rc = MOSQ_ERR_INVAL;

  if (!plugin) return MOSQ_ERR_NOMEM;
  plugin->identifier = identifier;
  where.peer.nonblocking = 1;
  where.outcomes = APNS_OUTCOMES_EACH;
  where.user_data_free = request_free;
  where.log = on_log;
  if (read_options(plugin, &where, opts, opt_count)) {
    if (credentials_new(plugin, &credentials, &error) ||
        apns_session_new(&where, credentials, &plugin->session, &error))
      mosquitto_log_printf(MOSQ_LOG_ERR, "APNs: %s", error.message);
    else
      rc = MOSQ_ERR_SUCCESS;
  }
  apns_credentials_free(credentials);

  if (!rc) rc = mosquitto_callback_register(identifier, MOSQ_EVT_MESSAGE, on_message, NULL, plugin);
  if (!rc) rc = mosquitto_callback_register(identifier, MOSQ_EVT_TICK, on_tick, NULL, plugin);
  if (!rc) rc = mosquitto_callback_register(identifier, MOSQ_EVT_RELOAD, on_reload, NULL, plugin);
  if (rc) {
    plugin_free(plugin);
    return rc;
  }
  *userdata = plugin;
  apns_session_connect(plugin->session, NULL); /* a mistake is in the log before the first push */
  return MOSQ_ERR_SUCCESS;
}

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The broker has closed all its connections. Pushes without an outcome after END_MS are logged. */
int mosquitto_plugin_cleanup(void *userdata, struct mosquitto_opt *opts, int opt_count) {
  struct plugin *plugin = userdata;
  struct pollfd watched = {.fd = apns_session_fd(plugin->session), .events = POLLIN};
  bool is_closing = false;
  long left;
  (void)opts, (void)opt_count;

  mosquitto_callback_unregister(plugin->identifier, MOSQ_EVT_MESSAGE, on_message, NULL);
  mosquitto_callback_unregister(plugin->identifier, MOSQ_EVT_TICK, on_tick, NULL);
  mosquitto_callback_unregister(plugin->identifier, MOSQ_EVT_RELOAD, on_reload, NULL);
  for (long end = now_ms() + END_MS;;) {
    if (!is_closing && apns_session_drain(plugin->session, 0, NULL, NULL) == APNS_OK)
      is_closing = true;
    left = end - now_ms();
    if (!is_closing && left <= 0) {
      /* Pushes that were not written end as cancelled, the others as unknown after the close. */
      apns_session_cancel(plugin->session, 0, NULL, NULL);
      is_closing = true;
    }
    if (is_closing && apns_session_close(plugin->session, CLOSE_MS, NULL) != APNS_ERR_AGAIN) break;
    take_outcomes(plugin, OUTCOMES_PER_TICK, true);
    poll(&watched, 1, is_closing ? -1 : (int)left);
    apns_session_process(plugin->session, NULL);
  }
  take_outcomes(plugin, 0x7fffffff, true);
  plugin_free(plugin);
  return MOSQ_ERR_SUCCESS;
}
