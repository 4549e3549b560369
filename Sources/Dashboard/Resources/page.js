import { go, read, show } from "./address.js";
import { byId, make, rove } from "./elements.js";
import { listenForKeys } from "./keys.js";
import { LockScreen } from "./lockscreen.js";
import { Inspector } from "./inspector.js";
import { Stream } from "./stream.js";
import { Chart } from "./chart.js";
import { Devices } from "./devices.js";
import { Activities } from "./activities.js";
import { Channels } from "./channels.js";
import { Connections } from "./connections.js";
import { Deliveries } from "./deliveries.js";
import { Faults } from "./faults.js";
import { Seen } from "./seen.js";

const inspector = new Inspector(byId("inspector"));
const seen = new Seen();
const stream = new Stream(seen);
const lock = new LockScreen(go, show, new Activities());
const chart = new Chart(byId("chart"), byId("rate"));
const devices = new Devices();
const connections = new Connections();
const channels = new Channels();
const deliveries = new Deliveries(go);
const faults = new Faults();

// ---- Incoming --------------------------------------------------------------

// Drawn immediately, but at most ten times a second.
const PAUSE = 100;
let isDue = false;
let drawn = -PAUSE;
function drawSoon() {
  if (isDue) return;
  isDue = true;
  // A timer, because a background tab gets no animation frames and still counts in its title.
  setTimeout(() => {
    isDue = false;
    stream.refresh();
    if (stream.isPaused) return;
    lock.draw();
    deliveries.draw();
    drawn = performance.now();
  }, Math.max(0, drawn + PAUSE - performance.now()));
}

const language = byId("language");
let source;

function listen() {
  source?.close();
  for (const part of [stream, lock, inspector]) part.language = language.value;
  source = new EventSource("events" + (language.value ? `?language=${encodeURIComponent(language.value)}` : ""));
  source.onopen = () => link("live");
  source.onerror = () => link("not connected");
  source.addEventListener("hello", (event) => {
    const hello = JSON.parse(event.data);
    offer(hello.languages);
    inspector.gateway = hello.gateway;
    seen.begin(hello.gateway);
    chart.begin(hello.minute, hello.counters);
    if (!isRouted) route();
    // The simulator sends everything that it kept again.
    forget();
  });
  source.addEventListener("reset", forget);
  source.addEventListener("pushes", (event) => {
    const { skipped, pushes } = JSON.parse(event.data);
    stream.hold(pushes);
    lock.add(pushes, skipped);
    channels.add(pushes);
    deliveries.add(pushes);
    drawSoon();
  });
  source.addEventListener("deleted", (event) => {
    const numbers = JSON.parse(event.data);
    stream.remove(numbers);
    lock.remove(numbers);
    deliveries.remove(numbers);
    inspector.forget(numbers);
    drawSoon();
  });
  source.addEventListener("state", (event) => {
    const state = JSON.parse(event.data);
    count(state.counters);
    chart.take(state.counters);
    devices.draw(state.devices, state.feedback.unregistered);
    connections.draw(state.connections.connections);
    channels.draw(state.channels);
    lock.offer(state.devices.newest, state.activities.activities);
    faults.draw(state.faults.faults);
  });
  source.addEventListener("wire", (event) => faults.drawWire(JSON.parse(event.data)));
}

function forget() {
  stream.forget();
  lock.forget();
  deliveries.forget();
  drawSoon();
}

function link(text) {
  byId("link").textContent = text;
  byId("link").dataset.is = text === "live" ? "live" : "lost";
}

function offer(languages) {
  const known = [...language.options].map((option) => option.value).filter(Boolean);
  if (known.join() === languages.join()) return;
  for (const name of languages) language.append(make("option", { value: name }, name));
  // The reader's language if the app has it.
  const own = navigator.languages.map((name) => name.split("-")[0]).find((name) => languages.includes(name));
  language.value = own ?? languages[0] ?? "";
  if (language.value) listen();
}

const figures = {
  accepted: (all) => all.accepted,
  rejected: (all) => all.rejected,
  discarded: (all) => all.discarded,
  duplicates: (all) => all.duplicates ?? 0,
};

function count(counters) {
  const list = byId("counters");
  if (!list.children.length) {
    for (const name of Object.keys(figures)) {
      list.append(make("div", { class: name }, make("dt", {}, name), make("dd", { id: `count-${name}` }, "0")));
    }
  }
  for (const [name, figure] of Object.entries(figures)) {
    byId(`count-${name}`).textContent = figure(counters).toLocaleString();
  }
}

// ---- Input -----------------------------------------------------------------

// The page follows its address, however that changed.
let isRouted = false;
function route() {
  isRouted = true;
  const { push, search, device } = read();
  // The list gets its width before it scrolls to the push.
  document.querySelector("main").dataset.open = push === null ? "" : "push";
  stream.follow(search);
  stream.pick(push);
  lock.choose(device);
  inspector.show(push);
  if (push === null) document.querySelector(".stream").scrollIntoView({ block: "start", behavior: "instant" });
}
addEventListener("hashchange", route);

listenForKeys({
  "/": () => byId("search").focus(),
  j: () => stream.step(1),
  k: () => stream.step(-1),
  "?": () => { byId("help").open = !byId("help").open; },
  Escape: () => { if (read().push !== null) go(null); },
  Delete: () => inspector.delete(),
});

language.addEventListener("change", listen);

const tabs = document.querySelector("[role=tablist]");
rove(tabs, "[role=tab]", { back: "ArrowLeft", on: "ArrowRight" });
function turn(tab) {
  for (const other of tabs.children) {
    other.setAttribute("aria-selected", String(other === tab));
    other.tabIndex = other === tab ? 0 : -1;
    byId(other.getAttribute("aria-controls")).hidden = other !== tab;
  }
  deliveries.draw();
}
tabs.addEventListener("click", (event) => turn(event.target.closest("[role=tab]") ?? tabs.firstElementChild));
tabs.addEventListener("focusin", (event) => turn(event.target));

function tick() {
  byId("clock").textContent = new Date().toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}
tick();
setInterval(tick, 1000);

listen();
