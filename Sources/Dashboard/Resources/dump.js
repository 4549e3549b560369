import { make } from "./elements.js";

const WIDE = 16;
const NARROW = 8;
/** The longest frame shown; longer ones can be downloaded. */
const MOST = 8192;

const hex = (byte) => byte.toString(16).padStart(2, "0");
const character = (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·");

/** Bytes by offset, in hex and as characters; each run belongs to a field. */
export function dump(bytes, fields) {
  const width = matchMedia("(max-width: 720px)").matches ? NARROW : WIDE;
  const fieldAt = new Array(bytes.length);
  fields.forEach(({ offset, length }, index) => fieldAt.fill(index, offset, offset + length));
  const begun = new Set();
  const box = make("div", { class: "bytes", role: "group", tabindex: "-1", "aria-label": "Bytes" });
  const end = Math.min(bytes.length, MOST);
  for (let start = 0; start < end; start += width) {
    const line = bytes.subarray(start, Math.min(start + width, end));
    const digits = make("span", { class: "digits" });
    const characters = make("span", { class: "characters", "aria-hidden": "true" });
    for (let from = 0; from < line.length;) {
      const field = fieldAt[start + from];
      let to = from;
      while (to < line.length && fieldAt[start + to] === field) to += 1;
      const part = [...line.subarray(from, to)];
      digits.append(run(part.map(hex).join(" "), field, fields, begun), to < line.length ? " " : "");
      characters.append(make("span", { "data-field": field }, part.map(character).join("")));
      from = to;
    }
    box.append(make("div", { class: "line" },
      make("span", { class: "offset", "aria-hidden": "true" }, start.toString(16).padStart(4, "0")), digits, characters));
  }
  if (bytes.length > end) box.append(make("p", { class: "empty" }, `${(bytes.length - end).toLocaleString()} more bytes: download the frame`));
  return box;
}

/** Only a field's first run takes the keyboard focus; it stands for the runs on the lines below. */
function run(text, field, fields, begun) {
  if (field === undefined || begun.has(field)) return make("span", { class: "run", "data-field": field }, text);
  begun.add(field);
  const { name, offset, length } = fields[field];
  return make("span", {
    class: "run first", role: "button", tabindex: begun.size === 1 ? "0" : "-1", "data-field": field,
    "aria-label": `bytes ${offset} to ${offset + length - 1}, ${name}`,
  }, text);
}
