import { button, discard, retry } from "./actions.js";
import { clock, day, devices, keyed, make, moment, number, pairs, put, say, span } from "./elements.js";

function panel(title, ...children) {
  return make("section", {}, make("h3", {}, title), ...children);
}

function table(columns, body) {
  return make("table", {}, make("thead", {}, make("tr", {}, ...columns.map((name, index) =>
    make("th", { scope: "col", class: index ? "number" : null }, name)))), body);
}

/** A row of a table, whose first cell is its heading. */
function cells(line, ...values) {
  values.forEach((value, index) => {
    const cell = line.children[index] ?? line.appendChild(index ? make("td", { class: "number" }) : make("th", { scope: "row" }));
    say(cell, value);
  });
}

/** A lane's oldest entry should not be older, in seconds. */
const OLD = { urgent: 10, normal: 60, bulk: Infinity };

export function lanes() {
  const body = make("tbody");
  const rest = make("dl");
  const section = panel("Queue, in entries", table(["Lane", "Ready", "Oldest"], body), rest);
  section.update = (app) => {
    keyed(body, app.lanes, (lane) => lane.lane, () => make("tr"), (line, lane) => {
      cells(line, lane.lane, number(lane.entries), lane.entries ? span(lane.oldest_s) : "–");
      put(line.lastChild, "data-is", lane.entries && lane.oldest_s > OLD[lane.lane] && !app.is_paused ? "other" : null);
    });
    pairs(rest, [
      ["ready", number(app.lanes.reduce((all, lane) => all + lane.entries, 0))],
      ["deferred", number(app.deferred_entries)], ["claimed", number(app.claimed_entries)],
      ["paced", number(app.paced_entries)],
      ["dead letters", number(app.dead_letters), app.dead_letters ? "bad" : null],
    ]);
  };
  return section;
}

/** The maximum number of bars; the rarest of the slow ones are added up. */
const BARS = 9;

export function responses() {
  const bars = make("ol", { class: "bars" });
  const none = make("p", { class: "quiet" }, "No response yet.");
  const said = make("dl");
  const section = panel("Response times, last hour", bars, none, said);
  section.update = (app) => {
    const all = app.responses?.buckets ?? [];
    const total = all.reduce((count, bucket) => count + bucket.count, 0);
    const first = Math.max(0, all.findIndex((bucket) => bucket.count > 0));
    const last = all.findLastIndex((bucket) => bucket.count > 0);
    const shown = all.slice(Math.max(0, Math.min(first, last - 2)), last + 1);
    while (shown.length > BARS) shown.splice(0, 2, { ...shown[1], count: shown[0].count + shown[1].count });
    none.hidden = total > 0;
    bars.hidden = said.hidden = total === 0;
    const most = Math.max(...shown.map((bucket) => bucket.count), 1);
    keyed(bars, shown, (bucket) => bucket.at_most_s ?? "more",
      () => make("li", {}, make("span", { class: "bound" }), make("span", { class: "track" }, make("span")), make("span", { class: "share" })),
      (line, bucket) => {
        say(line.children[0], bucket.at_most_s === undefined ? "longer" : `≤ ${moment(bucket.at_most_s)}`);
        line.children[1].firstChild.style.width = `${(100 * bucket.count) / most}%`;
        const share = (100 * bucket.count) / Math.max(1, total);
        say(line.children[2], share > 0 && share < 1 ? "< 1 %" : `${Math.round(share)} %`);
      });
    const within = (share) => {
      let count = 0;
      const bucket = all.find((one) => (count += one.count) >= total * share);
      return !bucket || bucket.at_most_s === undefined ? "longer" : `≤ ${moment(bucket.at_most_s)}`;
    };
    pairs(said, [["half within", within(0.5)], ["99 % within", within(0.99)], ["responses", number(total)]]);
  };
  return section;
}

export function relays() {
  const body = make("tbody");
  const said = make("dl");
  const note = make("p", { class: "under" }, "Connections of others are their quotas of total_connections, if that is set.");
  const section = panel("Relays", table(["Relay", "Heartbeat", "Connections"], body), note, said);
  section.update = (app) => {
    keyed(body, app.relays, (relay) => relay.name, () => make("tr"), (line, relay) => {
      cells(line, relay.name + (relay.is_this ? ", this one" : ""),
        relay.is_running ? `${span(relay.silent_ms / 1000)} ago` : "ended", relay.connections === undefined ? "–" : number(relay.connections));
      put(line.children[1], "data-is", relay.is_running ? null : "bad");
    });
    note.hidden = app.relays.length < 2;
    const left = app.certificate_expires_s === undefined ? null : app.certificate_expires_s - Date.now() / 1000;
    pairs(said, [
      ["connections", number(app.connections)], ["in hand", number(app.in_hand)],
      ...(left === null ? [] : [["certificate", left > 0 ? `${span(left)} left` : "has expired", left < 7 * 86400 ? "bad" : left < 30 * 86400 ? "other" : null]]),
      ...(app.bad_tokens_count === undefined ? [] : [
        ["bad tokens", app.bad_tokens_count ? "count" : "do not count", app.bad_tokens_count ? null : "bad"], ["ignored", number(app.bad_tokens_ignored)]]),
    ]);
  };
  return section;
}

export function outcomes() {
  const [kinds, reasons] = [make("dl"), make("dl")];
  const rejected = make("h4", {}, "Rejected, by reason");
  const none = make("p", { class: "quiet" }, "None yet.");
  const [webhook, receiver, told] = [make("h4", {}, "Webhook"), make("bdi"), make("span", { class: "under" })];
  const section = panel("Outcomes of this relay since its start", kinds, none, rejected, reasons, webhook, receiver, told);
  const sorted = (counts) => Object.entries(counts).filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a)
    .map(([name, count]) => [name, number(count)]);
  section.update = (app) => {
    const all = sorted(app.outcomes);
    none.hidden = all.length > 0;
    pairs(kinds, all);
    pairs(reasons, sorted(app.rejected));
    rejected.hidden = reasons.children.length === 0;
    const hook = app.webhook;
    webhook.hidden = receiver.hidden = told.hidden = !hook;
    if (!hook) return;
    say(receiver, hook.receiver);
    say(told, hook.problem ? `failing since ${clock(hook.since)}: ${hook.problem}\n${behind(hook)}` : behind(hook));
    put(told, "data-is", hook.problem ? "bad" : null);
  };
  return section;
}

/** How many outcomes a webhook has not delivered. */
function behind(hook) {
  if (hook.waiting === undefined) return "nothing is known of its place";
  if (hook.waiting === 0) return hook.is_exact ? "up to date" : "behind";
  const count = `${number(hook.waiting)}${hook.is_exact ? "" : " or more"}`;
  return `${count} behind, the oldest for ${span(Math.max(0, Date.now() - hook.oldest) / 1000)}`;
}

export function letters() {
  let app;
  const body = make("ul", { class: "letters" });
  const words = make("p", { class: "quiet" });
  const canRetry = (all) => all.filter((letter) => letter.devices > 0);
  const all = make("div", { class: "acts" },
    button("retry-all", "Retry all of these", () => retry(app, canRetry(app.first_dead_letters))),
    button("discard-all", "Discard all of these", () => discard(app, app.first_dead_letters)));
  const section = make("section", { class: "wide dead" }, make("div", { class: "head" }, make("h3", {}, "Dead letters"), words, all), body);
  section.update = (owner) => {
    app = owner;
    const shown = app.first_dead_letters;
    section.hidden = shown.length === 0;
    say(words, app.dead_letters > shown.length
      ? `the first ${shown.length} of ${number(app.dead_letters)}; the commands apns relay retry and discard take all`
      : `delivered or deferred too often`);
    all.firstChild.disabled = canRetry(shown).length === 0;
    keyed(body, shown, (letter) => `${letter.id} ${letter.at}`, () => line(), (item, letter) => item.update(app, letter));
  };
  return section;
}

/** A line of a history, with this browser's time. */
const event = (text) => text.replace(/^(\S+Z) /, (_, time) => `${day(time)}: `);

function line() {
  let app;
  let letter;
  const [id, facts, history] = [make("bdi", { class: "name" }), make("span", { class: "facts" }), make("ol")];
  const last = make("span", { class: "last" });
  const again = button("retry", "Retry", () => retry(app, [letter]));
  const away = button("discard", "Discard", () => discard(app, [letter]));
  const item = make("li", {},
    make("details", {}, make("summary", {}, id, facts, last), history),
    make("div", { class: "acts" }, again, away));
  item.update = (owner, one) => {
    [app, letter] = [owner, one];
    say(id, one.id);
    say(facts, `${devices(one.devices)} · ${one.lane} · ${number(one.deliveries)} ${one.deliveries === 1 ? "delivery" : "deliveries"} · ${day(one.at)}`);
    say(last, event(one.history.at(-1) ?? ""));
    keyed(history, one.history.map((text, index) => ({ text, index })), (past) => past.index, () => make("li"), (entry, past) => say(entry, event(past.text)));
    again.disabled = one.devices === 0;
    put(again, "title", one.devices ? null : "Its outcomes are gone, or a later entry has its ID.");
    put(again, "aria-label", `Retry ${one.id}`);
    put(away, "aria-label", `Discard ${one.id}`);
  };
  return item;
}
