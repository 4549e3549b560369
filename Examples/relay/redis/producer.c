/* producer REDIS APP ID TOKEN PAYLOAD: enqueues a notification in Redis, once for each ID.
 * REDIS is host:port, or the path of a socket; the password is in REDISCLI_AUTH.
 *
 *     cc producer.c -o producer -lhiredis
 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_refused(redisContext *redis, redisReply *reply) {
  int is_bad = reply == NULL || reply->type == REDIS_REPLY_ERROR;
  if (is_bad) fprintf(stderr, "Redis: %s\n", reply ? reply->str : redis->errstr);
  freeReplyObject(reply);
  return is_bad;
}

int main(int count, char **words) {
  const struct timeval limit = {10, 0};
  const char *password = getenv("REDISCLI_AUTH");
  redisContext *redis;
  char *colon;
  if (count != 6) return fprintf(stderr, "usage: producer REDIS APP ID TOKEN PAYLOAD\n"), 2;
  colon = strrchr(words[1], ':');
  if (words[1][0] != '/' && colon != NULL) *colon++ = 0;
  redis = words[1][0] == '/' ? redisConnectUnixWithTimeout(words[1], limit)
                             : redisConnectWithTimeout(words[1], colon ? atoi(colon) : 6379, limit);
  if (redis == NULL || redis->err != 0)
    return fprintf(stderr, "%s: %s\n", words[1], redis ? redis->errstr : "no memory"), 1;
  if (password != NULL && is_refused(redis, redisCommand(redis, "AUTH %s", password))) return 1;
  /* If the reply is lost, add it again: relays push only the first entry with an ID. */
  if (is_refused(redis, redisCommand(redis, "XADD apns:{%s}:in * id %s token %s payload %s",
                                     words[2], words[3], words[4], words[5])))
    return 1;
  puts("enqueued");
  redisFree(redis);
  return 0;
}
