import { addressee, appName, byId, devices, exact, foreign, make, reconcile } from "./elements.js";

const SHOWN = 100;

/* * A line for each push over HTTP/2: its addressee and its identifiers. */
export class Deliveries {
  constructor(pick) {
    this.list = byId("deliveries");
    this.pushes = [];
    this.list.addEventListener("click", (event) => {
      const number = event.target.closest("[data-number]")?.dataset.number;
      if (number !== undefined) pick(Number(number));
    });
  }

  forget() {
    this.pushes = [];
  }

  add(pushes) {
    this.pushes.push(...pushes.filter(({ protocol }) => protocol === "http2"));
    if (this.pushes.length > 2 * SHOWN) this.pushes = this.pushes.slice(-SHOWN);
  }

  remove(numbers) {
    const gone = new Set(numbers);
    this.pushes = this.pushes.filter(({ number }) => !gone.has(number));
  }

  draw() {
    // Hidden: drawing it the next time is early enough.
    if (byId("panel-channels").hidden) return;
    const shown = new Map(this.pushes.slice(-SHOWN).reverse().map((push) => [push.number, push]));
    byId("no-deliveries").hidden = shown.size > 0;
    this.list.hidden = shown.size === 0;
    reconcile(this.list, [...shown.keys()], (number) => line(shown.get(number)));
  }
}

function line(push) {
  const event = push.banner?.event ?? null;
  const what = (push.channel === null ? "push" : "broadcast") + (event === null ? "" : ` ${event}`);
  const outcome = push.outcome + (push.status === null ? "" : ` ${push.status}`) + (push.reason === null ? "" : ` ${push.reason}`);
  return make("li", { class: push.outcome },
    make("button", { type: "button", class: "delivery-line", "data-number": push.number },
      `${exact(push.time)} ${what} `, foreign(appName(push.topic)), " to ", foreign(addressee(push)),
      push.channel === null ? " " : `, ${devices(push.devices)} `, make("span", { class: "outcome" }, foreign(outcome)),
      make("span", { class: "ids" }, push.channel === null ? " apns-id=" : " apns-request-id=", foreign(push.identifier)),
      push.unique_id === null ? "" : make("span", { class: "ids" }, ` apns-unique-id=${push.unique_id}`)));
}
