/*
 * A driver for Dovecot's push-notification plugin: new mail pushes to the user's devices through
 * APNs, as Apple Mail expects it. README.md describes its settings and the registrations.
 *
 *   cc -shared -fPIC -DHAVE_CONFIG_H -I/usr/include/dovecot push-notification-apns-plugin.c \
 *     $(pkg-config --cflags --libs apns) -o lib22_push_notification_apns_plugin.so
 *
 * One session serves all users of a process. Its descriptor is in the process's main ioloop.
 */
#include "lib.h"
/* lib.h is first in every file of Dovecot. */
#include <apns/apns.h>
#include <poll.h>

#include "array.h"
#include "dict.h"
#include "hash.h"
#include "hex-binary.h"
#include "ioloop.h"
#include "json-parser.h"
#include "mail-storage.h"
#include "mail-user.h"
#include "md5.h"
#include "module-dir.h"
#include "net.h"
#include "push-notification-drivers.h"
#include "push-notification-event-messagenew.h"
#include "push-notification-events.h"
#include "push-notification-plugin.h"
#include "push-notification-txn-msg.h"
#include "str.h"
#include "strescape.h"
#include "time-util.h"

#define APNS_DICT_PATH DICT_PATH_PRIVATE "apns/"
#define APNS_MAX_DEVICES 20
#define APNS_MAX_GONE 10000
#define APNS_EXPIRY_SECS (24 * 60 * 60)
#define APNS_END_MSECS 2000
#define APNS_CLOSE_MSECS 500

/* Shared by all users of the process. */
static struct {
  apns_session_t *session;
  struct ioloop *ioloop;
  struct io *io;
  struct event *event;
  /* Registrations ("user TAB token") that APNs rejected. Only their user's next mail may remove
     them, because the process may be root when the outcome arrives. */
  HASH_TABLE(char *, char *) gone;
} apns;

struct apns_user {
  const char *dict_uri;
};

struct apns_txn {
  bool new_mail;
};

void push_notification_apns_plugin_init(struct module *module);
void push_notification_apns_plugin_deinit(void);

/* ---- Session ---- */

static void apns_log(const apns_log_record_t *record, void *context ATTR_UNUSED) {
  if (record->level == APNS_LOG_ERROR)
    e_error(apns.event, "%s", record->line);
  else if (record->level == APNS_LOG_WARNING)
    e_warning(apns.event, "%s", record->line);
  else
    e_debug(apns.event, "%s", record->line);
}

static void apns_user_data_free(void *user_data) { i_free(user_data); }

static void apns_outcome(const apns_event_t *outcome) {
  char text[160], *registration = outcome->user_data;
  const char *user = t_strcut(registration, '\t');
  const char *token = t_strndup(registration + strlen(user) + 1, 8);

  apns_event_describe(outcome, text, sizeof(text));
  if (apns_event_has_invalid_token(outcome)) {
    e_info(apns.event, "user %s, device %s...: %s; the registration ends", user, token, text);
    if (hash_table_count(apns.gone) < APNS_MAX_GONE &&
        hash_table_lookup(apns.gone, registration) == NULL) {
      hash_table_insert(apns.gone, registration, registration);
      return;
    }
  } else if (outcome->kind == APNS_EVENT_ACCEPTED) {
    e_debug(apns.event, "user %s, device %s...: %s", user, token, text);
  } else {
    e_warning(apns.event, "user %s, device %s...: %s", user, token, text);
  }
  i_free(registration);
}

static void apns_take_outcomes(void) {
  apns_event_t outcome = APNS_EVENT_INIT;
  while (apns_session_next_event(apns.session, &outcome, 0, NULL) == APNS_OK) {
    T_BEGIN { apns_outcome(&outcome); }
    T_END;
  }
}

static void apns_input(void *context ATTR_UNUSED) {
  apns_session_process(apns.session, NULL); /* failures are in the log */
  apns_take_outcomes();
}

static const char *apns_setting(struct push_notification_driver_config *config, const char *name) {
  return hash_table_lookup(config->config, name);
}

static int apns_session_init(struct push_notification_driver_config *config, const char **error_r) {
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
  apns_credentials_t *credentials = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  struct ioloop_context *ioloop_context;
  const char *port = apns_setting(config, "port");
  const char *environment = apns_setting(config, "environment");

  who.certificate_file = apns_setting(config, "certificate_file");
  who.token_key_file = apns_setting(config, "key_file");
  who.key_id = apns_setting(config, "key_id");
  who.team_id = apns_setting(config, "team_id");
  who.token_cache_file = apns_setting(config, "token_cache_file");
  who.ca_file = apns_setting(config, "ca_file");
  where.topic = apns_setting(config, "topic");
  where.peer.host = apns_setting(config, "host");
  where.peer.nonblocking = 1;
  where.outcomes = APNS_OUTCOMES_EACH;
  where.user_data_free = apns_user_data_free;
  where.log = apns_log;
  if (who.certificate_file == NULL && (who.token_key_file == NULL || where.topic == NULL)) {
    *error_r = "Driver requires certificate_file, or key_file, key_id, team_id and topic";
    return -1;
  }
  if (port != NULL && net_str2port(port, &where.peer.port) < 0) {
    *error_r = t_strdup_printf("Invalid port: %s", port);
    return -1;
  }
  if (null_strcmp(environment, "sandbox") == 0) {
    where.environment = APNS_ENVIRONMENT_SANDBOX;
  } else if (environment != NULL && strcmp(environment, "production") != 0) {
    *error_r = t_strdup_printf("Invalid environment: %s", environment);
    return -1;
  }

  if (apns_credentials_new(&who, &credentials, &error) != APNS_OK ||
      apns_session_new(&where, credentials, &apns.session, &error) != APNS_OK) {
    *error_r = t_strdup(error.message);
    apns_credentials_free(credentials);
    return -1;
  }
  apns_credentials_free(credentials);

  /* It belongs to the process, not to the user whose mail comes first. */
  ioloop_context = io_loop_get_current_context(apns.ioloop);
  if (ioloop_context != NULL) io_loop_context_deactivate(ioloop_context);
  apns.io = io_add_to(apns.ioloop, apns_session_fd(apns.session), IO_READ, apns_input, NULL);
  if (ioloop_context != NULL) io_loop_context_activate(ioloop_context);
  return 0;
}

static long apns_msecs_left(const struct timeval *end) {
  struct timeval now;
  i_gettimeofday(&now);
  return timeval_diff_msecs(end, &now);
}

/* The process ends. Pushes without an outcome after two seconds are in the log. */
static void apns_session_deinit(void) {
  struct pollfd watched = {.fd = apns_session_fd(apns.session), .events = POLLIN};
  struct timeval end;
  bool closing = FALSE;

  i_gettimeofday(&end);
  timeval_add_msecs(&end, APNS_END_MSECS);
  io_remove(&apns.io);
  for (;;) {
    long left = apns_msecs_left(&end);
    if (!closing && apns_session_drain(apns.session, 0, NULL, NULL) == APNS_OK) closing = TRUE;
    if (!closing && left <= 0) {
      apns_session_cancel(apns.session, 0, NULL, NULL);
      closing = TRUE;
    }
    if (closing && apns_session_close(apns.session, APNS_CLOSE_MSECS, NULL) != APNS_ERR_AGAIN)
      break;
    apns_take_outcomes();
    (void)poll(&watched, 1, closing ? APNS_CLOSE_MSECS : (int)left);
    apns_session_process(apns.session, NULL);
  }
  apns_take_outcomes();
  apns_session_free(apns.session);
  apns.session = NULL;
}

/* ---- Pushes ---- */

/* Whether a registration ("account-id", or "account-id TAB mailbox TAB mailbox") is for it. */
static bool apns_registration_has(const char *const *fields, const char *mailbox) {
  if (fields[0] == NULL || fields[0][0] == '\0') return FALSE;
  return fields[1] == NULL ? strcasecmp(mailbox, "INBOX") == 0
                           : str_array_find(fields + 1, mailbox);
}

static void apns_push(struct mail_user *user, const char *token, const char *account_id,
                      const char *mailbox) {
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  apns_error_t error = APNS_ERROR_INIT;
  unsigned char digest[MD5_RESULTLEN];
  uint8_t bytes[APNS_TOKEN_MAX];
  string_t *payload = t_str_new(128);

  md5_get_digest(mailbox, strlen(mailbox), digest);
  str_append(payload, "{\"aps\":{\"account-id\":\"");
  json_append_escaped(payload, account_id);
  str_printfa(payload, "\",\"m\":[\"%s\"]}}", binary_to_hex(digest, sizeof(digest)));
  push.token = bytes;
  push.payload = str_data(payload);
  push.payload_length = str_len(payload);
  push.expiry = ioloop_time + APNS_EXPIRY_SECS;
  push.user_data = i_strdup_printf("%s\t%s", user->username, token);
  if (apns_token_from_hex(token, strlen(token), bytes, sizeof(bytes), &push.token_length, &error) !=
          APNS_OK ||
      apns_session_send(apns.session, &push, APNS_SEND_MORE, NULL, &error) != APNS_OK) {
    e_error(user->event, "push-notification-apns: not pushed to device %.8s...: %s", token,
            error.message);
    i_free(push.user_data);
  }
}

/* Removes a registration that APNs rejected. Returns FALSE if it was not rejected. */
static bool apns_remove_gone(struct mail_user *user, struct dict_transaction_context **trans,
                             struct dict *dict, const char *key, const char *token) {
  const char *registration = t_strdup_printf("%s\t%s", user->username, token);
  char *gone = hash_table_lookup(apns.gone, registration);

  if (gone == NULL) return FALSE;
  if (*trans == NULL) *trans = dict_transaction_begin(dict, mail_user_get_dict_op_settings(user));
  dict_unset(*trans, key);
  hash_table_remove(apns.gone, gone);
  i_free(gone);
  return TRUE;
}

static void apns_push_all(struct mail_user *user, const char *dict_uri, const char *mailbox) {
  struct dict_settings set = {.base_dir = user->set->base_dir, .event_parent = user->event};
  struct dict_transaction_context *trans = NULL;
  struct dict_iterate_context *iter;
  struct dict *dict;
  const char *key, *value, *error;
  unsigned int count = 0;

  if (dict_init(dict_uri, &set, &dict, &error) < 0) {
    e_error(user->event, "push-notification-apns: dict_init(%s) failed: %s", dict_uri, error);
    return;
  }
  iter = dict_iterate_init(dict, mail_user_get_dict_op_settings(user), APNS_DICT_PATH, 0);
  while (dict_iterate(iter, &key, &value)) {
    T_BEGIN {
      const char *token = key + strlen(APNS_DICT_PATH);
      const char *const *fields = t_strsplit_tabescaped(value);
      if (apns_remove_gone(user, &trans, dict, key, token))
        ;
      else if (++count == APNS_MAX_DEVICES + 1)
        e_error(user->event, "push-notification-apns: more than %u devices", APNS_MAX_DEVICES);
      else if (count <= APNS_MAX_DEVICES && apns_registration_has(fields, mailbox))
        apns_push(user, token, fields[0], mailbox);
    }
    T_END;
  }
  if (dict_iterate_deinit(&iter, &error) < 0)
    e_error(user->event, "push-notification-apns: dict_iterate(%s) failed: %s", dict_uri, error);
  if (trans != NULL && dict_transaction_commit(&trans, &error) < 0)
    e_error(user->event, "push-notification-apns: dict_transaction_commit(%s) failed: %s", dict_uri,
            error);
  dict_deinit(&dict);
  apns_session_flush(apns.session, NULL);
}

/* ---- Driver ---- */

static int push_notification_driver_apns_init(struct push_notification_driver_config *config,
                                              struct mail_user *user ATTR_UNUSED, pool_t pool,
                                              void **context, const char **error_r) {
  struct apns_user *auser;
  const char *dict_uri = apns_setting(config, "dict");

  if (dict_uri == NULL || *dict_uri == '\0') {
    *error_r = "Driver requires the dict parameter";
    return -1;
  }
  /* The first user's settings, but they are unlikely to differ. */
  if (apns.session == NULL && apns_session_init(config, error_r) < 0) return -1;
  auser = p_new(pool, struct apns_user, 1);
  auser->dict_uri = p_strdup(pool, dict_uri);
  *context = auser;
  return 0;
}

static bool push_notification_driver_apns_begin_txn(struct push_notification_driver_txn *dtxn) {
  struct push_notification_event_messagenew_config *config;

  dtxn->context = p_new(dtxn->ptxn->pool, struct apns_txn, 1);
  config = p_new(dtxn->ptxn->pool, struct push_notification_event_messagenew_config, 1);
  config->flags = PUSH_NOTIFICATION_MESSAGE_FLAGS; /* without any the event is ignored */
  push_notification_event_init(dtxn, "MessageNew", config);
  return TRUE;
}

static void push_notification_driver_apns_process_msg(struct push_notification_driver_txn *dtxn,
                                                      struct push_notification_txn_msg *msg) {
  struct apns_txn *txn = dtxn->context;
  if (push_notification_txn_msg_get_eventdata(msg, "MessageNew") != NULL) txn->new_mail = TRUE;
}

/* One push for all new mail of the transaction, which is in one mailbox. */
static void push_notification_driver_apns_end_txn(struct push_notification_driver_txn *dtxn,
                                                  bool success) {
  struct apns_user *auser = dtxn->duser->context;
  struct apns_txn *txn = dtxn->context;
  if (success && txn->new_mail)
    apns_push_all(dtxn->ptxn->muser, auser->dict_uri, mailbox_get_vname(dtxn->ptxn->mbox));
}

static const struct push_notification_driver push_notification_driver_apns = {
    .name = "apns",
    .v = {.init = push_notification_driver_apns_init,
          .begin_txn = push_notification_driver_apns_begin_txn,
          .process_msg = push_notification_driver_apns_process_msg,
          .end_txn = push_notification_driver_apns_end_txn}};

/* ---- Plugin ---- */

const char *push_notification_apns_plugin_version = DOVECOT_ABI_VERSION;
const char *push_notification_apns_plugin_dependencies[] = {"push_notification", NULL};

void push_notification_apns_plugin_init(struct module *module ATTR_UNUSED) {
  apns.ioloop = current_ioloop;
  apns.event = event_create(NULL);
  event_add_category(apns.event, push_notification_get_event_category());
  event_set_append_log_prefix(apns.event, "push-notification-apns: ");
  hash_table_create(&apns.gone, default_pool, 0, str_hash, strcmp);
  push_notification_driver_register(&push_notification_driver_apns);
}

void push_notification_apns_plugin_deinit(void) {
  struct hash_iterate_context *iter;
  char *key, *value;

  push_notification_driver_unregister(&push_notification_driver_apns);
  if (apns.session != NULL) apns_session_deinit();
  iter = hash_table_iterate_init(apns.gone);
  while (hash_table_iterate(iter, apns.gone, &key, &value)) i_free(key);
  hash_table_iterate_deinit(&iter);
  hash_table_destroy(&apns.gone);
  event_unref(&apns.event);
}
