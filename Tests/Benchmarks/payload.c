#include "payload.h"

#include <apns/apns.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  BUILD,
  TEMPLATE,
  ACTIVITY,
  SHORTEN,
  CHECK,
  CHECK_LONGER,
  FROM_HEX,
  FROM_BASE64,
  JANSSON,
  JANSSON_LOADS,
  CONTENDERS
};
static const char *const names[CONTENDERS] = {"library: reset, set, write",
                                              "library: template, alert",
                                              "library: template, Live Activity",
                                              "library: shortened to 256",
                                              "library: check",
                                              "library: check, longer",
                                              "library: token from hex",
                                              "library: token from base64",
                                              "jansson: make, dump",
                                              "jansson: load"};

#define BUILDS 200000
#define ROUNDS_MAX 15

/* Allocations of the library, of jansson and of others; see CMakeLists.txt. */
static size_t allocations;
static void *counting_malloc(size_t size) {
  allocations++;
  return malloc(size);
}
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size) {
  allocations++;
  return __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
  allocations++;
  return __real_calloc(count, size);
}
void *__wrap_realloc(void *memory, size_t size) {
  allocations++;
  return __real_realloc(memory, size);
}

static const char *const alerts[] = {"Bob wants to play poker", "Message from javacom",
                                     "Your order has been shipped", "It is 18 degrees outside"};
static const char expected[] =
    "{\"aps\":{\"alert\":\"Bob wants to play poker\",\"badge\":0,\"sound\":\"default\"},"
    "\"game\":\"5f79cfda\"}";

static const char longer[] =
    "{\"aps\":{\"alert\":{\"title\":\"Your order\",\"body\":\"Your order has been shipped and will "
    "be with you on Tuesday between 10 and 12 o'clock\"},\"badge\":3,\"sound\":\"default\","
    "\"category\":\"ORDER\",\"thread-id\":\"orders\"},\"order\":{\"id\":123456,"
    "\"items\":[\"a\",\"b\",\"c\"],\"total\":12.5,\"paid\":true}}";
static const char hex[] = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412";
static const char base64[] = "X3nP2k0BqjoRyDP5e1LfKnohAlLiGwH6pz00Y57g5BI=";

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static size_t build(apns_payload_t *payload, size_t i, char *buffer, size_t capacity) {
  const char *alert = alerts[i % 4];
  size_t length = 0;
  apns_payload_reset(payload);
  if (apns_payload_set_string(payload, APNS_KEY_ALERT, alert, strlen(alert), NULL) ||
      apns_payload_set_integer(payload, APNS_KEY_BADGE, (int64_t)(i % 100), NULL) ||
      apns_payload_set_string(payload, APNS_KEY_SOUND, "default", 7, NULL) ||
      apns_payload_add_string(payload, "game", 4, "5f79cfda", 8, NULL) ||
      apns_payload_write(payload, buffer, capacity, &length, NULL, NULL))
    fail("the library refused the payload");
  return length;
}

static size_t change(apns_payload_t *payload, size_t i, char *buffer, size_t capacity) {
  const char *alert = alerts[i % 4];
  size_t length = 0;
  if (apns_payload_set_string(payload, APNS_KEY_ALERT, alert, strlen(alert), NULL) ||
      apns_payload_write(payload, buffer, capacity, &length, NULL, NULL))
    fail("the library refused the template");
  return length;
}

static const char *const states[] = {
    "{\"currentHealthLevel\":0.0,\"eventDescription\":\"Power Panda has been knocked down!\"}",
    "{\"currentHealthLevel\":0.941,\"eventDescription\":\"Power Panda found a sword!\"}"};

static size_t update(apns_payload_t *payload, size_t i, char *buffer, size_t capacity) {
  const char *state = states[i % 2];
  size_t length = 0;
  if (apns_payload_set_json(payload, APNS_KEY_CONTENT_STATE, state, strlen(state), NULL) ||
      apns_payload_set_integer(payload, APNS_KEY_TIMESTAMP, 1685952000 + (int64_t)i, NULL) ||
      apns_payload_write(payload, buffer, capacity, &length, NULL, NULL))
    fail("the library refused the Live Activity");
  return length;
}

static size_t dump(size_t i, char *buffer, size_t capacity) {
  json_t *aps = json_object(), *top = json_object();
  json_object_set_new(aps, "alert", json_string(alerts[i % 4]));
  json_object_set_new(aps, "badge", json_integer((json_int_t)(i % 100)));
  json_object_set_new(aps, "sound", json_string("default"));
  json_object_set_new(top, "aps", aps);
  json_object_set_new(top, "game", json_string("5f79cfda"));
  size_t length = json_dumpb(top, buffer, capacity, JSON_COMPACT);
  json_decref(top);
  return length;
}

typedef struct figures {
  double ns, allocations, bytes;
} figures_t;

static figures_t run(int contender, apns_payload_t *payload, apns_payload_t *narrow,
                     apns_payload_t *activity) {
  char buffer[2048];
  size_t bytes = 0, before = allocations;
  struct timespec start, end;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
  for (size_t i = 0; i < BUILDS; i++) {
    size_t length = 0;
    if (contender == BUILD) {
      length = build(payload, i, buffer, sizeof buffer);
    } else if (contender == TEMPLATE) {
      length = change(payload, i, buffer, sizeof buffer);
    } else if (contender == ACTIVITY) {
      length = update(activity, i, buffer, sizeof buffer);
    } else if (contender == SHORTEN) {
      if (apns_payload_write(narrow, buffer, sizeof buffer, &length, NULL, NULL))
        fail("the library did not truncate");
    } else if (contender == CHECK) {
      length = sizeof expected - 1;
      if (apns_payload_check(expected, length, 0, NULL, 0, NULL, NULL))
        fail("the library found a fault");
    } else if (contender == CHECK_LONGER) {
      length = sizeof longer - 1;
      if (apns_payload_check(longer, length, 0, NULL, 0, NULL, NULL))
        fail("the library found a fault in the longer one");
    } else if (contender == FROM_HEX) {
      if (apns_token_from_hex(hex, sizeof hex - 1, (uint8_t *)buffer, sizeof buffer, &length, NULL))
        fail("the library refused the hex");
    } else if (contender == FROM_BASE64) {
      if (apns_token_from_base64(base64, sizeof base64 - 1, (uint8_t *)buffer, sizeof buffer,
                                 &length, NULL))
        fail("the library refused the base64");
    } else if (contender == JANSSON) {
      length = dump(i, buffer, sizeof buffer);
    } else {
      json_t *loaded = json_loadb(expected, sizeof expected - 1, 0, NULL);
      if (!loaded) fail("jansson found a fault");
      json_decref(loaded);
      length = sizeof expected - 1;
    }
    bytes += length;
  }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  double ns = (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
  return (figures_t){.ns = ns / BUILDS,
                     .allocations = (double)(allocations - before) / BUILDS,
                     .bytes = (double)bytes / BUILDS};
}

static int by_ns(const void *a, const void *b) {
  double x = ((const figures_t *)a)->ns, y = ((const figures_t *)b)->ns;
  return (x > y) - (x < y);
}

void payload_measure(int rounds, bool json) {
  static figures_t all[CONTENDERS][ROUNDS_MAX];
  char buffer[256], text[600];
  json_set_alloc_funcs(counting_malloc, free);
  if (rounds > ROUNDS_MAX) rounds = ROUNDS_MAX;

  apns_payload_t *payload = NULL, *narrow = NULL, *activity = NULL;
  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  options.limit = 256;
  options.truncate = 1;
  memset(text, 'x', sizeof text);
  if (apns_payload_new(NULL, &payload, NULL) || apns_payload_new(&options, &narrow, NULL) ||
      apns_payload_set_string(narrow, APNS_KEY_ALERT, text, sizeof text, NULL) ||
      apns_payload_new(NULL, &activity, NULL) ||
      apns_payload_set_string(activity, APNS_KEY_EVENT, "update", 6, NULL) ||
      apns_payload_set_integer(activity, APNS_KEY_STALE_DATE, 1685955600, NULL))
    fail("no payload");
  /* The comparison is meaningful only if both write the same bytes. */
  size_t length = build(payload, 0, buffer, sizeof buffer);
  if (length != sizeof expected - 1 || memcmp(buffer, expected, length))
    fail("the library wrote something else");
  length = dump(0, buffer, sizeof buffer);
  if (length != sizeof expected - 1 || memcmp(buffer, expected, length))
    fail("jansson wrote something else");

  for (int round = -1; round < rounds; round++)
    for (int contender = 0; contender < CONTENDERS; contender++) {
      figures_t figures = run(contender, payload, narrow, activity);
      if (round >= 0) all[contender][round] = figures;
    }
  if (!json)
    printf("\nPayloads of %zu bytes, %d of each, median of %d rounds\n%-30s %8s %12s %8s %8s\n",
           sizeof expected - 1, BUILDS, rounds, "", "CPU ns", "allocations", "bytes", "ns/byte");
  for (int contender = 0; contender < CONTENDERS; contender++) {
    qsort(all[contender], (size_t)rounds, sizeof **all, by_ns);
    figures_t *median = &all[contender][rounds / 2];
    printf(json ? "{\"contender\":\"%s\",\"cpu_ns\":%.1f,\"allocations\":%.2f,\"bytes\":%.0f,"
                  "\"ns_per_byte\":%.2f}\n"
                : "%-30s %8.0f %12.2f %8.0f %8.2f\n",
           names[contender], median->ns, median->allocations, median->bytes,
           median->ns / median->bytes);
  }
  fflush(stdout);
  apns_payload_free(payload);
  apns_payload_free(activity);
  apns_payload_free(narrow);
}
