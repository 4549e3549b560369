/** The command that sends a push once more. */
export function repeatCommand(push, gateway) {
  const words = ["apns", "send"];
  const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[gateway.host] ?? gateway.host;
  const isHTTP2 = push.protocol === "http2";
  words.push("--host", host, "--port", String(isHTTP2 ? gateway.http2_port : gateway.gateway_port));
  words.push("--ca", gateway.ca, "--certificate", gateway.provider);
  if (isHTTP2) {
    const header = (name) => push.headers.find(([other]) => other === name)?.[1];
    words.push("--http2");
    for (const [option, name] of [
      ["--topic", "apns-topic"], ["--push-type", "apns-push-type"], ["--priority", "apns-priority"],
      ["--expiry", "apns-expiration"], ["--collapse-id", "apns-collapse-id"],
    ]) if (header(name) !== undefined) words.push(option, header(name));
  } else {
    if (push.priority !== null) words.push("--priority", String(push.priority));
    if (push.expiry) words.push("--expiry", String(push.expiry));
  }
  words.push("--payload", "-", push.token);
  return `printf %s ${shell(push.payload)} | ${words.map(shell).join(" ")}`;
}

function shell(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
