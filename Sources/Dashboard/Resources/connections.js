import { byId, foreign, make, order, reconcile, say } from "./elements.js";

const ENDS = ["fin", "reset", "close_notify", "stall"];

export class Connections {
  draw(connections) {
    const open = new Map(connections.map((connection) => [connection.number, connection]).reverse());
    byId("no-connections").hidden = open.size > 0;
    reconcile(byId("connections"), [...open.keys()], (number) => this.card(number),
      (element, number) => this.fill(element, open.get(number)));
  }

  card(number) {
    const end = make("select", { "aria-label": `How connection ${number} ends` }, ...ENDS.map((word) => make("option", {}, word)));
    const cut = make("button", { type: "button", class: "cut", "aria-label": `Cut connection ${number}` }, "Cut");
    cut.addEventListener("click", async () => {
      const response = await order("DELETE", `control/connections/${number}?end=${end.value}`);
      if (response.ok) say(`connection ${number}: ${end.value}`);
    });
    return make("li", { class: "card" },
      make("strong", {}, `Connection ${number}`), make("span", { class: "facts" }),
      foreign("", { class: "subject" }), make("span", { class: "facts" }), make("span", { class: "buttons" }, end, cut));
  }

  fill(element, connection) {
    const [, who, subject, counts] = element.children;
    const protocol = { http2: "HTTP/2", channels: "HTTP/2, channels", binary: "binary" }[connection.protocol];
    who.textContent = `${protocol}, ${connection.tls ? `TLS ${connection.tls}` : "in the handshake"}, ${connection.peer}`;
    subject.textContent = connection.subject ?? "no certificate";
    counts.textContent =
      `${connection.accepted.toLocaleString()} accepted, ${connection.rejected.toLocaleString()} rejected, ` +
      `${connection.discarded.toLocaleString()} discarded, ${connection.bytes.toLocaleString()} bytes`;
  }
}
