#include "core.h"

typedef struct credentials {
  PyObject_HEAD apns_credentials_t *credentials;
  const module_state_t *state;
  PyObject *module;         /* whose the state is */
  PyObject *token_provider; /* NULL: none */
  size_t borrowers;         /* calls that use them without the interpreter lock */
  bool closed;
} credentials_t;

/* ---- What callables return -------------------------------------------------- */

/* Copies a text of at least `least` bytes. Its length; -1 with an exception. */
static int copy_returned(PyObject *returned, const char *name, size_t least, char *out,
                         size_t capacity, const char *wrong_length) {
  char *text;
  Py_ssize_t length;
  int result = -1;
  PyObject *bytes = PyUnicode_Check(returned)
                        ? utf8_of(returned, name)
                        : bytes_argument(returned, name, "str, bytes or None");
  if (bytes && PyBytes_AsStringAndSize(bytes, &text, &length) == 0) {
    if ((size_t)length < least || (size_t)length > capacity) {
      PyErr_SetString(PyExc_ValueError, wrong_length);
    } else {
      memcpy(out, text, (size_t)length);
      result = (int)length;
    }
  }
  Py_XDECREF(bytes);
  return result;
}

/* ---- The passphrase ------------------------------------------------------- */

/* A call of the library that may need a passphrase. */
typedef struct asking {
  PyObject *callable;
  PyThreadState *state; /* of the thread, while it runs without the interpreter lock */
} asking_t;

/* Writes the passphrase that the callable returns; -1 if it returns None or raises. */
static int ask(PyObject *callable, const char *file, char *buffer, size_t capacity) {
  PyObject *path, *said;
  int length = -1;
  if (file) {
    path = PyUnicode_DecodeFSDefault(file);
  } else {
    Py_INCREF(Py_None);
    path = Py_None;
  }
  said = path ? PyObject_CallFunctionObjArgs(callable, path, NULL) : NULL;
  Py_XDECREF(path);
  if (!said) return -1;
  if (said != Py_None) {
    length = copy_returned(said, "what passphrase returns", 0, buffer, capacity,
                           "the passphrase is longer than 1,024 bytes");
  }
  Py_DECREF(said);
  return length;
}

static int answer(const char *file, char *buffer, size_t capacity, void *context) {
  asking_t *asking = context;
  int length = -1;
  PyEval_RestoreThread(asking->state);
  /* Do not call the callable again after an exception. */
  if (!PyErr_Occurred()) length = ask(asking->callable, file, buffer, capacity);
  asking->state = PyEval_SaveThread();
  return length;
}

/* ---- The provider token ----------------------------------------------------- */

/* Takes (token, seconds), a token alone, or None for not now. */
static int take_token(PyObject *said, apns_token_request_t *request) {
  PyObject *token = said;
  if (said == Py_None) return 0;
  if (PyTuple_Check(said)) {
    if (PyTuple_Size(said) != 2) {
      PyErr_SetString(PyExc_TypeError,
                      "token_provider must return a token, (token, seconds) or None");
      return -1;
    }
    token = PyTuple_GetItem(said, 0);
    const double seconds = PyFloat_AsDouble(PyTuple_GetItem(said, 1));
    if (seconds == -1 && PyErr_Occurred()) return -1;
    if (!(seconds >= 0 && seconds <= UINT32_MAX)) {
      PyErr_SetString(PyExc_ValueError, "token_provider returned an invalid number of seconds");
      return -1;
    }
    /* 0 would be the library's default. */
    request->renew_after_s = seconds < 1 ? 1 : (uint32_t)seconds;
    if (token == Py_None) return 0;
  }
  return copy_returned(token, "what token_provider returns", 1, request->token, request->capacity,
                       "a provider token has 1 to 1,000 characters");
}

/* The library calls it inside a call of a session, whose thread has released the interpreter lock.
   An exception stays set, and the session's method raises it. */
static int give_token(apns_token_request_t *request, void *context) {
  static const char *const needs[] = {"", "first", "aged", "refused"};
  int length = -1;
  PyGILState_STATE lock = PyGILState_Ensure();
  if (!PyErr_Occurred()) {
    const char *need = request->need >= 1 && request->need <= 3 ? needs[request->need] : "";
    PyObject *said = PyObject_CallFunction((PyObject *)context, "s", need);
    if (said) length = take_token(said, request);
    Py_XDECREF(said);
  }
  PyGILState_Release(lock);
  return length;
}

/* The provider is called by PyGILState_Ensure(), which knows the main interpreter only. */
static bool take_provider(PyObject *given, credentials_t *self,
                          apns_credentials_options_t *options) {
  if (!given || given == Py_None) return true;
  if (!PyCallable_Check(given)) {
    PyErr_SetString(PyExc_TypeError, "token_provider must be a callable or None");
    return false;
  }
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_RuntimeError, "token_provider is for the main interpreter only");
    return false;
  }
  Py_INCREF(given);
  self->token_provider = given;
  options->token_callback = give_token;
  options->token_context = given;
  return true;
}

static bool take_cache(PyObject *given, apns_credentials_options_t *options, PyObject **owner_out) {
  if (given != Py_False) return path_argument(given, &options->token_cache_file, owner_out);
  options->token_cache_file = "off";
  return true;
}

/* ---- Making and freeing --------------------------------------------------- */

/* What the options point into. */
enum {
  CERTIFICATE,
  KEY,
  PASSPHRASE,
  CERTIFICATE_BYTES,
  KEY_BYTES,
  CA,
  DIRECTORY,
  TOKEN_KEY,
  TOKEN_KEY_BYTES,
  KEY_ID,
  TEAM_ID,
  CRL,
  CRL_DIRECTORY,
  PINS,
  CACHE,
  OWNERS
};

static bool take_bytes(PyObject *given, const char *name, const void **bytes_out,
                       size_t *length_out, PyObject **owner_out) {
  char *bytes;
  Py_ssize_t length;
  if (!given || given == Py_None) return true;
  *owner_out = bytes_argument(given, name, "bytes or None");
  if (!*owner_out || PyBytes_AsStringAndSize(*owner_out, &bytes, &length)) return false;
  *bytes_out = bytes;
  *length_out = (size_t)length;
  return true;
}

static bool take_passphrase(PyObject *given, apns_credentials_options_t *options, asking_t *asking,
                            PyObject **owner_out) {
  if (!given || given == Py_None) return true;
  if (PyCallable_Check(given)) {
    asking->callable = given;
    options->passphrase_callback = answer;
    options->passphrase_context = asking;
    return true;
  }
  if (PyUnicode_Check(given))
    return text_argument(given, "passphrase", &options->passphrase, owner_out);
  char *text;
  *owner_out = bytes_argument(given, "passphrase", "str, bytes, callable or None");
  /* Without a length to receive it, one with a NUL is a ValueError. */
  if (!*owner_out || PyBytes_AsStringAndSize(*owner_out, &text, NULL)) return false;
  options->passphrase = text;
  return true;
}

static bool make(credentials_t *self, const apns_credentials_options_t *options, asking_t *asking) {
  apns_error_t error = APNS_ERROR_INIT;
  asking->state = PyEval_SaveThread();
  apns_status_t status = apns_credentials_new(options, &self->credentials, &error);
  PyEval_RestoreThread(asking->state);
  if (PyErr_Occurred()) return false; /* the callable's */
  if (status) raise_error(self->state, &error);
  return status == APNS_OK;
}

static PyObject *credentials_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"certificate_file", "certificate",
                          "key_file",         "key",
                          "passphrase",       "ca_file",
                          "ca_directory",     "tls_min",
                          "tls_max",          "dangerously_accept_any_peer",
                          "accept_expired",   "token_key_file",
                          "token_key",        "key_id",
                          "team_id",          "crl_file",
                          "crl_directory",    "pinned_keys",
                          "security_level",   "token_provider",
                          "token_cache",      NULL};
  PyObject *certificate_file = NULL, *certificate = NULL, *key_file = NULL, *key = NULL;
  PyObject *passphrase = NULL, *ca_file = NULL, *ca_directory = NULL;
  PyObject *token_key_file = NULL, *token_key = NULL, *key_id = NULL, *team_id = NULL;
  PyObject *tls_min = NULL, *tls_max = NULL, *owners[OWNERS] = {NULL};
  PyObject *crl_file = NULL, *crl_directory = NULL, *pinned_keys = NULL, *security_level = NULL;
  PyObject *token_provider = NULL, *token_cache = NULL;
  const char *pins[101]; /* one more than the library takes */
  int any_peer = 0, expired = 0;
  long long least = 0, most = 0, level = 0;
  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  asking_t asking = {NULL, NULL};
  if (!PyArg_ParseTupleAndKeywords(
          args, keywords, "|$OOOOOOOOOppOOOOOOOOOO:Credentials", names, &certificate_file,
          &certificate, &key_file, &key, &passphrase, &ca_file, &ca_directory, &tls_min, &tls_max,
          &any_peer, &expired, &token_key_file, &token_key, &key_id, &team_id, &crl_file,
          &crl_directory, &pinned_keys, &security_level, &token_provider, &token_cache)) {
    return NULL;
  }
  const module_state_t *state = state_of_type(type);
  credentials_t *self = state ? object_alloc(type) : NULL;
  if (!self) return NULL;
  self->state = state;
  self->module = state->module;
  Py_INCREF(self->module);
  bool fine = path_argument(certificate_file, &options.certificate_file, &owners[CERTIFICATE]) &&
              take_bytes(certificate, "certificate", &options.certificate_bytes,
                         &options.certificate_length, &owners[CERTIFICATE_BYTES]) &&
              path_argument(key_file, &options.key_file, &owners[KEY]) &&
              take_bytes(key, "key", &options.key_bytes, &options.key_length, &owners[KEY_BYTES]) &&
              take_passphrase(passphrase, &options, &asking, &owners[PASSPHRASE]) &&
              path_argument(ca_file, &options.ca_file, &owners[CA]) &&
              path_argument(ca_directory, &options.ca_directory, &owners[DIRECTORY]) &&
              integer_argument(tls_min, "tls_min", INT32_MIN, INT32_MAX, &least) &&
              integer_argument(tls_max, "tls_max", INT32_MIN, INT32_MAX, &most) &&
              path_argument(token_key_file, &options.token_key_file, &owners[TOKEN_KEY]) &&
              take_bytes(token_key, "token_key", &options.token_key_bytes,
                         &options.token_key_length, &owners[TOKEN_KEY_BYTES]) &&
              text_argument(key_id, "key_id", &options.key_id, &owners[KEY_ID]) &&
              text_argument(team_id, "team_id", &options.team_id, &owners[TEAM_ID]) &&
              path_argument(crl_file, &options.crl_file, &owners[CRL]) &&
              path_argument(crl_directory, &options.crl_directory, &owners[CRL_DIRECTORY]) &&
              texts_argument(pinned_keys, "pinned_keys", pins, sizeof pins / sizeof *pins,
                             &options.pinned_key_count, &owners[PINS]) &&
              integer_argument(security_level, "security_level", INT32_MIN, INT32_MAX, &level) &&
              take_provider(token_provider, self, &options) &&
              take_cache(token_cache, &options, &owners[CACHE]);
  if (owners[PINS]) options.pinned_keys = pins;
  options.security_level = (int32_t)level;
  options.tls_min = (int32_t)least;
  options.tls_max = (int32_t)most;
  options.dangerously_accept_any_peer = any_peer;
  options.accept_expired = expired;
  fine = fine && make(self, &options, &asking);
  for (int i = 0; i < OWNERS; i++) Py_XDECREF(owners[i]);
  if (fine) return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}

static void free_when_idle(credentials_t *self) {
  if (self->borrowers > 0) return;
  apns_credentials_free(self->credentials);
  self->credentials = NULL;
}

/* A session always has its credentials, so the provider stays until nobody can call it. */
static int credentials_traverse(PyObject *object, visitproc visit, void *arg) {
  credentials_t *self = (credentials_t *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->module);
  Py_VISIT(self->token_provider);
  return 0;
}

static void credentials_dealloc(PyObject *object) {
  credentials_t *self = (credentials_t *)object;
  PyObject_GC_UnTrack(object);
  free_when_idle(self);
  Py_XDECREF(self->token_provider);
  Py_XDECREF(self->module);
  object_free(object);
}

const apns_credentials_t *credentials_lend(PyObject *object) {
  credentials_t *self = (credentials_t *)object;
  if (self->closed)
    return raise_status(self->state, APNS_ERR_CLOSED, "the credentials were closed");
  self->borrowers++;
  return self->credentials;
}

void credentials_return(PyObject *object) {
  credentials_t *self = (credentials_t *)object;
  self->borrowers--;
  if (self->closed) free_when_idle(self);
}

static PyObject *credentials_close(PyObject *object, PyObject *none) {
  credentials_t *self = (credentials_t *)object;
  (void)none;
  self->closed = true;
  free_when_idle(self);
  Py_RETURN_NONE;
}

static PyObject *credentials_exit(PyObject *self, PyObject *args) {
  (void)args;
  return credentials_close(self, NULL);
}

/* ---- The certificate's description ------------------------------------------ */

static PyStructSequence_Field description_fields[] = {
    {"subject", "The certificate's subject in the form of RFC 2253; None without a certificate."},
    {"topics", "The apps that it may push to."},
    {"not_before", "UNIX seconds from which it is valid."},
    {"not_after", "UNIX seconds until which it is valid."},
    {"environments", "\"production\", \"sandbox\" or both; empty if not in the certificate."},
    {"chain_length", "The number of certificates given, including this one."},
    {"key_id", "The identifier of the key that signs provider tokens, or None."},
    {"team_id", "The team that the provider tokens belong to, or None."},
    {NULL, NULL}};

static PyStructSequence_Desc description_shape = {
    "libapns.Description",
    "The contents of the provider's certificate, and the owner of its provider tokens. A named "
    "tuple; the first six fields are its items.",
    description_fields, 6};

static PyObject *topics_of(const apns_credentials_description_t *said) {
  PyObject *topics = PyTuple_New((Py_ssize_t)said->topic_count);
  for (size_t i = 0; topics && i < said->topic_count; i++) {
    const char *text = said->topics[i];
    PyObject *topic = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (!topic) Py_CLEAR(topics);
    if (topics) PyTuple_SetItem(topics, (Py_ssize_t)i, topic);
  }
  return topics;
}

static PyObject *environments_of(const apns_credentials_description_t *said) {
  const uint32_t both = 1u << APNS_ENVIRONMENT_PRODUCTION | 1u << APNS_ENVIRONMENT_SANDBOX;
  if ((said->environments & both) == both) return Py_BuildValue("(ss)", "production", "sandbox");
  if (!said->environments) return PyTuple_New(0);
  const bool is_sandbox = said->environments & 1u << APNS_ENVIRONMENT_SANDBOX;
  return Py_BuildValue("(s)", is_sandbox ? "sandbox" : "production");
}

static PyObject *text_of(const char *said) {
  if (!said) Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8(said, (Py_ssize_t)strlen(said), "replace");
}

static PyObject *credentials_describe(PyObject *object, PyObject *none) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_description_t said = APNS_CREDENTIALS_DESCRIPTION_INIT;
  (void)none;
  const module_state_t *state = ((credentials_t *)object)->state;
  const apns_credentials_t *credentials = credentials_lend(object);
  if (!credentials) return NULL;
  PyObject *description = NULL;
  if (apns_credentials_describe(credentials, &said, &error)) {
    raise_error(state, &error);
  } else {
    PyObject *const values[] = {text_of(said.subject),
                                topics_of(&said),
                                PyLong_FromLongLong(said.not_before),
                                PyLong_FromLongLong(said.not_after),
                                environments_of(&said),
                                PyLong_FromUnsignedLong(said.chain_length),
                                text_of(said.key_id),
                                text_of(said.team_id)};
    description = tuple_make(state->description, values, sizeof values / sizeof *values);
  }
  credentials_return(object);
  return description;
}

/* ---- The type -------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"describe", credentials_describe, METH_NOARGS,
     "describe($self, /)\n--\n\n"
     "Returns what the provider's certificate is for, and how long it is valid: a Description."},
    {"close", credentials_close, METH_NOARGS,
     "close($self, /)\n--\n\n"
     "Frees them. Sessions and feedbacks that were made with them keep working.\n"
     "Closing them again does nothing."},
    {"__enter__", object_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nReturns itself."},
    {"__exit__", credentials_exit, METH_VARARGS,
     "__exit__($self, kind, value, trace, /)\n--\n\nCloses them."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"closed", T_BOOL, offsetof(credentials_t, closed), READONLY, "Whether close() was called."},
    {NULL, 0, 0, 0, NULL}};

static const char doc[] =
    "Credentials(*, certificate_file=None, certificate=None, key_file=None, key=None, "
    "passphrase=None, ca_file=None, ca_directory=None, tls_min=None, tls_max=None, "
    "dangerously_accept_any_peer=False, accept_expired=False, token_key_file=None, "
    "token_key=None, key_id=None, team_id=None, crl_file=None, crl_directory=None, "
    "pinned_keys=None, security_level=None, token_provider=None, token_cache=None)\n--\n\n"
    "The provider's identity, and the CA certificates that it trusts. They never change, and\n"
    "any number of sessions and threads can use them.\n\n"
    "certificate_file, certificate\n"
    "    The client certificate with its chain, a file or bytes, not both: PEM with the\n"
    "    blocks in any order, PKCS#12 (what Keychain exports) or a single one in DER.\n"
    "    Default: no certificate.\n"
    "key_file, key\n"
    "    Its private key, RSA or EC, in PEM or DER. Default: it is in the same file as the\n"
    "    certificate.\n"
    "passphrase\n"
    "    The passphrase of the key or the PKCS#12 file, at most 1,024 bytes: str, bytes, or\n"
    "    a callable that is called only if something is encrypted. It gets the file's path,\n"
    "    or None for bytes, and returns str, bytes, or None for no passphrase. Its\n"
    "    exceptions are raised here.\n"
    "ca_file, ca_directory\n"
    "    The CA certificates to trust: a PEM file, a directory in the form of OpenSSL's\n"
    "    rehash, or both. Default: the system's store.\n"
    "tls_min, tls_max\n"
    "    The lowest and the highest TLSVersion. Default: 1.2, and what OpenSSL supports.\n"
    "dangerously_accept_any_peer\n"
    "    Accepts any peer without checking it, so that anyone on the network path can read\n"
    "    and change notifications. Only for a test on one machine.\n"
    "accept_expired\n"
    "    Accepts a provider's certificate that has expired or is not yet valid.\n"
    "token_key_file, token_key\n"
    "    HTTP/2, instead of a certificate or with it: the signing key for provider tokens,\n"
    "    the .p8 that Apple issues, a file or bytes, not both.\n"
    "key_id, team_id\n"
    "    The identifiers of that key and of its team, 10 letters and digits each.\n"
    "crl_file, crl_directory\n"
    "    Revocation lists in PEM, which are checked for every certificate in the peer's\n"
    "    chain: a file, a directory in the form of OpenSSL's rehash, or both.\n"
    "pinned_keys\n"
    "    A list of sha256//BASE64, hashes of public keys as curl writes them. The peer's\n"
    "    verified chain must have one of the keys.\n"
    "security_level\n"
    "    The weakest keys and ciphers to accept, as one of OpenSSL's levels, 1 to 5.\n"
    "token_provider\n"
    "    Instead of a token_key: a callable that returns the provider token, if the key is in\n"
    "    a vault or a service signs. It gets 'first', 'aged' or 'refused', and returns the\n"
    "    token, or (token, seconds) to be called again after that time, or None for not now.\n"
    "    A session's method calls it, in its thread, and raises its exceptions; queued\n"
    "    notifications stay queued. It must not use these credentials' sessions.\n"
    "token_cache\n"
    "    The file by which the processes of this machine share one provider token. None: a\n"
    "    file in the directory of the environment's APNS_TOKEN_CACHE (off: none),\n"
    "    XDG_RUNTIME_DIR or /run/user, if there is one. False: each process signs its own.\n"
    "    A path that ends in / is another directory.\n\n"
    "CredentialsError names the file and the reason. Files are read here, once, while\n"
    "other threads run.";

static PyType_Slot slots[] = {{Py_tp_new, credentials_new},
                              {Py_tp_dealloc, credentials_dealloc},
                              {Py_tp_traverse, credentials_traverse},
                              {Py_tp_methods, methods},
                              {Py_tp_members, members},
                              {Py_tp_doc, (void *)doc},
                              {0, NULL}};

static PyType_Spec spec = {"libapns.Credentials", sizeof(credentials_t), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

bool credentials_load(module_state_t *state) {
  state->credentials = load_type(state->module, &spec);
  if (state->credentials) {
    state->description = load_tuple_type(state->module, &description_shape);
  }
  return state->description != NULL;
}
