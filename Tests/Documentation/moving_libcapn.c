/* The application's part of the page about libcapn: HOST PORT P12 PASSPHRASE CA TOKEN... */
#include <apns/apns.h>
#include <stdlib.h>

int push(const apns_session_options_t *gateway, const char *p12, const char *passphrase,
         const char *ca, const char *const *hex_tokens, size_t count);

int main(int argc, char **argv) {
  if (argc < 7) return 2;
  apns_session_options_t gateway = APNS_SESSION_OPTIONS_INIT;
  gateway.peer.host = argv[1];
  gateway.peer.port = (uint16_t)atoi(argv[2]);
  return push(&gateway, argv[3], argv[4], argv[5], (const char *const *)(argv + 6),
              (size_t)argc - 6);
}
