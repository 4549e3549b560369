/* Registers the classes of interface/apns.stub.php. */
#include "php_apns.h"

#include "ext/spl/spl_exceptions.h"
#include "interface/apns_arginfo.h"
#include "zend_attributes.h"
#include "zend_exceptions.h"
#include "zend_interfaces.h"

php_apns_classes php_apns_class;

void php_apns_handlers_init(zend_object_handlers *handlers, int offset,
                            zend_object_free_obj_t destroy) {
  memcpy(handlers, zend_get_std_object_handlers(), sizeof *handlers);
  handlers->offset = offset;
  handlers->free_obj = destroy;
  handlers->clone_obj = NULL;
  handlers->compare = zend_objects_not_comparable;
}

zend_object *php_apns_object_new(zend_class_entry *ce, const zend_object_handlers *handlers) {
  char *own = zend_object_alloc(handlers->offset + sizeof(zend_object), ce);
  zend_object *object = (zend_object *)(own + handlers->offset);
  memset(own, 0, handlers->offset);
  zend_object_std_init(object, ce);
  object_properties_init(object, ce);
  object->handlers = handlers;
  return object;
}

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

void php_apns_classes_register(void) {
  php_apns_classes *all = &php_apns_class;
  php_apns_enums_register();
  all->exception = register_class_Apns_Exception(zend_ce_throwable);
  all->runtime = register_class_Apns_RuntimeException(spl_ce_RuntimeException, all->exception);
  all->argument =
      register_class_Apns_ArgumentException(spl_ce_InvalidArgumentException, all->exception);
  all->memory = register_class_Apns_MemoryException(all->runtime);
  all->timeout = register_class_Apns_TimeoutException(all->runtime);
  all->network = register_class_Apns_NetworkException(all->runtime);
  all->tls = register_class_Apns_TlsException(all->runtime);
  all->bad_credentials = register_class_Apns_CredentialsException(all->runtime);
  all->protocol = register_class_Apns_ProtocolException(all->runtime);
  all->full = register_class_Apns_FullException(all->runtime);
  all->closed = register_class_Apns_ClosedException(all->runtime);
  all->forked = register_class_Apns_ForkedException(all->runtime);
  all->again = register_class_Apns_AgainException(all->runtime);
  all->rejected = register_class_Apns_RejectedException(all->runtime);
  all->in_doubt = register_class_Apns_InDoubtException(all->runtime);
  all->token = register_class_Apns_Token();
  all->credentials = register_class_Apns_Credentials();
  all->payload = register_class_Apns_Payload(zend_ce_stringable);
  all->strings = register_class_Apns_Strings();
  all->event = register_class_Apns_Event();
  all->events = register_class_Apns_Events(zend_ce_aggregate);
  all->session =
      register_class_Apns_Session(register_class_Apns_SessionInterface(zend_ce_aggregate));
  all->feedback_entry = register_class_Apns_FeedbackEntry();
  all->feedback = register_class_Apns_Feedback(zend_ce_aggregate);
  all->channels = register_class_Apns_Channels(register_class_Apns_ChannelsInterface());
  hide(all->credentials, "__construct", 0, 4);
  hide(all->session, "__construct", 0, 3);
  hide(all->session, "persistent", 1, 4);
  hide(all->feedback, "__construct", 0, 3);
  hide(all->channels, "__construct", 0, 3);
}
