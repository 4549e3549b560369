/* The same with the page's session: HOST PORT CERTIFICATE CA COUNT BAD */
#include <apns/apns.h>
#include <stdlib.h>

int push_to_all(const apns_session_options_t *gateway, const apns_credentials_options_t *who,
                char (*tokens)[32], size_t count, const char *payload);

int main(int argc, char **argv) {
  if (argc != 7) return 2;
  apns_session_options_t gateway = APNS_SESSION_OPTIONS_INIT;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  gateway.peer.host = argv[1];
  gateway.peer.port = (uint16_t)atoi(argv[2]);
  who.certificate_file = argv[3];
  who.ca_file = argv[4];
  size_t count = (size_t)atoi(argv[5]), bad = (size_t)atoi(argv[6]);
  char(*tokens)[32] = calloc(count, sizeof *tokens);
  for (size_t i = 0; i < count; i++) {
    tokens[i][0] = (char)(i + 1 == bad ? 0xff : 0);
    tokens[i][30] = (char)(i >> 8), tokens[i][31] = (char)i;
  }
  int status = push_to_all(&gateway, &who, tokens, count, "{\"aps\":{\"alert\":\"Hello\"}}");
  free(tokens);
  return status;
}
