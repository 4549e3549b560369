/* foreach over values that can be taken only once. */
#include "php_apns.h"

#include "zend_exceptions.h"

typedef struct iterator {
  zend_object_iterator base; /* its data is the owner */
  php_apns_take take;
  bool of_others;
  int32_t timeout_ms;
  bool has_begun;
  zend_ulong position;
  zval current; /* undefined: the end */
} iterator;

static void drop(zend_object_iterator *base) {
  iterator *own = (iterator *)base;
  zval old;
  ZVAL_COPY_VALUE(&old, &own->current);
  ZVAL_UNDEF(&own->current);
  zval_ptr_dtor(&old);
}

static void destroy(zend_object_iterator *base) {
  drop(base);
  zval_ptr_dtor(&base->data);
}

/* 8.4 changed the type. */
#if PHP_VERSION_ID < 80400
#define VALIDITY int
#else
#define VALIDITY zend_result
#endif
static VALIDITY is_valid(zend_object_iterator *base) {
  return Z_TYPE(((iterator *)base)->current) != IS_UNDEF ? SUCCESS : FAILURE;
}

static zval *current(zend_object_iterator *base) {
  iterator *own = (iterator *)base;
  return Z_TYPE(own->current) != IS_UNDEF ? &own->current : NULL;
}

static void key(zend_object_iterator *base, zval *out) {
  ZVAL_LONG(out, (zend_long)((iterator *)base)->position);
}

static void advance(zend_object_iterator *base) {
  iterator *own = (iterator *)base;
  zval next;
  drop(base);
  if (EG(exception)) return;
  if (own->take(Z_OBJ(base->data), own->of_others, own->timeout_ms, &next) &&
      Z_TYPE(next) != IS_NULL) {
    ZVAL_COPY_VALUE(&own->current, &next);
  }
}

static void move_forward(zend_object_iterator *base) {
  ((iterator *)base)->position++;
  advance(base);
}

/* Outcomes already returned do not come back, so rewinding only continues. */
static void rewind_iterator(zend_object_iterator *base) {
  iterator *own = (iterator *)base;
  if (own->has_begun) return;
  own->has_begun = true;
  advance(base);
}

static HashTable *collect(zend_object_iterator *base, zval **table, int *count) {
  iterator *own = (iterator *)base;
  zend_get_gc_buffer *buffer = zend_get_gc_buffer_create();
  zend_get_gc_buffer_add_zval(buffer, &base->data);
  zend_get_gc_buffer_add_zval(buffer, &own->current);
  zend_get_gc_buffer_use(buffer, table, count);
  return NULL;
}

static const zend_object_iterator_funcs functions = {
    destroy, is_valid, current, key, move_forward, rewind_iterator, drop, collect};

zend_object_iterator *php_apns_iterator_new(zend_object *owner, php_apns_take take, bool of_others,
                                            int32_t timeout_ms, int by_ref) {
  if (by_ref) {
    zend_throw_error(NULL, "An iterator cannot be used with foreach by reference");
    return NULL;
  }
  iterator *own = emalloc(sizeof *own);
  zend_iterator_init(&own->base);
  own->base.funcs = &functions;
  ZVAL_OBJ_COPY(&own->base.data, owner);
  own->take = take;
  own->of_others = of_others;
  own->timeout_ms = timeout_ms;
  own->has_begun = false;
  own->position = 0;
  ZVAL_UNDEF(&own->current);
  return &own->base;
}
