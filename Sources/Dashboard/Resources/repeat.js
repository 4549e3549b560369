import { payloadBytes } from "./payload.js";

/** The longest --expires-in, in seconds. */
const LONGEST = 0xffffffff;

/** How long the push had to live, in whole seconds; 0 for other expiries than numbers. */
export const secondsLeft = (push, expiry) =>
  Math.trunc(Math.min(Math.max(0, Number(expiry) - Math.floor(push.time / 1000)) || 0, LONGEST));

/* * The command that repeats a push: one line of printable ASCII, quoted so that the push's content
   has no meaning to a shell or a terminal. */
export function repeatCommand(push, gateway) {
  const isHTTP2 = push.protocol === "http2";
  const isBroadcast = push.channel !== null;
  const header = (name) => push.headers.find(([other]) => other === name)?.[1];
  const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[gateway.host] ?? gateway.host;
  const words = ["apns", "send"];
  const option = (name, value) => words.push(`--${name}=${value}`);
  option("protocol", push.protocol);
  option("host", host);
  option("port", isHTTP2 ? gateway.http2_port : gateway.gateway_port);
  option("ca", gateway.ca);
  if (isHTTP2 && header("authorization") !== undefined) {
    option("p8", gateway.token_key);
    option("key-id", gateway.token_key_id);
    option("team-id", gateway.token_team_id);
  } else option("certificate", gateway.provider);
  if (isHTTP2) {
    // A broadcast's path names the app.
    if (isBroadcast) option("topic", push.topic);
    for (const name of isBroadcast ? ["push-type", "priority"] : ["topic", "push-type", "priority", "collapse-id"]) {
      if (header(`apns-${name}`) !== undefined) option(name, header(`apns-${name}`));
    }
  } else if (push.priority !== null) option("priority", push.priority);
  const expiry = isHTTP2 ? header("apns-expiration") : push.expiry;
  // Keeps this push's time to live.
  if (expiry !== undefined && expiry !== null) option("expires-in", secondsLeft(push, expiry));
  option("payload", "-");
  if (isBroadcast) option("channel", push.channel);
  else words.push(push.token);
  return `printf '${format(payloadBytes(push))}' | ${words.map(shell).join(" ")}`;
}

/** A format for printf that prints these bytes, between the quotes of any shell. */
export function format(bytes) {
  return [...bytes].map((byte, index) => {
    const letter = String.fromCharCode(byte);
    if (letter === "%") return "%%";
    // Some shells expand "!" from the history, and printf reads a leading "-" as an option.
    const isPlain = byte >= 0x20 && byte < 0x7f && !"'\\!".includes(letter) && !(letter === "-" && index === 0);
    return isPlain ? letter : `\\${byte.toString(8).padStart(3, "0")}`;
  }).join("");
}

/** A word of a command, quoted for any shell if needed. */
export function shell(word) {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (/^[ -~]*$/.test(word) && !word.includes("!")) return `'${word.replaceAll("'", "'\\''")}'`;
  return `"$(printf '${format(new TextEncoder().encode(word))}')"`;
}
