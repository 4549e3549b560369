import { appName, byId, clock, devices, foreign, make, reconcile, shortChannel, shortToken } from "./elements.js";

/** The number of subscribers that are drawn; others are only counted. */
const DRAWN = 12;
/* * How long a broadcast is drawn on its way. */
const FLIGHT = 1200;

/** The broadcast channels: each with its devices, and broadcasts on their way to them. */
export class Channels {
  constructor() {
    /** The last broadcast of each channel. */
    this.last = new Map();
  }

  draw({ count, channels }) {
    const all = new Map(channels.map((channel) => [channel.channel, channel]).reverse());
    byId("channel-count").textContent =
      count === 0 ? "There are no channels." : `${all.size.toLocaleString()} of ${count.toLocaleString()}, the newest ones of each app`;
    reconcile(byId("channels"), [...all.keys()], (name) => this.card(all.get(name)), (element, name) => this.fill(element, all.get(name)));
    for (const name of this.last.keys()) if (!all.has(name)) this.last.delete(name);
  }

  card({ channel, app }) {
    return make("li", { class: "card channel", "data-channel": channel },
      make("code", { class: "token", title: channel }, shortChannel(channel)), foreign(appName(app), { class: "app" }),
      make("span", { class: "facts" }), make("ul", { class: "fan", "aria-label": `Devices that subscribe to ${shortChannel(channel)}` }),
      make("span", { class: "facts sent" }));
  }

  fill(element, channel) {
    const [, , facts, fan, sent] = element.children;
    const policy = channel.message_storage_policy === 1 ? "stores the newest message" : "stores no message";
    const others = channel.subscriber_count - Math.min(DRAWN, channel.subscribers.length);
    facts.textContent = `${policy}${channel.stored === null ? "" : ", has one"}; ${devices(channel.subscriber_count)}`;
    reconcile(fan, channel.subscribers.slice(-DRAWN).reverse(), (token) => make("li", {}, make("code", { title: token }, shortToken(token))));
    const last = this.last.get(channel.channel);
    sent.textContent = (channel.broadcasts === 1 ? "1 broadcast" : `${channel.broadcasts.toLocaleString()} broadcasts`) +
      (last === undefined ? "" : `, the last at ${clock(last.time)} to ${devices(last.devices)}`) +
      (others > 0 ? `; ${devices(others)} not drawn` : "");
  }

  /** Draws a broadcast on its way to the subscribers. */
  add(pushes) {
    const sent = new Set();
    for (const push of pushes) {
      if (push.channel === null || push.outcome !== "accepted") continue;
      this.last.set(push.channel, push);
      // Broadcasts sent before the page opened have arrived.
      if (Date.now() - push.time < 5000) sent.add(push.channel);
    }
    for (const element of byId("channels").children) {
      if (!sent.has(element.dataset.channel)) continue;
      element.classList.add("sending");
      clearTimeout(element.flight);
      element.flight = setTimeout(() => element.classList.remove("sending"), FLIGHT);
    }
  }
}
