import { byId, make, order, say } from "./elements.js";

/** The values that a switch sets by default. */
const SUGGESTED = {
  connections: "1", services: "channels", connection_share: "0.5", times: "1", count_over: "run",
  bad_tokens: '["5f79cfda"]', bad_prefixes: '["5f"]', bad_every: "10", bad_share: "0.1", bad_status: "7",
  sentinel: "zero", sentinel_status: "8",
  error_delay_ms: "500", no_packet: "1", identifier_zero: "1", close_delay_ms: "1000", one_segment: "true", close: "reset",
  shutdown_after: "100", cut_after: "100", cut_after_bytes: "10000", cut: "reset", feedback_cut_bytes: "20",
  stall_after_bytes: "10000", stall_ms: "5000", read_bytes_per_second: "10000",
  record_bytes: "3", segment_bytes: "3", segment_gap_ms: "20",
  streams_max: "1", streams_after_rejection: "1", window_bytes: "1024", connection_window_bytes: "4096", credit_share: "1",
  no_pong: "true",
  bad_reason: "TooManyRequests", reset_share: "0.1", reset_every: "10", reset_code: "8", no_answer: "0.1",
  gone_delay_s: "60", answer_delay_ms: "500", answers: "each", answer_batch_ms: "100",
  goaway_after: "100", goaway_age_s: "60", goaway: "immediate", goaway_error: "1", goaway_reason: "Shutdown",
  token_age_max_s: "60", token_renewal_min_s: "1", token_renewal_over: "key",
  refuse_ms: "5000", handshake_delay_ms: "2000", handshake_alert: "handshake_failure",
  tls_min: "1.2", tls_max: "1.2", session_tickets: "true",
};

const WIRE = 60;

export class Faults {
  constructor() {
    this.switches = new Map();
    this.inForce = {};
    this.lines = [];
    byId("behave").addEventListener("click", async () => {
      if ((await order("DELETE", "control/faults")).ok) say("no faults");
    });
    this.ready = this.load();
  }

  async load() {
    const { groups } = await (await fetch("fault-fields")).json();
    for (const { title, fields } of groups) {
      const details = make("details", {}, make("summary", {}, title));
      for (const field of fields) details.append(this.field(field));
      byId("faults").append(details);
    }
    this.show();
  }

  field({ name, value, text }) {
    const id = `fault-${name}`;
    const words = value.includes("|") && !/[[n]/.test(value) ? value.split("|") : null;
    let input;
    if (value === "true|false") input = null;
    else if (words && !words.includes("word")) {
      input = make("select", { "aria-label": `${name}, how`, class: "fault-value" }, ...words.map((word) => make("option", {}, word)));
    } else input = make("input", { "aria-label": `${name}, ${value}`, class: "fault-value", autocomplete: "off", spellcheck: "false" });
    if (input) input.value = SUGGESTED[name] ?? "";
    const toggle = make("button", {
      type: "button", role: "switch", id, class: "switch", "aria-checked": "false", "aria-describedby": `${id}-text`,
    }, name);
    const set = (isOn) => this.set(name, isOn ? read(input ? input.value : "true", words) : null);
    toggle.addEventListener("click", () => set(toggle.getAttribute("aria-checked") !== "true"));
    // A new value takes effect immediately if the switch is on.
    input?.addEventListener("change", () => { if (toggle.getAttribute("aria-checked") === "true") set(true); });
    this.switches.set(name, { toggle, input, details: () => toggle.closest("details") });
    return make("div", { class: "fault" }, make("span", { class: "fault-head" }, toggle, input), make("p", { id: `${id}-text`, class: "fault-text" }, text));
  }

  async set(name, value) {
    const response = await order("PATCH", "control/faults", { [name]: value });
    if (response.ok) {
      this.draw(response.json.faults);
      say(name in this.inForce ? `${name} is on: ${JSON.stringify(value)}`
        : value === null ? `${name} is off` : `${name} is ${JSON.stringify(value)} anyway`);
    }
  }

  /** With several rules, a fault is on if one of them has it. */
  draw(faults) {
    this.inForce = Array.isArray(faults) ? Object.assign({}, ...faults.toReversed()) : faults;
    this.show();
  }

  show() {
    const names = Object.keys(this.inForce);
    byId("fault-count").textContent = names.length === 0 ? "no faults" : `on: ${names.join(", ")}`;
    for (const [name, { toggle, input, details }] of this.switches) {
      const isOn = name in this.inForce;
      if (isOn === (toggle.getAttribute("aria-checked") === "true")) continue;
      toggle.setAttribute("aria-checked", String(isOn));
      if (!isOn) continue;
      if (details()) details().open = true;
      const value = this.inForce[name];
      if (input && document.activeElement !== input) input.value = typeof value === "string" ? value : JSON.stringify(value);
    }
  }

  drawWire(lines) {
    this.lines = [...lines.toReversed(), ...this.lines].slice(0, WIRE);
    byId("wire").replaceChildren(...this.lines.map(({ connection, text }) =>
      make("li", {}, connection === null ? "" : `connection ${connection}: `, text)));
  }
}

/** Parses like --fault: JSON, or else a word. */
function read(text, words) {
  if (words?.includes(text) && text !== "true" && text !== "false") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
