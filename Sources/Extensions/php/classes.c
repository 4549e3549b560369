/* The classes of interface/apns.stub.php, registered. */
#include "php_apns.h"

#include "ext/spl/spl_exceptions.h"
#include "interface/apns_arginfo.h"
#include "zend_interfaces.h"

php_apns_classes php_apns_class;

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
  all->reject = register_class_Apns_Reject();
  all->token = register_class_Apns_Token();
  all->credentials = register_class_Apns_Credentials();
  all->payload = register_class_Apns_Payload(zend_ce_stringable);
  all->strings = register_class_Apns_Strings();
  all->event = register_class_Apns_Event();
  all->events = register_class_Apns_Events(zend_ce_aggregate);
  all->session = register_class_Apns_Session(zend_ce_aggregate);
  all->feedback_entry = register_class_Apns_FeedbackEntry();
  all->feedback = register_class_Apns_Feedback(zend_ce_aggregate);
}
