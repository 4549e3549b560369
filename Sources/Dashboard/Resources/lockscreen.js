import { appName, appOf, asked, byId, foreign, make, moment, reconcile, shortToken } from "./elements.js";

const GROUPS = 12;
const STACKED = 8;
const APPS = 12;
/** The number of a device's earlier pushes that its screen is made of. */
const EARLIER = 200;
/** While pushes go to many devices, the screen shows each for this time at least, in milliseconds. */
const GLANCE = 1000;

/** A device's lock screen, made of the pushes that it accepted. */
export class LockScreen {
  constructor(pick, show, activities) {
    this.pick = pick;
    this.activities = activities;
    /** The chosen device's token; "" for that of the newest push. */
    this.chosen = "";
    this.language = "";
    this.menu = byId("device");
    this.menu.addEventListener("change", () => show(this.menu.value));
    this.forget();
  }

  forget() {
    this.latest = "";
    this.turn("");
  }

  /** Shows another device, and fetches its pushes. */
  async turn(token) {
    this.token = token;
    this.turned = performance.now();
    /** By app and thread; the newest pushes first. */
    this.groups = new Map();
    this.badges = new Map();
    this.open = new Set();
    /** The number of the last push taken. */
    this.last = 0;
    this.waiting = null;
    byId("banners").replaceChildren();
    this.draw();
    if (token !== "") await this.refresh();
  }

  /** Fetches the pushes that the page missed; those that come meanwhile wait for them. */
  async refresh() {
    const { token, groups } = this;
    this.waiting = [];
    const { ok, json } = await asked("pushes", { search: `token:${token} outcome:accepted`, limit: EARLIER, language: this.language });
    if (groups !== this.groups) return;
    if (ok) this.take(json.pushes.filter((push) => push.token === token));
    this.take(this.waiting ?? []);
    this.waiting = null;
    this.draw();
  }

  choose(token) {
    this.chosen = token;
    this.aim();
    this.draw();
  }

  /** A device is known from its pushes and its Live Activities. */
  offer(devices, activities) {
    this.activities.all = activities;
    if (this.latest === "") this.latest = activities.at(-1)?.token ?? "";
    this.aim();
    this.activities.draw(this.token);
    // An open menu does not change.
    if (document.activeElement === this.menu) return;
    const names = new Map(activities.map(({ token, app }) => [token, app]));
    for (const { token, topic } of devices) names.set(token, topic);
    if (this.chosen !== "" && !names.has(this.chosen)) names.set(this.chosen, null);
    const text = (token) => (token === "" ? "of the newest push" : `${appName(names.get(token))} ${shortToken(token)}`);
    const tokens = [...names.keys()].sort((one, other) => text(one).localeCompare(text(other)));
    reconcile(this.menu, ["", ...tokens], (token) => make("option", { value: token }), (option, token) => {
      if (option.textContent !== text(token)) option.textContent = text(token);
    });
    this.menu.value = this.chosen;
  }

  /** Turns to the chosen device, or to that of the newest push. */
  aim() {
    const wanted = this.chosen || this.latest;
    if (wanted === this.token) return;
    const isEarly = this.chosen === "" && this.token !== "" && performance.now() - this.turned < GLANCE;
    if (!isEarly) this.turn(wanted);
  }

  add(pushes, skipped) {
    this.latest = pushes.findLast(({ token }) => token !== "")?.token ?? this.latest;
    this.aim();
    if (this.token === "") return;
    if (skipped > 0) this.refresh();
    const own = pushes.filter(({ token }) => token === this.token);
    if (this.waiting) this.waiting.push(...own);
    else this.take(own);
  }

  take(pushes) {
    for (const push of pushes) {
      if (push.number <= this.last) continue;
      this.last = push.number;
      if (push.outcome !== "accepted" || !push.banner) continue;
      const topic = appOf(push.topic);
      const { badge, silent, thread } = push.banner;
      if (badge !== null || !this.badges.has(topic)) {
        const old = this.badges.get(topic) ?? 0;
        this.badges.delete(topic);
        this.badges.set(topic, badge ?? old);
        if (this.badges.size > APPS) this.badges.delete(this.badges.keys().next().value);
      }
      if (!hasBanner(push)) continue;
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
    byId("owner").textContent = this.token === "" ? "" : shortToken(this.token);
    this.activities.draw(this.token);
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
    return banner(push, this.pick);
  }
}

/** Whether a device shows it apart from the badge and the Live Activity. */
export const hasBanner = ({ banner }) =>
  banner !== null && (banner.silent || [banner.title, banner.subtitle, banner.body, banner.sound].some((part) => part !== null));

/** A push as its device shows it, which opens the push if clicked. */
export function banner(push, pick) {
  const { title, subtitle, body, sound, critical, silent, level, category, problems } = push.banner;
  const marks = [];
  if (silent) marks.push("silent: the app is woken, nothing is shown");
  if (sound !== null) marks.push(`${critical ? "critical sound" : "sound"} ${sound}`);
  if (level) marks.push(level);
  if (category) marks.push(`category ${category}`);
  return make("li", { class: silent ? "banner silent" : "banner" },
    make("button", { type: "button", class: "banner-button", "data-number": push.number, on: { click: () => pick(push.number) } },
      glyph(appOf(push.topic)),
      make("span", { class: "banner-text" },
        make("span", { class: "banner-head" }, foreign(appName(push.topic), { class: "app" }), moment(push.time, { class: "time" })),
        title === null ? null : foreign(title, { class: "title" }),
        subtitle === null ? null : foreign(subtitle, { class: "subtitle" }),
        body === null ? null : foreign(body, { class: "body" }),
        ...marks.map((mark) => foreign(mark, { class: "mark" })),
        ...problems.map((problem) => foreign(problem, { class: "mark problem" })))));
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
