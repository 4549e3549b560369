/* The declarations of libcapn 2.0 for the page about libcapn, so that its code compiles without
 * libcapn. Debian does not package it. */
#include <stddef.h>
#include <stdint.h>

typedef enum { APN_ERROR, APN_SUCCESS } apn_return;
typedef struct apn_ctx apn_ctx_t;
typedef struct apn_array apn_array_t;
typedef struct apn_payload apn_payload_t;
typedef void (*apn_array_dtor)(void *data);
typedef void *(*apn_array_ctor)(const void *const data);

#define APN_OPTION_RECONNECT (1 << 1)

void apn_library_free(void);
apn_ctx_t *apn_init(void);
void apn_free(apn_ctx_t *ctx);
apn_return apn_connect(apn_ctx_t *const ctx);
void apn_set_behavior(apn_ctx_t *const ctx, uint32_t options);
apn_return apn_set_pkcs12_file(apn_ctx_t *const ctx, const char *const pkcs12_file,
                               const char *const pass);
apn_return apn_send(apn_ctx_t *const ctx, const apn_payload_t *payload, apn_array_t *tokens,
                    apn_array_t **invalid_tokens);
char *apn_error_string(int errnum);
apn_array_t *apn_array_init(uint32_t min_size, apn_array_dtor dtor, apn_array_ctor ctor);
void apn_array_free(apn_array_t *array);
apn_return apn_array_insert(apn_array_t *array, void *item);
uint32_t apn_array_count(const apn_array_t *const array);
void *apn_array_item_at_index(const apn_array_t *const array, uint32_t index);
apn_payload_t *apn_payload_init(void);
void apn_payload_free(apn_payload_t *payload);
apn_return apn_payload_set_body(apn_payload_t *payload, const char *const body);
apn_return apn_payload_set_badge(apn_payload_t *payload, int32_t badge);
apn_return apn_payload_add_custom_property_integer(apn_payload_t *payload, const char *const key,
                                                   int64_t value);
