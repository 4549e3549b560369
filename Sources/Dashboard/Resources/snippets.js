import { payloadBytes } from "./payload.js";
import { format, repeatCommand, secondsLeft, shell } from "./repeat.js";

// Programs that send a push again, in printable ASCII: the push's content is only ever a literal in them.

/** By name, for a push over the given protocol. */
export function snippets(push, gateway) {
  const all = { "apns send": repeatCommand };
  if (push.protocol === "http2") Object.assign(all, { curl, C: inC, PHP: inPHP, Python: inPython });
  return Object.fromEntries(Object.entries(all).map(([name, write]) => [name, () => write(push, gateway)]));
}

const TYPES = ["alert", "background", "location", "voip", "complication", "fileprovider", "mdm", "liveactivity", "pushtotalk", "widgets", "controls"];

/** What the programs send, and where. */
function request(push, gateway) {
  const header = (name) => push.headers.find(([other]) => other === name)?.[1];
  const isBroadcast = push.channel !== null;
  const expiry = header("apns-expiration");
  return {
    host: { "0.0.0.0": "127.0.0.1", "::": "::1" }[gateway.host] ?? gateway.host,
    port: gateway.http2_port,
    payload: payloadBytes(push),
    isSigned: header("authorization") !== undefined,
    isBroadcast,
    topic: isBroadcast ? push.topic : header("apns-topic"),
    type: TYPES.find((type) => type === header("apns-push-type")),
    priority: ["10", "5", "1"].find((priority) => priority === header("apns-priority")),
    collapse: isBroadcast ? undefined : header("apns-collapse-id"),
    // Keeps this push's time to live.
    seconds: expiry === undefined ? undefined : secondsLeft(push, expiry),
  };
}

/** A string literal of these bytes in C, PHP and Python. */
const literal = (bytes) =>
  `"${[...bytes].map((byte) => {
    const letter = String.fromCharCode(byte);
    if (letter === '"' || letter === "\\") return `\\${letter}`;
    // "$" begins a variable in PHP, and "??" a trigraph in C.
    const isPlain = byte >= 0x20 && byte < 0x7f && !"$?".includes(letter);
    return isPlain ? letter : `\\${byte.toString(8).padStart(3, "0")}`;
  }).join("")}"`;
const quoted = (text) => literal(new TextEncoder().encode(text));

function curl(push, gateway) {
  const wanted = request(push, gateway);
  // A shell cannot sign a provider token; the simulator takes its certificate as well.
  const words = ["curl", "--http2", "--cacert", gateway.ca, "--cert", gateway.provider];
  for (const [name, value] of push.headers) {
    if (!name.startsWith("apns-") || ["apns-id", "apns-request-id", "apns-expiration"].includes(name)) continue;
    // With a colon curl would omit it.
    words.push("--header", value === "" ? `${name};` : `${name}: ${value}`);
  }
  const path = push.headers.find(([name]) => name === ":path")?.[1] ?? "";
  const host = wanted.host.includes(":") ? `[${wanted.host}]` : wanted.host;
  const last = ["--data-binary", "@-", `https://${host}:${wanted.port}${path}`];
  const expiry = wanted.seconds === 0 ? "0" : `$(($(date +%s) + ${wanted.seconds}))`;
  const computed = wanted.seconds === undefined ? [] : ["--header", `"apns-expiration: ${expiry}"`];
  return `printf '${format(wanted.payload)}' | ${[...words.map(shell), ...computed, ...last.map(shell)].join(" ")}`;
}

function inC(push, gateway) {
  const wanted = request(push, gateway);
  const lines = [];
  const set = (name, value) => { if (value !== undefined) lines.push(`  ${name} = ${value};`); };
  set("who.ca_file", quoted(gateway.ca));
  if (wanted.isSigned) {
    set("who.token_key_file", quoted(gateway.token_key));
    set("who.key_id", quoted(gateway.token_key_id));
    set("who.team_id", quoted(gateway.token_team_id));
  } else set("who.certificate_file", quoted(gateway.provider));
  set("where.peer.host", quoted(wanted.host));
  set("where.peer.port", wanted.port);
  set("where.checks", "-1 /* sends it as it was, even with mistakes */");
  if (wanted.isBroadcast) set("push.channel_id", quoted(push.channel));
  else set("push.token", "token");
  set("push.payload", "payload");
  set("push.payload_length", "sizeof payload - 1");
  if (wanted.topic !== undefined) set("push.topic", quoted(wanted.topic));
  if (wanted.type !== undefined) set("push.push_type", `APNS_PUSH_TYPE_${wanted.type.toUpperCase()}`);
  set("push.priority", wanted.priority);
  if (wanted.collapse !== undefined) set("push.collapse_id", quoted(wanted.collapse));
  if (wanted.seconds !== undefined) set("push.expiry", wanted.seconds === 0 ? "APNS_EXPIRY_ONCE" : `time(NULL) + ${wanted.seconds}`);
  const read = wanted.isBroadcast ? "" :
    "!apns_token_from_hex(hex, sizeof hex - 1, token, sizeof token, &push.token_length, &error) &&\n      ";
  return `#include <apns/apns.h>
#include <stdio.h>
#include <time.h>

int main(void) { /* cc push.c -lapns */
${wanted.isBroadcast ? "" : `  static const char hex[] = ${quoted(push.token)};
  uint8_t token[APNS_TOKEN_MAX];
`}  static const char payload[] = ${literal(wanted.payload)};
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  apns_event_t event = APNS_EVENT_INIT;
  apns_credentials_t *credentials = NULL;
  apns_session_t *session = NULL;

${lines.join("\n")}
  if (${read}!apns_credentials_new(&who, &credentials, &error) &&
      !apns_session_new(&where, credentials, &session, &error) &&
      !apns_session_push(session, &push, 10000, &event, &error))
    apns_event_describe(&event, error.message, sizeof error.message);
  puts(error.message);
  apns_session_free(session);
  apns_credentials_free(credentials);
}
`;
}

function inPHP(push, gateway) {
  const wanted = request(push, gateway);
  const who = wanted.isSigned
    ? { token_key_file: gateway.token_key, key_id: gateway.token_key_id, team_id: gateway.token_team_id }
    : { certificate_file: gateway.provider };
  const list = Object.entries({ ...who, ca_file: gateway.ca }).map(([name, value]) => `'${name}' => ${quoted(value)}`).join(", ");
  const words = [wanted.isBroadcast ? "null" : quoted(push.token), literal(wanted.payload)];
  const add = (name, value) => { if (value !== undefined) words.push(`${name}: ${value}`); };
  add("expiry", wanted.seconds === undefined ? undefined : wanted.seconds === 0 ? 0 : `time() + ${wanted.seconds}`);
  add("priority", wanted.priority);
  for (const [name, text] of [["topic", wanted.topic], ["pushType", wanted.type], ["collapseId", wanted.collapse], ["channelId", push.channel ?? undefined]]) {
    add(name, text === undefined ? undefined : quoted(text));
  }
  return `<?php
$session = new Apns\\Session([${list}],
    ['host' => ${quoted(wanted.host)}, 'port' => ${wanted.port}, 'checks' => false]);
echo $session->push(${words.join(", ")}), "\\n";
`;
}

function inPython(push, gateway) {
  const wanted = request(push, gateway);
  // Literals of text: beyond ASCII Python counts characters, not bytes.
  const text = (value) => (/^[ -~]*$/.test(value) ? quoted(value) : `b${quoted(value)}.decode()`);
  const who = wanted.isSigned
    ? { key: gateway.token_key, key_id: gateway.token_key_id, team_id: gateway.token_team_id }
    : { certificate: gateway.provider };
  const list = Object.entries({ ...who, ca_file: gateway.ca, host: wanted.host }).map(([name, value]) => `${name}=${text(value)}`).join(", ");
  const words = [wanted.isBroadcast ? "None" : text(push.token), `b${literal(wanted.payload)}`];
  const add = (name, value) => { if (value !== undefined) words.push(`${name}=${value}`); };
  add("expiry", wanted.seconds === undefined ? undefined : wanted.seconds === 0 ? 0 : `int(time.time()) + ${wanted.seconds}`);
  add("priority", wanted.priority);
  for (const [name, value] of [["topic", wanted.topic], ["push_type", wanted.type], ["collapse_id", wanted.collapse], ["channel_id", push.channel ?? undefined]]) {
    add(name, value === undefined ? undefined : text(value));
  }
  return `import time

import libapns

client = libapns.Client(${list}, port=${wanted.port}, checks=0)
print(client.push(${words.join(", ")}))
`;
}
