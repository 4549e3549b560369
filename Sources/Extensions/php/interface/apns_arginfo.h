/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: cbfd6594e1e17e347b58e9acc13255fd2d5da0f9 */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Exception_isRetryable, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Exception_getCause, 0, 0, Apns\\Cause, 1)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Exception_getSystemError, 0, 0, IS_LONG, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Exception_getTlsCode arginfo_class_Apns_Exception_getSystemError

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Exception_getReject, 0, 0, Apns\\Reject, 1)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Exception_getTaken arginfo_class_Apns_Exception_getSystemError

#define arginfo_class_Apns_RuntimeException_isRetryable arginfo_class_Apns_Exception_isRetryable

#define arginfo_class_Apns_RuntimeException_getCause arginfo_class_Apns_Exception_getCause

#define arginfo_class_Apns_RuntimeException_getSystemError arginfo_class_Apns_Exception_getSystemError

#define arginfo_class_Apns_RuntimeException_getTlsCode arginfo_class_Apns_Exception_getSystemError

#define arginfo_class_Apns_RuntimeException_getReject arginfo_class_Apns_Exception_getReject

#define arginfo_class_Apns_RuntimeException_getTaken arginfo_class_Apns_Exception_getSystemError

#define arginfo_class_Apns_ArgumentException_isRetryable arginfo_class_Apns_Exception_isRetryable

#define arginfo_class_Apns_ArgumentException_getCause arginfo_class_Apns_Exception_getCause

#define arginfo_class_Apns_ArgumentException_getSystemError arginfo_class_Apns_Exception_getSystemError

#define arginfo_class_Apns_ArgumentException_getTlsCode arginfo_class_Apns_Exception_getSystemError

#define arginfo_class_Apns_ArgumentException_getReject arginfo_class_Apns_Exception_getReject

#define arginfo_class_Apns_ArgumentException_getTaken arginfo_class_Apns_Exception_getSystemError

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
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, limit, IS_LONG, 1, "null")
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

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Apns_Event___construct, 0, 0, 1)
	ZEND_ARG_OBJ_INFO(0, kind, Apns\\EventKind, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, token, IS_STRING, 0, "\"\"")
	ZEND_ARG_OBJ_INFO_WITH_DEFAULT_VALUE(0, reason, Apns\\Reason, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, userData, IS_MIXED, 0, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, identifier, IS_LONG, 0, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, httpStatus, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, reasonText, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timestamp, IS_LONG, 0, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, retryAfter, IS_LONG, 0, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, apnsId, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, uniqueId, IS_STRING, 1, "null")
	ZEND_ARG_OBJ_INFO_WITH_DEFAULT_VALUE(0, reject, Apns\\Reject, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, rejectStatus, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, request, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Event_isAccepted arginfo_class_Apns_Exception_isRetryable

#define arginfo_class_Apns_Event_isRejected arginfo_class_Apns_Exception_isRetryable

#define arginfo_class_Apns_Event_isUnknown arginfo_class_Apns_Exception_isRetryable

#define arginfo_class_Apns_Event_isCancelled arginfo_class_Apns_Exception_isRetryable

#define arginfo_class_Apns_Event_isExpired arginfo_class_Apns_Exception_isRetryable

#define arginfo_class_Apns_Event_hasInvalidToken arginfo_class_Apns_Exception_isRetryable

#define arginfo_class_Apns_Event___toString arginfo_class_Apns_Token_toBase64

#define arginfo_class_Apns_Events___construct arginfo_class_Apns_Token___construct

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Events_getIterator, 0, 0, Iterator, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_SessionInterface_push, 0, 2, Apns\\Event, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, token, Apns\\Token, MAY_BE_STRING|MAY_BE_NULL, NULL)
	ZEND_ARG_OBJ_TYPE_MASK(0, payload, Apns\\Payload, MAY_BE_ARRAY|MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeoutMs, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, userData, IS_MIXED, 0, "null")
	ZEND_ARG_OBJ_TYPE_MASK(0, expiry, DateTimeInterface, MAY_BE_LONG|MAY_BE_NULL, "null")
	ZEND_ARG_OBJ_TYPE_MASK(0, priority, Apns\\Priority, MAY_BE_LONG|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, topic, IS_STRING, 1, "null")
	ZEND_ARG_OBJ_TYPE_MASK(0, pushType, Apns\\PushType, MAY_BE_STRING|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, collapseId, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, apnsId, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, channelId, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, deadlineMs, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_SessionInterface_send, 0, 2, IS_LONG, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, token, Apns\\Token, MAY_BE_STRING|MAY_BE_NULL, NULL)
	ZEND_ARG_OBJ_TYPE_MASK(0, payload, Apns\\Payload, MAY_BE_ARRAY|MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, userData, IS_MIXED, 0, "null")
	ZEND_ARG_OBJ_TYPE_MASK(0, expiry, DateTimeInterface, MAY_BE_LONG|MAY_BE_NULL, "null")
	ZEND_ARG_OBJ_TYPE_MASK(0, priority, Apns\\Priority, MAY_BE_LONG|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, more, _IS_BOOL, 0, "false")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, topic, IS_STRING, 1, "null")
	ZEND_ARG_OBJ_TYPE_MASK(0, pushType, Apns\\PushType, MAY_BE_STRING|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, collapseId, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, apnsId, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, channelId, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, deadlineMs, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_SessionInterface_sendMany, 0, 1, IS_LONG, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, notifications, Traversable, MAY_BE_ARRAY, NULL)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, more, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_SessionInterface_flush, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_SessionInterface_drain, 0, 0, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeoutMs, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_SessionInterface_cancel, 0, 0, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, identifier, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_SessionInterface_nextEvent, 0, 0, Apns\\Event, 1)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeoutMs, IS_LONG, 1, "0")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_TYPE_MASK_EX(arginfo_class_Apns_SessionInterface_events, 0, 0, Traversable, MAY_BE_ARRAY)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeoutMs, IS_LONG, 1, "0")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_SessionInterface_gone, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_SessionInterface_stats arginfo_class_Apns_SessionInterface_gone

#define arginfo_class_Apns_SessionInterface_close arginfo_class_Apns_SessionInterface_drain

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Apns_Session___construct, 0, 0, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, credentials, Apns\\Credentials, MAY_BE_ARRAY|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, options, IS_ARRAY, 0, "[]")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, proxy, IS_STRING, 1, "null")
	ZEND_ARG_VARIADIC_TYPE_INFO(0, named, IS_MIXED, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Session_persistent, 0, 1, Apns\\Session, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, credentials, Apns\\Credentials, MAY_BE_ARRAY|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, options, IS_ARRAY, 0, "[]")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, proxy, IS_STRING, 1, "null")
	ZEND_ARG_VARIADIC_TYPE_INFO(0, named, IS_MIXED, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Session_useCredentials, 0, 1, IS_VOID, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, credentials, Apns\\Credentials, MAY_BE_ARRAY, NULL)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Session_connect arginfo_class_Apns_SessionInterface_flush

#define arginfo_class_Apns_Session_send arginfo_class_Apns_SessionInterface_send

#define arginfo_class_Apns_Session_push arginfo_class_Apns_SessionInterface_push

#define arginfo_class_Apns_Session_sendMany arginfo_class_Apns_SessionInterface_sendMany

#define arginfo_class_Apns_Session_flush arginfo_class_Apns_SessionInterface_flush

#define arginfo_class_Apns_Session_drain arginfo_class_Apns_SessionInterface_drain

#define arginfo_class_Apns_Session_cancel arginfo_class_Apns_SessionInterface_cancel

#define arginfo_class_Apns_Session_nextEvent arginfo_class_Apns_SessionInterface_nextEvent

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Session_events, 0, 0, Apns\\Events, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeoutMs, IS_LONG, 1, "0")
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Session_nextLeftEvent arginfo_class_Apns_SessionInterface_nextEvent

#define arginfo_class_Apns_Session_leftEvents arginfo_class_Apns_Session_events

#define arginfo_class_Apns_Session_getIterator arginfo_class_Apns_Events_getIterator

#define arginfo_class_Apns_Session_gone arginfo_class_Apns_SessionInterface_gone

#define arginfo_class_Apns_Session_stats arginfo_class_Apns_SessionInterface_gone

#define arginfo_class_Apns_Session_metrics arginfo_class_Apns_SessionInterface_gone

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Session_request, 0, 0, IS_STRING, 1)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Session_close arginfo_class_Apns_SessionInterface_drain

#define arginfo_class_Apns_Session_stream arginfo_class_Apns_Token___construct

#define arginfo_class_Apns_Session_process arginfo_class_Apns_Exception_isRetryable

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_Session_timeoutMs, 0, 0, IS_LONG, 1)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Apns_FeedbackEntry___construct, 0, 0, 1)
	ZEND_ARG_TYPE_INFO(0, token, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timestamp, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Feedback___construct arginfo_class_Apns_Session___construct

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Apns_Feedback_read, 0, 0, Apns\\FeedbackEntry, 1)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_Feedback_getIterator arginfo_class_Apns_Events_getIterator

#define arginfo_class_Apns_Feedback_stream arginfo_class_Apns_Token___construct

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_ChannelsInterface_create, 0, 1, IS_STRING, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, storage, Apns\\Storage, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_ChannelsInterface_describe, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, channelId, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Apns_ChannelsInterface_delete, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, channelId, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Apns_ChannelsInterface_list arginfo_class_Apns_SessionInterface_gone

#define arginfo_class_Apns_Channels___construct arginfo_class_Apns_Session___construct

#define arginfo_class_Apns_Channels_create arginfo_class_Apns_ChannelsInterface_create

#define arginfo_class_Apns_Channels_describe arginfo_class_Apns_ChannelsInterface_describe

#define arginfo_class_Apns_Channels_delete arginfo_class_Apns_ChannelsInterface_delete

#define arginfo_class_Apns_Channels_list arginfo_class_Apns_SessionInterface_gone

#define arginfo_class_Apns_Channels_response arginfo_class_Apns_Credentials_describe

#define arginfo_class_Apns_Channels_cancel arginfo_class_Apns_SessionInterface_flush

#define arginfo_class_Apns_Channels_stream arginfo_class_Apns_Token___construct

#define arginfo_class_Apns_Channels_timeoutMs arginfo_class_Apns_Session_timeoutMs


ZEND_METHOD(Apns_RuntimeException, isRetryable);
ZEND_METHOD(Apns_RuntimeException, getCause);
ZEND_METHOD(Apns_RuntimeException, getSystemError);
ZEND_METHOD(Apns_RuntimeException, getTlsCode);
ZEND_METHOD(Apns_RuntimeException, getReject);
ZEND_METHOD(Apns_RuntimeException, getTaken);
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
ZEND_METHOD(Apns_Event, isCancelled);
ZEND_METHOD(Apns_Event, isExpired);
ZEND_METHOD(Apns_Event, hasInvalidToken);
ZEND_METHOD(Apns_Event, __toString);
ZEND_METHOD(Apns_Events, __construct);
ZEND_METHOD(Apns_Events, getIterator);
ZEND_METHOD(Apns_Session, __construct);
ZEND_METHOD(Apns_Session, persistent);
ZEND_METHOD(Apns_Session, useCredentials);
ZEND_METHOD(Apns_Session, connect);
ZEND_METHOD(Apns_Session, send);
ZEND_METHOD(Apns_Session, push);
ZEND_METHOD(Apns_Session, sendMany);
ZEND_METHOD(Apns_Session, flush);
ZEND_METHOD(Apns_Session, drain);
ZEND_METHOD(Apns_Session, cancel);
ZEND_METHOD(Apns_Session, nextEvent);
ZEND_METHOD(Apns_Session, events);
ZEND_METHOD(Apns_Session, nextLeftEvent);
ZEND_METHOD(Apns_Session, leftEvents);
ZEND_METHOD(Apns_Session, getIterator);
ZEND_METHOD(Apns_Session, gone);
ZEND_METHOD(Apns_Session, stats);
ZEND_METHOD(Apns_Session, metrics);
ZEND_METHOD(Apns_Session, request);
ZEND_METHOD(Apns_Session, close);
ZEND_METHOD(Apns_Session, stream);
ZEND_METHOD(Apns_Session, process);
ZEND_METHOD(Apns_Session, timeoutMs);
ZEND_METHOD(Apns_FeedbackEntry, __construct);
ZEND_METHOD(Apns_Feedback, __construct);
ZEND_METHOD(Apns_Feedback, read);
ZEND_METHOD(Apns_Feedback, getIterator);
ZEND_METHOD(Apns_Feedback, stream);
ZEND_METHOD(Apns_Channels, __construct);
ZEND_METHOD(Apns_Channels, create);
ZEND_METHOD(Apns_Channels, describe);
ZEND_METHOD(Apns_Channels, delete);
ZEND_METHOD(Apns_Channels, list);
ZEND_METHOD(Apns_Channels, response);
ZEND_METHOD(Apns_Channels, cancel);
ZEND_METHOD(Apns_Channels, stream);
ZEND_METHOD(Apns_Channels, timeoutMs);


static const zend_function_entry class_Apns_Exception_methods[] = {
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_Exception, isRetryable, arginfo_class_Apns_Exception_isRetryable, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_Exception, getCause, arginfo_class_Apns_Exception_getCause, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_Exception, getSystemError, arginfo_class_Apns_Exception_getSystemError, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_Exception, getTlsCode, arginfo_class_Apns_Exception_getTlsCode, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_Exception, getReject, arginfo_class_Apns_Exception_getReject, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_Exception, getTaken, arginfo_class_Apns_Exception_getTaken, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_RuntimeException_methods[] = {
	ZEND_ME(Apns_RuntimeException, isRetryable, arginfo_class_Apns_RuntimeException_isRetryable, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_RuntimeException, getCause, arginfo_class_Apns_RuntimeException_getCause, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_RuntimeException, getSystemError, arginfo_class_Apns_RuntimeException_getSystemError, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_RuntimeException, getTlsCode, arginfo_class_Apns_RuntimeException_getTlsCode, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_RuntimeException, getReject, arginfo_class_Apns_RuntimeException_getReject, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_RuntimeException, getTaken, arginfo_class_Apns_RuntimeException_getTaken, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_ArgumentException_methods[] = {
	ZEND_MALIAS(Apns_RuntimeException, isRetryable, isRetryable, arginfo_class_Apns_ArgumentException_isRetryable, ZEND_ACC_PUBLIC)
	ZEND_MALIAS(Apns_RuntimeException, getCause, getCause, arginfo_class_Apns_ArgumentException_getCause, ZEND_ACC_PUBLIC)
	ZEND_MALIAS(Apns_RuntimeException, getSystemError, getSystemError, arginfo_class_Apns_ArgumentException_getSystemError, ZEND_ACC_PUBLIC)
	ZEND_MALIAS(Apns_RuntimeException, getTlsCode, getTlsCode, arginfo_class_Apns_ArgumentException_getTlsCode, ZEND_ACC_PUBLIC)
	ZEND_MALIAS(Apns_RuntimeException, getReject, getReject, arginfo_class_Apns_ArgumentException_getReject, ZEND_ACC_PUBLIC)
	ZEND_MALIAS(Apns_RuntimeException, getTaken, getTaken, arginfo_class_Apns_ArgumentException_getTaken, ZEND_ACC_PUBLIC)
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


static const zend_function_entry class_Apns_AgainException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Apns_RejectedException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Apns_InDoubtException_methods[] = {
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
	ZEND_ME(Apns_Event, __construct, arginfo_class_Apns_Event___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Event, isAccepted, arginfo_class_Apns_Event_isAccepted, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Event, isRejected, arginfo_class_Apns_Event_isRejected, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Event, isUnknown, arginfo_class_Apns_Event_isUnknown, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Event, isCancelled, arginfo_class_Apns_Event_isCancelled, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Event, isExpired, arginfo_class_Apns_Event_isExpired, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Event, hasInvalidToken, arginfo_class_Apns_Event_hasInvalidToken, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Event, __toString, arginfo_class_Apns_Event___toString, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Events_methods[] = {
	ZEND_ME(Apns_Events, __construct, arginfo_class_Apns_Events___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Apns_Events, getIterator, arginfo_class_Apns_Events_getIterator, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_SessionInterface_methods[] = {
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_SessionInterface, push, arginfo_class_Apns_SessionInterface_push, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_SessionInterface, send, arginfo_class_Apns_SessionInterface_send, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_SessionInterface, sendMany, arginfo_class_Apns_SessionInterface_sendMany, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_SessionInterface, flush, arginfo_class_Apns_SessionInterface_flush, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_SessionInterface, drain, arginfo_class_Apns_SessionInterface_drain, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_SessionInterface, cancel, arginfo_class_Apns_SessionInterface_cancel, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_SessionInterface, nextEvent, arginfo_class_Apns_SessionInterface_nextEvent, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_SessionInterface, events, arginfo_class_Apns_SessionInterface_events, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_SessionInterface, gone, arginfo_class_Apns_SessionInterface_gone, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_SessionInterface, stats, arginfo_class_Apns_SessionInterface_stats, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_SessionInterface, close, arginfo_class_Apns_SessionInterface_close, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Session_methods[] = {
	ZEND_ME(Apns_Session, __construct, arginfo_class_Apns_Session___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, persistent, arginfo_class_Apns_Session_persistent, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Apns_Session, useCredentials, arginfo_class_Apns_Session_useCredentials, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, connect, arginfo_class_Apns_Session_connect, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, send, arginfo_class_Apns_Session_send, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, push, arginfo_class_Apns_Session_push, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, sendMany, arginfo_class_Apns_Session_sendMany, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, flush, arginfo_class_Apns_Session_flush, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, drain, arginfo_class_Apns_Session_drain, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, cancel, arginfo_class_Apns_Session_cancel, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, nextEvent, arginfo_class_Apns_Session_nextEvent, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, events, arginfo_class_Apns_Session_events, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, nextLeftEvent, arginfo_class_Apns_Session_nextLeftEvent, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, leftEvents, arginfo_class_Apns_Session_leftEvents, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, getIterator, arginfo_class_Apns_Session_getIterator, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, gone, arginfo_class_Apns_Session_gone, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, stats, arginfo_class_Apns_Session_stats, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, metrics, arginfo_class_Apns_Session_metrics, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, request, arginfo_class_Apns_Session_request, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, close, arginfo_class_Apns_Session_close, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, stream, arginfo_class_Apns_Session_stream, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, process, arginfo_class_Apns_Session_process, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Session, timeoutMs, arginfo_class_Apns_Session_timeoutMs, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_FeedbackEntry_methods[] = {
	ZEND_ME(Apns_FeedbackEntry, __construct, arginfo_class_Apns_FeedbackEntry___construct, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Feedback_methods[] = {
	ZEND_ME(Apns_Feedback, __construct, arginfo_class_Apns_Feedback___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Feedback, read, arginfo_class_Apns_Feedback_read, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Feedback, getIterator, arginfo_class_Apns_Feedback_getIterator, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Feedback, stream, arginfo_class_Apns_Feedback_stream, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_ChannelsInterface_methods[] = {
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_ChannelsInterface, create, arginfo_class_Apns_ChannelsInterface_create, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_ChannelsInterface, describe, arginfo_class_Apns_ChannelsInterface_describe, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_ChannelsInterface, delete, arginfo_class_Apns_ChannelsInterface_delete, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_ABSTRACT_ME_WITH_FLAGS(Apns_ChannelsInterface, list, arginfo_class_Apns_ChannelsInterface_list, ZEND_ACC_PUBLIC|ZEND_ACC_ABSTRACT)
	ZEND_FE_END
};


static const zend_function_entry class_Apns_Channels_methods[] = {
	ZEND_ME(Apns_Channels, __construct, arginfo_class_Apns_Channels___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Channels, create, arginfo_class_Apns_Channels_create, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Channels, describe, arginfo_class_Apns_Channels_describe, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Channels, delete, arginfo_class_Apns_Channels_delete, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Channels, list, arginfo_class_Apns_Channels_list, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Channels, response, arginfo_class_Apns_Channels_response, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Channels, cancel, arginfo_class_Apns_Channels_cancel, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Channels, stream, arginfo_class_Apns_Channels_stream, ZEND_ACC_PUBLIC)
	ZEND_ME(Apns_Channels, timeoutMs, arginfo_class_Apns_Channels_timeoutMs, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

static zend_class_entry *register_class_Apns_Exception(zend_class_entry *class_entry_Throwable)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Exception", class_Apns_Exception_methods);
	class_entry = zend_register_internal_interface(&ce);
	zend_class_implements(class_entry, 1, class_entry_Throwable);

	return class_entry;
}

static zend_class_entry *register_class_Apns_RuntimeException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Apns_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "RuntimeException", class_Apns_RuntimeException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	zend_class_implements(class_entry, 1, class_entry_Apns_Exception);

	zend_string *property_cause_class_Apns_Cause = zend_string_init("Apns\\Cause", sizeof("Apns\\Cause")-1, 1);
	zval property_cause_default_value;
	ZVAL_NULL(&property_cause_default_value);
	zend_string *property_cause_name = zend_string_init("cause", sizeof("cause") - 1, 1);
	zend_declare_typed_property(class_entry, property_cause_name, &property_cause_default_value, ZEND_ACC_PRIVATE, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_cause_class_Apns_Cause, 0, MAY_BE_NULL));
	zend_string_release(property_cause_name);

	zval property_systemError_default_value;
	ZVAL_LONG(&property_systemError_default_value, 0);
	zend_string *property_systemError_name = zend_string_init("systemError", sizeof("systemError") - 1, 1);
	zend_declare_typed_property(class_entry, property_systemError_name, &property_systemError_default_value, ZEND_ACC_PRIVATE, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_systemError_name);

	zval property_tlsCode_default_value;
	ZVAL_LONG(&property_tlsCode_default_value, 0);
	zend_string *property_tlsCode_name = zend_string_init("tlsCode", sizeof("tlsCode") - 1, 1);
	zend_declare_typed_property(class_entry, property_tlsCode_name, &property_tlsCode_default_value, ZEND_ACC_PRIVATE, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_tlsCode_name);

	zend_string *property_reject_class_Apns_Reject = zend_string_init("Apns\\Reject", sizeof("Apns\\Reject")-1, 1);
	zval property_reject_default_value;
	ZVAL_NULL(&property_reject_default_value);
	zend_string *property_reject_name = zend_string_init("reject", sizeof("reject") - 1, 1);
	zend_declare_typed_property(class_entry, property_reject_name, &property_reject_default_value, ZEND_ACC_PRIVATE, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_reject_class_Apns_Reject, 0, MAY_BE_NULL));
	zend_string_release(property_reject_name);

	zval property_taken_default_value;
	ZVAL_LONG(&property_taken_default_value, 0);
	zend_string *property_taken_name = zend_string_init("taken", sizeof("taken") - 1, 1);
	zend_declare_typed_property(class_entry, property_taken_name, &property_taken_default_value, ZEND_ACC_PRIVATE, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_taken_name);

	return class_entry;
}

static zend_class_entry *register_class_Apns_ArgumentException(zend_class_entry *class_entry_InvalidArgumentException, zend_class_entry *class_entry_Apns_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "ArgumentException", class_Apns_ArgumentException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_InvalidArgumentException);
	zend_class_implements(class_entry, 1, class_entry_Apns_Exception);

	zend_string *property_cause_class_Apns_Cause = zend_string_init("Apns\\Cause", sizeof("Apns\\Cause")-1, 1);
	zval property_cause_default_value;
	ZVAL_NULL(&property_cause_default_value);
	zend_string *property_cause_name = zend_string_init("cause", sizeof("cause") - 1, 1);
	zend_declare_typed_property(class_entry, property_cause_name, &property_cause_default_value, ZEND_ACC_PRIVATE, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_cause_class_Apns_Cause, 0, MAY_BE_NULL));
	zend_string_release(property_cause_name);

	zval property_systemError_default_value;
	ZVAL_LONG(&property_systemError_default_value, 0);
	zend_string *property_systemError_name = zend_string_init("systemError", sizeof("systemError") - 1, 1);
	zend_declare_typed_property(class_entry, property_systemError_name, &property_systemError_default_value, ZEND_ACC_PRIVATE, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_systemError_name);

	zval property_tlsCode_default_value;
	ZVAL_LONG(&property_tlsCode_default_value, 0);
	zend_string *property_tlsCode_name = zend_string_init("tlsCode", sizeof("tlsCode") - 1, 1);
	zend_declare_typed_property(class_entry, property_tlsCode_name, &property_tlsCode_default_value, ZEND_ACC_PRIVATE, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_tlsCode_name);

	zend_string *property_reject_class_Apns_Reject = zend_string_init("Apns\\Reject", sizeof("Apns\\Reject")-1, 1);
	zval property_reject_default_value;
	ZVAL_NULL(&property_reject_default_value);
	zend_string *property_reject_name = zend_string_init("reject", sizeof("reject") - 1, 1);
	zend_declare_typed_property(class_entry, property_reject_name, &property_reject_default_value, ZEND_ACC_PRIVATE, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_reject_class_Apns_Reject, 0, MAY_BE_NULL));
	zend_string_release(property_reject_name);

	zval property_taken_default_value;
	ZVAL_LONG(&property_taken_default_value, 0);
	zend_string *property_taken_name = zend_string_init("taken", sizeof("taken") - 1, 1);
	zend_declare_typed_property(class_entry, property_taken_name, &property_taken_default_value, ZEND_ACC_PRIVATE, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_taken_name);

	return class_entry;
}

static zend_class_entry *register_class_Apns_MemoryException(zend_class_entry *class_entry_Apns_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "MemoryException", class_Apns_MemoryException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_RuntimeException);

	return class_entry;
}

static zend_class_entry *register_class_Apns_TimeoutException(zend_class_entry *class_entry_Apns_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "TimeoutException", class_Apns_TimeoutException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_RuntimeException);

	return class_entry;
}

static zend_class_entry *register_class_Apns_NetworkException(zend_class_entry *class_entry_Apns_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "NetworkException", class_Apns_NetworkException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_RuntimeException);

	return class_entry;
}

static zend_class_entry *register_class_Apns_TlsException(zend_class_entry *class_entry_Apns_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "TlsException", class_Apns_TlsException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_RuntimeException);

	return class_entry;
}

static zend_class_entry *register_class_Apns_CredentialsException(zend_class_entry *class_entry_Apns_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "CredentialsException", class_Apns_CredentialsException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_RuntimeException);

	return class_entry;
}

static zend_class_entry *register_class_Apns_ProtocolException(zend_class_entry *class_entry_Apns_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "ProtocolException", class_Apns_ProtocolException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_RuntimeException);

	return class_entry;
}

static zend_class_entry *register_class_Apns_FullException(zend_class_entry *class_entry_Apns_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "FullException", class_Apns_FullException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_RuntimeException);

	return class_entry;
}

static zend_class_entry *register_class_Apns_ClosedException(zend_class_entry *class_entry_Apns_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "ClosedException", class_Apns_ClosedException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_RuntimeException);

	return class_entry;
}

static zend_class_entry *register_class_Apns_ForkedException(zend_class_entry *class_entry_Apns_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "ForkedException", class_Apns_ForkedException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_RuntimeException);

	return class_entry;
}

static zend_class_entry *register_class_Apns_AgainException(zend_class_entry *class_entry_Apns_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "AgainException", class_Apns_AgainException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_RuntimeException);

	return class_entry;
}

static zend_class_entry *register_class_Apns_RejectedException(zend_class_entry *class_entry_Apns_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "RejectedException", class_Apns_RejectedException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_RuntimeException);

	zend_string *property_reason_class_Apns_Reason = zend_string_init("Apns\\Reason", sizeof("Apns\\Reason")-1, 1);
	zval property_reason_default_value;
	ZVAL_NULL(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_reason_class_Apns_Reason, 0, MAY_BE_NULL));
	zend_string_release(property_reason_name);

	zval property_reasonText_default_value;
	ZVAL_EMPTY_STRING(&property_reasonText_default_value);
	zend_string *property_reasonText_name = zend_string_init("reasonText", sizeof("reasonText") - 1, 1);
	zend_declare_typed_property(class_entry, property_reasonText_name, &property_reasonText_default_value, ZEND_ACC_PUBLIC, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reasonText_name);

	zval property_httpStatus_default_value;
	ZVAL_LONG(&property_httpStatus_default_value, 0);
	zend_string *property_httpStatus_name = zend_string_init("httpStatus", sizeof("httpStatus") - 1, 1);
	zend_declare_typed_property(class_entry, property_httpStatus_name, &property_httpStatus_default_value, ZEND_ACC_PUBLIC, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_httpStatus_name);

	zval property_requestId_default_value;
	ZVAL_EMPTY_STRING(&property_requestId_default_value);
	zend_string *property_requestId_name = zend_string_init("requestId", sizeof("requestId") - 1, 1);
	zend_declare_typed_property(class_entry, property_requestId_name, &property_requestId_default_value, ZEND_ACC_PUBLIC, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_requestId_name);

	zval property_retryAfter_default_value;
	ZVAL_LONG(&property_retryAfter_default_value, 0);
	zend_string *property_retryAfter_name = zend_string_init("retryAfter", sizeof("retryAfter") - 1, 1);
	zend_declare_typed_property(class_entry, property_retryAfter_name, &property_retryAfter_default_value, ZEND_ACC_PUBLIC, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_retryAfter_name);

	return class_entry;
}

static zend_class_entry *register_class_Apns_InDoubtException(zend_class_entry *class_entry_Apns_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "InDoubtException", class_Apns_InDoubtException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Apns_RuntimeException);

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

	zend_string *property_kind_class_Apns_EventKind = zend_string_init("Apns\\EventKind", sizeof("Apns\\EventKind")-1, 1);
	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_kind_class_Apns_EventKind, 0, 0));
	zend_string_release(property_kind_name);

	zval property_token_default_value;
	ZVAL_UNDEF(&property_token_default_value);
	zend_string *property_token_name = zend_string_init("token", sizeof("token") - 1, 1);
	zend_declare_typed_property(class_entry, property_token_name, &property_token_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_token_name);

	zend_string *property_reason_class_Apns_Reason = zend_string_init("Apns\\Reason", sizeof("Apns\\Reason")-1, 1);
	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_reason_class_Apns_Reason, 0, MAY_BE_NULL));
	zend_string_release(property_reason_name);

	zval property_userData_default_value;
	ZVAL_UNDEF(&property_userData_default_value);
	zend_string *property_userData_name = zend_string_init("userData", sizeof("userData") - 1, 1);
	zend_declare_typed_property(class_entry, property_userData_name, &property_userData_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ANY));
	zend_string_release(property_userData_name);

	zval property_identifier_default_value;
	ZVAL_UNDEF(&property_identifier_default_value);
	zend_string *property_identifier_name = zend_string_init("identifier", sizeof("identifier") - 1, 1);
	zend_declare_typed_property(class_entry, property_identifier_name, &property_identifier_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_identifier_name);

	zval property_httpStatus_default_value;
	ZVAL_UNDEF(&property_httpStatus_default_value);
	zend_string *property_httpStatus_name = zend_string_init("httpStatus", sizeof("httpStatus") - 1, 1);
	zend_declare_typed_property(class_entry, property_httpStatus_name, &property_httpStatus_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_httpStatus_name);

	zval property_reasonText_default_value;
	ZVAL_UNDEF(&property_reasonText_default_value);
	zend_string *property_reasonText_name = zend_string_init("reasonText", sizeof("reasonText") - 1, 1);
	zend_declare_typed_property(class_entry, property_reasonText_name, &property_reasonText_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reasonText_name);

	zval property_timestamp_default_value;
	ZVAL_UNDEF(&property_timestamp_default_value);
	zend_string *property_timestamp_name = zend_string_init("timestamp", sizeof("timestamp") - 1, 1);
	zend_declare_typed_property(class_entry, property_timestamp_name, &property_timestamp_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_timestamp_name);

	zval property_retryAfter_default_value;
	ZVAL_UNDEF(&property_retryAfter_default_value);
	zend_string *property_retryAfter_name = zend_string_init("retryAfter", sizeof("retryAfter") - 1, 1);
	zend_declare_typed_property(class_entry, property_retryAfter_name, &property_retryAfter_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_retryAfter_name);

	zval property_apnsId_default_value;
	ZVAL_UNDEF(&property_apnsId_default_value);
	zend_string *property_apnsId_name = zend_string_init("apnsId", sizeof("apnsId") - 1, 1);
	zend_declare_typed_property(class_entry, property_apnsId_name, &property_apnsId_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_apnsId_name);

	zval property_uniqueId_default_value;
	ZVAL_UNDEF(&property_uniqueId_default_value);
	zend_string *property_uniqueId_name = zend_string_init("uniqueId", sizeof("uniqueId") - 1, 1);
	zend_declare_typed_property(class_entry, property_uniqueId_name, &property_uniqueId_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_uniqueId_name);

	zend_string *property_reject_class_Apns_Reject = zend_string_init("Apns\\Reject", sizeof("Apns\\Reject")-1, 1);
	zval property_reject_default_value;
	ZVAL_UNDEF(&property_reject_default_value);
	zend_string *property_reject_name = zend_string_init("reject", sizeof("reject") - 1, 1);
	zend_declare_typed_property(class_entry, property_reject_name, &property_reject_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_reject_class_Apns_Reject, 0, MAY_BE_NULL));
	zend_string_release(property_reject_name);

	zval property_rejectStatus_default_value;
	ZVAL_UNDEF(&property_rejectStatus_default_value);
	zend_string *property_rejectStatus_name = zend_string_init("rejectStatus", sizeof("rejectStatus") - 1, 1);
	zend_declare_typed_property(class_entry, property_rejectStatus_name, &property_rejectStatus_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_rejectStatus_name);

	zval property_request_default_value;
	ZVAL_UNDEF(&property_request_default_value);
	zend_string *property_request_name = zend_string_init("request", sizeof("request") - 1, 1);
	zend_declare_typed_property(class_entry, property_request_name, &property_request_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_request_name);

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

static zend_class_entry *register_class_Apns_SessionInterface(zend_class_entry *class_entry_IteratorAggregate)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "SessionInterface", class_Apns_SessionInterface_methods);
	class_entry = zend_register_internal_interface(&ce);
	zend_class_implements(class_entry, 1, class_entry_IteratorAggregate);

	return class_entry;
}

static zend_class_entry *register_class_Apns_Session(zend_class_entry *class_entry_Apns_SessionInterface)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Session", class_Apns_Session_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Apns_SessionInterface);

	return class_entry;
}

static zend_class_entry *register_class_Apns_FeedbackEntry(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "FeedbackEntry", class_Apns_FeedbackEntry_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	zval property_token_default_value;
	ZVAL_UNDEF(&property_token_default_value);
	zend_string *property_token_name = zend_string_init("token", sizeof("token") - 1, 1);
	zend_declare_typed_property(class_entry, property_token_name, &property_token_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_token_name);

	zval property_timestamp_default_value;
	ZVAL_UNDEF(&property_timestamp_default_value);
	zend_string *property_timestamp_name = zend_string_init("timestamp", sizeof("timestamp") - 1, 1);
	zend_declare_typed_property(class_entry, property_timestamp_name, &property_timestamp_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_timestamp_name);

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

static zend_class_entry *register_class_Apns_ChannelsInterface(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "ChannelsInterface", class_Apns_ChannelsInterface_methods);
	class_entry = zend_register_internal_interface(&ce);

	return class_entry;
}

static zend_class_entry *register_class_Apns_Channels(zend_class_entry *class_entry_Apns_ChannelsInterface)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Apns", "Channels", class_Apns_Channels_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Apns_ChannelsInterface);

	return class_entry;
}
