// Inserts the content of pushes as text, never as markup.

export const byId = (id) => document.getElementById(id);

export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") {
      for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    } else {
      element.setAttribute(key, value === true ? "" : value);
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Text from outside: isolated, so that it cannot turn the direction of its neighbors. */
export const foreign = (text, attributes = {}) => make("bdi", { dir: "auto", ...attributes }, text);

/** Makes the children those of `keys`, in that order, and keeps existing ones. */
export function reconcile(parent, keys, create, update = () => {}) {
  const had = new Map();
  for (const child of parent.children) had.set(child.dataset.key, child);
  const wanted = new Set(keys.map(String));
  for (const [key, child] of had) if (!wanted.has(key)) child.remove();
  let place = parent.firstElementChild;
  for (const key of keys) {
    let child = had.get(String(key));
    if (!child) {
      child = create(key);
      child.dataset.key = key;
    }
    update(child, key);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
}

/** One stop for the tab key, arrows within. */
export function rove(parent, selector, { back = "ArrowUp", on = "ArrowDown" } = {}) {
  parent.addEventListener("keydown", (event) => {
    const all = [...parent.querySelectorAll(selector)];
    const here = all.indexOf(event.target.closest(selector));
    if (here < 0) return;
    const step = { [back]: here - 1, [on]: here + 1, Home: 0, End: all.length - 1 }[event.key];
    if (step === undefined || !all[step]) return;
    event.preventDefault();
    all[step].focus();
  });
  parent.addEventListener("focusin", (event) => {
    const target = event.target.closest(selector);
    if (!target) return;
    for (const other of parent.querySelectorAll(`${selector}[tabindex="0"]`)) other.tabIndex = -1;
    target.tabIndex = 0;
  });
}

/** The tab key needs an element to enter. */
export function keepStop(parent, selector) {
  if (parent.querySelector(`${selector}[tabindex="0"]`)) return;
  const first = parent.querySelector(selector);
  if (first) first.tabIndex = 0;
}

export function say(text) {
  byId("said").textContent = text;
}

/** Sends a request to the simulator, and shows what went wrong. */
export async function order(method, path, body) {
  let response;
  let json;
  try {
    response = await fetch(path, { method, body: body === undefined ? undefined : JSON.stringify(body) });
    json = await response.json();
  } catch {
    say("the simulator does not respond");
    return { ok: false, json: {} };
  }
  if (!response.ok) say(json.error ?? `status ${response.status}`);
  return { ok: response.ok, json };
}

/** Requests JSON from the simulator, with the parameters that have a value. */
export async function asked(path, parameters = {}) {
  const query = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  let error = "the simulator does not respond";
  try {
    const response = await fetch(query === "" ? path : `${path}?${query}`);
    error = `status ${response.status}`;
    return { ok: response.ok, json: await response.json() };
  } catch {
    return { ok: false, json: { error } };
  }
}

const TIME = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const two = (number) => String(number).padStart(2, "0");

/** Day and time; also the year if it differs. */
export function clock(milliseconds) {
  const date = new Date(milliseconds);
  const year = date.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" };
  return date.toLocaleString(undefined, { ...year, month: "short", day: "numeric", ...TIME });
}

/** Today's times without the day where there is little room. */
export function briefMoment(milliseconds, attributes) {
  const date = new Date(milliseconds);
  const isBrief = matchMedia("(max-width: 1023px)").matches && date.toDateString() === new Date().toDateString();
  return element(milliseconds, isBrief ? date.toLocaleTimeString(undefined, TIME) : clock(milliseconds), attributes);
}

/** Sortable, to the millisecond: 2010-05-01 12:00:00.000. */
export function exact(milliseconds) {
  const date = new Date(milliseconds);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

const element = (milliseconds, text, attributes) =>
  make("time", { datetime: new Date(milliseconds).toISOString(), title: exact(milliseconds), ...attributes }, text);
export const moment = (milliseconds, attributes = {}) => element(milliseconds, clock(milliseconds), attributes);
export const fullMoment = (milliseconds, attributes = {}) => element(milliseconds, exact(milliseconds), attributes);

/** The topic without what Apple appends to it for Live Activities. */
export const appOf = (topic) => (topic ?? "").replace(/\.push-type\.liveactivity$/, "");

/** com.example.chess-club is Chess Club. */
export function appName(topic) {
  if (!topic) return "App";
  const word = appOf(topic).split(".").filter((part) => part !== "voip" && part !== "complication").pop() || topic;
  return word.replace(/[-_]+/g, " ").replace(/(^|\s)\S/g, (letter) => letter.toUpperCase());
}

/** Channel IDs end in ==, which carries no information. */
export const shortChannel = (channel) => `channel ${channel.length > 12 ? `${channel.slice(0, 10)}…` : channel || "without a name"}`;

export const devices = (count) => (count === 1 ? "1 device" : `${count.toLocaleString()} devices`);

/** The short form of a push's device token or channel. */
export const addressee = (push) => (push.channel === null ? shortToken(push.token) : shortChannel(push.channel));

export const shortToken = (token) => (token.length > 16 ? `${token.slice(0, 8)}…${token.slice(-8)}` : token || "no token");

/** Escapes characters that are invisible, or turn or hide others. */
export const visible = (text) =>
  text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => "\\u" + character.charCodeAt(0).toString(16).padStart(4, "0"));
