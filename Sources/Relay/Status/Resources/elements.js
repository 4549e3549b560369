// Elements that are updated in place, so that focus, selection and open parts survive each second.

const SVG = new Set(["svg", "polyline"]);

export function make(name, attributes = {}, ...children) {
  const element = SVG.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) put(element, key, value);
  element.append(...children);
  return element;
}

/** Sets an attribute, or removes it with null. */
export function put(element, name, value) {
  if (value === null || value === undefined) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** Sets the text of an element. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Gives `parent` one child for each item: `create(item)` makes it once for a key, `update(child, item)` follows. */
export function keyed(parent, items, key, create, update) {
  const known = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const active = document.activeElement;
  items.forEach((item, index) => {
    const name = String(key(item));
    let child = known.get(name);
    if (child) known.delete(name);
    else {
      child = create(item);
      child.dataset.key = name;
    }
    if (parent.children[index] !== child) parent.insertBefore(child, parent.children[index] ?? null);
    update(child, item);
  });
  for (const child of known.values()) child.remove();
  if (active !== document.activeElement && active?.isConnected) active.focus();
}

/** A list of names and values. Each pair is a name, a value and, optionally, the value's meaning. */
export function pairs(list, all) {
  keyed(list, all, ([name]) => name,
    ([name]) => make("div", {}, make("dt", {}, name), make("dd")),
    (pair, [, value, meaning]) => {
      say(pair.lastChild, value);
      put(pair.lastChild, "data-is", meaning);
    });
}

export const number = (value) => Math.round(value ?? 0).toLocaleString("en");
export const devices = (count) => `${number(count)} ${count === 1 ? "device" : "devices"}`;
export const sum = (counts) => Object.values(counts).reduce((all, one) => all + one, 0);

/** A counted number of devices, "about" if some have ended since. */
export function about(left, words = devices) {
  if (!left) return "devices that are not counted yet";
  return (left.is_exact || left.devices === 0 ? "" : "about ") + words(left.devices);
}

export function span(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

export function moment(seconds) {
  return seconds < 1 ? `${+(seconds * 1000).toPrecision(2)} ms` : `${+seconds.toPrecision(2)} s`;
}

export const clock = (at) => new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
export const day = (at) => new Date(at).toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
