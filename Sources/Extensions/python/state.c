/*
 * The state of one import of the module: its types, and the objects of the package's other modules
 * that it uses. The state is a part of the module. Types refer to it by an attribute, since
 * PyType_GetModule() is not in the limited API of 3.9. Objects have a pointer to it, and their type
 * owns a reference to the module; objects that the collector tracks own one too, because it may
 * clear their type first.
 *
 * The module has no m_clear, so that the state is whole until the last object is gone. Each cycle
 * through it leads through the dict of a type or module, which the collector clears.
 */
#include "core.h"

#define MODULE_ATTRIBUTE "_module"

#define FOR_EACH_TYPE(DO, state) \
  DO((state)->credentials)       \
  DO((state)->description)       \
  DO((state)->device)            \
  DO((state)->event)             \
  DO((state)->events)            \
  DO((state)->feedback)          \
  DO((state)->channels)          \
  DO((state)->finding)           \
  DO((state)->outcomes)          \
  DO((state)->payload) DO((state)->session) DO((state)->stats) DO((state)->strings)

#define FOR_EACH_OBJECT(DO, state) \
  FOR_EACH_TYPE(DO, state)         \
  DO((state)->exception_classes)   \
  DO((state)->event_fields)        \
  DO((state)->log_changes)         \
  DO((state)->log_loss)            \
  DO((state)->end_with_process)    \
  DO((state)->channel_description) \
  DO((state)->channels_response)   \
  DO((state)->tell_line) DO((state)->reject_class) DO((state)->reason_class)

module_state_t *state_of_module(PyObject *module) { return PyModule_GetState(module); }

#define VISIT_ALL(array)                                         \
  for (size_t i = 0; i < sizeof(array) / sizeof *(array); i++) { \
    Py_VISIT((array)[i]);                                        \
  }
#define CLEAR_ALL(array)                                         \
  for (size_t i = 0; i < sizeof(array) / sizeof *(array); i++) { \
    Py_CLEAR((array)[i]);                                        \
  }

static int traverse(PyObject *module, visitproc visit, void *arg) {
  module_state_t *state = state_of_module(module);
  if (!state) return 0;
#define VISIT(one) Py_VISIT(one);
  FOR_EACH_OBJECT(VISIT, state)
  VISIT_ALL(state->event_kinds)
  VISIT_ALL(state->severities)
  VISIT_ALL(state->rejects)
  VISIT_ALL(state->reasons)
  return 0;
}

static void release(void *module) {
  module_state_t *state = state_of_module(module);
  if (!state) return;
#define CLEAR(one) Py_CLEAR(one);
  FOR_EACH_OBJECT(CLEAR, state)
  CLEAR_ALL(state->event_kinds)
  CLEAR_ALL(state->severities)
  CLEAR_ALL(state->rejects)
  CLEAR_ALL(state->reasons)
}

struct PyModuleDef module_definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "libapns._core",
                                        .m_doc = "The C part of libapns; import libapns instead.",
                                        .m_size = sizeof(module_state_t),
                                        .m_traverse = traverse,
                                        .m_free = release};

module_state_t *state_of_type(PyTypeObject *type) {
  PyObject *module = PyObject_GetAttrString((PyObject *)type, MODULE_ATTRIBUTE);
  if (!module) return NULL;
  /* A program may have put another object there. */
  bool is_own = PyModule_Check(module) && PyModule_GetDef(module) == &module_definition;
  module_state_t *state = is_own ? PyModule_GetState(module) : NULL;
  bool is_found = false;
#define COMPARE(one) is_found = is_found || (one) == type;
  if (state) {
    FOR_EACH_TYPE(COMPARE, state)
  }
  Py_DECREF(module); /* the type keeps it */
  if (is_found) return state;
  PyErr_SetString(PyExc_SystemError, "the attribute " MODULE_ATTRIBUTE " of the type was changed");
  return NULL;
}

/* Adds the type to the module under the last part of its name. */
static PyTypeObject *add_type(PyObject *module, PyObject *type, const char *name) {
  if (!type) return NULL;
  Py_INCREF(type);
  if (PyModule_AddObject(module, strrchr(name, '.') + 1, type)) {
    Py_DECREF(type);
    Py_DECREF(type);
    return NULL;
  }
  return (PyTypeObject *)type;
}

PyTypeObject *load_type(PyObject *module, PyType_Spec *spec) {
  PyObject *type = PyType_FromSpec(spec);
  if (type && PyObject_SetAttrString(type, MODULE_ATTRIBUTE, module)) Py_CLEAR(type);
  return add_type(module, type, spec->name);
}

PyTypeObject *load_tuple_type(PyObject *module, PyStructSequence_Desc *shape) {
  return add_type(module, (PyObject *)PyStructSequence_NewType(shape), shape->name);
}

PyObject *tuple_make(PyTypeObject *type, PyObject *const *values, Py_ssize_t count) {
  bool fine = true;
  for (Py_ssize_t i = 0; i < count; i++) fine = fine && values[i];
  PyObject *tuple = fine ? PyStructSequence_New(type) : NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (tuple) {
      PyStructSequence_SetItem(tuple, i, values[i]);
    } else {
      Py_XDECREF(values[i]);
    }
  }
  return tuple;
}

PyObject *load_attribute(const char *module, const char *name) {
  PyObject *imported = PyImport_ImportModule(module);
  PyObject *attribute = imported ? PyObject_GetAttrString(imported, name) : NULL;
  Py_XDECREF(imported);
  return attribute;
}

void *object_alloc(PyTypeObject *type) {
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  return alloc(type, 0);
}

void object_free(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

PyObject *object_enter(PyObject *self, PyObject *none) {
  (void)none;
  Py_INCREF(self);
  return self;
}
