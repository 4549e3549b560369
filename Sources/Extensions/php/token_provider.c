/* A callable of the script that returns provider tokens, called inside the calls of a session. */
#include "php_apns.h"
#include "zend_exceptions.h"

bool php_apns_provider_is_one(zval *given) {
  if (!given || Z_TYPE_P(given) == IS_NULL || zend_is_callable(given, 0, NULL)) return true;
  zend_type_error("option 'token_provider' must be a callable or null, %s found",
                  zend_zval_type_name(given));
  return false;
}

php_apns_provider *php_apns_provider_new(zval *callable) {
  if (!callable || Z_TYPE_P(callable) == IS_NULL) return NULL;
  php_apns_provider *provider = emalloc(sizeof *provider);
  provider->references = 1;
  provider->is_cut_short = provider->is_at_rest = false;
  ZVAL_COPY(&provider->callable, callable);
  return provider;
}

php_apns_provider *php_apns_provider_share(php_apns_provider *provider) {
  if (provider) provider->references++;
  return provider;
}

void php_apns_provider_release(php_apns_provider *provider) {
  if (!provider || --provider->references > 0) return;
  zval_ptr_dtor(&provider->callable);
  efree(provider);
}

/* What it returns: the token, [token, seconds], or null for not now. */
static int take(zval *said, apns_token_request_t *request) {
  ZVAL_DEREF(said);
  if (Z_TYPE_P(said) == IS_ARRAY) {
    zval *token = zend_hash_index_find_deref(Z_ARRVAL_P(said), 0);
    zval *seconds = zend_hash_index_find_deref(Z_ARRVAL_P(said), 1);
    if (!token || !seconds || Z_TYPE_P(seconds) != IS_LONG || Z_LVAL_P(seconds) < 0 ||
        Z_LVAL_P(seconds) > UINT32_MAX) {
      zend_type_error("token_provider must return [token, seconds], a token or null");
      return -1;
    }
    /* 0 would be the library's default. */
    request->renew_after_s = Z_LVAL_P(seconds) == 0 ? 1 : (uint32_t)Z_LVAL_P(seconds);
    said = token;
  }
  if (Z_TYPE_P(said) == IS_NULL) return 0;
  if (Z_TYPE_P(said) != IS_STRING) {
    zend_type_error("token_provider must return [token, seconds], a token or null, not %s",
                    zend_zval_type_name(said));
    return -1;
  }
  if (Z_STRLEN_P(said) == 0 || Z_STRLEN_P(said) > request->capacity) {
    zend_value_error("a provider token has 1 to %d characters", APNS_PROVIDER_TOKEN_MAX);
    return -1;
  }
  memcpy(request->token, Z_STRVAL_P(said), Z_STRLEN_P(said));
  return (int)Z_STRLEN_P(said);
}

int php_apns_provider_ask(apns_token_request_t *request, void *context) {
  php_apns_provider *provider = (php_apns_provider *)context;
  zval need, answer;
  volatile int length = -1;
  if (EG(exception) || provider->is_cut_short) return -1;
  /* At the end of a request, objects that the callable needs may no longer exist. */
  if (provider->is_at_rest || EG(flags) & EG_FLAGS_OBJECT_STORE_NO_REUSE) return 0;
  ZVAL_STRING(&need, request->need == APNS_TOKEN_FIRST  ? "first"
                     : request->need == APNS_TOKEN_AGED ? "aged"
                                                        : "refused");
  ZVAL_UNDEF(&answer);
  zend_try {
    if (call_user_function(NULL, NULL, &provider->callable, &answer, 1, &need) == SUCCESS &&
        !EG(exception)) {
      length = take(&answer, request);
    }
    zval_ptr_dtor(&answer);
    zval_ptr_dtor(&need);
  }
  zend_catch { provider->is_cut_short = true; }
  zend_end_try();
  return length;
}

void php_apns_provider_resume(php_apns_provider *provider) {
  if (!provider || !provider->is_cut_short) return;
  provider->is_cut_short = false;
  zend_bailout();
}
