import { button, cancelCampaign, limitCampaign, pauseCampaign } from "./actions.js";
import { about, keyed, make, number, put, say, span, sum } from "./elements.js";

const COLUMNS = ["Campaign", "Progress", "A second", "Time left", "Accepted", "Rejected", "Gone", "Other", "Actions"];
/** So many of those that have ended are shown at first. */
const ENDED = 5;
const WORDS = { sending: "sending", paused: "paused", cancelled: "cancelled", done: "done", held: "waits: the app is paused" };

export function campaigns() {
  const body = make("tbody", { role: "rowgroup" });
  const more = make("button", { type: "button", class: "plain", hidden: "" });
  const none = make("p", { class: "quiet" }, "No campaign is in the queue. Entries get one with ",
    make("code", {}, "apns enqueue --campaign NAME"), ".");
  const table = make("table", { role: "table", class: "campaigns" },
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...COLUMNS.map((name, index) =>
      make("th", { role: "columnheader", scope: "col", class: index > 1 && index < 8 ? "number" : null }, name)))), body);
  more.addEventListener("click", () => {
    section.dataset.all = section.dataset.all ? "" : "yes";
    section.show();
  });
  const section = make("section", { class: "wide" }, make("h3", {}, "Campaigns"), none, table, more);
  section.update = (app, rates) => {
    section.show = () => show(app, rates);
    section.show();
  };
  function show(app, rates) {
    const isOver = (one) => one.state === "done" || one.state === "cancelled" && one.left?.devices === 0;
    const running = app.campaigns.filter((one) => !isOver(one));
    const ended = app.campaigns.filter(isOver);
    const shown = [...running, ...(section.dataset.all ? ended : ended.slice(0, ENDED))];
    none.hidden = app.campaigns.length > 0;
    table.hidden = !none.hidden;
    more.hidden = ended.length <= ENDED;
    const hidden = app.campaigns_in_all - app.campaigns.length;
    say(more, section.dataset.all ? `Show fewer${hidden > 0 ? `; ${number(hidden)} older ones are not here` : ""}` : `Show all ${ended.length} that have ended`);
    keyed(body, shown, (one) => one.campaign, () => row(), (line, one) => line.update(app, one, rates(one.campaign)));
  }
  return section;
}

function row() {
  let app;
  let campaign;
  const cell = (name, isNumber = true, ...children) => make("td", { role: "cell", "data-name": name, class: isNumber ? "number" : null }, ...children);
  const name = make("bdi", { class: "name" });
  const state = make("span", { class: "mark" });
  const limit = make("span", { class: "quiet" });
  const parts = ["accepted", "rejected", "other"].map((what) => make("span", { "data-is": what }));
  const bar = make("div", { class: "bar", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100" }, ...parts);
  const words = make("span", { class: "under" });
  const [perSecond, time, accepted, gone] = ["A second", "Time left", "Accepted", "Gone"].map((title) => cell(title));
  const [rejected, reasons] = [make("span"), make("span", { class: "under" })];
  const [other, kinds] = [make("span"), make("span", { class: "under" })];
  const pause = button("pause", "Pause", () => pauseCampaign(app, campaign));
  const slow = button("limit", "Limit", () => limitCampaign(app, campaign));
  const cancel = button("cancel", "Cancel", () => cancelCampaign(app, campaign));
  const acts = make("td", { role: "cell", class: "acts" }, pause, slow, cancel);
  const line = make("tr", { role: "row" },
    make("th", { role: "rowheader", scope: "row" }, name, state, limit),
    cell("Progress", false, bar, words), perSecond, time, accepted, cell("Rejected", true, rejected, reasons), gone,
    cell("Other", true, other, kinds), acts);

  line.update = (owner, one, rate) => {
    [app, campaign] = [owner, one];
    const ended = sum(one.outcomes);
    const left = one.left?.devices;
    const all = left === undefined ? null : ended + left;
    const isSending = one.state === "sending" && !app.is_paused;
    const shape = one.state === "sending" && app.is_paused ? "held" : one.state;
    say(name, one.campaign);
    say(state, WORDS[shape]);
    put(state, "data-is", shape);
    put(line, "data-is", one.state);
    say(limit, one.per_second ? `at most ${number(one.per_second)} a second` : "");
    const counts = [one.outcomes.accepted ?? 0, one.outcomes.rejected ?? 0];
    counts.push(ended - counts[0] - counts[1]);
    parts.forEach((part, index) => {
      part.style.width = all ? `${(100 * counts[index]) / all}%` : "0";
      part.hidden = counts[index] === 0;
    });
    const percent = all ? Math.floor((100 * ended) / all) : all === 0 ? 100 : null;
    put(bar, "aria-label", `Progress of ${one.campaign}`);
    put(bar, "aria-valuenow", percent);
    const total = all === null ? "not counted yet" : about({ ...one.left, devices: all });
    say(words, one.state === "cancelled" && left ? `${number(ended)} ended, the other ${number(left)} are not sent`
      : percent === null ? `${number(ended)} done, the rest is being counted` : `${percent} % · ${number(ended)} of ${total}`);
    put(bar, "aria-valuetext", words.textContent);
    say(perSecond, isSending && left !== 0 ? number(rate) : "–");
    say(time, isSending && left ? (rate > 0 ? span(left / rate) : "–") : "–");
    say(accepted, number(counts[0]));
    say(rejected, number(counts[1]));
    put(rejected, "data-is", counts[1] ? "bad" : null);
    say(reasons, listed(one.rejected));
    say(gone, number(one.gone));
    say(other, number(counts[2]));
    const { accepted: ignored, rejected: too, ...rest } = one.outcomes;
    say(kinds, listed(rest));
    const isOver = one.state === "done" || one.state === "cancelled";
    acts.hidden = isOver;
    say(pause, one.state === "paused" ? "Resume" : "Pause");
    put(pause, "data-act", one.state === "paused" ? "resume" : "pause");
    for (const act of [pause, slow, cancel]) put(act, "aria-label", `${act.textContent} ${one.campaign}`);
  };
  return line;
}

/** Such as "BadDeviceToken 12", a line for each, the most frequent first. */
const listed = (counts) => Object.entries(counts).filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a)
  .map(([what, count]) => `${what} ${number(count)}`).join("\n");
