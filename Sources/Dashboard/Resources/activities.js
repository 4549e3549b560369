import { appName, byId, clock, foreign, make, moment, reconcile, shortChannel, shortToken, visible } from "./elements.js";
import { glyph } from "./lockscreen.js";

const SHOWN = 8;

const STATES = { active: "Live", stale: "Stale", ended: "Ended" };

/** The Live Activities that a device shows on its lock screen, as the simulator knows them. */
export class Activities {
  /** The activities of all devices, in the order of their start. */
  all = [];

  draw(device) {
    const all = this.all.filter(({ state, token }) => state !== "dismissed" && token === device).reverse();
    const shown = new Map(all.slice(0, SHOWN).map((activity) => [activity.number, activity]));
    reconcile(byId("activities"), [...shown.keys()], (number) => this.card(shown.get(number)),
      (element, number) => this.fill(element, shown.get(number)));
    const more = all.length - shown.size;
    byId("more-activities").hidden = more === 0;
    byId("more-activities").textContent = `and ${more.toLocaleString()} more Live ${more === 1 ? "Activity" : "Activities"}`;
  }

  card({ app, token, channel }) {
    return make("li", { class: "activity" },
      make("p", { class: "banner-head" }, glyph(app), foreign(appName(app), { class: "app" }), make("span", { class: "activity-state" }), make("span", { class: "time" })),
      make("dl", { class: "content-state" }),
      make("p", { class: "facts" },
        make("code", { title: token }, shortToken(token)), channel === null ? "" : " by ", channel === null ? "" : make("code", { title: channel }, shortChannel(channel))),
      make("p", { class: "facts" }));
  }

  fill(element, activity) {
    const [head, content, , facts] = element.children;
    const [, , state, time] = head.children;
    element.dataset.state = activity.state;
    state.textContent = STATES[activity.state];
    // Only changed activities are redrawn.
    if (element.dataset.changed === `${activity.changed} ${activity.state}`) return;
    element.dataset.changed = `${activity.changed} ${activity.state}`;
    time.replaceChildren(moment(activity.changed));
    content.replaceChildren(...Object.entries(activity.content_state ?? {}).map(([name, value]) =>
      make("div", {}, make("dt", {}, foreign(visible(name))), make("dd", {}, foreign(visible(typeof value === "string" ? value : JSON.stringify(value)))))));
    facts.textContent = this.facts(activity);
  }

  facts({ state, updates, outdated, stale_date, dismissal_date, attributes_type, started_by }) {
    const parts = [started_by === "push" ? `started as ${attributes_type ?? "?"}` : "started by the app"];
    parts.push(updates === 1 ? "1 update" : `${updates.toLocaleString()} updates`);
    if (outdated > 0) parts.push(`${outdated.toLocaleString()} came too late`);
    if (state === "active" && stale_date !== null) parts.push(`stale at ${clock(stale_date * 1000)}`);
    if (state === "stale") parts.push(`stale since ${clock(stale_date * 1000)}`);
    if (state === "ended") parts.push(`goes at ${clock(dismissal_date * 1000)}`);
    return parts.join(", ");
  }
}
