import { appName, byId, clock, foreign, make, order, reconcile, say, shortToken } from "./elements.js";

export class Devices {
  draw({ count, newest }, feedback) {
    const listed = new Set(feedback.map((entry) => entry.token));
    const devices = new Map(newest.map((device) => [device.token, device]));
    byId("device-count").textContent =
      count === 0 ? "No push to any device yet." : `${newest.length.toLocaleString()} of ${count.toLocaleString()}, the most recent ones`;
    reconcile(byId("devices"), [...devices.keys()], (token) => this.card(token),
      (element, token) => this.fill(element, devices.get(token), listed.has(token)));
    byId("no-feedback").hidden = feedback.length > 0;
    const entries = new Map(feedback.map((entry, index) => [`${entry.timestamp} ${entry.token} ${index}`, entry]));
    reconcile(byId("feedback"), [...entries.keys()], (key) => {
      const { timestamp, token } = entries.get(key);
      return make("li", {}, make("code", { title: token }, shortToken(token)), ` gone since ${clock(timestamp * 1000)}`);
    });
  }

  card(token) {
    const remove = make("button", { type: "button", class: "remove", "aria-label": `App removed from ${shortToken(token)}` }, "App removed");
    remove.addEventListener("click", async () => {
      if ((await order("POST", "control/unregistered", { token })).ok) say(`${shortToken(token)} is in the feedback now`);
    });
    return make("li", { class: "card" },
      make("code", { class: "token", title: token }, shortToken(token)), foreign("", { class: "app" }),
      make("span", { class: "facts" }), make("span", { class: "mark" }), remove);
  }

  fill(element, device, isListed) {
    const [, app, facts, mark] = element.children;
    app.textContent = appName(device.topic);
    facts.textContent = `${device.pushes === 1 ? "1 push" : `${device.pushes.toLocaleString()} pushes`}, last at ${clock(device.time)}: ${device.outcome}`;
    mark.textContent = isListed ? "in the feedback" : device.gone ? `gone: ${device.gone}` : "";
    mark.hidden = mark.textContent === "";
  }
}
