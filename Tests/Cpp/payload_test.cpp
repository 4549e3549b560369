/* Payloads: each kind of value reaches its C function; writing and checking. */
#include <list>

#include "check.hpp"

TEST(a_payload_is_built_in_one_line) {
  assert_text("{\"aps\":{}}", apns::Payload().json());
  assert_text(
      "{\"aps\":{\"alert\":{\"title\":\"Chess\",\"subtitle\":\"Round 2\",\"body\":\"Your move\"},"
      "\"badge\":9,\"sound\":\"default\",\"category\":\"MOVE\",\"thread-id\":\"g1\","
      "\"content-available\":1,\"mutable-content\":1},\"game\":\"g1\"}",
      apns::Payload()
          .title("Chess")
          .subtitle("Round 2")
          .body("Your move")
          .badge(9)
          .sound("default")
          .category("MOVE")
          .thread_id("g1")
          .content_available()
          .mutable_content()
          .add("game", "g1")
          .json());
  assert_text("{\"aps\":{\"alert\":\"Hello\"}}", apns::Payload().alert("Hello").json());
  assert_text(
      "{\"aps\":{\"alert\":{\"loc-key\":\"PLAY\",\"loc-args\":[\"Jenna\",\"Frank\"],"
      "\"title-loc-key\":\"GAME\"}}}",
      apns::Payload().loc_key("PLAY", {"Jenna", "Frank"}).title_loc_key("GAME").json());
  assert_text("{\"aps\":{\"sound\":{\"critical\":1,\"name\":\"a.caf\",\"volume\":0.5}}}",
              apns::Payload().critical_sound("a.caf", 0.5).json());
}

TEST(every_kind_of_value_reaches_its_function) {
  const char *text = "text";
  const std::string string = "string";
  apns::Payload payload;
  // A char pointer is not taken as a bool, nor 0 as a pointer.
  payload.add("a", text).add("b", string).add("c", std::string_view("view")).add("d", "literal");
  payload.add("e", true).add("f", false).add("g", 0).add("h", -1).add("i", 2u);
  payload.add("j", std::uint64_t{9223372036854775807u}).add("k", std::int8_t{-5});
  payload.add("l", 0.5).add("m", 0.25f).add("n", nullptr).add_json("o", "[1, {\"x\": 2.50}]");
  payload.add("p", std::string_view());
  assert_text(
      "{\"aps\":{},\"a\":\"text\",\"b\":\"string\",\"c\":\"view\",\"d\":\"literal\",\"e\":true,"
      "\"f\":false,\"g\":0,\"h\":-1,\"i\":2,\"j\":9223372036854775807,\"k\":-5,\"l\":0.5,"
      "\"m\":0.25,\"n\":null,\"o\":[1,{\"x\":2.50}],\"p\":\"\"}",
      payload.json());
  payload.remove_custom();
  assert_text("{\"aps\":{}}", payload.json());
  payload.set(APNS_KEY_BADGE, 3).set(APNS_KEY_RELEVANCE_SCORE, 0.75);
  payload.set(APNS_KEY_ACTION_LOC_KEY, nullptr).set(APNS_KEY_CONTENT_AVAILABLE, true);
  payload.set(APNS_KEY_LOC_ARGS, {"a", string});
  payload.set(APNS_KEY_TITLE_LOC_ARGS, std::list<std::string>{"l"});
  payload.set(APNS_KEY_URL_ARGS, std::vector<std::string>(40, "u"));
  std::string many = "\"u\"";
  for (int n = 1; n < 40; n++) many += ",\"u\"";
  assert_text(
      "{\"aps\":{\"badge\":3,\"relevance-score\":0.75,\"alert\":{\"action-loc-key\":null,"
      "\"loc-args\":[\"a\",\"string\"],\"title-loc-args\":[\"l\"]},\"content-available\":1,"
      "\"url-args\":[" +
          many + "]}}",
      payload.json());
  payload.remove(APNS_KEY_URL_ARGS).remove(APNS_KEY_ALERT);
  assert_text("{\"aps\":{\"badge\":3,\"relevance-score\":0.75,\"content-available\":1}}",
              payload.json());
  payload.reset();
  assert_text("{\"aps\":{}}", payload.json());
  payload.set(APNS_KEY_TIMESTAMP, 1).set(APNS_KEY_EVENT, "update");
  payload.set_json(APNS_KEY_CONTENT_STATE, "{ \"score\" : [1, 0] }");
  payload.set_json(APNS_KEY_BODY, "{\"loc-key\":\"GOAL\"}").set(APNS_KEY_ALERT_SOUND, "goal");
  const char *const live =
      "{\"aps\":{\"timestamp\":1,\"event\":\"update\",\"content-state\":{\"score\":[1,0]},"
      "\"alert\":{\"body\":{\"loc-key\":\"GOAL\"},\"sound\":\"goal\"}}}";
  assert_text(live, payload.json());
  assert_throws(APNS_ERR_ARGUMENT, "content-state is not a JSON object",
                [&] { payload.set_json(APNS_KEY_CONTENT_STATE, "[]"); });
  assert_text(live, payload.json());
  assert_text("{\"aps\":{\"content-changed\":true}}", apns::Payload().content_changed().json());
}

TEST(an_invalid_value_throws_and_changes_nothing) {
  apns::Payload payload;
  payload.add("game", 1);
  assert_throws(APNS_ERR_ARGUMENT, "game", [&] { payload.add("game", 2); });
  assert_throws(APNS_ERR_ARGUMENT, "aps", [&] { payload.add("aps", 2); });
  assert_throws(APNS_ERR_ARGUMENT, "64 bits",
                [&] { payload.add("large", std::uint64_t{1} << 63); });
  assert_throws(APNS_ERR_ARGUMENT, "", [&] { payload.add_json("json", "{"); });
  assert_throws(APNS_ERR_ARGUMENT, "badge", [&] { payload.set(APNS_KEY_BADGE, "nine"); });
  assert_throws(APNS_ERR_ARGUMENT, "", [&] { payload.body("\xFF"); });
  assert_throws(APNS_ERR_ARGUMENT, "", [&] { payload.critical_sound("a", 2); });
  assert_text("{\"aps\":{},\"game\":1}", payload.json());
}

TEST(the_options_truncate_a_payload) {
  const std::string text(3000, 'a');
  assert_throws(APNS_ERR_ARGUMENT, "", [&] { apns::Payload().alert(text + text).json(); });
  apns::PayloadOptions options;
  options.limit = 256;
  options.truncate = true;
  apns::Payload payload(options);
  std::string json;
  assert_int_equal(payload.alert("short").write(json), 0);
  assert_text("{\"aps\":{\"alert\":\"short\"}}", json);
  assert_true(payload.alert(text).write(json) > 2700);
  assert_int_equal(json.size(), 256);
  assert_text("\xE2\x80\xA6\"}}", std::string_view(json).substr(256 - 6));
  options.suffix = "";
  assert_text("aaa\"}}", std::string_view(apns::Payload(options).alert(text).json()).substr(250));
  options.suffix = "...";
  assert_text("...\"}}", std::string_view(apns::Payload(options).alert(text).json()).substr(250));
  // If the payload does not fit, write() throws and leaves the string empty.
  payload.reset();
  payload.add("own", text);
  assert_throws(APNS_ERR_ARGUMENT, "", [&] { payload.write(json); });
  assert_text("", json);
}

TEST(one_string_is_reused) {
  apns::Payload payload;
  std::string json;
  payload.alert(std::string(1500, 'x')).badge(10).write(json);
  const char *memory = json.data();
  for (int badge = 0; badge < 100; badge++) {
    payload.badge(badge).write(json);
    assert_ptr_equal(json.data(), memory);
  }
  char buffer[2048];
  std::size_t cut = 1;
  const std::size_t length = payload.write(buffer, sizeof buffer, &cut);
  assert_text(json, std::string_view(buffer, length));
  assert_int_equal(cut, 0);
  assert_throws(APNS_ERR_BUFFER_SMALL, "", [&] { payload.write(buffer, 10); });
#if defined(__cpp_lib_span)
  assert_int_equal(payload.write(std::span<char>(buffer)), length);
#endif
}

TEST(a_payload_moves) {
  apns::Payload first;
  first.badge(1);
  apns::Payload second = std::move(first);
  assert_text("{\"aps\":{\"badge\":1}}", second.json());
  assert_throws(APNS_ERR_ARGUMENT, "NULL", [&] { first.badge(2); });
  assert_throws(APNS_ERR_ARGUMENT, "NULL", [&] { first.json(); });
  first.reset();
  first = std::move(second);
  assert_text("{\"aps\":{\"badge\":1}}", first.json());
}

TEST(a_payload_is_checked) {
  assert_int_equal(apns::check_payload("{\"aps\":{\"badge\":1}}").size(), 0);
  std::vector<apns::Finding> findings =
      apns::check_payload("{\"aps\":{\n\"badge\":\"1\",\"alrt\":\"a\"}}");
  assert_int_equal(findings.size(), 2);
  assert_true(findings[0].is_error() && !findings[1].is_error());
  assert_int_equal(findings[0].line, 2);
  assert_contains(findings[0].text().data(), "badge");
  assert_contains(findings[1].message, "alert");
  findings = apns::check_payload(
      "{\"aps\":{\"a1\":1,\"a2\":1,\"a3\":1,\"a4\":1,\"a5\":1,\"a6\":1,\"a7\":1}}");
  assert_int_equal(findings.size(), 7);
  assert_contains(findings[6].message, "a7");
  assert_true(apns::check_payload("{\"aps\":{}}", 5)[0].is_error());
  assert_true(apns::check_payload({})[0].is_error());
}
