/*
 * Calls wait in slices. In between, PHP's interrupts run: signal handlers (pcntl_async_signals) and
 * the time limit. A handler may use the session, throw or exit.
 */
#include "php_apns.h"

#if PHP_VERSION_ID >= 80200
#define IS_SET(flag) zend_atomic_bool_load_ex(&EG(flag))
#define CLEAR(flag) zend_atomic_bool_store_ex(&EG(flag), false)
#else
#define IS_SET(flag) EG(flag)
#define CLEAR(flag) EG(flag) = 0
#endif

bool php_apns_interrupt(void) {
  /* PHP would drop the handlers if an exception is pending, and does not run them outside of the
     script's code. */
  if (EG(exception)) return false;
  if (!IS_SET(vm_interrupt) || !EG(current_execute_data)) return true;
  CLEAR(vm_interrupt);
  if (IS_SET(timed_out)) {
    zend_timeout(); /* does not return */
  } else if (zend_interrupt_function) {
    zend_interrupt_function(EG(current_execute_data));
  }
  return !EG(exception);
}

int32_t php_apns_slice(int64_t deadline) {
  const int64_t left = deadline - php_apns_now_ms();
  return left <= 0 ? 0 : (int32_t)MIN(left, PHP_APNS_SLICE_MS);
}

int64_t php_apns_deadline(const php_apns_tracked *tracked, int32_t timeout_ms) {
  if (timeout_ms == APNS_TIMEOUT_INFINITE) return INT64_MAX;
  return php_apns_now_ms() + (timeout_ms < 0 ? tracked->patience_ms : timeout_ms);
}

apns_status_t php_apns_wait(php_apns_tracked *tracked, php_apns_step step, int32_t timeout_ms,
                            int64_t deadline, apns_error_t *error) {
  for (;;) {
    const int64_t began = php_apns_now_ms();
    const int32_t slice = php_apns_slice(deadline);
    const apns_status_t status =
        step(tracked->session, timeout_ms == 0 || tracked->never_waits ? timeout_ms : slice, error);
    const int64_t now = php_apns_now_ms();
    php_apns_provider_resume(tracked->provider);
    /* Handlers run before the caller throws, or PHP would drop them, and before the logger, whose
       exceptions are ignored. */
    const bool is_calm = php_apns_interrupt();
    php_apns_log_tell(tracked);
    php_apns_tracked_sweep(tracked);
    if (!is_calm) return status;
    if (status != APNS_ERR_TIMEOUT || now - began < slice || now >= deadline) return status;
  }
}

void php_apns_throw_after(const apns_error_t *error) {
  if (!EG(exception)) php_apns_throw(error);
}

static apns_status_t flush_step(apns_session_t *session, int32_t ms, apns_error_t *error) {
  (void)ms;
  return apns_session_flush(session, error);
}

apns_status_t php_apns_flush(php_apns_tracked *tracked, apns_error_t *error) {
  return php_apns_wait(tracked, flush_step, APNS_TIMEOUT_DEFAULT,
                       php_apns_deadline(tracked, APNS_TIMEOUT_DEFAULT), error);
}
