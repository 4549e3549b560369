/* Finds the system's OpenSSL, once for the process; NULL, or why there is none that works. */
const char *openssl_load(void);
