import { go } from "./address.js";
import { asked, foreign, make, moment, visible } from "./elements.js";

/** The number of the newest pushes that are shown, and of those before this one. */
const SHOWN = 25;

/** Pushes to the same device or channel, the newest first, and what changed from one of them to this one. */
export async function history(push, language) {
  if (push.token === "" && push.channel === null) return [];
  const search = push.channel === null ? `token:${push.token}` : `channel:"${push.channel}"`;
  const parts = await Promise.all([{}, { before: push.number + 1 }].map((where) => asked("pushes", { search, limit: SHOWN, language, ...where })));
  const found = new Map(parts.flatMap(({ json }) => json.pushes ?? []).map((one) => [one.number, one]));
  const pushes = [...found.values()].filter(({ token, channel }) => token === push.token && channel === push.channel)
    .sort((one, other) => other.number - one.number);
  const rows = pushes.map((one) =>
    make("li", {},
      make("button", { type: "button", class: `earlier ${one.outcome}`, "aria-current": one.number === push.number ? "true" : null, on: { click: () => go(one.number) } },
        `${one.number} `, moment(one.time, { class: "time" }), " ",
        make("span", { class: "outcome" }, [one.outcome, one.status, one.reason].filter((part) => part !== null).join(" ")), " ",
        foreign(one.banner?.body ?? one.banner?.title ?? one.payload.slice(0, 80), { class: "text" }))));
  const whose = push.channel === null ? "device" : "channel";
  return [
    make("h3", {}, `Pushes to this ${whose}`),
    make("ol", { class: "history", "aria-label": `Pushes to this ${whose}, the newest first` }, ...rows),
    ...await changes(push, pushes),
  ];
}

/** A table of the changed values, since the previous push or another one. */
async function changes(push, pushes) {
  const others = pushes.filter(({ number }) => number !== push.number);
  if (others.length === 0) return [];
  const menu = make("select", {}, ...others.map(({ number }) => make("option", { value: number }, `push ${number}`)));
  const table = make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Changed values" });
  const compare = async (since) => {
    const { ok, json } = await asked(`pushes/${push.number}/changes`, { since });
    // Without a previous push, the next one is compared.
    if (ok && json.since === null) return compare(others.at(-1).number);
    if (ok) menu.value = json.since;
    table.replaceChildren(ok ? differences(json.changes) : make("p", { class: "empty" }, json.error));
  };
  menu.addEventListener("change", () => compare(menu.value));
  await compare("");
  return [make("h3", {}, "Changes"), make("p", {}, make("label", {}, "since ", menu)), table];
}

function differences(changes) {
  if (changes === null) return make("p", { class: "empty" }, "One of the two payloads is not JSON.");
  if (changes.length === 0) return make("p", { class: "empty" }, "The payloads have the same values.");
  const cell = (text) => make("td", {}, text === null ? "" : foreign(visible(text)));
  return make("table", { class: "changes" },
    make("thead", {}, make("tr", {}, ...["value", "", "before", "after"].map((name) => make(name === "" ? "td" : "th", { scope: name === "" ? null : "col" }, name)))),
    make("tbody", {}, ...changes.map(({ path, before, after }) => {
      const kind = before === null ? "added" : after === null ? "removed" : "changed";
      return make("tr", { class: kind }, make("th", { scope: "row" }, foreign(visible(path))), make("td", {}, kind), cell(before), cell(after));
    })));
}
