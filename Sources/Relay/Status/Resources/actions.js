import { about, devices, make, number, say } from "./elements.js";

const byId = (id) => document.getElementById(id);
let pending = null;

/** Asks before an action. `more` are its texts: title, text and verb; `order` is what the relay gets. */
export function ask(order, { title, text, verb, isGrave = false, limit }) {
  pending = order;
  say(byId("ask-title"), title);
  say(byId("ask-text"), text);
  say(byId("ask-go"), verb);
  say(byId("ask-fault"), "");
  byId("ask-go").classList.toggle("grave", isGrave);
  byId("ask-limit").hidden = limit === undefined;
  byId("ask-per-second").value = limit ?? "";
  byId("ask").showModal();
  // Enter must not carry out what cannot be undone.
  (limit !== undefined ? byId("ask-per-second") : byId(isGrave ? "ask-no" : "ask-go")).focus();
}

async function carryOut() {
  const order = { ...pending };
  if (!byId("ask-limit").hidden) {
    const text = byId("ask-per-second").value.trim();
    if (text && !/^[1-9][0-9]{0,6}$/.test(text)) return say(byId("ask-fault"), "A limit is a whole number from 1, or empty.");
    order.per_second = text ? Number(text) : null;
  }
  byId("ask-go").disabled = true;
  try {
    const answer = await fetch("actions", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(order) });
    const said = await answer.json();
    if (!answer.ok) return say(byId("ask-fault"), said.error);
    byId("ask").close();
    say(byId("done"), `${said.text}: ${devices(said.devices)}.`);
  } catch {
    say(byId("ask-fault"), "The relay does not respond.");
  } finally {
    byId("ask-go").disabled = false;
  }
}

byId("ask-form").addEventListener("submit", (event) => {
  event.preventDefault();
  carryOut();
});
byId("ask-no").addEventListener("click", () => byId("ask").close());

/** A button for which `act` returns what to ask. */
export function button(name, label, act) {
  const one = make("button", { type: "button", "data-act": name }, label);
  one.addEventListener("click", () => ask(...act()));
  return one;
}

const waiting = (left) => `${about(left)} ${left?.devices === 1 ? "waits" : "wait"}`;
const upper = (text) => text[0].toUpperCase() + text.slice(1);

export function pauseCampaign(app, one) {
  const order = { app: app.app, campaign: one.campaign };
  return one.state === "paused"
    ? [{ ...order, action: "resume" }, { title: `Resume ${one.campaign}?`, verb: "Resume",
      text: `It goes to ${about(one.left)}, in the same order as before.` }]
    : [{ ...order, action: "pause" }, { title: `Pause ${one.campaign}?`, verb: "Pause",
      text: `${upper(waiting(one.left))}. Relays send nothing more of it until it is resumed; what is in flight gets its outcome.` }];
}

export function cancelCampaign(app, one) {
  return [{ app: app.app, campaign: one.campaign, action: "cancel" }, {
    title: `Cancel ${one.campaign}?`, isGrave: true, verb: one.left ? `Cancel for ${about(one.left)}` : "Cancel it",
    text: `${upper(about(one.left))} will not get it, which cannot be undone. What is in flight gets its outcome. `
      + `${devices(one.outcomes.accepted ?? 0)} already ${one.outcomes.accepted === 1 ? "has" : "have"} it.`,
  }];
}

export function limitCampaign(app, one) {
  return [{ app: app.app, campaign: one.campaign, action: "limit" }, {
    title: `Limit ${one.campaign}`, verb: "Set the limit", limit: one.per_second ?? null,
    text: `${upper(waiting(one.left))}. All relays together send at most this many a second.`,
  }];
}

export function pauseApp(app) {
  return app.is_paused
    ? [{ app: app.app, action: "resume" }, { title: `Resume ${app.app}?`, verb: "Resume",
      text: `${upper(waiting(app.left))}. Campaigns that are paused stay paused.` }]
    : [{ app: app.app, action: "pause" }, { title: `Pause all of ${app.app}?`, verb: "Pause all",
      text: `${upper(waiting(app.left))}. Relays send nothing of this app, not even urgent entries, until it is resumed.` }];
}

export function limitApp(app) {
  return [{ app: app.app, action: "limit" }, {
    title: `Limit ${app.app}`, verb: "Set the limit", limit: app.per_second ?? null,
    text: `${upper(waiting(app.left))}. All relays together send at most this many a second.`
      + (app.configured_per_second ? ` The configuration has ${number(app.configured_per_second)}.` : ""),
  }];
}

function letters(app, action, all, words) {
  const count = all.reduce((total, one) => total + one.devices, 0);
  return [{ app: app.app, action, ids: all.map((one) => one.id) }, words(all.length === 1 ? all[0].id : `${all.length} dead letters`, count)];
}

export const retry = (app, all) => letters(app, "retry", all, (what, count) => ({
  title: `Retry ${what}?`, verb: `Push to ${devices(count)}`,
  text: `${devices(count)} whose outcome is “dead” ${count === 1 ? "is" : "are"} pushed to again; others are not.`,
}));

export const discard = (app, all) => letters(app, "discard", all, (what, count) => ({
  title: `Discard ${what}?`, verb: `Discard for ${devices(count)}`, isGrave: true,
  text: `${devices(count)} will not get it, which cannot be undone. Their outcomes stay.`,
}));
