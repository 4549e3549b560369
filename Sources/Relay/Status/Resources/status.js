import { AppMetrics, readMetrics } from "./metrics.js";

const EVERY_MS = 1000;
const KEPT = 120;
/** The samples of the last two minutes, each with its time. */
const history = [];

const byId = (id) => document.getElementById(id);
const number = (value) => (value ?? 0).toLocaleString("en");

function make(name, attributes = {}, ...children) {
  const element = name === "svg" || name === "polyline"
    ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function span(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

function milliseconds(seconds) {
  if (seconds === null) return "–";
  if (seconds === Infinity) return "longer";
  return seconds < 1 ? `≤ ${+(seconds * 1000).toPrecision(2)} ms` : `≤ ${+seconds.toPrecision(2)} s`;
}

/** Elements of `pairs` are a name, a value and, optionally, the value's meaning for its style. */
function list(pairs) {
  const all = make("dl");
  for (const [name, value, meaning] of pairs) {
    all.append(make("div", {}, make("dt", {}, name), make("dd", { "data-is": meaning ?? null }, value)));
  }
  return all;
}

const outcomes = (metrics) => metrics.sum("apns_relay_outcomes_total") ?? 0;

/** Outcomes per second between consecutive samples. After a restart the counter begins at 0. */
function rates(app) {
  const found = [];
  for (let index = 1; index < history.length; index++) {
    const [before, now] = [history[index - 1], history[index]];
    const more = outcomes(new AppMetrics(now.samples, app)) - outcomes(new AppMetrics(before.samples, app));
    found.push((Math.max(0, more) * 1000) / (now.at - before.at));
  }
  return found;
}

function chart(values) {
  const most = Math.max(1, ...values);
  const first = KEPT - values.length;
  const points = values.map((value, index) => `${first + index},${(38 - (36 * value) / most).toFixed(1)}`);
  return make("svg", { class: "chart", role: "img", viewBox: `0 0 ${KEPT} 40`, preserveAspectRatio: "none",
    "aria-label": `Outcomes a second in the last two minutes, at most ${number(Math.round(most))}` },
  make("polyline", { points: points.join(" ") }));
}

function certificate(end) {
  if (end === null) return [];
  const left = end - Date.now() / 1000;
  return [["certificate", left > 0 ? `${span(left)} left` : "has expired", left < 7 * 86400 ? "bad" : left < 30 * 86400 ? "other" : undefined]];
}

/** The state of the bad-token guard; empty if no listener uses bad tokens. */
function guard(metrics) {
  const alarm = metrics.sum("apns_relay_guard_alarm");
  if (alarm === null) return [];
  const ignored = metrics.sum("apns_relay_guard_withheld_total");
  return [make("h3", {}, "Bad-token guard"), list([
    ["bad tokens", alarm ? "do not count" : "count", alarm ? "bad" : undefined], ["ignored", number(ignored)],
  ])];
}

function card(app) {
  const now = history.at(-1);
  const metrics = new AppMetrics(now.samples, app);
  // Samples from before a restart do not count.
  const oldest = new AppMetrics(history[0].samples, app);
  const before = outcomes(oldest) <= outcomes(metrics) ? oldest : undefined;
  const isReady = metrics.sum("apns_relay_ready") === 1;
  const perSecond = rates(app);
  const limit = metrics.sum("apns_relay_rate_limit");
  const entries = (state) => metrics.sum("apns_relay_entries", { state });
  const age = metrics.sum("apns_relay_oldest_entry_age_seconds") ?? 0;
  const dead = metrics.sum("apns_relay_dead_letters");
  const reasons = metrics.by("apns_relay_rejected_total", "reason");
  const response = (share) => milliseconds(metrics.quantile(share, "apns_response_duration_seconds", before));
  return make("article", { "data-app": app },
    make("div", { class: "head" },
      make("h2", {}, app),
      make("p", { class: "state", "data-is": isReady ? "ready" : "failing" }, isReady ? "ready" : "failing"),
      make("p", { class: "rate" }, `${number(Math.round(perSecond.at(-1) ?? 0))} a second`
        + (limit ? `, all relays at most ${number(limit)}` : ""))),
    chart(perSecond),
    make("h3", {}, "Queue, in entries"),
    list([
      ["ready", number(entries("ready"))], ["oldest", entries("ready") ? span(age) : "–", age > 60 ? "other" : undefined],
      ["deferred", number(entries("deferred"))], ["claimed", number(entries("claimed"))],
      ["dead letters", number(dead), dead ? "bad" : undefined],
    ]),
    make("h3", {}, "Outcomes since the relay started"),
    list(metrics.by("apns_relay_outcomes_total", "outcome").map(([name, count]) => [name, number(count)])),
    ...(reasons.length ? [make("h3", {}, "Rejected"), list(reasons.map(([name, count]) => [name, number(count)]))] : []),
    ...guard(metrics),
    make("h3", {}, "APNs"),
    list([
      ["connections", number(metrics.sum("apns_connections", { state: "open" }))],
      ["in hand", number(metrics.sum("apns_relay_claimed_notifications"))],
      // In the last two minutes.
      ["half respond within", response(0.5)], ["99 % within", response(0.99)],
      ...certificate(metrics.sum("apns_relay_certificate_expiry_timestamp_seconds")),
    ]));
}

function show(problem) {
  const apps = (history.at(-1).samples.get("apns_relay_ready") ?? []).map((sample) => sample.labels.app);
  byId("apps").replaceChildren(...apps.map(card));
  byId("problem").hidden = !problem;
  byId("problem").textContent = problem;
}

function setLink(state, words) {
  byId("link").dataset.is = state;
  if (byId("link").textContent !== words) byId("link").textContent = words;
}

async function poll() {
  try {
    const [metrics, ready] = await Promise.all(["status.metrics", "readyz"].map((path) => fetch(path, { cache: "no-store" })));
    const samples = readMetrics(await metrics.text());
    const words = (await ready.text()).trim();
    history.push({ at: performance.now(), samples });
    if (history.length > KEPT) history.shift();
    show(ready.ok ? "" : words);
    setLink("live", "live");
  } catch {
    setLink("lost", "the relay does not respond");
  }
  setTimeout(poll, EVERY_MS);
}

poll();
