import { button, limitApp, pauseApp } from "./actions.js";
import { campaigns } from "./campaigns.js";
import { about, clock, keyed, make, number, put, say, span, sum } from "./elements.js";
import { lanes, letters, outcomes, relays, responses } from "./panels.js";

const EVERY_MS = 1000;
/** Samples of an app for its chart, and the time over which a campaign's rate is taken. */
const KEPT = 120;
const RATE_MS = 10_000;
const byId = (id) => document.getElementById(id);
/** Numbers of outcomes by name, each with its time. */
const history = new Map();

function note(name, at, count) {
  let samples = history.get(name) ?? [];
  // After a restart, or a retry of dead letters, it is smaller.
  if (samples.length && count < samples.at(-1).count) samples = [];
  samples.push({ at, count });
  if (samples.length > KEPT) samples.shift();
  history.set(name, samples);
}

/** Outcomes a second over the last time. */
function rate(name, overMs = RATE_MS) {
  const samples = history.get(name) ?? [];
  const last = samples.at(-1);
  const first = samples.find((sample) => last.at - sample.at <= overMs);
  return first && last.at > first.at ? (1000 * (last.count - first.count)) / (last.at - first.at) : 0;
}

function steps(name) {
  const samples = history.get(name) ?? [];
  return samples.slice(1).map((sample, index) => (1000 * (sample.count - samples[index].count)) / Math.max(1, sample.at - samples[index].at));
}

function card() {
  let app;
  const [name, state, perSecond, left, limit] = [make("h2"), make("p", { class: "state" }), make("strong"), make("span"), make("span")];
  const line = make("polyline");
  const chart = make("svg", { class: "chart", role: "img", viewBox: `0 0 ${KEPT} 40`, preserveAspectRatio: "none" }, line);
  const pause = button("pause-app", "Pause app", () => pauseApp(app));
  const slow = button("limit-app", "Limit app", () => limitApp(app));
  const parts = [campaigns(), lanes(), responses(), relays(), outcomes(), letters()];
  const one = make("article", {},
    make("div", { class: "head" }, name, state,
      make("p", { class: "rate" }, perSecond, " a second", limit), chart,
      make("p", { class: "rate" }, left), make("div", { class: "acts" }, pause, slow)),
    make("div", { class: "parts" }, ...parts));
  one.update = (shown) => {
    app = shown;
    put(one, "data-app", app.app);
    say(name, app.app);
    say(state, app.state);
    put(state, "data-is", app.state);
    const values = steps(app.app);
    const most = Math.max(1, ...values);
    put(line, "points", values.map((value, index) => `${KEPT - values.length + index},${(38 - (36 * value) / most).toFixed(1)}`).join(" "));
    put(chart, "aria-label", `Responses a second in the last two minutes, at most ${number(most)}`);
    say(perSecond, number(rate(app.app, 3000)));
    const limits = [app.per_second, app.configured_per_second].filter(Boolean);
    say(limit, limits.length ? `, all relays at most ${number(Math.min(...limits))}` : "");
    say(left, app.left ? `${about(app.left)} left` : "counting what is left");
    say(pause, app.is_paused ? "Resume app" : "Pause app");
    put(pause, "data-act", app.is_paused ? "resume-app" : "pause-app");
    put(pause, "aria-label", `${pause.textContent} ${app.app}`);
    put(slow, "aria-label", `Limit app ${app.app}`);
    for (const part of parts) part.update(app, (campaign) => rate(`${app.app} ${campaign}`));
  };
  return one;
}

const WORST = ["queue", "stopped", "failing"];

function problems(all, now) {
  const sorted = [...all].sort((one, other) => one.since - other.since);
  byId("problem").hidden = all.length === 0;
  byId("fine").hidden = all.length > 0;
  keyed(byId("problem"), sorted, (one) => `${one.kind} ${one.app ?? ""}`,
    () => make("li", {}, make("strong"), make("span"), make("time")),
    (item, one) => {
      put(item, "data-is", WORST.includes(one.kind) ? "bad" : "other");
      say(item.children[0], one.app ?? "Queue");
      say(item.children[1], one.kind === "stopped" ? `nothing is pushed until you act: ${one.text}` : one.text);
      say(item.children[2], `for ${span(Math.max(0, now - one.since) / 1000)}, since ${clock(one.since)}`);
    });
  // Screen readers say it once, and not each second.
  say(byId("alert"), sorted.map((one) => `${one.app ?? "Queue"}: ${one.text}`).join("\n"));
}

function setLink(state, words) {
  put(byId("link"), "data-is", state);
  say(byId("link"), words);
}

async function poll() {
  try {
    const answer = await fetch("status.json", { cache: "no-store" });
    const said = await answer.json();
    if (!answer.ok) {
      setLink("lost", said.error);
    } else {
      for (const app of said.apps) {
        // Without what is cancelled, which takes no time.
        note(app.app, said.at, (app.outcomes.accepted ?? 0) + (app.outcomes.rejected ?? 0));
        for (const one of app.campaigns) note(`${app.app} ${one.campaign}`, said.at, sum(one.outcomes));
      }
      problems(said.problems, said.at);
      say(byId("queue"), said.queue);
      keyed(byId("apps"), said.apps, (app) => app.app, () => card(), (one, app) => one.update(app));
      document.title = `${said.problems.length ? `(${said.problems.length}) ` : ""}apns relay`;
      setLink("live", "live");
    }
  } catch {
    setLink("lost", "the relay does not respond");
  }
  setTimeout(poll, EVERY_MS);
}

poll();
