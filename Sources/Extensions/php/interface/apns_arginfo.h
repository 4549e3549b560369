/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 982063dcabb090461630e43eab2e154ac8620fa0 */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Exception_isRetryable, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Reject_text, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, reject, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Reason_text, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, reason, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Reason_httpStatus, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, reason, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_PushType_text, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, type, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Apns_Token___construct, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Token_fromHex, 0, 1, Apns\\Token, 0)
	ZEND_ARG_TYPE_INFO(0, text, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Token_fromBase64 arginfo_class_Apns_Token_fromHex

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Token_fromBytes, 0, 1, Apns\\Token, 0)
	ZEND_ARG_TYPE_INFO(0, bytes, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Token_toBase64, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Token_toBytes arginfo_class_Apns_Token_toBase64

#define arginfo_class_Apns_Token___toString arginfo_class_Apns_Token_toBase64

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Apns_Credentials___construct, 0, 0, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, options, IS_ARRAY, 0, "[]")
	ZEND_ARG_TYPE_MASK(0, passphrase, MAY_BE_CALLABLE|MAY_BE_STRING|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, key, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, token_key, IS_STRING, 1, "null")
	ZEND_ARG_VARIADIC_TYPE_INFO(0, named, IS_MIXED, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Credentials_describe, 0, 0, IS_ARRAY, 1)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Apns_Payload___construct, 0, 0, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, options, IS_ARRAY, 0, "[]")
	ZEND_ARG_VARIADIC_TYPE_INFO(0, named, IS_MIXED, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Payload_set, 0, 2, Apns\\Payload, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_MASK(0, value, MAY_BE_ARRAY|MAY_BE_STRING|MAY_BE_LONG|MAY_BE_DOUBLE|MAY_BE_BOOL|MAY_BE_NULL, NULL)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Payload_setCriticalSound, 0, 1, Apns\\Payload, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, volume, IS_DOUBLE, 0, "1.0")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Payload_add, 0, 2, Apns\\Payload, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, value, IS_MIXED, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Payload_remove, 0, 1, Apns\\Payload, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Payload_removeCustom, 0, 0, Apns\\Payload, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Payload_reset arginfo_class_Apns_Payload_removeCustom

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Payload_write, 0, 0, IS_STRING, 0)
	ZEND_ARG_INFO_WITH_DEFAULT_VALUE(1, cut, "null")
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Payload___toString arginfo_class_Apns_Token_toBase64

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Payload_check, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, json, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, limit, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Apns_Strings___construct, 0, 0, 1)
	ZEND_ARG_TYPE_INFO(0, bytes, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Strings_open, 0, 1, Apns\\Strings, 0)
	ZEND_ARG_TYPE_INFO(0, file, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Strings_has, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Strings_get, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Strings_format, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_VARIADIC_TYPE_INFO(0, args, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Event___construct arginfo_class_Apns_Token___construct

#define arginfo_class_Apns_Event_isAccepted arginfo_class_Apns_Exception_isRetryable

#define arginfo_class_Apns_Event_isRejected arginfo_class_Apns_Exception_isRetryable

#define arginfo_class_Apns_Event_isUnknown arginfo_class_Apns_Exception_isRetryable

#define arginfo_class_Apns_Event___toString arginfo_class_Apns_Token_toBase64

#define arginfo_class_Apns_Events___construct arginfo_class_Apns_Token___construct

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Events_getIterator, 0, 0, Iterator, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Apns_Session___construct, 0, 0, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, credentials, Apns\\Credentials, MAY_BE_ARRAY|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, options, IS_ARRAY, 0, "[]")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, proxy_password, IS_STRING, 1, "null")
	ZEND_ARG_VARIADIC_TYPE_INFO(0, named, IS_MIXED, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Session_persistent, 0, 1, Apns\\Session, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, credentials, Apns\\Credentials, MAY_BE_ARRAY|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, options, IS_ARRAY, 0, "[]")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, proxy_password, IS_STRING, 1, "null")
	ZEND_ARG_VARIADIC_TYPE_INFO(0, named, IS_MIXED, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Session_connect, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Session_send, 0, 2, IS_LONG, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, token, Apns\\Token, MAY_BE_STRING, NULL)
	ZEND_ARG_OBJ_TYPE_MASK(0, payload, Apns\\Payload, MAY_BE_ARRAY|MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, userData, IS_MIXED, 0, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, expiry, IS_LONG, 0, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, priority, IS_LONG, 0, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, more, _IS_BOOL, 0, "false")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, topic, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_MASK(0, pushType, MAY_BE_LONG|MAY_BE_STRING, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, collapseId, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, apnsId, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Session_sendMany, 0, 1, IS_LONG, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, notifications, Traversable, MAY_BE_ARRAY, NULL)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, more, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Session_flush arginfo_class_Apns_Session_connect

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Session_drain, 0, 0, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeoutMs, IS_LONG, 0, "-1")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Session_nextEvent, 0, 0, Apns\\Event, 1)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeoutMs, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Session_events, 0, 0, Apns\\Events, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeoutMs, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Session_nextLeftEvent arginfo_class_Apns_Session_nextEvent

#define arginfo_class_Apns_Session_leftEvents arginfo_class_Apns_Session_events

#define arginfo_class_Apns_Session_getIterator arginfo_class_Apns_Events_getIterator

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Session_gone, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Session_stats arginfo_class_Apns_Session_gone

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Session_request, 0, 0, IS_STRING, 1)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Session_close arginfo_class_Apns_Session_drain

#define arginfo_class_Apns_FeedbackEntry___construct arginfo_class_Apns_Token___construct

#define arginfo_class_Apns_Feedback___construct arginfo_class_Apns_Session___construct

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Feedback_read, 0, 0, Apns\\FeedbackEntry, 1)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Feedback_getIterator arginfo_class_Apns_Events_getIterator


ZEND_METHOD(Apns_Exception, isRetryable);
ZEND_METHOD(Apns_Reject, text);
ZEND_METHOD(Apns_Reason, text);
ZEND_METHOD(Apns_Reason, httpStatus);
ZEND_METHOD(Apns_PushType, text);
ZEND_METHOD(Apns_Token, __construct);
ZEND_METHOD(Apns_Token, fromHex);
ZEND_METHOD(Apns_Token, fromBase64);
ZEND_METHOD(Apns_Token, fromBytes);
ZEND_METHOD(Apns_Token, toBase64);
ZEND_METHOD(Apns_Token, toBytes);
ZEND_METHOD(Apns_Token, __toString);
ZEND_METHOD(Apns_Credentials, __construct);
ZEND_METHOD(Apns_Credentials, describe);
ZEND_METHOD(Apns_Payload, __construct);
ZEND_METHOD(Apns_Payload, set);
ZEND_METHOD(Apns_Payload, setCriticalSound);
ZEND_METHOD(Apns_Payload, add);
ZEND_METHOD(Apns_Payload, remove);
ZEND_METHOD(Apns_Payload, removeCustom);
ZEND_METHOD(Apns_Payload, reset);
ZEND_METHOD(Apns_Payload, write);
ZEND_METHOD(Apns_Payload, __toString);
ZEND_METHOD(Apns_Payload, check);
ZEND_METHOD(Apns_Strings, __construct);
ZEND_METHOD(Apns_Strings, open);
ZEND_METHOD(Apns_Strings, has);
ZEND_METHOD(Apns_Strings, get);
ZEND_METHOD(Apns_Strings, format);
ZEND_METHOD(Apns_Event, __construct);
ZEND_METHOD(Apns_Event, isAccepted);
ZEND_METHOD(Apns_Event, isRejected);
ZEND_METHOD(Apns_Event, isUnknown);
ZEND_METHOD(Apns_Event, __toString);
ZEND_METHOD(Apns_Events, __construct);
ZEND_METHOD(Apns_Events, getIterator);
ZEND_METHOD(Apns_Session, __construct);
ZEND_METHOD(Apns_Session, persistent);
ZEND_METHOD(Apns_Session, connect);
ZEND_METHOD(Apns_Session, send);
ZEND_METHOD(Apns_Session, sendMany);
ZEND_METHOD(Apns_Session, flush);
ZEND_METHOD(Apns_Session, drain);
ZEND_METHOD(Apns_Session, nextEvent);
ZEND_METHOD(Apns_Session, events);
ZEND_METHOD(Apns_Session, nextLeftEvent);
ZEND_METHOD(Apns_Session, leftEvents);
ZEND_METHOD(Apns_Session, getIterator);
ZEND_METHOD(Apns_Session, gone);
ZEND_METHOD(Apns_Session, stats);
ZEND_METHOD(Apns_Session, request);
ZEND_METHOD(Apns_Session, close);
ZEND_METHOD(Apns_FeedbackEntry, __construct);
ZEND_METHOD(Apns_Feedback, __construct);
ZEND_METHOD(Apns_Feedback, read);
ZEND_METHOD(Apns_Feedback, getIterator);


static const zend_function_entry class_Apns_Exception_methods[] = {
	ZEND_ME(Apns_Exception, isRetryable, arginfo_class_Apns_Exception_isRetryable, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_ArgumentException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Apns_MemoryException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Apns_TimeoutException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Apns_NetworkException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Apns_TlsException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Apns_CredentialsException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Apns_ProtocolException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Apns_FullException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Apns_ClosedException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Apns_ForkedException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Reject_methods[] = {
	ZEND_ME(Apns_Reject, text, arginfo_class_Apns_Reject_text, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Reason_methods[] = {
	ZEND_ME(Apns_Reason, text, arginfo_class_Apns_Reason_text, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Apns_Reason, httpStatus, arginfo_class_Apns_Reason_httpStatus, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_PushType_methods[] = {
	ZEND_ME(Apns_PushType, text, arginfo_class_Apns_PushType_text, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Token_methods[] = {
	ZEND_ME(Apns_Token, __construct, arginfo_class_Apns_Token___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Apns_Token, fromHex, arginfo_class_Apns_Token_fromHex, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Apns_Token, fromBase64, arginfo_class_Apns_Token_fromBase64, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Apns_Token, fromBytes, arginfo_class_Apns_Token_fromBytes, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Apns_Token, toBase64, arginfo_class_Apns_Token_toBase64, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Token, toBytes, arginfo_class_Apns_Token_toBytes, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Token, __toString, arginfo_class_Apns_Token___toString, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Credentials_methods[] = {
	ZEND_ME(Apns_Credentials, __construct, arginfo_class_Apns_Credentials___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Credentials, describe, arginfo_class_Apns_Credentials_describe, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Payload_methods[] = {
	ZEND_ME(Apns_Payload, __construct, arginfo_class_Apns_Payload___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Payload, set, arginfo_class_Apns_Payload_set, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Payload, setCriticalSound, arginfo_class_Apns_Payload_setCriticalSound, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Payload, add, arginfo_class_Apns_Payload_add, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Payload, remove, arginfo_class_Apns_Payload_remove, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Payload, removeCustom, arginfo_class_Apns_Payload_removeCustom, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Payload, reset, arginfo_class_Apns_Payload_reset, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Payload, write, arginfo_class_Apns_Payload_write, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Payload, __toString, arginfo_class_Apns_Payload___toString, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Payload, check, arginfo_class_Apns_Payload_check, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Strings_methods[] = {
	ZEND_ME(Apns_Strings, __construct, arginfo_class_Apns_Strings___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Strings, open, arginfo_class_Apns_Strings_open, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Apns_Strings, has, arginfo_class_Apns_Strings_has, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Strings, get, arginfo_class_Apns_Strings_get, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Strings, format, arginfo_class_Apns_Strings_format, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Event_methods[] = {
	ZEND_ME(Apns_Event, __construct, arginfo_class_Apns_Event___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Apns_Event, isAccepted, arginfo_class_Apns_Event_isAccepted, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Event, isRejected, arginfo_class_Apns_Event_isRejected, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Event, isUnknown, arginfo_class_Apns_Event_isUnknown, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Event, __toString, arginfo_class_Apns_Event___toString, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Events_methods[] = {
	ZEND_ME(Apns_Events, __construct, arginfo_class_Apns_Events___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Apns_Events, getIterator, arginfo_class_Apns_Events_getIterator, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Session_methods[] = {
	ZEND_ME(Apns_Session, __construct, arginfo_class_Apns_Session___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, persistent, arginfo_class_Apns_Session_persistent, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Apns_Session, connect, arginfo_class_Apns_Session_connect, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, send, arginfo_class_Apns_Session_send, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, sendMany, arginfo_class_Apns_Session_sendMany, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, flush, arginfo_class_Apns_Session_flush, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, drain, arginfo_class_Apns_Session_drain, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, nextEvent, arginfo_class_Apns_Session_nextEvent, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, events, arginfo_class_Apns_Session_events, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, nextLeftEvent, arginfo_class_Apns_Session_nextLeftEvent, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, leftEvents, arginfo_class_Apns_Session_leftEvents, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, getIterator, arginfo_class_Apns_Session_getIterator, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, gone, arginfo_class_Apns_Session_gone, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, stats, arginfo_class_Apns_Session_stats, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, request, arginfo_class_Apns_Session_request, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, close, arginfo_class_Apns_Session_close, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_FeedbackEntry_methods[] = {
	ZEND_ME(Apns_FeedbackEntry, __construct, arginfo_class_Apns_FeedbackEntry___construct, ZEND_ACC_PRIVATE)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Feedback_methods[] = {
	ZEND_ME(Apns_Feedback, __construct, arginfo_class_Apns_Feedback___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Feedback, read, arginfo_class_Apns_Feedback_read, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Feedback, getIterator, arginfo_class_Apns_Feedback_getIterator, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

static zend_class_entry *register_class_Apns_Exception(zend_class_entry *class_entry_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Exception", class_Apns_Exception_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);

	zval const_ARGUMENT_value;
	ZVAL_LONG(&const_ARGUMENT_value, APNS_ERR_ARGUMENT);
	zend_string *const_ARGUMENT_name = zend_string_init_interned("ARGUMENT", sizeof("ARGUMENT") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_ARGUMENT_name, &const_ARGUMENT_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_ARGUMENT_name);

	zval const_MEMORY_value;
	ZVAL_LONG(&const_MEMORY_value, APNS_ERR_MEMORY);
	zend_string *const_MEMORY_name = zend_string_init_interned("MEMORY", sizeof("MEMORY") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_MEMORY_name, &const_MEMORY_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_MEMORY_name);

	zval const_TIMEOUT_value;
	ZVAL_LONG(&const_TIMEOUT_value, APNS_ERR_TIMEOUT);
	zend_string *const_TIMEOUT_name = zend_string_init_interned("TIMEOUT", sizeof("TIMEOUT") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_TIMEOUT_name, &const_TIMEOUT_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_TIMEOUT_name);

	zval const_NETWORK_value;
	ZVAL_LONG(&const_NETWORK_value, APNS_ERR_NETWORK);
	zend_string *const_NETWORK_name = zend_string_init_interned("NETWORK", sizeof("NETWORK") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_NETWORK_name, &const_NETWORK_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_NETWORK_name);

	zval const_TLS_value;
	ZVAL_LONG(&const_TLS_value, APNS_ERR_TLS);
	zend_string *const_TLS_name = zend_string_init_interned("TLS", sizeof("TLS") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_TLS_name, &const_TLS_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_TLS_name);

	zval const_CREDENTIALS_value;
	ZVAL_LONG(&const_CREDENTIALS_value, APNS_ERR_CREDENTIALS);
	zend_string *const_CREDENTIALS_name = zend_string_init_interned("CREDENTIALS", sizeof("CREDENTIALS") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_CREDENTIALS_name, &const_CREDENTIALS_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_CREDENTIALS_name);

	zval const_PROTOCOL_value;
	ZVAL_LONG(&const_PROTOCOL_value, APNS_ERR_PROTOCOL);
	zend_string *const_PROTOCOL_name = zend_string_init_interned("PROTOCOL", sizeof("PROTOCOL") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_PROTOCOL_name, &const_PROTOCOL_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_PROTOCOL_name);

	zval const_FULL_value;
	ZVAL_LONG(&const_FULL_value, APNS_ERR_FULL);
	zend_string *const_FULL_name = zend_string_init_interned("FULL", sizeof("FULL") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_FULL_name, &const_FULL_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_FULL_name);

	zval const_CLOSED_value;
	ZVAL_LONG(&const_CLOSED_value, APNS_ERR_CLOSED);
	zend_string *const_CLOSED_name = zend_string_init_interned("CLOSED", sizeof("CLOSED") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_CLOSED_name, &const_CLOSED_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_CLOSED_name);

	zval const_FORKED_value;
	ZVAL_LONG(&const_FORKED_value, APNS_ERR_FORKED);
	zend_string *const_FORKED_name = zend_string_init_interned("FORKED", sizeof("FORKED") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_FORKED_name, &const_FORKED_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_FORKED_name);

	zval property_status_default_value;
	ZVAL_LONG(&property_status_default_value, 0);
	zend_string *property_status_name = zend_string_init("status", sizeof("status") - 1, 1);
	zend_declare_typed_property(class_entry, property_status_name, &property_status_default_value, ZEND_ACC_PUBLIC, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_status_name);

	zval property_systemError_default_value;
	ZVAL_LONG(&property_systemError_default_value, 0);
	zend_string *property_systemError_name = zend_string_init("systemError", sizeof("systemError") - 1, 1);
	zend_declare_typed_property(class_entry, property_systemError_name, &property_systemError_default_value, ZEND_ACC_PUBLIC, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_systemError_name);

	zval property_tlsCode_default_value;
	ZVAL_LONG(&property_tlsCode_default_value, 0);
	zend_string *property_tlsCode_name = zend_string_init("tlsCode", sizeof("tlsCode") - 1, 1);
	zend_declare_typed_property(class_entry, property_tlsCode_name, &property_tlsCode_default_value, ZEND_ACC_PUBLIC, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_tlsCode_name);

	zval property_reject_default_value;
	ZVAL_LONG(&property_reject_default_value, 0);
	zend_string *property_reject_name = zend_string_init("reject", sizeof("reject") - 1, 1);
	zend_declare_typed_property(class_entry, property_reject_name, &property_reject_default_value, ZEND_ACC_PUBLIC, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_reject_name);

	zval property_taken_default_value;
	ZVAL_LONG(&property_taken_default_value, 0);
	zend_string *property_taken_name = zend_string_init("taken", sizeof("taken") - 1, 1);
	zend_declare_typed_property(class_entry, property_taken_name, &property_taken_default_value, ZEND_ACC_PUBLIC, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_taken_name);

	return class_entry;
}

static zend_class_entry *register_class_Apns_ArgumentException(zend_class_entry *class_entry_Apns_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "ArgumentException", class_Apns_ArgumentException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_Exception);

	return class_entry;
}

static zend_class_entry *register_class_Apns_MemoryException(zend_class_entry *class_entry_Apns_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "MemoryException", class_Apns_MemoryException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_Exception);

	return class_entry;
}

static zend_class_entry *register_class_Apns_TimeoutException(zend_class_entry *class_entry_Apns_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "TimeoutException", class_Apns_TimeoutException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_Exception);

	return class_entry;
}

static zend_class_entry *register_class_Apns_NetworkException(zend_class_entry *class_entry_Apns_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "NetworkException", class_Apns_NetworkException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_Exception);

	return class_entry;
}

static zend_class_entry *register_class_Apns_TlsException(zend_class_entry *class_entry_Apns_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "TlsException", class_Apns_TlsException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_Exception);

	return class_entry;
}

static zend_class_entry *register_class_Apns_CredentialsException(zend_class_entry *class_entry_Apns_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "CredentialsException", class_Apns_CredentialsException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_Exception);

	return class_entry;
}

static zend_class_entry *register_class_Apns_ProtocolException(zend_class_entry *class_entry_Apns_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "ProtocolException", class_Apns_ProtocolException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_Exception);

	return class_entry;
}

static zend_class_entry *register_class_Apns_FullException(zend_class_entry *class_entry_Apns_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "FullException", class_Apns_FullException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_Exception);

	return class_entry;
}

static zend_class_entry *register_class_Apns_ClosedException(zend_class_entry *class_entry_Apns_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "ClosedException", class_Apns_ClosedException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_Exception);

	return class_entry;
}

static zend_class_entry *register_class_Apns_ForkedException(zend_class_entry *class_entry_Apns_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "ForkedException", class_Apns_ForkedException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_Exception);

	return class_entry;
}

static zend_class_entry *register_class_Apns_Reject(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Reject", class_Apns_Reject_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	zval const_NONE_value;
	ZVAL_LONG(&const_NONE_value, APNS_REJECT_NONE);
	zend_string *const_NONE_name = zend_string_init_interned("NONE", sizeof("NONE") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_NONE_name, &const_NONE_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_NONE_name);

	zval const_PROCESSING_ERROR_value;
	ZVAL_LONG(&const_PROCESSING_ERROR_value, APNS_REJECT_PROCESSING_ERROR);
	zend_string *const_PROCESSING_ERROR_name = zend_string_init_interned("PROCESSING_ERROR", sizeof("PROCESSING_ERROR") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_PROCESSING_ERROR_name, &const_PROCESSING_ERROR_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_PROCESSING_ERROR_name);

	zval const_MISSING_TOKEN_value;
	ZVAL_LONG(&const_MISSING_TOKEN_value, APNS_REJECT_MISSING_TOKEN);
	zend_string *const_MISSING_TOKEN_name = zend_string_init_interned("MISSING_TOKEN", sizeof("MISSING_TOKEN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_MISSING_TOKEN_name, &const_MISSING_TOKEN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_MISSING_TOKEN_name);

	zval const_MISSING_TOPIC_value;
	ZVAL_LONG(&const_MISSING_TOPIC_value, APNS_REJECT_MISSING_TOPIC);
	zend_string *const_MISSING_TOPIC_name = zend_string_init_interned("MISSING_TOPIC", sizeof("MISSING_TOPIC") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_MISSING_TOPIC_name, &const_MISSING_TOPIC_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_MISSING_TOPIC_name);

	zval const_MISSING_PAYLOAD_value;
	ZVAL_LONG(&const_MISSING_PAYLOAD_value, APNS_REJECT_MISSING_PAYLOAD);
	zend_string *const_MISSING_PAYLOAD_name = zend_string_init_interned("MISSING_PAYLOAD", sizeof("MISSING_PAYLOAD") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_MISSING_PAYLOAD_name, &const_MISSING_PAYLOAD_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_MISSING_PAYLOAD_name);

	zval const_INVALID_TOKEN_SIZE_value;
	ZVAL_LONG(&const_INVALID_TOKEN_SIZE_value, APNS_REJECT_INVALID_TOKEN_SIZE);
	zend_string *const_INVALID_TOKEN_SIZE_name = zend_string_init_interned("INVALID_TOKEN_SIZE", sizeof("INVALID_TOKEN_SIZE") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_INVALID_TOKEN_SIZE_name, &const_INVALID_TOKEN_SIZE_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_INVALID_TOKEN_SIZE_name);

	zval const_INVALID_TOPIC_SIZE_value;
	ZVAL_LONG(&const_INVALID_TOPIC_SIZE_value, APNS_REJECT_INVALID_TOPIC_SIZE);
	zend_string *const_INVALID_TOPIC_SIZE_name = zend_string_init_interned("INVALID_TOPIC_SIZE", sizeof("INVALID_TOPIC_SIZE") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_INVALID_TOPIC_SIZE_name, &const_INVALID_TOPIC_SIZE_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_INVALID_TOPIC_SIZE_name);

	zval const_INVALID_PAYLOAD_SIZE_value;
	ZVAL_LONG(&const_INVALID_PAYLOAD_SIZE_value, APNS_REJECT_INVALID_PAYLOAD_SIZE);
	zend_string *const_INVALID_PAYLOAD_SIZE_name = zend_string_init_interned("INVALID_PAYLOAD_SIZE", sizeof("INVALID_PAYLOAD_SIZE") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_INVALID_PAYLOAD_SIZE_name, &const_INVALID_PAYLOAD_SIZE_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_INVALID_PAYLOAD_SIZE_name);

	zval const_INVALID_TOKEN_value;
	ZVAL_LONG(&const_INVALID_TOKEN_value, APNS_REJECT_INVALID_TOKEN);
	zend_string *const_INVALID_TOKEN_name = zend_string_init_interned("INVALID_TOKEN", sizeof("INVALID_TOKEN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_INVALID_TOKEN_name, &const_INVALID_TOKEN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_INVALID_TOKEN_name);

	zval const_SHUTDOWN_value;
	ZVAL_LONG(&const_SHUTDOWN_value, APNS_REJECT_SHUTDOWN);
	zend_string *const_SHUTDOWN_name = zend_string_init_interned("SHUTDOWN", sizeof("SHUTDOWN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_SHUTDOWN_name, &const_SHUTDOWN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_SHUTDOWN_name);

	zval const_PROTOCOL_ERROR_value;
	ZVAL_LONG(&const_PROTOCOL_ERROR_value, APNS_REJECT_PROTOCOL_ERROR);
	zend_string *const_PROTOCOL_ERROR_name = zend_string_init_interned("PROTOCOL_ERROR", sizeof("PROTOCOL_ERROR") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_PROTOCOL_ERROR_name, &const_PROTOCOL_ERROR_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_PROTOCOL_ERROR_name);

	zval const_UNKNOWN_value;
	ZVAL_LONG(&const_UNKNOWN_value, APNS_REJECT_UNKNOWN);
	zend_string *const_UNKNOWN_name = zend_string_init_interned("UNKNOWN", sizeof("UNKNOWN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_UNKNOWN_name, &const_UNKNOWN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_UNKNOWN_name);

	return class_entry;
}

static zend_class_entry *register_class_Apns_Reason(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Reason", class_Apns_Reason_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	zval const_NONE_value;
	ZVAL_LONG(&const_NONE_value, APNS_REASON_NONE);
	zend_string *const_NONE_name = zend_string_init_interned("NONE", sizeof("NONE") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_NONE_name, &const_NONE_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_NONE_name);

	zval const_BAD_DEVICE_TOKEN_value;
	ZVAL_LONG(&const_BAD_DEVICE_TOKEN_value, APNS_REASON_BAD_DEVICE_TOKEN);
	zend_string *const_BAD_DEVICE_TOKEN_name = zend_string_init_interned("BAD_DEVICE_TOKEN", sizeof("BAD_DEVICE_TOKEN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_BAD_DEVICE_TOKEN_name, &const_BAD_DEVICE_TOKEN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_BAD_DEVICE_TOKEN_name);

	zval const_DEVICE_TOKEN_NOT_FOR_TOPIC_value;
	ZVAL_LONG(&const_DEVICE_TOKEN_NOT_FOR_TOPIC_value, APNS_REASON_DEVICE_TOKEN_NOT_FOR_TOPIC);
	zend_string *const_DEVICE_TOKEN_NOT_FOR_TOPIC_name = zend_string_init_interned("DEVICE_TOKEN_NOT_FOR_TOPIC", sizeof("DEVICE_TOKEN_NOT_FOR_TOPIC") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_DEVICE_TOKEN_NOT_FOR_TOPIC_name, &const_DEVICE_TOKEN_NOT_FOR_TOPIC_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_DEVICE_TOKEN_NOT_FOR_TOPIC_name);

	zval const_MISSING_DEVICE_TOKEN_value;
	ZVAL_LONG(&const_MISSING_DEVICE_TOKEN_value, APNS_REASON_MISSING_DEVICE_TOKEN);
	zend_string *const_MISSING_DEVICE_TOKEN_name = zend_string_init_interned("MISSING_DEVICE_TOKEN", sizeof("MISSING_DEVICE_TOKEN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_MISSING_DEVICE_TOKEN_name, &const_MISSING_DEVICE_TOKEN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_MISSING_DEVICE_TOKEN_name);

	zval const_MISSING_TOPIC_value;
	ZVAL_LONG(&const_MISSING_TOPIC_value, APNS_REASON_MISSING_TOPIC);
	zend_string *const_MISSING_TOPIC_name = zend_string_init_interned("MISSING_TOPIC", sizeof("MISSING_TOPIC") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_MISSING_TOPIC_name, &const_MISSING_TOPIC_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_MISSING_TOPIC_name);

	zval const_PAYLOAD_EMPTY_value;
	ZVAL_LONG(&const_PAYLOAD_EMPTY_value, APNS_REASON_PAYLOAD_EMPTY);
	zend_string *const_PAYLOAD_EMPTY_name = zend_string_init_interned("PAYLOAD_EMPTY", sizeof("PAYLOAD_EMPTY") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_PAYLOAD_EMPTY_name, &const_PAYLOAD_EMPTY_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_PAYLOAD_EMPTY_name);

	zval const_BAD_TOPIC_value;
	ZVAL_LONG(&const_BAD_TOPIC_value, APNS_REASON_BAD_TOPIC);
	zend_string *const_BAD_TOPIC_name = zend_string_init_interned("BAD_TOPIC", sizeof("BAD_TOPIC") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_BAD_TOPIC_name, &const_BAD_TOPIC_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_BAD_TOPIC_name);

	zval const_PAYLOAD_TOO_LARGE_value;
	ZVAL_LONG(&const_PAYLOAD_TOO_LARGE_value, APNS_REASON_PAYLOAD_TOO_LARGE);
	zend_string *const_PAYLOAD_TOO_LARGE_name = zend_string_init_interned("PAYLOAD_TOO_LARGE", sizeof("PAYLOAD_TOO_LARGE") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_PAYLOAD_TOO_LARGE_name, &const_PAYLOAD_TOO_LARGE_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_PAYLOAD_TOO_LARGE_name);

	zval const_BAD_COLLAPSE_ID_value;
	ZVAL_LONG(&const_BAD_COLLAPSE_ID_value, APNS_REASON_BAD_COLLAPSE_ID);
	zend_string *const_BAD_COLLAPSE_ID_name = zend_string_init_interned("BAD_COLLAPSE_ID", sizeof("BAD_COLLAPSE_ID") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_BAD_COLLAPSE_ID_name, &const_BAD_COLLAPSE_ID_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_BAD_COLLAPSE_ID_name);

	zval const_BAD_EXPIRATION_DATE_value;
	ZVAL_LONG(&const_BAD_EXPIRATION_DATE_value, APNS_REASON_BAD_EXPIRATION_DATE);
	zend_string *const_BAD_EXPIRATION_DATE_name = zend_string_init_interned("BAD_EXPIRATION_DATE", sizeof("BAD_EXPIRATION_DATE") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_BAD_EXPIRATION_DATE_name, &const_BAD_EXPIRATION_DATE_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_BAD_EXPIRATION_DATE_name);

	zval const_BAD_MESSAGE_ID_value;
	ZVAL_LONG(&const_BAD_MESSAGE_ID_value, APNS_REASON_BAD_MESSAGE_ID);
	zend_string *const_BAD_MESSAGE_ID_name = zend_string_init_interned("BAD_MESSAGE_ID", sizeof("BAD_MESSAGE_ID") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_BAD_MESSAGE_ID_name, &const_BAD_MESSAGE_ID_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_BAD_MESSAGE_ID_name);

	zval const_BAD_PRIORITY_value;
	ZVAL_LONG(&const_BAD_PRIORITY_value, APNS_REASON_BAD_PRIORITY);
	zend_string *const_BAD_PRIORITY_name = zend_string_init_interned("BAD_PRIORITY", sizeof("BAD_PRIORITY") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_BAD_PRIORITY_name, &const_BAD_PRIORITY_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_BAD_PRIORITY_name);

	zval const_DUPLICATE_HEADERS_value;
	ZVAL_LONG(&const_DUPLICATE_HEADERS_value, APNS_REASON_DUPLICATE_HEADERS);
	zend_string *const_DUPLICATE_HEADERS_name = zend_string_init_interned("DUPLICATE_HEADERS", sizeof("DUPLICATE_HEADERS") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_DUPLICATE_HEADERS_name, &const_DUPLICATE_HEADERS_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_DUPLICATE_HEADERS_name);

	zval const_INVALID_PUSH_TYPE_value;
	ZVAL_LONG(&const_INVALID_PUSH_TYPE_value, APNS_REASON_INVALID_PUSH_TYPE);
	zend_string *const_INVALID_PUSH_TYPE_name = zend_string_init_interned("INVALID_PUSH_TYPE", sizeof("INVALID_PUSH_TYPE") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_INVALID_PUSH_TYPE_name, &const_INVALID_PUSH_TYPE_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_INVALID_PUSH_TYPE_name);

	zval const_BAD_PATH_value;
	ZVAL_LONG(&const_BAD_PATH_value, APNS_REASON_BAD_PATH);
	zend_string *const_BAD_PATH_name = zend_string_init_interned("BAD_PATH", sizeof("BAD_PATH") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_BAD_PATH_name, &const_BAD_PATH_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_BAD_PATH_name);

	zval const_METHOD_NOT_ALLOWED_value;
	ZVAL_LONG(&const_METHOD_NOT_ALLOWED_value, APNS_REASON_METHOD_NOT_ALLOWED);
	zend_string *const_METHOD_NOT_ALLOWED_name = zend_string_init_interned("METHOD_NOT_ALLOWED", sizeof("METHOD_NOT_ALLOWED") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_METHOD_NOT_ALLOWED_name, &const_METHOD_NOT_ALLOWED_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_METHOD_NOT_ALLOWED_name);

	zval const_IDLE_TIMEOUT_value;
	ZVAL_LONG(&const_IDLE_TIMEOUT_value, APNS_REASON_IDLE_TIMEOUT);
	zend_string *const_IDLE_TIMEOUT_name = zend_string_init_interned("IDLE_TIMEOUT", sizeof("IDLE_TIMEOUT") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_IDLE_TIMEOUT_name, &const_IDLE_TIMEOUT_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_IDLE_TIMEOUT_name);

	zval const_EXPIRED_PROVIDER_TOKEN_value;
	ZVAL_LONG(&const_EXPIRED_PROVIDER_TOKEN_value, APNS_REASON_EXPIRED_PROVIDER_TOKEN);
	zend_string *const_EXPIRED_PROVIDER_TOKEN_name = zend_string_init_interned("EXPIRED_PROVIDER_TOKEN", sizeof("EXPIRED_PROVIDER_TOKEN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_EXPIRED_PROVIDER_TOKEN_name, &const_EXPIRED_PROVIDER_TOKEN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_EXPIRED_PROVIDER_TOKEN_name);

	zval const_UNRELATED_KEY_ID_IN_TOKEN_value;
	ZVAL_LONG(&const_UNRELATED_KEY_ID_IN_TOKEN_value, APNS_REASON_UNRELATED_KEY_ID_IN_TOKEN);
	zend_string *const_UNRELATED_KEY_ID_IN_TOKEN_name = zend_string_init_interned("UNRELATED_KEY_ID_IN_TOKEN", sizeof("UNRELATED_KEY_ID_IN_TOKEN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_UNRELATED_KEY_ID_IN_TOKEN_name, &const_UNRELATED_KEY_ID_IN_TOKEN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_UNRELATED_KEY_ID_IN_TOKEN_name);

	zval const_TOPIC_DISALLOWED_value;
	ZVAL_LONG(&const_TOPIC_DISALLOWED_value, APNS_REASON_TOPIC_DISALLOWED);
	zend_string *const_TOPIC_DISALLOWED_name = zend_string_init_interned("TOPIC_DISALLOWED", sizeof("TOPIC_DISALLOWED") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_TOPIC_DISALLOWED_name, &const_TOPIC_DISALLOWED_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_TOPIC_DISALLOWED_name);

	zval const_BAD_CERTIFICATE_value;
	ZVAL_LONG(&const_BAD_CERTIFICATE_value, APNS_REASON_BAD_CERTIFICATE);
	zend_string *const_BAD_CERTIFICATE_name = zend_string_init_interned("BAD_CERTIFICATE", sizeof("BAD_CERTIFICATE") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_BAD_CERTIFICATE_name, &const_BAD_CERTIFICATE_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_BAD_CERTIFICATE_name);

	zval const_BAD_CERTIFICATE_ENVIRONMENT_value;
	ZVAL_LONG(&const_BAD_CERTIFICATE_ENVIRONMENT_value, APNS_REASON_BAD_CERTIFICATE_ENVIRONMENT);
	zend_string *const_BAD_CERTIFICATE_ENVIRONMENT_name = zend_string_init_interned("BAD_CERTIFICATE_ENVIRONMENT", sizeof("BAD_CERTIFICATE_ENVIRONMENT") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_BAD_CERTIFICATE_ENVIRONMENT_name, &const_BAD_CERTIFICATE_ENVIRONMENT_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_BAD_CERTIFICATE_ENVIRONMENT_name);

	zval const_BAD_ENVIRONMENT_KEY_ID_IN_TOKEN_value;
	ZVAL_LONG(&const_BAD_ENVIRONMENT_KEY_ID_IN_TOKEN_value, APNS_REASON_BAD_ENVIRONMENT_KEY_ID_IN_TOKEN);
	zend_string *const_BAD_ENVIRONMENT_KEY_ID_IN_TOKEN_name = zend_string_init_interned("BAD_ENVIRONMENT_KEY_ID_IN_TOKEN", sizeof("BAD_ENVIRONMENT_KEY_ID_IN_TOKEN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_BAD_ENVIRONMENT_KEY_ID_IN_TOKEN_name, &const_BAD_ENVIRONMENT_KEY_ID_IN_TOKEN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_BAD_ENVIRONMENT_KEY_ID_IN_TOKEN_name);

	zval const_FORBIDDEN_value;
	ZVAL_LONG(&const_FORBIDDEN_value, APNS_REASON_FORBIDDEN);
	zend_string *const_FORBIDDEN_name = zend_string_init_interned("FORBIDDEN", sizeof("FORBIDDEN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_FORBIDDEN_name, &const_FORBIDDEN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_FORBIDDEN_name);

	zval const_INVALID_PROVIDER_TOKEN_value;
	ZVAL_LONG(&const_INVALID_PROVIDER_TOKEN_value, APNS_REASON_INVALID_PROVIDER_TOKEN);
	zend_string *const_INVALID_PROVIDER_TOKEN_name = zend_string_init_interned("INVALID_PROVIDER_TOKEN", sizeof("INVALID_PROVIDER_TOKEN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_INVALID_PROVIDER_TOKEN_name, &const_INVALID_PROVIDER_TOKEN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_INVALID_PROVIDER_TOKEN_name);

	zval const_MISSING_PROVIDER_TOKEN_value;
	ZVAL_LONG(&const_MISSING_PROVIDER_TOKEN_value, APNS_REASON_MISSING_PROVIDER_TOKEN);
	zend_string *const_MISSING_PROVIDER_TOKEN_name = zend_string_init_interned("MISSING_PROVIDER_TOKEN", sizeof("MISSING_PROVIDER_TOKEN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_MISSING_PROVIDER_TOKEN_name, &const_MISSING_PROVIDER_TOKEN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_MISSING_PROVIDER_TOKEN_name);

	zval const_UNREGISTERED_value;
	ZVAL_LONG(&const_UNREGISTERED_value, APNS_REASON_UNREGISTERED);
	zend_string *const_UNREGISTERED_name = zend_string_init_interned("UNREGISTERED", sizeof("UNREGISTERED") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_UNREGISTERED_name, &const_UNREGISTERED_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_UNREGISTERED_name);

	zval const_EXPIRED_TOKEN_value;
	ZVAL_LONG(&const_EXPIRED_TOKEN_value, APNS_REASON_EXPIRED_TOKEN);
	zend_string *const_EXPIRED_TOKEN_name = zend_string_init_interned("EXPIRED_TOKEN", sizeof("EXPIRED_TOKEN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_EXPIRED_TOKEN_name, &const_EXPIRED_TOKEN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_EXPIRED_TOKEN_name);

	zval const_TOO_MANY_PROVIDER_TOKEN_UPDATES_value;
	ZVAL_LONG(&const_TOO_MANY_PROVIDER_TOKEN_UPDATES_value, APNS_REASON_TOO_MANY_PROVIDER_TOKEN_UPDATES);
	zend_string *const_TOO_MANY_PROVIDER_TOKEN_UPDATES_name = zend_string_init_interned("TOO_MANY_PROVIDER_TOKEN_UPDATES", sizeof("TOO_MANY_PROVIDER_TOKEN_UPDATES") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_TOO_MANY_PROVIDER_TOKEN_UPDATES_name, &const_TOO_MANY_PROVIDER_TOKEN_UPDATES_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_TOO_MANY_PROVIDER_TOKEN_UPDATES_name);

	zval const_TOO_MANY_REQUESTS_value;
	ZVAL_LONG(&const_TOO_MANY_REQUESTS_value, APNS_REASON_TOO_MANY_REQUESTS);
	zend_string *const_TOO_MANY_REQUESTS_name = zend_string_init_interned("TOO_MANY_REQUESTS", sizeof("TOO_MANY_REQUESTS") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_TOO_MANY_REQUESTS_name, &const_TOO_MANY_REQUESTS_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_TOO_MANY_REQUESTS_name);

	zval const_INTERNAL_SERVER_ERROR_value;
	ZVAL_LONG(&const_INTERNAL_SERVER_ERROR_value, APNS_REASON_INTERNAL_SERVER_ERROR);
	zend_string *const_INTERNAL_SERVER_ERROR_name = zend_string_init_interned("INTERNAL_SERVER_ERROR", sizeof("INTERNAL_SERVER_ERROR") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_INTERNAL_SERVER_ERROR_name, &const_INTERNAL_SERVER_ERROR_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_INTERNAL_SERVER_ERROR_name);

	zval const_SERVICE_UNAVAILABLE_value;
	ZVAL_LONG(&const_SERVICE_UNAVAILABLE_value, APNS_REASON_SERVICE_UNAVAILABLE);
	zend_string *const_SERVICE_UNAVAILABLE_name = zend_string_init_interned("SERVICE_UNAVAILABLE", sizeof("SERVICE_UNAVAILABLE") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_SERVICE_UNAVAILABLE_name, &const_SERVICE_UNAVAILABLE_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_SERVICE_UNAVAILABLE_name);

	zval const_SHUTDOWN_value;
	ZVAL_LONG(&const_SHUTDOWN_value, APNS_REASON_SHUTDOWN);
	zend_string *const_SHUTDOWN_name = zend_string_init_interned("SHUTDOWN", sizeof("SHUTDOWN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_SHUTDOWN_name, &const_SHUTDOWN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_SHUTDOWN_name);

	zval const_OTHER_value;
	ZVAL_LONG(&const_OTHER_value, APNS_REASON_OTHER);
	zend_string *const_OTHER_name = zend_string_init_interned("OTHER", sizeof("OTHER") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_OTHER_name, &const_OTHER_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_OTHER_name);

	return class_entry;
}

static zend_class_entry *register_class_Apns_PushType(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "PushType", class_Apns_PushType_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	zval const_ALERT_value;
	ZVAL_LONG(&const_ALERT_value, APNS_PUSH_TYPE_ALERT);
	zend_string *const_ALERT_name = zend_string_init_interned("ALERT", sizeof("ALERT") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_ALERT_name, &const_ALERT_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_ALERT_name);

	zval const_BACKGROUND_value;
	ZVAL_LONG(&const_BACKGROUND_value, APNS_PUSH_TYPE_BACKGROUND);
	zend_string *const_BACKGROUND_name = zend_string_init_interned("BACKGROUND", sizeof("BACKGROUND") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_BACKGROUND_name, &const_BACKGROUND_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_BACKGROUND_name);

	zval const_LOCATION_value;
	ZVAL_LONG(&const_LOCATION_value, APNS_PUSH_TYPE_LOCATION);
	zend_string *const_LOCATION_name = zend_string_init_interned("LOCATION", sizeof("LOCATION") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_LOCATION_name, &const_LOCATION_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_LOCATION_name);

	zval const_VOIP_value;
	ZVAL_LONG(&const_VOIP_value, APNS_PUSH_TYPE_VOIP);
	zend_string *const_VOIP_name = zend_string_init_interned("VOIP", sizeof("VOIP") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_VOIP_name, &const_VOIP_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_VOIP_name);

	zval const_COMPLICATION_value;
	ZVAL_LONG(&const_COMPLICATION_value, APNS_PUSH_TYPE_COMPLICATION);
	zend_string *const_COMPLICATION_name = zend_string_init_interned("COMPLICATION", sizeof("COMPLICATION") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_COMPLICATION_name, &const_COMPLICATION_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_COMPLICATION_name);

	zval const_FILEPROVIDER_value;
	ZVAL_LONG(&const_FILEPROVIDER_value, APNS_PUSH_TYPE_FILEPROVIDER);
	zend_string *const_FILEPROVIDER_name = zend_string_init_interned("FILEPROVIDER", sizeof("FILEPROVIDER") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_FILEPROVIDER_name, &const_FILEPROVIDER_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_FILEPROVIDER_name);

	zval const_MDM_value;
	ZVAL_LONG(&const_MDM_value, APNS_PUSH_TYPE_MDM);
	zend_string *const_MDM_name = zend_string_init_interned("MDM", sizeof("MDM") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_MDM_name, &const_MDM_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_MDM_name);

	zval const_LIVEACTIVITY_value;
	ZVAL_LONG(&const_LIVEACTIVITY_value, APNS_PUSH_TYPE_LIVEACTIVITY);
	zend_string *const_LIVEACTIVITY_name = zend_string_init_interned("LIVEACTIVITY", sizeof("LIVEACTIVITY") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_LIVEACTIVITY_name, &const_LIVEACTIVITY_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_LIVEACTIVITY_name);

	zval const_PUSHTOTALK_value;
	ZVAL_LONG(&const_PUSHTOTALK_value, APNS_PUSH_TYPE_PUSHTOTALK);
	zend_string *const_PUSHTOTALK_name = zend_string_init_interned("PUSHTOTALK", sizeof("PUSHTOTALK") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_PUSHTOTALK_name, &const_PUSHTOTALK_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_PUSHTOTALK_name);

	zval const_WIDGETS_value;
	ZVAL_LONG(&const_WIDGETS_value, APNS_PUSH_TYPE_WIDGETS);
	zend_string *const_WIDGETS_name = zend_string_init_interned("WIDGETS", sizeof("WIDGETS") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_WIDGETS_name, &const_WIDGETS_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_WIDGETS_name);

	zval const_CONTROLS_value;
	ZVAL_LONG(&const_CONTROLS_value, APNS_PUSH_TYPE_CONTROLS);
	zend_string *const_CONTROLS_name = zend_string_init_interned("CONTROLS", sizeof("CONTROLS") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_CONTROLS_name, &const_CONTROLS_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_CONTROLS_name);

	return class_entry;
}

static zend_class_entry *register_class_Apns_Token(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Token", class_Apns_Token_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	zval property_hex_default_value;
	ZVAL_UNDEF(&property_hex_default_value);
	zend_string *property_hex_name = zend_string_init("hex", sizeof("hex") - 1, 1);
	zend_declare_typed_property(class_entry, property_hex_name, &property_hex_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_hex_name);

	return class_entry;
}

static zend_class_entry *register_class_Apns_Credentials(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Credentials", class_Apns_Credentials_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	zval const_TLS_1_2_value;
	ZVAL_LONG(&const_TLS_1_2_value, APNS_TLS_1_2);
	zend_string *const_TLS_1_2_name = zend_string_init_interned("TLS_1_2", sizeof("TLS_1_2") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_TLS_1_2_name, &const_TLS_1_2_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_TLS_1_2_name);

	zval const_TLS_1_3_value;
	ZVAL_LONG(&const_TLS_1_3_value, APNS_TLS_1_3);
	zend_string *const_TLS_1_3_name = zend_string_init_interned("TLS_1_3", sizeof("TLS_1_3") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_TLS_1_3_name, &const_TLS_1_3_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_TLS_1_3_name);

	zval const_SANDBOX_value;
	ZVAL_LONG(&const_SANDBOX_value, APNS_ENVIRONMENT_SANDBOX);
	zend_string *const_SANDBOX_name = zend_string_init_interned("SANDBOX", sizeof("SANDBOX") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_SANDBOX_name, &const_SANDBOX_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_SANDBOX_name);

	zval const_PRODUCTION_value;
	ZVAL_LONG(&const_PRODUCTION_value, APNS_ENVIRONMENT_PRODUCTION);
	zend_string *const_PRODUCTION_name = zend_string_init_interned("PRODUCTION", sizeof("PRODUCTION") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_PRODUCTION_name, &const_PRODUCTION_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_PRODUCTION_name);

	return class_entry;
}

static zend_class_entry *register_class_Apns_Payload(zend_class_entry *class_entry_Stringable)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Payload", class_Apns_Payload_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Stringable);

	return class_entry;
}

static zend_class_entry *register_class_Apns_Strings(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Strings", class_Apns_Strings_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	return class_entry;
}

static zend_class_entry *register_class_Apns_Event(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Event", class_Apns_Event_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	zval const_ACCEPTED_value;
	ZVAL_LONG(&const_ACCEPTED_value, APNS_EVENT_ACCEPTED);
	zend_string *const_ACCEPTED_name = zend_string_init_interned("ACCEPTED", sizeof("ACCEPTED") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_ACCEPTED_name, &const_ACCEPTED_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_ACCEPTED_name);

	zval const_REJECTED_value;
	ZVAL_LONG(&const_REJECTED_value, APNS_EVENT_REJECTED);
	zend_string *const_REJECTED_name = zend_string_init_interned("REJECTED", sizeof("REJECTED") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_REJECTED_name, &const_REJECTED_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_REJECTED_name);

	zval const_UNKNOWN_value;
	ZVAL_LONG(&const_UNKNOWN_value, APNS_EVENT_UNKNOWN);
	zend_string *const_UNKNOWN_name = zend_string_init_interned("UNKNOWN", sizeof("UNKNOWN") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_UNKNOWN_name, &const_UNKNOWN_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_UNKNOWN_name);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_kind_name);

	zval property_reject_default_value;
	ZVAL_UNDEF(&property_reject_default_value);
	zend_string *property_reject_name = zend_string_init("reject", sizeof("reject") - 1, 1);
	zend_declare_typed_property(class_entry, property_reject_name, &property_reject_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_reject_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_reason_name);

	zval property_httpStatus_default_value;
	ZVAL_UNDEF(&property_httpStatus_default_value);
	zend_string *property_httpStatus_name = zend_string_init("httpStatus", sizeof("httpStatus") - 1, 1);
	zend_declare_typed_property(class_entry, property_httpStatus_name, &property_httpStatus_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_httpStatus_name);

	zval property_timestamp_default_value;
	ZVAL_UNDEF(&property_timestamp_default_value);
	zend_string *property_timestamp_name = zend_string_init("timestamp", sizeof("timestamp") - 1, 1);
	zend_declare_typed_property(class_entry, property_timestamp_name, &property_timestamp_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_timestamp_name);

	zval property_apnsId_default_value;
	ZVAL_UNDEF(&property_apnsId_default_value);
	zend_string *property_apnsId_name = zend_string_init("apnsId", sizeof("apnsId") - 1, 1);
	zend_declare_typed_property(class_entry, property_apnsId_name, &property_apnsId_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_apnsId_name);

	zval property_reasonText_default_value;
	ZVAL_UNDEF(&property_reasonText_default_value);
	zend_string *property_reasonText_name = zend_string_init("reasonText", sizeof("reasonText") - 1, 1);
	zend_declare_typed_property(class_entry, property_reasonText_name, &property_reasonText_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reasonText_name);

	zval property_identifier_default_value;
	ZVAL_UNDEF(&property_identifier_default_value);
	zend_string *property_identifier_name = zend_string_init("identifier", sizeof("identifier") - 1, 1);
	zend_declare_typed_property(class_entry, property_identifier_name, &property_identifier_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_identifier_name);

	zval property_token_default_value;
	ZVAL_UNDEF(&property_token_default_value);
	zend_string *property_token_name = zend_string_init("token", sizeof("token") - 1, 1);
	zend_declare_typed_property(class_entry, property_token_name, &property_token_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_token_name);

	zval property_userData_default_value;
	ZVAL_UNDEF(&property_userData_default_value);
	zend_string *property_userData_name = zend_string_init("userData", sizeof("userData") - 1, 1);
	zend_declare_typed_property(class_entry, property_userData_name, &property_userData_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ANY));
	zend_string_release(property_userData_name);

	zval property_request_default_value;
	ZVAL_UNDEF(&property_request_default_value);
	zend_string *property_request_name = zend_string_init("request", sizeof("request") - 1, 1);
	zend_declare_typed_property(class_entry, property_request_name, &property_request_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_request_name);

	zval property_kindText_default_value;
	ZVAL_UNDEF(&property_kindText_default_value);
	zend_string *property_kindText_name = zend_string_init("kindText", sizeof("kindText") - 1, 1);
	zend_declare_typed_property(class_entry, property_kindText_name, &property_kindText_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kindText_name);

	zval property_why_default_value;
	ZVAL_UNDEF(&property_why_default_value);
	zend_string *property_why_name = zend_string_init("why", sizeof("why") - 1, 1);
	zend_declare_typed_property(class_entry, property_why_name, &property_why_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_why_name);

	return class_entry;
}

static zend_class_entry *register_class_Apns_Events(zend_class_entry *class_entry_IteratorAggregate)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Events", class_Apns_Events_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_IteratorAggregate);

	return class_entry;
}

static zend_class_entry *register_class_Apns_Session(zend_class_entry *class_entry_IteratorAggregate)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Session", class_Apns_Session_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_IteratorAggregate);

	zval const_FORMAT_SIMPLE_value;
	ZVAL_LONG(&const_FORMAT_SIMPLE_value, APNS_FORMAT_SIMPLE);
	zend_string *const_FORMAT_SIMPLE_name = zend_string_init_interned("FORMAT_SIMPLE", sizeof("FORMAT_SIMPLE") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_FORMAT_SIMPLE_name, &const_FORMAT_SIMPLE_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_FORMAT_SIMPLE_name);

	zval const_FORMAT_ENHANCED_value;
	ZVAL_LONG(&const_FORMAT_ENHANCED_value, APNS_FORMAT_ENHANCED);
	zend_string *const_FORMAT_ENHANCED_name = zend_string_init_interned("FORMAT_ENHANCED", sizeof("FORMAT_ENHANCED") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_FORMAT_ENHANCED_name, &const_FORMAT_ENHANCED_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_FORMAT_ENHANCED_name);

	zval const_FORMAT_FRAMED_value;
	ZVAL_LONG(&const_FORMAT_FRAMED_value, APNS_FORMAT_FRAMED);
	zend_string *const_FORMAT_FRAMED_name = zend_string_init_interned("FORMAT_FRAMED", sizeof("FORMAT_FRAMED") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_FORMAT_FRAMED_name, &const_FORMAT_FRAMED_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_FORMAT_FRAMED_name);

	zval const_AMBIGUOUS_RESEND_value;
	ZVAL_LONG(&const_AMBIGUOUS_RESEND_value, APNS_AMBIGUOUS_RESEND);
	zend_string *const_AMBIGUOUS_RESEND_name = zend_string_init_interned("AMBIGUOUS_RESEND", sizeof("AMBIGUOUS_RESEND") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_AMBIGUOUS_RESEND_name, &const_AMBIGUOUS_RESEND_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_AMBIGUOUS_RESEND_name);

	zval const_AMBIGUOUS_REPORT_value;
	ZVAL_LONG(&const_AMBIGUOUS_REPORT_value, APNS_AMBIGUOUS_REPORT);
	zend_string *const_AMBIGUOUS_REPORT_name = zend_string_init_interned("AMBIGUOUS_REPORT", sizeof("AMBIGUOUS_REPORT") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_AMBIGUOUS_REPORT_name, &const_AMBIGUOUS_REPORT_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_AMBIGUOUS_REPORT_name);

	zval const_PROTOCOL_BINARY_value;
	ZVAL_LONG(&const_PROTOCOL_BINARY_value, APNS_PROTOCOL_BINARY);
	zend_string *const_PROTOCOL_BINARY_name = zend_string_init_interned("PROTOCOL_BINARY", sizeof("PROTOCOL_BINARY") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_PROTOCOL_BINARY_name, &const_PROTOCOL_BINARY_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_PROTOCOL_BINARY_name);

	zval const_PROTOCOL_HTTP2_value;
	ZVAL_LONG(&const_PROTOCOL_HTTP2_value, APNS_PROTOCOL_HTTP2);
	zend_string *const_PROTOCOL_HTTP2_name = zend_string_init_interned("PROTOCOL_HTTP2", sizeof("PROTOCOL_HTTP2") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_PROTOCOL_HTTP2_name, &const_PROTOCOL_HTTP2_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_PROTOCOL_HTTP2_name);

	zval const_EXPIRY_ONCE_value;
	ZVAL_LONG(&const_EXPIRY_ONCE_value, APNS_EXPIRY_ONCE);
	zend_string *const_EXPIRY_ONCE_name = zend_string_init_interned("EXPIRY_ONCE", sizeof("EXPIRY_ONCE") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_EXPIRY_ONCE_name, &const_EXPIRY_ONCE_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_EXPIRY_ONCE_name);

	zval const_CHECK_PAYLOAD_value;
	ZVAL_LONG(&const_CHECK_PAYLOAD_value, APNS_CHECK_PAYLOAD);
	zend_string *const_CHECK_PAYLOAD_name = zend_string_init_interned("CHECK_PAYLOAD", sizeof("CHECK_PAYLOAD") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_CHECK_PAYLOAD_name, &const_CHECK_PAYLOAD_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_CHECK_PAYLOAD_name);

	zval const_CHECK_EXPIRY_value;
	ZVAL_LONG(&const_CHECK_EXPIRY_value, APNS_CHECK_EXPIRY);
	zend_string *const_CHECK_EXPIRY_name = zend_string_init_interned("CHECK_EXPIRY", sizeof("CHECK_EXPIRY") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_CHECK_EXPIRY_name, &const_CHECK_EXPIRY_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_CHECK_EXPIRY_name);

	zval const_CHECK_ALL_value;
	ZVAL_LONG(&const_CHECK_ALL_value, APNS_CHECK_ALL);
	zend_string *const_CHECK_ALL_name = zend_string_init_interned("CHECK_ALL", sizeof("CHECK_ALL") - 1, 1);
	zend_declare_class_constant_ex(class_entry, const_CHECK_ALL_name, &const_CHECK_ALL_value, ZEND_ACC_PUBLIC, NULL);
	zend_string_release(const_CHECK_ALL_name);

	return class_entry;
}

static zend_class_entry *register_class_Apns_FeedbackEntry(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "FeedbackEntry", class_Apns_FeedbackEntry_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	zval property_timestamp_default_value;
	ZVAL_UNDEF(&property_timestamp_default_value);
	zend_string *property_timestamp_name = zend_string_init("timestamp", sizeof("timestamp") - 1, 1);
	zend_declare_typed_property(class_entry, property_timestamp_name, &property_timestamp_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_timestamp_name);

	zval property_token_default_value;
	ZVAL_UNDEF(&property_token_default_value);
	zend_string *property_token_name = zend_string_init("token", sizeof("token") - 1, 1);
	zend_declare_typed_property(class_entry, property_token_name, &property_token_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_token_name);

	return class_entry;
}

static zend_class_entry *register_class_Apns_Feedback(zend_class_entry *class_entry_IteratorAggregate)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Feedback", class_Apns_Feedback_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_IteratorAggregate);

	return class_entry;
}
