/* Values that own nothing of the library: bytes, tokens, errors; and the guarantees of each class.
 */
#include <array>
#include <exception>
#include <unordered_map>

#include "check.hpp"

/* ---- Promises the compiler checks --------------------------------------- */

template <class Object, class Handle>
constexpr bool is_owner() {
  static_assert(sizeof(Object) == sizeof(Handle *));
  static_assert(!std::is_copy_constructible_v<Object> && !std::is_copy_assignable_v<Object>);
  static_assert(std::is_nothrow_move_constructible_v<Object>);
  static_assert(std::is_nothrow_move_assignable_v<Object>);
  // No implicit conversion from a handle.
  static_assert(!std::is_convertible_v<Handle *, Object>);
  return true;
}
static_assert(is_owner<apns::Session, apns_session_t>());
static_assert(is_owner<apns::Credentials, apns_credentials_t>());
static_assert(is_owner<apns::Payload, apns_payload_t>());
static_assert(is_owner<apns::Strings, apns_strings_t>());
static_assert(is_owner<apns::Feedback, apns_feedback_t>());
static_assert(std::is_base_of_v<std::exception, apns::Error>);
static_assert(std::is_nothrow_copy_constructible_v<apns::Error>);
static_assert(std::is_trivially_copyable_v<apns::Token>);
static_assert(!std::is_constructible_v<apns::Bytes, const std::vector<int> &>);
static_assert(!std::is_constructible_v<apns::Bytes, int>);
/* No type of text converts to a token. */
static_assert(!std::is_constructible_v<apns::Notification, const char *, const char *>);
static_assert(!std::is_constructible_v<apns::Notification, std::string, const char *>);
static_assert(!std::is_constructible_v<apns::TokenBytes, std::string_view>);
static_assert(!std::is_constructible_v<apns::TokenBytes, const char (&)[3]>);
static_assert(!std::is_constructible_v<apns::TokenBytes, apns::Bytes>);
static_assert(std::is_constructible_v<apns::Notification, std::vector<std::uint8_t>, const char *>);
static_assert(std::is_constructible_v<apns::Notification, apns::Token, std::string>);

/* ---- Bytes -------------------------------------------------------------- */

TEST(bytes_convert_from_containers) {
  const std::uint8_t plain[3] = {1, 0, 2};
  const std::vector<std::uint8_t> vector(plain, plain + 3);
  const std::array<char, 3> array{{1, 0, 2}};
  const std::vector<std::byte> bytes{std::byte{1}, std::byte{0}, std::byte{2}};
  const std::string string("\1\0\2", 3);
  for (apns::Bytes view :
       {apns::Bytes(plain), apns::Bytes(vector), apns::Bytes(array), apns::Bytes(bytes),
        apns::Bytes(string), apns::Bytes(std::string_view(string)), apns::Bytes(plain, 3)})
    assert_text(string, view.text());
  // A literal is its text, without the NUL.
  assert_text("{}", apns::Bytes("{}").text());
  assert_true(apns::Bytes().empty());
  assert_text("", apns::Bytes().text());
#if defined(__cpp_lib_span)
  assert_text(string, apns::Bytes(std::span<const std::uint8_t>(plain)).text());
  assert_text(string, apns::Bytes(std::as_bytes(std::span(plain))).text());
#endif
}

/* ---- Tokens ------------------------------------------------------------- */

TEST(tokens_are_read_and_written) {
  const apns::Token token = apns::Token::from_hex("<5F79cfda 4d01aa3a>");
  assert_int_equal(token.size(), 8);
  assert_text("5f79cfda4d01aa3a", token.hex());
  assert_text("X3nP2k0Bqjo=", token.base64());
  assert_true(apns::Token::from_base64("X3nP2k0Bqjo") == token);
  assert_true(apns::Token(std::vector<std::uint8_t>(token.begin(), token.end())) == token);
  assert_text("5f79cfda4d01aa3a", apns::to_hex(token));
  assert_text("", apns::Token().hex());
  assert_text("", apns::to_base64({}));
  assert_int_equal(apns::Token(std::vector<std::uint8_t>(100, 'x')).hex().size(), 200);
}

TEST(bad_tokens_have_a_reason) {
  assert_throws(APNS_ERR_ARGUMENT, "character 'u' at 1", [] { apns::Token::from_hex("5u"); });
  assert_throws(APNS_ERR_ARGUMENT, "", [] { apns::Token::from_hex({}); });
  assert_throws(APNS_ERR_ARGUMENT, "", [] { apns::Token::from_base64("="); });
  assert_throws(APNS_ERR_ARGUMENT, "token is empty", [] { apns::Token{apns::TokenBytes()}; });
  assert_throws(APNS_ERR_ARGUMENT, "token is too long",
                [] { apns::Token{std::vector<std::uint8_t>(101, 'x')}; });
  // A failed assignment leaves the token unchanged.
  apns::Token token = apns::Token::from_hex("0102");
  assert_int_equal(token.try_assign_hex("5"), APNS_ERR_ARGUMENT);
  assert_int_equal(token.try_assign({}), APNS_ERR_ARGUMENT);
  assert_text("0102", token.hex());
  assert_int_equal(token.try_assign_base64("Aw=="), APNS_OK);
  assert_text("03", token.hex());
}

TEST(tokens_are_keys) {
  const apns::Token one = token_of(1), two = token_of(2);
  assert_true(one != two && one == token_of(1));
  assert_true(one < two && !(two < one));
  std::unordered_map<apns::Token, int> devices{{one, 1}, {two, 2}};
  assert_int_equal(devices.at(token_of(2)), 2);
  assert_int_equal(devices.count(token_of(3)), 0);
}

/* ---- Errors ------------------------------------------------------------- */

TEST(an_error_carries_the_librarys) {
  apns::ErrorDetail detail;
  assert_int_equal(detail.size, sizeof(apns_error_t));
  assert_int_equal(detail.code(), APNS_OK);
  detail.status = APNS_ERR_NETWORK;
  detail.sys_errno = 111;
  detail.tls_code = 7;
  detail.reject = APNS_REJECT_SHUTDOWN;
  std::memset(detail.message, 'x', sizeof detail.message);
  const apns::Error error(detail);
  assert_int_equal(error.status(), APNS_ERR_NETWORK);
  assert_true(error.is_retryable());
  assert_int_equal(error.detail().size, sizeof(apns_error_t));
  assert_int_equal(error.detail().sys_errno, 111);
  assert_int_equal(error.detail().tls_code, 7);
  assert_int_equal(error.detail().reject, APNS_REJECT_SHUTDOWN);
  // An unterminated message is terminated.
  assert_int_equal(std::strlen(error.what()), sizeof detail.message - 1);
  const std::exception &base = error;
  assert_ptr_equal(base.what(), error.what());

  // Stale stack contents do not leak into the error.
  try {
    apns::Token::from_hex("x");
  } catch (const apns::Error &thrown) {
    const char *message = thrown.detail().message;
    for (size_t at = std::strlen(message); at < sizeof thrown.detail().message; at++)
      assert_int_equal(message[at], 0);
  }
}

TEST(the_version_is_the_headers) { assert_text(APNS_VERSION_STRING, apns::version()); }

/* ---- Strings ------------------------------------------------------------ */

TEST(strings_are_looked_up_and_filled_in) {
  const apns::Strings strings("\"PLAY\" = \"%@ and %@ play\";\n\"TITLE\" = \"Chess\";");
  assert_text("Chess", strings.get("TITLE"));
  assert_text("Jenna and Frank play", strings.format("PLAY", {"Jenna", "Frank"}));
  assert_text("Chess", strings.format("TITLE", {}));
  // Longer than any internal buffer.
  const std::string name(5000, 'n');
  assert_text(name + " and F play", strings.format("PLAY", {name, "F"}));
#if defined(__cpp_lib_span)
  const std::vector<std::string_view> args{"A", "B"};
  assert_text("A and B play", strings.format("PLAY", std::span<const std::string_view>(args)));
#endif
  assert_throws(APNS_ERR_ARGUMENT, "NOBODY", [&] { strings.get("NOBODY"); });
  assert_throws(APNS_ERR_ARGUMENT, "uses argument 2", [&] { strings.format("PLAY", {"Jenna"}); });
  assert_throws(APNS_ERR_ARGUMENT, "holds a NUL", [&] {
    strings.format("PLAY", {std::string_view("a\0b", 3), "c"});
  });
  assert_throws(APNS_ERR_ARGUMENT, "line 1, column 9", [] { apns::Strings("\"a\" = 5 6;"); });
}

TEST(strings_are_read_from_a_file) {
  const std::string text = "title = Chess;";
  const char *file = identities_write("Localizable.strings", text.data(), text.size());
  assert_text("Chess", apns::Strings::open(file).get("title"));
  assert_throws(APNS_ERR_ARGUMENT, "/nonexistent", [] { apns::Strings::open("/nonexistent"); });
  assert_throws(APNS_ERR_ARGUMENT, "file holds a NUL",
                [&] { apns::Strings::open(std::string(file) + '\0' + "x"); });
}

TEST(a_moved_from_object_is_empty) {
  apns::Strings first("a = b;");
  assert_true(static_cast<bool>(first));
  apns::Strings second(std::move(first));
  assert_text("b", second.get("a"));
  assert_false(static_cast<bool>(first));
  assert_throws(APNS_ERR_ARGUMENT, "NULL", [&] { first.get("a"); });
  // The overwritten object is freed; valgrind would detect a leak.
  apns::Strings third("c = d;");
  third = std::move(second);
  assert_text("b", third.get("a"));
  // Out of C++ and back.
  apns_strings_t *handle = third.release();
  assert_non_null(handle);
  assert_null(third.get());
  const apns::Strings adopted(handle);
  assert_text("b", adopted.get("a"));
}
