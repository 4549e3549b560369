import { go, keepSearch, read } from "./address.js";
import { addressee, appName, asked, briefMoment, byId, foreign, make, order, say } from "./elements.js";
import { VirtualList } from "./list.js";
import { Matches, place } from "./matches.js";

/** How many pushes the page holds; the simulator has the others. */
const HELD = 3000;
/** How many matches show before all are found: more than a screen has rows. */
const FIRST = 100;
/** How long a person may pause within a word, in milliseconds. */
const TYPING = 150;

/** The list of pushes, and the search for them. */
export class Stream {
  constructor(seen) {
    this.seen = seen;
    this.language = "";
    this.isPaused = false;
    this.picked = null;
    this.filters = byId("filters");
    this.filters.search.value = read().search;
    this.list = new VirtualList(byId("rows"), { create: row, update: (element, number) => this.fill(element, number), drawn: () => this.fetch() });
    this.forget();
    this.listen();
  }

  listen() {
    this.filters.addEventListener("input", () => {
      keepSearch(this.query());
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.find(), TYPING);
      this.list.list.ariaBusy = "true";
    });
    this.filters.addEventListener("submit", (event) => event.preventDefault());
    byId("rows").addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) go(Number(row.parentElement.dataset.key));
    });
    byId("pause").addEventListener("click", (event) => {
      this.isPaused = !this.isPaused;
      event.target.setAttribute("aria-pressed", String(this.isPaused));
      say(this.isPaused ? "paused; new pushes are only counted" : "resumed");
      this.draw();
    });
    byId("forget").addEventListener("click", async () => {
      if ((await order("POST", "control/reset")).ok) say("counters, pushes, feedback and Live Activities are cleared");
    });
    byId("all-seen").addEventListener("click", () => {
      this.seen.addAll(this.all.last);
      this.draw();
    });
  }

  forget() {
    /** Pushes by number, those used last at the end. */
    this.held = new Map();
    this.all = new Matches("", this.language);
    // The same pushes may read differently now.
    this.list.list.replaceChildren();
    this.find();
  }

  /** The search field, and the choices in the lists next to it. */
  query() {
    const { search, ...picked } = Object.fromEntries(new FormData(this.filters));
    const more = Object.entries(picked).filter(([, value]) => value !== "").map(([name, value]) => `${name}:${value}`);
    return [search.trim(), ...more].filter(Boolean).join(" ");
  }

  /** Begins a search. */
  find() {
    this.typing = null;
    const query = this.query();
    this.found = query === "" ? this.all : new Matches(query, this.language);
    if (this.found !== this.all) this.begin(this.found);
    return this.refresh();
  }

  /** The simulator may need longer to find all matches. */
  async begin(found) {
    const pushes = await found.begin(FIRST);
    if (found !== this.found || pushes.length === 0) return;
    this.hold(pushes);
    this.draw();
  }

  /** Shows a search that came with the address. */
  follow(search) {
    if (search.trim() === this.query()) return;
    this.filters.reset();
    this.filters.search.value = search;
    this.find();
  }

  hold(pushes) {
    for (const push of pushes) {
      this.held.delete(push.number);
      this.held.set(push.number, push);
    }
    for (const number of this.held.keys()) {
      if (this.held.size <= HELD) break;
      this.held.delete(number);
    }
  }

  /** Asks the simulator for new matches, with one request at a time. */
  async refresh() {
    this.isStale = true;
    if (this.isRefreshing) return;
    this.isRefreshing = true;
    while (this.isStale) {
      this.isStale = false;
      const { all, found } = this;
      await Promise.all([...new Set([all, found])].map((matches) => matches.refresh()));
      this.draw();
    }
    this.isRefreshing = false;
  }

  /** Fetches the visible pushes, with one request at a time. */
  async fetch() {
    if (this.isFetching) return;
    this.isFetching = true;
    while (true) {
      const { held, language } = this;
      const missing = this.list.visible().filter((number) => !held.has(number));
      if (missing.length === 0) break;
      const { ok, json } = await asked("pushes", { numbers: missing.join(), language });
      if (!ok) break;
      if (held !== this.held) continue;
      this.hold(json.pushes);
      const kept = new Set(json.pushes.map(({ number }) => number));
      const gone = missing.filter((number) => !kept.has(number));
      if (gone.length > 0) this.remove(gone);
      this.list.draw();
    }
    this.isFetching = false;
  }

  remove(numbers) {
    const gone = new Set(numbers);
    for (const matches of new Set([this.all, this.found])) matches.remove(gone);
    this.list.set(this.list.numbers.filter((number) => !gone.has(number)));
  }

  /** Moves to the push before or after the picked one, in the order shown. */
  step(by) {
    const { list } = this;
    const next = this.picked === null || !list.has(this.picked) ? list.numberAt(0) : list.numberAt(list.indexOf(this.picked) + by);
    if (next === undefined) return;
    go(next);
    list.focus(next);
  }

  pick(number) {
    this.picked = number;
    this.isRevealDue = number !== null;
    if (number !== null) this.seen.add(number);
    this.draw();
  }

  /** Counts the unseen pushes, also in the title. */
  count() {
    const { numbers } = this.all;
    const fresh = numbers.length - place(numbers, this.seen.upTo + 1);
    const opened = [...this.seen.numbers].filter((number) => numbers[place(numbers, number)] === number).length;
    this.seen.tell(fresh - opened);
    return fresh - opened;
  }

  draw() {
    const unseen = this.count();
    const { found, seen } = this;
    const wanted = found.seen === null ? found.numbers : found.numbers.filter((number) => seen.has(number) === found.seen);
    const isOver = found.isComplete || found.fault !== null;
    this.list.list.ariaBusy = String(this.typing !== null || !isOver);
    // A pause stops new pushes, not searches.
    const isDue = !this.isPaused || this.listed !== found || !this.isWhole;
    if (isDue && (isOver || wanted.length > 0)) {
      if (this.listed !== found) this.list.top = 0;
      [this.listed, this.isWhole] = [found, found.isComplete];
      this.list.set(wanted);
    } else this.list.draw();
    if (this.isRevealDue && this.list.has(this.picked)) {
      this.isRevealDue = false;
      if (!this.list.isInView(this.picked)) this.list.reveal(this.picked);
    }
    byId("shown").textContent = this.summary(unseen);
  }

  summary(unseen) {
    const { found, all, list } = this;
    const many = (count) => count.toLocaleString();
    const parts = [`${many(unseen)} unseen`];
    if (all.dropped > 0) parts.push(`${many(all.dropped)} older ones gave way`);
    if (this.isPaused) parts.push("paused");
    const pushes = `${many(all.kept)} ${all.kept === 1 ? "push" : "pushes"}`;
    const searching = found.fault ? `no search: ${found.fault}` : `searching ${pushes}`;
    const start = !found.isComplete ? searching : found === all ? pushes : `${many(list.numbers.length)} of ${pushes} match`;
    return [start, ...parts].join("; ");
  }

  fill(element, number) {
    const button = element.firstElementChild;
    const push = this.held.get(number);
    if (push && !button.dataset.outcome) content(button, push);
    const isNew = !this.seen.has(number);
    const dot = button.querySelector(".new");
    const names = ["row", button.dataset.outcome, isNew ? "unseen" : ""].filter(Boolean).join(" ");
    if (button.className !== names) button.className = names;
    if (dot && dot.hidden === isNew) dot.hidden = !isNew;
    if (number === this.picked) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

/** A row whose push may not be here yet. */
const row = () => make("li", {}, make("button", { type: "button", class: "row", tabindex: "-1" }, make("span", { class: "text" }, "…")));

function content(button, push) {
  const { banner, outcome, status, reason } = push;
  const text = banner?.body ?? banner?.title ?? (banner?.silent ? "silent" : activityText(push) ?? push.payload.slice(0, 200));
  button.dataset.outcome = outcome;
  button.replaceChildren(
    make("span", { class: "row-line" },
      make("span", { class: "new", role: "img", "aria-label": "unseen", hidden: true }),
      briefMoment(push.time, { class: "time" }),
      make("span", { class: "outcome" }, make("span", { class: "word" }, outcome), ...[status, reason].filter((part) => part !== null).map((part) => ` ${part}`)),
      foreign(appName(push.topic), { class: "app" }), foreign(addressee(push), { class: "token" })),
    make("span", { class: "row-line" },
      banner?.body && banner.title ? foreign(banner.title, { class: "heading" }) : null,
      foreign(text, { class: "text" }),
      push.duplicate ? make("span", { class: "mark" }, "seen before") : null,
      push.findings > 0 ? make("span", { class: "mark" }, push.error ? "payload error" : "payload warning") : null));
}

/** The text of a push for a Live Activity; null for other pushes. */
function activityText({ banner, payload }) {
  if (!banner?.event) return null;
  try {
    const state = JSON.parse(payload).aps["content-state"] ?? {};
    const values = Object.entries(state).map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`);
    return [banner.event, values.join(", ")].filter(Boolean).join(": ").slice(0, 200);
  } catch {
    return banner.event;
  }
}
