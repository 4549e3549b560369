import { go, keepSearch, read } from "./address.js";
import { addressee, appName, byId, foreign, keepStop, make, moment, order, reconcile, rove, say } from "./elements.js";
import { compile } from "./search.js";

/** The number of pushes held while the list is live. The simulator keeps more, which pages fetch. */
const HELD = 2000;
const HELD_MOST = 12000;
/** The number on one page of the list. */
const DRAWN = 100;

export class Stream {
  constructor(seen, pager) {
    this.seen = seen;
    this.pager = pager;
    this.isPaused = false;
    this.picked = null;
    this.list = byId("rows");
    this.filters = byId("filters");
    this.forget();
    rove(this.list, ".row");
    this.filters.search.value = read().search;
    this.filters.addEventListener("input", () => {
      keepSearch(this.query());
      this.first();
      this.fill();
    });
    this.filters.addEventListener("submit", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => {
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
      this.seen.addAll(this.pushes.at(-1)?.number ?? 0);
      this.draw();
    });
    byId("newer").addEventListener("click", () => this.newer());
    byId("older").addEventListener("click", () => this.older());
  }

  forget() {
    // The newest last, without gaps except for deleted ones.
    this.pushes = [];
    this.skipped = 0;
    // The starts of the pages before this one; the first page is live.
    this.pages = [];
    this.anchor = Infinity;
    this.pager.forget();
    // The same pushes may read differently now.
    this.list.replaceChildren();
  }

  add(pushes, skipped) {
    this.skipped += skipped;
    if (skipped > 0) {
      // A page or a search fetches the skipped ones when it needs them.
      this.pushes = [];
      this.pager.hasOlder = true;
    }
    this.pushes.push(...pushes);
    this.trim();
  }

  /* * Not on every call, because it moves all remaining elements. */
  trim() {
    const limit = this.pages.length === 0 ? HELD : HELD_MOST;
    if (this.pushes.length <= limit * 1.5) return;
    this.pushes.splice(0, this.pushes.length - limit);
    this.pager.hasOlder = true;
  }

  remove(numbers) {
    const gone = new Set(numbers);
    this.pushes = this.pushes.filter(({ number }) => !gone.has(number));
  }

  /** The search field, and the choices in the lists next to it. */
  query() {
    const { search, ...picked } = Object.fromEntries(new FormData(this.filters));
    const more = Object.entries(picked).filter(([, value]) => value !== "").map(([name, value]) => `${name}:${value}`);
    return [search.trim(), ...more].filter(Boolean).join(" ");
  }

  /** The newest matches first, at most `limit`. */
  matches(limit) {
    const isMeant = compile(this.query());
    const seen = (number) => this.seen.has(number);
    const found = [];
    for (let index = this.pushes.length - 1; index >= 0 && found.length < limit; index -= 1) {
      const push = this.pushes[index];
      if (push.number <= this.anchor && isMeant(push, seen)) found.push(push);
    }
    return found;
  }

  first() {
    this.pages = [];
    this.anchor = Infinity;
    this.draw();
  }

  newer() {
    this.anchor = this.pages.pop() ?? Infinity;
    this.draw();
    this.list.scrollTop = 0;
  }

  async older() {
    await this.fill(DRAWN + 1);
    const found = this.matches(DRAWN + 1);
    if (found.length <= DRAWN) return;
    this.pages.push(this.anchor);
    this.anchor = found[DRAWN].number;
    this.draw();
    this.list.scrollTop = 0;
    await this.fill();
  }

  /** Fetches older ones until a page is full or the simulator has no more. */
  async fill(wanted = DRAWN) {
    if (this.filling) return this.filling;
    this.filling = (async () => {
      while (this.pager.hasOlder && this.pushes.length < HELD_MOST && this.matches(wanted).length < wanted) {
        const before = this.pushes[0]?.number ?? Number.MAX_SAFE_INTEGER;
        const older = await this.pager.before(before);
        if (older.length === 0) break;
        // The list may have changed.
        if ((this.pushes[0]?.number ?? Infinity) !== before && this.pushes.length > 0) break;
        this.pushes.unshift(...older);
      }
    })();
    try {
      await this.filling;
    } finally {
      this.filling = null;
      this.draw();
    }
  }

  /** Moves to the push before or after the picked one, in the order shown. */
  step(by) {
    const keys = [...this.list.children].map((row) => Number(row.dataset.key));
    const here = keys.indexOf(this.picked);
    const next = here < 0 ? keys[0] : keys[here + by];
    if (next === undefined) return;
    go(next);
    this.rowOf(next)?.focus();
  }

  rowOf(number) {
    return this.list.querySelector(`[data-key="${number}"] .row`);
  }

  pick(number) {
    this.picked = number;
    if (number !== null) this.seen.add(number);
    this.draw();
  }

  /** Counts the unseen pushes, also in the title. */
  count() {
    const unseen = this.pushes.reduce((count, { number }) => count + (this.seen.has(number) ? 0 : 1), 0);
    this.seen.tell(unseen, this.pager.hasOlder && this.seen.upTo < (this.pushes[0]?.number ?? 0) - 1);
    return unseen;
  }

  draw() {
    const found = new Map(this.matches(DRAWN).map((push) => [push.number, push]));
    reconcile(this.list, [...found.keys()], (number) => this.row(found.get(number)), (element, number) => this.mark(element, number));
    keepStop(this.list, ".row");
    const unseen = this.count();
    const page = this.pages.length === 0 ? "" : `page ${this.pages.length + 1}: `;
    byId("shown").textContent =
      `${page}${found.size} shown of ${this.pushes.length.toLocaleString()} held here, ${unseen.toLocaleString()} unseen` +
      (this.pager.hasOlder ? "; the simulator has older ones" : "") + (this.isPaused ? "; paused" : "");
    byId("newer").disabled = this.pages.length === 0;
    byId("older").disabled = found.size < DRAWN || (!this.pager.hasOlder && this.matches(DRAWN + 1).length <= DRAWN);
  }

  row(push) {
    const banner = push.banner;
    const text = banner?.body ?? banner?.title ?? (banner?.silent ? "silent" : activityText(push) ?? push.payload.slice(0, 200));
    return make("li", {},
      make("button", { type: "button", class: `row ${push.outcome}`, tabindex: "-1" },
        make("span", { class: "new", role: "img" }),
        moment(push.time, { class: "time" }),
        make("span", { class: "outcome" }, push.outcome + (push.status === null ? "" : ` ${push.status}`)),
        foreign(appName(push.topic), { class: "app" }),
        foreign(addressee(push), { class: "token" }),
        foreign(text, { class: "text" }),
        push.duplicate || push.findings > 0
          ? make("span", { class: "marks" },
            push.duplicate ? make("span", { class: "mark" }, "seen before") : null,
            push.findings > 0 ? make("span", { class: "mark" }, push.error ? "payload error" : "payload warning") : null)
          : null));
  }

  mark(element, number) {
    const row = element.firstElementChild;
    const isNew = !this.seen.has(number);
    row.classList.toggle("unseen", isNew);
    if (isNew) row.firstElementChild.setAttribute("aria-label", "unseen");
    else row.firstElementChild.removeAttribute("aria-label");
    row.firstElementChild.hidden = !isNew;
    if (number === this.picked) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
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
