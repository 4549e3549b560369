#include "proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "Gateway/loopback.h"

enum { LONGEST_REQUEST = 8192, MOST_CONNECTIONS = 64, PATIENCE_SECONDS = 240 };

typedef struct client {
  proxy_t *proxy;
  const proxy_answer_t *answer;
  pthread_t thread;
  int descriptor;
  char request[LONGEST_REQUEST];
  bool has_asked;
} client_t;

struct proxy {
  const proxy_answer_t *answers;
  size_t answer_count;
  int listener;
  int stop; /* an eventfd that wakes every wait */
  uint16_t port, gateway_port;
  pthread_t thread;
  pthread_mutex_t lock; /* all below, and each client's request until it is complete */
  pthread_cond_t change;
  client_t *clients[MOST_CONNECTIONS];
  size_t count;
};

/* False when the proxy stops. */
static bool wait_for(const proxy_t *proxy, int descriptor, short events) {
  struct pollfd entries[2] = {{descriptor, events, 0}, {proxy->stop, POLLIN, 0}};
  while (poll(entries, 2, -1) < 0 && errno == EINTR) {
  }
  return !(entries[1].revents & POLLIN);
}

/* More of what comes; 0 at the end. */
static size_t receive(const proxy_t *proxy, int descriptor, void *bytes, size_t room) {
  while (wait_for(proxy, descriptor, POLLIN)) {
    ssize_t count = recv(descriptor, bytes, room, MSG_DONTWAIT);
    if (count > 0) return (size_t)count;
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) return 0;
  }
  return 0;
}

static bool deliver(const proxy_t *proxy, int descriptor, const char *bytes, size_t length,
                    size_t piece) {
  while (length > 0) {
    if (!wait_for(proxy, descriptor, POLLOUT)) return false;
    ssize_t count =
        send(descriptor, bytes, length < piece ? length : piece, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (count > 0) bytes += count, length -= (size_t)count;
  }
  return true;
}

/* Byte by byte, because the bytes after the header are not ours. */
static bool hear_request(client_t *client) {
  for (size_t length = 0; length < LONGEST_REQUEST - 1;) {
    if (!receive(client->proxy, client->descriptor, client->request + length, 1)) return false;
    client->request[++length] = 0;
    if (length < 4 || strcmp(client->request + length - 4, "\r\n\r\n") != 0) continue;
    pthread_mutex_lock(&client->proxy->lock);
    client->has_asked = true;
    pthread_cond_broadcast(&client->proxy->change);
    pthread_mutex_unlock(&client->proxy->lock);
    return true;
  }
  return false;
}

/* Carries bytes both ways until both sides have ended, or one is gone. */
static void lead_on(client_t *client) {
  const proxy_t *proxy = client->proxy;
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr = {htonl(INADDR_LOOPBACK)},
                                .sin_port = htons(proxy->gateway_port)};
  int gateway = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  if (connect(gateway, (struct sockaddr *)&address, sizeof address)) {
    close(gateway);
    return;
  }
  setsockopt(gateway, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct pollfd entries[3] = {
      {client->descriptor, POLLIN, 0}, {gateway, POLLIN, 0}, {proxy->stop, POLLIN, 0}};
  while (entries[0].fd >= 0 || entries[1].fd >= 0) {
    if (poll(entries, 3, -1) < 0) continue;
    if (entries[2].revents) break;
    for (int side = 0; side < 2; side++) {
      if (entries[side].fd < 0 || !entries[side].revents) continue;
      char bytes[16384];
      int other = side == 0 ? gateway : client->descriptor;
      ssize_t count = recv(entries[side].fd, bytes, sizeof bytes, 0);
      if (count < 0) goto gone;
      if (count == 0) {
        shutdown(other, SHUT_WR);
        entries[side].fd = -1;
      } else if (!deliver(proxy, other, bytes, (size_t)count, sizeof bytes)) {
        goto gone;
      }
    }
  }
gone:
  close(gateway);
}

static void *serve(void *argument) {
  client_t *client = argument;
  const proxy_answer_t *answer = client->answer;
  if (hear_request(client)) {
    size_t length = answer->length ? answer->length : (answer->text ? strlen(answer->text) : 0);
    bool is_said = deliver(client->proxy, client->descriptor, answer->text, length,
                           answer->piecemeal ? 1 : length + 1);
    char rest[64];
    if (is_said && answer->opens) lead_on(client);
    if (is_said && answer->stays)
      while (receive(client->proxy, client->descriptor, rest, sizeof rest)) {
      }
  }
  const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
  if (answer->resets)
    setsockopt(client->descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(client->descriptor);
  return NULL;
}

static void *accept_all(void *argument) {
  proxy_t *proxy = argument;
  while (wait_for(proxy, proxy->listener, POLLIN)) {
    int descriptor = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC), on = 1;
    if (descriptor < 0) continue;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pthread_mutex_lock(&proxy->lock);
    if (proxy->count == MOST_CONNECTIONS) {
      fprintf(stderr, "proxy: more than %d connections\n", MOST_CONNECTIONS);
      abort();
    }
    client_t *client = calloc(1, sizeof *client);
    client->proxy = proxy;
    client->descriptor = descriptor;
    client->answer =
        &proxy
             ->answers[proxy->count < proxy->answer_count ? proxy->count : proxy->answer_count - 1];
    proxy->clients[proxy->count++] = client;
    pthread_create(&client->thread, NULL, serve, client);
    pthread_mutex_unlock(&proxy->lock);
  }
  return NULL;
}

proxy_t *proxy_start(uint16_t gateway_port, const proxy_answer_t *answers, size_t count) {
  proxy_t *proxy = calloc(1, sizeof *proxy);
  proxy->answers = answers;
  proxy->answer_count = count;
  proxy->gateway_port = gateway_port;
  proxy->listener = loopback_listen(false, 0, &proxy->port);
  if (proxy->listener < 0) {
    perror("proxy: no port to listen on");
    abort();
  }
  proxy->stop = eventfd(0, EFD_CLOEXEC);
  pthread_mutex_init(&proxy->lock, NULL);
  pthread_cond_init(&proxy->change, NULL);
  pthread_create(&proxy->thread, NULL, accept_all, proxy);
  return proxy;
}

uint16_t proxy_port(const proxy_t *proxy) { return proxy->port; }

const char *proxy_url(const proxy_t *proxy, const char *host, const char *credentials) {
  static char url[4096];
  snprintf(url, sizeof url, "http://%s%s%s:%d", credentials ? credentials : "",
           credentials ? "@" : "", host, proxy->port);
  return url;
}

size_t proxy_connections(proxy_t *proxy) {
  pthread_mutex_lock(&proxy->lock);
  size_t count = proxy->count;
  pthread_mutex_unlock(&proxy->lock);
  return count;
}

const char *proxy_request(proxy_t *proxy, size_t index) {
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += PATIENCE_SECONDS;
  pthread_mutex_lock(&proxy->lock);
  while (index >= proxy->count || !proxy->clients[index]->has_asked)
    if (pthread_cond_timedwait(&proxy->change, &proxy->lock, &limit)) {
      fprintf(stderr, "proxy: waited too long for a request on connection %zu\n", index);
      abort();
    }
  const char *request = proxy->clients[index]->request;
  pthread_mutex_unlock(&proxy->lock);
  return request;
}

void proxy_stop(proxy_t *proxy) {
  if (!proxy) return;
  eventfd_write(proxy->stop, 1);
  pthread_join(proxy->thread, NULL);
  for (size_t index = 0; index < proxy->count; index++) {
    pthread_join(proxy->clients[index]->thread, NULL);
    free(proxy->clients[index]);
  }
  close(proxy->listener);
  close(proxy->stop);
  pthread_mutex_destroy(&proxy->lock);
  pthread_cond_destroy(&proxy->change);
  free(proxy);
}
