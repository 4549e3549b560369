/* Finds the system's OpenSSL, once for the process. Returns NULL, or why no OpenSSL works. */
const char *openssl_load(void);
