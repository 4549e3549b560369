/*
 * The floor of a relay over Redis: the commands alone that claim entries and record that all are
 * accepted, pipelined, with no script and nothing between. A producer's commands are not measured.
 * apns_redis_floor SOCKET [ENTRIES [TOGETHER [DEVICES]]] prints the µs of CPU for each device, of
 * this program and of Redis; callgrind counts the instructions of relay().
 */
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { most = 4096, most_devices = 500, token_length = 64, record_length = 1000 };
static const char *const input = "apns:{shop}:in", *const output = "apns:{shop}:out",
                         *const ids = "apns:{shop}:ids";
static redisContext *redis;
static int devices;
/* A command's words. */
static const char *words[2 * most + 8];
static size_t lengths[2 * most + 8];
static int word_count;
static char record_text[record_length * 256];

static void must(bool is_fine) {
  if (is_fine) return;
  fprintf(stderr, "%s\n", redis && redis->err ? redis->errstr : "Redis refuses");
  exit(1);
}

static redisReply *reply(void) {
  void *got = NULL;
  must(redisGetReply(redis, &got) == REDIS_OK && ((redisReply *)got)->type != REDIS_REPLY_ERROR);
  return got;
}

static void skip(int count) {
  while (count-- > 0) freeReplyObject(reply());
}

static void add_bytes(const char *text, size_t length) {
  words[word_count] = text;
  lengths[word_count++] = length;
}

static void add(const char *text) { add_bytes(text, strlen(text)); }

/* Begins a command; send() ends it. */
static void begin(const char *name, const char *key) {
  word_count = 0;
  add(name);
  add(key);
}

static void send(void) {
  must(redisAppendCommandArgv(redis, word_count, words, lengths) == REDIS_OK);
}

static void enqueue(int count) {
  static char tokens[most_devices * (token_length + 3) + 3];
  char id[40], payload[256];
  snprintf(payload, sizeof payload, "{\"aps\":{\"alert\":\"%0150d\"}}", 0);
  for (int i = 0; i < count; i++) {
    snprintf(id, sizeof id, "%08x-%04x-4%03x-8%03x-%012x", (unsigned)rand(), rand() & 0xffff,
             rand() & 0xfff, rand() & 0xfff, (unsigned)i);
    char *at = tokens;
    for (int n = 0; n < devices; n++)
      at += sprintf(at,
                    devices == 1 ? "%08x%056x"
                    : n == 0     ? "[\"%08x%056x\""
                                 : ",\"%08x%056x\"",
                    (unsigned)rand(), (unsigned)(i * devices + n));
    if (devices > 1) strcpy(at, "]");
    begin("XADD", input);
    add("*"), add("id"), add(id), add(devices == 1 ? "token" : "tokens"), add(tokens);
    add("payload"), add(payload);
    send();
    if (i % 100 == 99 || i == count - 1) skip(i % 100 + 1);
  }
}

static redisReply *id_of(const redisReply *entry) { return entry->element[1]->element[1]; }

/* Looks whether the IDs are known, and notes the entries that own them. */
static void own(redisReply **entries, size_t count) {
  begin("HMGET", ids);
  for (size_t i = 0; i < count; i++) add_bytes(id_of(entries[i])->str, id_of(entries[i])->len);
  send();
  begin("HSET", ids);
  for (size_t i = 0; i < count; i++) {
    add_bytes(id_of(entries[i])->str, id_of(entries[i])->len);
    add_bytes(entries[i]->element[0]->str, entries[i]->element[0]->len);
  }
  send();
  skip(2);
}

static char *put(char *at, const char *text, size_t length) {
  memcpy(at, text, length);
  return at + length;
}

#define PUT(at, text) put(at, text, sizeof(text) - 1)

static char *put_devices(char *at, const redisReply *id, const redisReply *tokens) {
  const char *token = tokens->str + (devices == 1 ? 0 : 2);
  for (int n = 0; n < devices; n++, token += token_length + 3) {
    at = n == 0 ? PUT(at, "[\"") : PUT(at, ",[\"");
    at = put(at, token, token_length);
    at += sprintf(at, "\",%d,\"", n);
    at = put(at, id->str, id->len);
    at = PUT(at, "\"]");
  }
  return at;
}

/* One record in the stream of outcomes. */
static void add_outcomes(redisReply **entries, size_t count) {
  char *at = PUT(record_text, "[");
  for (size_t i = 0; i < count; i++) {
    const redisReply *id = id_of(entries[i]);
    at = i == 0 ? PUT(at, "{\"id\":\"") : PUT(at, ",{\"id\":\"");
    at = put(at, id->str, id->len);
    at = PUT(at,
             "\",\"deliveries\":1,\"outcome\":\"accepted\",\"reason\":\"\",\"http_status\":200,"
             "\"devices\":[");
    at = PUT(put_devices(at, id, entries[i]->element[1]->element[3]), "]}");
  }
  at = PUT(at, "]");
  begin("XADD", output);
  add("*"), add("at"), add("1800000000000"), add("outcomes");
  add_bytes(record_text, (size_t)(at - record_text));
  send();
}

static void record(redisReply **entries, size_t count) {
  const size_t together = (size_t)(record_length / devices);
  int sent = 3;
  for (size_t i = 0; i < count; i += together, sent++)
    add_outcomes(entries + i, count - i < together ? count - i : together);
  begin("HSET", ids);
  for (size_t i = 0; i < count; i++) {
    add_bytes(id_of(entries[i])->str, id_of(entries[i])->len);
    add(".|1800000000000-0|");
  }
  send();
  for (int is_last = 0; is_last < 2; is_last++) {
    begin(is_last ? "XDEL" : "XACK", input);
    if (!is_last) add("relay");
    for (size_t i = 0; i < count; i++)
      add_bytes(entries[i]->element[0]->str, entries[i]->element[0]->len);
    send();
  }
  skip(sent);
}

__attribute__((noinline)) static void relay(int together) {
  char count[12];
  snprintf(count, sizeof count, "%d", together);
  for (;;) {
    begin("XREADGROUP", "GROUP");
    add("relay"), add("1"), add("COUNT"), add(count), add("STREAMS"), add(input), add(">");
    send();
    redisReply *claimed = reply();
    if (claimed->type == REDIS_REPLY_NIL) return;
    redisReply *entries = claimed->element[0]->element[1];
    own(entries->element, entries->elements);
    record(entries->element, entries->elements);
    freeReplyObject(claimed);
  }
}

static double seconds(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static double own_seconds(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

static double redis_seconds(void) {
  begin("INFO", "cpu");
  send();
  redisReply *said = reply();
  const char *system = strstr(said->str, "used_cpu_sys:"),
             *user = strstr(said->str, "used_cpu_user:");
  must(system && user);
  const double all = atof(system + 13) + atof(user + 14);
  freeReplyObject(said);
  return all;
}

int main(int count, char **arguments) {
  const int entries = count > 2 ? atoi(arguments[2]) : 40000;
  const int together = count > 3 ? atoi(arguments[3]) : 500;
  devices = count > 4 ? atoi(arguments[4]) : 1;
  if (count < 2 || together < 1 || together > most || devices < 1 || devices > most_devices)
    return fprintf(stderr, "%s SOCKET [ENTRIES [TOGETHER [DEVICES]]]\n", arguments[0]), 2;
  redis = redisConnectUnix(arguments[1]);
  must(redis && !redis->err);
  freeReplyObject(redisCommand(redis, "XGROUP CREATE %s relay 0 MKSTREAM", input));
  enqueue(entries);
  const double own_before = own_seconds(), redis_before = redis_seconds();
  relay(together);
  const double all = (double)entries * devices;
  printf("%d entries of %d, %d together: %.2f µs of CPU for each device, Redis %.2f\n", entries,
         devices, together, 1e6 * (own_seconds() - own_before) / all,
         1e6 * (redis_seconds() - redis_before) / all);
  redisFree(redis);
}
