/* Registers the classes of interface/apns.stub.php. */
#include "php_apns.h"

#include "ext/spl/spl_exceptions.h"
#include "interface/apns_arginfo.h"
#include "zend_attributes.h"
#include "zend_interfaces.h"

/* Last, as it needs the headers above. */
#include "constants.h"

php_apns_classes php_apns_class;

/* Keeps parameters with secrets out of backtraces; PHP counts surplus arguments as the last
 * parameter. Before 8.2 it had no way to hide them. */
static void hide(zend_class_entry *ce, const char *method, uint32_t first, uint32_t last) {
#if PHP_VERSION_ID >= 80200
  zend_function *function = zend_hash_str_find_ptr(&ce->function_table, method, strlen(method));
  for (uint32_t parameter = first; function && parameter <= last; parameter++) {
    zend_add_parameter_attribute(function, parameter, ZSTR_KNOWN(ZEND_STR_SENSITIVEPARAMETER), 0);
  }
#else
  (void)ce, (void)method, (void)first, (void)last;
#endif
}

static void add_constants(void) {
  for (size_t index = 0; index < sizeof constants / sizeof *constants; index++) {
    zend_declare_class_constant_long(*constants[index].owner, constants[index].name,
                                     strlen(constants[index].name), constants[index].value);
  }
}

void php_apns_classes_register(void) {
  php_apns_classes *all = &php_apns_class;
  all->exception = register_class_Apns_Exception(spl_ce_RuntimeException);
  all->argument = register_class_Apns_ArgumentException(all->exception);
  all->memory = register_class_Apns_MemoryException(all->exception);
  all->timeout = register_class_Apns_TimeoutException(all->exception);
  all->network = register_class_Apns_NetworkException(all->exception);
  all->tls = register_class_Apns_TlsException(all->exception);
  all->bad_credentials = register_class_Apns_CredentialsException(all->exception);
  all->protocol = register_class_Apns_ProtocolException(all->exception);
  all->full = register_class_Apns_FullException(all->exception);
  all->closed = register_class_Apns_ClosedException(all->exception);
  all->forked = register_class_Apns_ForkedException(all->exception);
  all->again = register_class_Apns_AgainException(all->exception);
  all->refused = register_class_Apns_RefusedException(all->exception);
  all->in_doubt = register_class_Apns_InDoubtException(all->exception);
  all->reject = register_class_Apns_Reject();
  all->reason = register_class_Apns_Reason();
  all->push_type = register_class_Apns_PushType();
  all->token = register_class_Apns_Token();
  all->credentials = register_class_Apns_Credentials();
  all->payload = register_class_Apns_Payload(zend_ce_stringable);
  all->strings = register_class_Apns_Strings();
  all->event = register_class_Apns_Event();
  all->events = register_class_Apns_Events(zend_ce_aggregate);
  all->session = register_class_Apns_Session(zend_ce_aggregate);
  all->feedback_entry = register_class_Apns_FeedbackEntry();
  all->feedback = register_class_Apns_Feedback(zend_ce_aggregate);
  all->channels = register_class_Apns_Channels();
  add_constants();
  hide(all->credentials, "__construct", 0, 4);
  hide(all->session, "__construct", 0, 3);
  hide(all->session, "persistent", 1, 4);
  hide(all->feedback, "__construct", 0, 3);
  hide(all->channels, "__construct", 0, 3);
}
