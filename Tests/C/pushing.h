/* The provider's side of the tests of sessions over HTTP/2. */
#ifndef TESTS_PUSHING_H
#define TESTS_PUSHING_H

#include "provider.h"
#include "Service/service.h"

/** Options for a session to the service, with deadlines that end a failing test; every
    outcome is an event. */
apns_session_options_t push_options(const service_t *service);

/** A session to it with provider_credentials(); `options` NULL: push_options(). */
apns_session_t *push_session(const service_t *service, const apns_session_options_t *options);

/** The same with changes of push_options(), as session_where() has them. */
#define push_session_where(service, ...)                                       \
  ({                                                                           \
    apns_session_options_t options = push_options(service);                    \
    __attribute__((unused)) apns_tuning_t *const tuning = tuning_of(&options); \
    __VA_ARGS__;                                                               \
    push_session(service, &options);                                           \
  })

/** A judge: replies to the first request with the `service_reply_t` of its context, and accepts all
    others. */
service_reply_t judge_first(void *context, const service_push_t *push);

/** The number that notification() wrote into the token. */
size_t number_of(const service_push_t *push);

/** Frees the session and stops the service, whose records stay. */
void push_stop(apns_session_t *session, service_t *service);

/** Frees the service too. */
void push_end(apns_session_t *session, service_t *service);

#endif
