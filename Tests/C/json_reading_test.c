/* How the library reads JSON: eight bytes at a time if it can, with the same result for any text.
   The test reads each text byte by byte too, at the end of a page with nothing mapped after it. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "provider.h"

/* ---- Byte by byte (RFC 8259, RFC 3629) ----------------------------------------- */

typedef struct plain {
  const uint8_t *text;
  size_t length, at;
  int depth;
  const char *fault; /* NULL: none */
  size_t place;      /* of it */
} plain_t;

static bool broken(plain_t *p, const char *fault, size_t place) {
  if (!p->fault) p->fault = fault, p->place = place;
  return false;
}

static const char end_fault[] = "the JSON ends too early";

static int byte_at(const plain_t *p, size_t at) { return at < p->length ? p->text[at] : -1; }

static void spaces(plain_t *p) {
  while (p->at < p->length && strchr(" \t\n\r", p->text[p->at]) && p->text[p->at]) p->at++;
}

/* The length of one UTF-8 character in bytes; 0: none. */
static size_t character(const plain_t *p, size_t at) {
  const int first = byte_at(p, at);
  const size_t length = first < 0xC2   ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  for (size_t trail = 1; trail < length; trail++) {
    const int byte = byte_at(p, at + trail);
    if (byte < 0x80 || byte > 0xBF) return 0;
  }
  const int second = byte_at(p, at + 1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
    return 0;
  return length;
}

/* The unit of \uXXXX after a backslash at `at`; -1: a fault. */
static int unit(plain_t *p, size_t at, size_t escape) {
  int value = 0;
  for (size_t digit = at + 2; digit < at + 6; digit++) {
    const int byte = byte_at(p, digit);
    if (byte < 0) return broken(p, end_fault, p->length), -1;
    if (!strchr("0123456789abcdefABCDEF", byte) || !byte)
      return broken(p, "not a JSON escape", escape), -1;
    value = value << 4 | (byte < 'A' ? byte - '0' : (byte | 32) - 'a' + 10);
  }
  return value;
}

static bool string(plain_t *p) {
  for (p->at++;;) {
    const int byte = byte_at(p, p->at);
    if (byte < 0) return broken(p, end_fault, p->length);
    if (byte == '"') return p->at++, true;
    if (byte < 0x20) return broken(p, "a control character in a string is not escaped", p->at);
    if (byte >= 0x80) {
      const size_t length = character(p, p->at);
      if (!length) return broken(p, "not UTF-8", p->at);
      p->at += length;
    } else if (byte != '\\') {
      p->at++;
    } else {
      const int letter = byte_at(p, p->at + 1);
      if (letter < 0) return broken(p, end_fault, p->length);
      if (letter != 'u') {
        if (!letter || !strchr("\"\\/bfnrt", letter)) return broken(p, "not a JSON escape", p->at);
        p->at += 2;
        continue;
      }
      const int high = unit(p, p->at, p->at);
      if (high < 0) return false;
      p->at += 6;
      if ((high & 0xF800) != 0xD800) continue;
      if (high >= 0xDC00 || byte_at(p, p->at) != '\\' || byte_at(p, p->at + 1) != 'u')
        return broken(p, "half a surrogate pair", p->at - 6);
      const int low = unit(p, p->at, p->at);
      if (low < 0) return false;
      if ((low & 0xFC00) != 0xDC00) return broken(p, "half a surrogate pair", p->at - 6);
      p->at += 6;
    }
  }
}

static bool is_digit(int byte) { return byte >= '0' && byte <= '9'; }

static bool digits(plain_t *p) {
  if (byte_at(p, p->at) < 0) return broken(p, end_fault, p->at);
  if (!is_digit(byte_at(p, p->at))) return broken(p, "not a JSON number", p->at);
  while (is_digit(byte_at(p, p->at))) p->at++;
  return true;
}

static bool number(plain_t *p) {
  if (byte_at(p, p->at) == '-') p->at++;
  if (byte_at(p, p->at) == '0') {
    p->at++;
    if (is_digit(byte_at(p, p->at))) return broken(p, "not a JSON number", p->at);
  } else if (!digits(p)) {
    return false;
  }
  if (byte_at(p, p->at) == '.' && (p->at++, !digits(p))) return false;
  if (byte_at(p, p->at) == 'e' || byte_at(p, p->at) == 'E') {
    p->at++;
    if (byte_at(p, p->at) == '+' || byte_at(p, p->at) == '-') p->at++;
    return digits(p);
  }
  return true;
}

static bool word(plain_t *p, const char *letters) {
  for (size_t index = 0; letters[index]; index++) {
    if (byte_at(p, p->at + index) < 0) return broken(p, end_fault, p->length);
    if (byte_at(p, p->at + index) != letters[index]) return broken(p, "not a value", p->at);
  }
  p->at += strlen(letters);
  return true;
}

static bool value(plain_t *p);

static bool members(plain_t *p, bool is_object) {
  const int closing = is_object ? '}' : ']';
  if (p->depth == 512) return broken(p, "nested too deep", p->at);
  p->depth++;
  p->at++;
  spaces(p);
  if (byte_at(p, p->at) == closing) return p->depth--, p->at++, true;
  for (bool is_first = true;; is_first = false) {
    spaces(p);
    if (byte_at(p, p->at) < 0) return broken(p, end_fault, p->at);
    if (is_object) {
      if (byte_at(p, p->at) != '"')
        return broken(
            p, is_first ? "neither a key nor a closing brace" : "expected a key in quotation marks",
            p->at);
      if (!string(p)) return false;
      spaces(p);
      if (byte_at(p, p->at) < 0) return broken(p, end_fault, p->at);
      if (byte_at(p, p->at) != ':') return broken(p, "no colon", p->at);
      p->at++;
    }
    if (!value(p)) return false;
    spaces(p);
    const int byte = byte_at(p, p->at);
    if (byte < 0) return broken(p, end_fault, p->at);
    p->at++;
    if (byte == closing) return p->depth--, true;
    if (byte != ',')
      return broken(p, is_object ? "no comma or brace" : "no comma or bracket", p->at - 1);
  }
}

static bool value(plain_t *p) {
  spaces(p);
  const int byte = byte_at(p, p->at);
  if (byte < 0) return broken(p, end_fault, p->at);
  if (byte == '{' || byte == '[') return members(p, byte == '{');
  if (byte == '"') return string(p);
  if (byte == '-' || is_digit(byte)) return number(p);
  if (byte == 't') return word(p, "true");
  if (byte == 'f') return word(p, "false");
  if (byte == 'n') return word(p, "null");
  return broken(p, "not a value", p->at);
}

/* ---- Compared with the library --------------------------------------------------- */

static char *pages;
static size_t page;

/* Both give the same result, at the same byte; an error about valid JSON is worded otherwise. */
static bool check_alike(const char *text, size_t length) {
  char *copy = pages + 4 * page - length;
  memcpy(copy, text, length);
  plain_t p = {.text = (const uint8_t *)copy, .length = length};
  if (length >= 3 && !memcmp(copy, "\xEF\xBB\xBF", 3)) p.at = 3;
  if (value(&p)) {
    spaces(&p);
    if (p.at < length) broken(&p, "there is text after the end", p.at);
  }
  apns_payload_finding_t findings[32] = {APNS_PAYLOAD_FINDING_INIT};
  size_t count = 0;
  apns_status_t status = apns_payload_check(copy, length, 1 << 20, findings, 32, &count, &error);
  /* Earlier findings are about Apple's keys, and do not count. */
  const apns_payload_finding_t *last = count && count <= 32 ? &findings[count - 1] : NULL;
  bool is_alike = true;
  if (p.fault)
    is_alike = status == APNS_ERR_ARGUMENT &&
               (count > 32 || (last->severity == APNS_FINDING_ERROR &&
                               (last->offset == p.place || strstr(last->message, "UTF-16"))));
  else if (last && last->severity == APNS_FINDING_ERROR)
    is_alike = strstr(last->message, " is not ") ||
               strstr(last->message, "a payload is an object") ||
               strstr(last->message, "has an element") || strstr(last->message, "looks like ") ||
               strstr(last->message, "was encoded twice");
  if (!is_alike) {
    print_error("%s at %zu, but %s at %zu: ", p.fault ? p.fault : "fine", p.place,
                last ? last->message : "fine", last ? last->offset : 0);
    for (size_t at = 0; at < length; at++)
      print_error(text[at] >= 32 && text[at] < 127 ? "%c" : "\\x%02x", (unsigned char)text[at]);
    print_error("\n");
  }
  assert_true(is_alike);
  return !p.fault;
}

static unsigned seed = 20260303; /* or SEED, another one each day in the rota */
static size_t below(size_t limit) { return (size_t)rand_r(&seed) % limit; }

typedef struct made {
  char text[4096];
  size_t length;
} made_t;

static void add(made_t *made, const char *text) {
  size_t length = strlen(text);
  if (made->length + length > sizeof made->text - 16) return;
  memcpy(made->text + made->length, text, length);
  made->length += length;
}

static void add_space(made_t *made) {
  static const char *const some[] = {"", "", "", "", " ", "\n\t", "  \r\n   ", "         "};
  add(made, some[below(8)]);
}

static void add_string(made_t *made) {
  static const char *const pieces[] = {"a",
                                       "plain text",
                                       "sixteen letters.",
                                       "\xC3\xA9",
                                       "\xD0\x91\xD0\xBE\xD0\xB1",
                                       "\xE9\xB2\x8D\xE5\x8B\x83",
                                       "\xF0\x9F\x98\x80",
                                       "\\n",
                                       "\\\"",
                                       "\\\\",
                                       "\\u00e9",
                                       "\\ud83d\\ude00",
                                       "\x7F",
                                       "\xE2\x80\xA6",
                                       "\xED\x9F\xBF",
                                       "\xF4\x8F\xBF\xBF",
                                       "\xC2\x80",
                                       "\xE0\xA0\x80",
                                       "'",
                                       "{}[],:"};
  add(made, "\"");
  for (size_t count = below(6); count--;) add(made, pieces[below(sizeof pieces / sizeof *pieces)]);
  add(made, "\"");
}

static void add_value(made_t *made, int depth) {
  static const char *const plain[] = {"0",     "-0",   "7",      "12345678901234567890",
                                      "-1.5",  "1e9",  "0.0E-7", "true",
                                      "false", "null", "1",      "-12"};
  add_space(made);
  const size_t kind = depth > 5 ? below(2) : below(4);
  if (kind == 0) {
    add(made, plain[below(sizeof plain / sizeof *plain)]);
  } else if (kind == 1) {
    add_string(made);
  } else {
    add(made, kind == 2 ? "[" : "{");
    for (size_t left = below(4); left--;) {
      add_space(made);
      if (kind == 3) add_string(made), add_space(made), add(made, ":");
      add_value(made, depth + 1);
      if (left) add(made, ",");
    }
    add_space(made);
    add(made, kind == 2 ? "]" : "}");
  }
  add_space(made);
}

static void payload(made_t *made) {
  static const char *const keys[] = {
      "alert",   "badge", "sound", "category", "nosuch", "b\\u0061dge", "content-available",
      "url-args"};
  made->length = 0;
  add(made, "{\"aps\":{");
  for (size_t left = below(3); left--;) {
    add(made, "\""), add(made, keys[below(8)]), add(made, "\":");
    add_value(made, 3);
    if (left) add(made, ",");
  }
  add(made, "}");
  for (size_t left = below(4); left--;) {
    add(made, ","), add_string(made), add(made, ":");
    add_value(made, 0);
  }
  add(made, "}");
}

TEST(any_text_is_read_as_byte_by_byte) {
  static const char hostile[] =
      "{}[]\",:\\u0eE+-.tfn \n\x1F\x01\x7F\x80\xBF\xC0\xC2\xE0\xED\xF0\xF4\xF5\xFF";
  static made_t made;
  size_t fine = 0, wrong = 0;
  for (size_t round = 0; round < as_many_as(60000, 1500); round++) {
    payload(&made);
    assert_true(check_alike(made.text, made.length));
    fine++;
    /* Then with a few bytes changed, left out, put in, or the end cut off. */
    for (size_t changes = 1 + below(3); changes-- && made.length;) {
      size_t at = below(made.length);
      switch (below(5)) {
        case 0:
          made.text[at] = (char)below(256);
          break;
        case 1:
          made.text[at] = hostile[below(sizeof hostile)];
          break;
        case 2:
          memmove(made.text + at, made.text + at + 1, made.length - at - 1);
          made.length--;
          break;
        case 3:
          memmove(made.text + at + 1, made.text + at, made.length - at);
          made.text[at] = hostile[below(sizeof hostile)];
          made.length++;
          break;
        default:
          if (below(2)) made.length = at + 1;
      }
    }
    if (!check_alike(made.text, made.length)) wrong++;
  }
  assert_true(fine > 1000 && wrong > 500);
}

/* Each byte in each place of a string's eight, and of its last ones. */
TEST(each_byte_in_each_place) {
  for (size_t length = 0; length < 20; length++)
    for (size_t place = 0; place < length; place++)
      for (int byte = 0; byte < 256; byte++) {
        char text[64] = "{\"aps\":{},\"k\":\"";
        size_t at = strlen(text);
        memset(text + at, 'x', length);
        text[at + place] = (char)byte;
        memcpy(text + at + length, "\"}", 2);
        check_alike(text, at + length + 2);
      }
}

/* All values of three bytes, and of four bytes after a valid beginning. */
TEST(each_character_beyond_ascii) {
  const unsigned step = (unsigned)as_many_as(1, 37);
  char text[64] = "{\"aps\":{},\"k\":\"";
  const size_t at = strlen(text);
  static const uint8_t trails[] = {0x00, 0x22, 0x7F, 0x80, 0x8F, 0x90,
                                   0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
  for (unsigned first = 0x80; first < 256; first++)
    for (unsigned second = 0; second < 256; second += step)
      for (size_t third = 0; third < sizeof trails; third++)
        for (size_t fourth = 0; fourth < sizeof trails; fourth += 1 + (first < 0xE0)) {
          uint8_t *bytes = (uint8_t *)text + at;
          bytes[0] = (uint8_t)first, bytes[1] = (uint8_t)second, bytes[2] = trails[third];
          bytes[3] = trails[fourth];
          memcpy(bytes + 4, "\"}", 2);
          check_alike(text, at + 6);
        }
}

/* As deep as it goes, and one deeper. */
TEST(as_deep_as_it_goes) {
  for (size_t depth = 505; depth < 520; depth++)
    for (int kind = 0; kind < 2; kind++) {
      static char text[8192];
      size_t length = (size_t)sprintf(text, "{\"aps\":{},\"k\":");
      for (size_t level = 1; level < depth; level++)
        length += (size_t)sprintf(text + length, kind ? "{\"a\":" : "[");
      length += (size_t)sprintf(text + length, "1");
      for (size_t level = 1; level < depth; level++) text[length++] = kind ? '}' : ']';
      text[length++] = '}';
      assert_int_equal(check_alike(text, length), depth <= 512);
    }
}

void before_all(void) {
  if (getenv("SEED")) seed = (unsigned)strtoul(getenv("SEED"), NULL, 10);
  page = (size_t)sysconf(_SC_PAGESIZE);
  pages = mmap(NULL, 5 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + 4 * page, page, PROT_NONE)) abort();
}
