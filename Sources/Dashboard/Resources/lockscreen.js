import { appName, appOf, byId, foreign, make, moment, reconcile } from "./elements.js";

const GROUPS = 12;
const STACKED = 8;
const APPS = 12;

/** A device's lock screen, made of the accepted pushes. */
export class LockScreen {
  constructor(pick) {
    this.pick = pick;
    this.forget();
  }

  forget() {
    /** By app and thread; the newest pushes first. */
    this.groups = new Map();
    this.badges = new Map();
    this.open = new Set();
    byId("banners").replaceChildren();
  }

  add(pushes) {
    for (const push of pushes) {
      if (push.outcome !== "accepted" || !push.banner) continue;
      const topic = appOf(push.topic);
      const { badge, title, subtitle, body, silent, sound, thread } = push.banner;
      if (badge !== null || !this.badges.has(topic)) {
        const old = this.badges.get(topic) ?? 0;
        this.badges.delete(topic);
        this.badges.set(topic, badge ?? old);
        if (this.badges.size > APPS) this.badges.delete(this.badges.keys().next().value);
      }
      if (title === null && subtitle === null && body === null && !silent && sound === null) continue;
      const key = `${topic}\n${silent ? "silent" : thread ?? ""}`;
      const group = this.groups.get(key) ?? { key, count: 0, pushes: [] };
      group.count += 1;
      group.pushes.unshift(push);
      group.pushes.length = Math.min(group.pushes.length, STACKED);
      // The newest group is the last.
      this.groups.delete(key);
      this.groups.set(key, group);
      if (this.groups.size > GROUPS) this.groups.delete(this.groups.keys().next().value);
    }
  }

  /** A deleted banner disappears from the screen; the badge stays, as on a device. */
  remove(numbers) {
    const gone = new Set(numbers);
    for (const [key, group] of this.groups) {
      const left = group.pushes.filter(({ number }) => !gone.has(number));
      group.count -= group.pushes.length - left.length;
      group.pushes = left;
      if (left.length === 0) this.groups.delete(key);
    }
  }

  draw() {
    const groups = [...this.groups.values()].reverse();
    byId("no-banners").hidden = groups.length > 0;
    reconcile(byId("banners"), groups.map((group) => group.key), () => this.frame(),
      (element, key) => this.fill(element, this.groups.get(key)));
    const apps = [...this.badges.keys()];
    reconcile(byId("icons"), apps, (topic) => icon(topic), (element, topic) => setBadge(element, topic, this.badges.get(topic)));
  }

  frame() {
    return make("li", { class: "group" },
      make("ol", { class: "stack" }),
      make("button", { type: "button", class: "more", "aria-expanded": "false", hidden: true }));
  }

  fill(element, group) {
    const isOpen = this.open.has(group.key);
    const shown = new Map((isOpen ? group.pushes : group.pushes.slice(0, 1)).map((push) => [push.number, push]));
    const [stack, more] = element.children;
    reconcile(stack, [...shown.keys()], (number) => this.banner(shown.get(number)));
    const others = group.count - 1;
    more.hidden = others === 0;
    more.textContent = isOpen ? "Show less" : `${others.toLocaleString()} more${threadName(group)}`;
    more.setAttribute("aria-expanded", String(isOpen));
    more.onclick = () => {
      if (!this.open.delete(group.key)) this.open.add(group.key);
      this.fill(element, group);
    };
  }

  banner(push) {
    const { title, subtitle, body, sound, critical, silent, level, category, problems } = push.banner;
    const marks = [];
    if (silent) marks.push("silent: the app is woken, nothing is shown");
    if (sound !== null) marks.push(`${critical ? "critical sound" : "sound"} ${sound}`);
    if (level) marks.push(level);
    if (category) marks.push(`category ${category}`);
    return make("li", { class: silent ? "banner silent" : "banner" },
      make("button", { type: "button", class: "banner-button", "data-number": push.number, on: { click: () => this.pick(push.number) } },
        glyph(appOf(push.topic)),
        make("span", { class: "banner-text" },
          make("span", { class: "banner-head" }, foreign(appName(push.topic), { class: "app" }), moment(push.time, { class: "time" })),
          title === null ? null : foreign(title, { class: "title" }),
          subtitle === null ? null : foreign(subtitle, { class: "subtitle" }),
          body === null ? null : foreign(body, { class: "body" }),
          ...marks.map((mark) => foreign(mark, { class: "mark" })),
          ...problems.map((problem) => foreign(problem, { class: "mark problem" })))));
  }
}

function threadName(group) {
  const thread = group.pushes[0].banner.thread;
  return thread === null ? "" : ` in ${thread}`;
}

function hue(text) {
  let hash = 0;
  for (const character of text) hash = (hash * 31 + character.codePointAt(0)) % 360;
  return hash;
}

export function glyph(topic) {
  const shape = make("span", { class: "glyph", "aria-hidden": "true" }, [...appName(topic)][0] ?? "?");
  shape.style.setProperty("--hue", hue(topic));
  return shape;
}

function icon(topic) {
  return make("li", { class: "icon" },
    make("span", { class: "icon-shape" }, glyph(topic), make("span", { class: "badge" })), foreign(appName(topic), { class: "icon-name" }));
}

function setBadge(element, topic, badge) {
  const mark = element.querySelector(".badge");
  mark.hidden = !badge;
  mark.textContent = badge;
}
