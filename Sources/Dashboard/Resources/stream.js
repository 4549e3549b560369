import { appName, byId, clock, foreign, keepStop, make, order, reconcile, rove, say, shortToken } from "./elements.js";

/** Kept of all that came, and drawn of these: the ledger has them all. */
const KEPT = 2000;
const DRAWN = 100;

export class Stream {
  constructor(pick) {
    this.pick = pick;
    this.isPaused = false;
    this.list = byId("rows");
    this.forget();
    this.filters = byId("filters");
    rove(this.list, ".row");
    this.filters.addEventListener("input", () => this.draw());
    this.filters.addEventListener("submit", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (!row) return;
      this.list.querySelector("[aria-current]")?.removeAttribute("aria-current");
      row.setAttribute("aria-current", "true");
      this.picked = row.parentElement.dataset.key;
      this.pick(Number(this.picked));
    });
    byId("pause").addEventListener("click", (event) => {
      this.isPaused = !this.isPaused;
      event.target.setAttribute("aria-pressed", String(this.isPaused));
      say(this.isPaused ? "paused; what comes is counted" : "goes on");
      this.draw();
    });
    byId("forget").addEventListener("click", async () => {
      if ((await order("POST", "/reset")).ok) say("counters, pushes and feedback are forgotten");
    });
  }

  forget() {
    // The newest last.
    this.pushes = [];
    this.skipped = 0;
    // What comes again may read otherwise.
    this.list.replaceChildren();
  }

  add(pushes, skipped) {
    this.skipped += skipped;
    this.pushes.push(...pushes);
    // Seldom, for it moves all that stay.
    if (this.pushes.length > KEPT * 1.5) this.pushes.splice(0, this.pushes.length - KEPT);
  }

  matches() {
    const { fate, token, topic, text } = Object.fromEntries(
      [...new FormData(this.filters)].map(([name, value]) => [name, value.trim().toLowerCase()]));
    const hex = token.replace(/[^0-9a-f]/g, "");
    const found = [];
    for (let index = this.pushes.length - 1; index >= 0 && found.length < DRAWN; index -= 1) {
      const push = this.pushes[index];
      if (fate && push.fate !== fate) continue;
      if (hex && !push.token.includes(hex)) continue;
      if (topic && !(push.topic ?? "").toLowerCase().includes(topic)) continue;
      if (text && !searched(push).includes(text)) continue;
      found.push(push);
    }
    return found;
  }

  draw() {
    const found = new Map(this.matches().map((push) => [push.number, push]));
    reconcile(this.list, [...found.keys()], (number) => this.row(found.get(number)));
    keepStop(this.list, ".row");
    const kept = this.pushes.length;
    byId("shown").textContent =
      `${found.size} shown of ${kept} kept here` +
      (this.skipped ? `; ${this.skipped.toLocaleString()} more went by` : "") + (this.isPaused ? "; paused" : "");
  }

  row(push) {
    const banner = push.banner;
    const text = banner?.body ?? banner?.title ?? (banner?.silent ? "silent" : push.payload.slice(0, 200));
    return make("li", {},
      make("button", {
          type: "button", class: `row ${push.fate}`, tabindex: "-1",
          "aria-current": this.picked === String(push.number) ? "true" : null,
        },
        make("span", { class: "time" }, clock(push.time)),
        make("span", { class: "fate" }, push.fate + (push.status === null ? "" : ` ${push.status}`)),
        foreign(appName(push.topic), { class: "app" }),
        make("span", { class: "token" }, shortToken(push.token)),
        foreign(text, { class: "text" }),
        push.duplicate ? make("span", { class: "mark" }, "seen before") : null));
  }
}

function searched(push) {
  const banner = push.banner;
  return [push.payload, banner?.title, banner?.subtitle, banner?.body, push.reason, push.identifier]
    .filter((part) => part !== null && part !== undefined).join("\n").toLowerCase();
}
