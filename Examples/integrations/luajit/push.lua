-- Pushes one alert to many devices with libapns, from LuaJIT: a device token per line on standard input.
--
--     luajit push.lua AuthKey_ABC123DEFG.p8 ABC123DEFG DEF123GHIJ com.example.app "Hello" [HOST PORT CA] < tokens
local ffi = require "ffi"

-- The declarations of apns.h that this program uses. `_` are fields that it leaves 0; the sizes must be those of the header.
ffi.cdef [[
typedef struct { size_t size; int32_t status, sys_errno; uint64_t tls_code; int32_t reject, cause; char message[240]; } apns_error_t;
typedef struct {
  size_t size; const char *certificate_file; void *_1[6]; const char *ca_file, *ca_directory; int32_t _2[4]; void *_3[2];
  const char *token_key_file; void *_4[2]; const char *key_id, *team_id; void *_5[4]; int32_t _6[2]; void *_7[7];
} apns_credentials_options_t;
typedef struct {
  const char *host, *server_name; uint16_t port, _1; uint32_t connect_timeout_ms; const char *proxy; int32_t _2[4]; void *_3[7];
} apns_peer_t;
typedef struct {
  size_t size; apns_peer_t peer; int32_t environment, protocol; const char *topic; int32_t _1[6]; void *_2[2]; int32_t _3[2];
  void *_4[3]; int32_t deadline_ms, _5; void *_6[2];
} apns_session_options_t;
typedef struct {
  size_t size; const void *token; size_t token_length; const void *payload; size_t payload_length; void *user_data; int64_t expiry;
  uint8_t priority, push_type, _1[6]; const char *topic, *collapse_id, *apns_id, *channel_id; int32_t deadline_ms, _2;
} apns_notification_t;
typedef struct {
  size_t size; int32_t kind, reject; uint32_t identifier, retry_after_s; void *user_data; int32_t reason;
  uint16_t http_status, retry_asked; int64_t timestamp; char apns_id[40], reason_text[64], unique_id[40];
} apns_event_t;
typedef struct apns_credentials apns_credentials_t;
typedef struct apns_session apns_session_t;
int apns_credentials_new(const apns_credentials_options_t *, apns_credentials_t **, apns_error_t *);
void apns_credentials_free(apns_credentials_t *);
int apns_session_new(const apns_session_options_t *, const apns_credentials_t *, apns_session_t **, apns_error_t *);
void apns_session_free(apns_session_t *);
int apns_session_send(apns_session_t *, const apns_notification_t *, uint32_t, uint32_t *, apns_error_t *);
int apns_session_next_event(apns_session_t *, apns_event_t *, int32_t, apns_error_t *);
int apns_session_drain(apns_session_t *, int32_t, size_t *, apns_error_t *);
int apns_status_is_retryable(int);
int apns_token_from_hex(const char *, size_t, uint8_t *, size_t, size_t *, apns_error_t *);
size_t apns_event_describe(const apns_event_t *, char *, size_t);
]]
local apns, OK = ffi.load("apns"), 0

-- A structure, which begins with its size. Its strings must stay referenced in Lua as long as C may read them.
local function new(name, fields)
  local it = ffi.new(name, fields or {})
  it.size = ffi.sizeof(name)
  return it
end
local fault = new "apns_error_t"
local function check(status)
  if status ~= OK then error(ffi.string(fault.message), 0) end
end
local key_file, key_id, team_id, topic, alert, host, port, ca = unpack(arg)
if not alert then error("usage: push.lua KEY.p8 KEY_ID TEAM_ID TOPIC ALERT [HOST PORT CA] < tokens", 0) end
local who = new("apns_credentials_options_t", { token_key_file = key_file, key_id = key_id, team_id = team_id, ca_file = ca })
local where = new("apns_session_options_t", { topic = topic, peer = { host = host, port = tonumber(port) or 0 } })
local made = ffi.new("apns_credentials_t *[1]")
check(apns.apns_credentials_new(who, made, fault))
local credentials = ffi.gc(made[0], apns.apns_credentials_free)
made = ffi.new("apns_session_t *[1]")
check(apns.apns_session_new(where, credentials, made, fault))
local session = ffi.gc(made[0], apns.apns_session_free)

local payload = '{"aps":{"alert":"' .. alert:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"}}'
local push = new("apns_notification_t", { payload = payload, payload_length = #payload })
local token, length, number = ffi.new("uint8_t[100]"), ffi.new("size_t[1]"), ffi.new("uint32_t[1]")
local event, text = new "apns_event_t", ffi.new("char[256]")
local devices = {}

-- Prints the outcomes that are there, and waits up to `ms` for the first one.
local function report(ms)
  while apns.apns_session_next_event(session, event, ms, nil) == OK do
    ms = 0
    apns.apns_event_describe(event, text, 256)
    print(devices[event.identifier] .. ": " .. ffi.string(text))
    devices[event.identifier] = nil
  end
end

for line in io.lines() do
  if apns.apns_token_from_hex(line, #line, token, 100, length, fault) ~= OK then
    print(line .. ": refused: " .. ffi.string(fault.message))
  else
    push.token, push.token_length = token, length[0]
    local status = apns.apns_session_send(session, push, 0, number, fault)
    while status ~= OK and apns.apns_status_is_retryable(status) ~= 0 do
      io.stderr:write(ffi.string(fault.message), "\n") -- APNs is away: the push was not taken
      report(1000)
      status = apns.apns_session_send(session, push, 0, number, fault)
    end
    if status == OK then devices[number[0]] = line else print(line .. ": refused: " .. ffi.string(fault.message)) end
  end
  report(0)
end
-- While APNs is away, those without an outcome stay in the session.
repeat
  local status = apns.apns_session_drain(session, 1000, nil, fault)
  report(0)
  if status ~= OK then io.stderr:write(ffi.string(fault.message), "\n") end
until status == OK or apns.apns_status_is_retryable(status) == 0
