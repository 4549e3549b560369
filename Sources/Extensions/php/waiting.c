/*
 * Calls wait in slices. In between, PHP's interrupts run: signal handlers (pcntl_async_signals) and
 * the time limit. A handler may use the session, throw or exit.
 */
#include "php_apns.h"

#include <poll.h>
#include <time.h>

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

int32_t php_apns_option_ms(uint32_t given) {
  return given ? (int32_t)MIN(given, INT32_MAX) : 10000;
}

int64_t php_apns_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int32_t php_apns_slice(int64_t deadline) {
  const int64_t left = deadline - php_apns_now_ms();
  return left <= 0 ? 0 : (int32_t)MIN(left, PHP_APNS_SLICE_MS);
}

int64_t php_apns_deadline(const php_apns_tracked *tracked, int32_t timeout_ms) {
  if (timeout_ms == APNS_TIMEOUT_INFINITE) return INT64_MAX;
  return php_apns_now_ms() + (timeout_ms < 0 ? tracked->patience_ms : timeout_ms);
}

void php_apns_throw_after(const apns_error_t *error) {
  if (!EG(exception)) php_apns_throw(error);
}

bool php_apns_wait_process(apns_session_t *session, int64_t deadline) {
  struct pollfd watched = {.fd = apns_session_fd(session), .events = POLLIN};
  int64_t rest = deadline - php_apns_now_ms();
  if (watched.fd < 0 || rest <= 0) return false;
  poll(&watched, 1, rest > INT32_MAX ? INT32_MAX : (int)rest);
  apns_session_process(session, NULL);
  return true;
}
