/** The command that sends a push once more. */
export function repeatCommand(push, gateway) {
  const isHTTP2 = push.protocol === "http2";
  const header = (name) => push.headers.find(([other]) => other === name)?.[1];
  const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[gateway.host] ?? gateway.host;
  const words = ["apns", "send", "--protocol", push.protocol, "--host", host];
  words.push("--port", String(isHTTP2 ? gateway.http2_port : gateway.gateway_port), "--ca", gateway.ca);
  if (isHTTP2 && header("authorization") !== undefined) {
    words.push("--p8", gateway.token_key, "--key-id", gateway.token_key_id, "--team-id", gateway.token_team_id);
  } else words.push("--certificate", gateway.provider);
  if (isHTTP2) {
    for (const name of ["topic", "push-type", "priority", "collapse-id"]) {
      if (header(`apns-${name}`) !== undefined) words.push(`--${name}`, header(`apns-${name}`));
    }
  } else if (push.priority !== null) words.push("--priority", String(push.priority));
  const expiry = isHTTP2 ? header("apns-expiration") : push.expiry;
  // As long as this one had.
  if (expiry !== undefined && expiry !== null) {
    words.push("--expires-in", String(Math.max(0, Number(expiry) - Math.floor(push.time / 1000)) || 0));
  }
  words.push("--payload", "-", push.token);
  return `printf %s ${shell(push.payload)} | ${words.map(shell).join(" ")}`;
}

function shell(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
