import { visible } from "./elements.js";

export const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

export const payloadBytes = (push) =>
  bytesOf(push.bytes).subarray(push.payload_offset, push.payload_offset + push.payload_length);

/* * The payload for people: JSON on indented lines, anything else unchanged. */
export function readable(bytes) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const spelled = [...bytes].map((byte) => (byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`)).join("");
    return { kind: "not UTF-8; other bytes are shown as \\x", text: visible(spelled) };
  }
  try {
    JSON.parse(text);
  } catch {
    return { kind: "not JSON; shown unchanged", text: visible(text) };
  }
  return { kind: "", text: visible(pretty(text)) };
}

/* * The same JSON on indented lines: every key and number unchanged, repeated keys too. */
function pretty(text) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/gs) ?? [];
  let depth = 0;
  let out = "";
  tokens.forEach((token, index) => {
    const next = tokens[index + 1];
    const line = () => "\n" + "  ".repeat(Math.max(0, Math.min(depth, 64)));
    if (token === "{" || token === "[") {
      depth += 1;
      out += token + (next === "}" || next === "]" ? "" : line());
    } else if (token === "}" || token === "]") {
      depth -= 1;
      const before = tokens[index - 1];
      out += (before === "{" || before === "[" ? "" : line()) + token;
    } else if (token === ",") out += token + line();
    else if (token === ":") out += ": ";
    else out += token;
  });
  return out;
}
