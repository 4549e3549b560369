import { go, link } from "./address.js";
import { dump } from "./dump.js";
import { asked, devices, foreign, fullMoment, make, order, rove, say, shortToken, visible } from "./elements.js";
import { history } from "./history.js";
import { banner, hasBanner } from "./lockscreen.js";
import { bytesOf, payloadBytes, readable } from "./payload.js";
import { meaning } from "./reasons.js";
import { snippets } from "./snippets.js";

/** One push with its bytes and their meaning. */
export class Inspector {
  constructor(element) {
    this.element = element;
    this.section = element.closest("section");
    this.gateway = null;
    this.language = "";
    this.number = null;
  }

  async show(number) {
    this.number = number;
    if (number === null) return this.fill();
    const { ok, json } = await asked(`pushes/${number}`, { language: this.language });
    // The user has picked another push meanwhile.
    if (this.number !== number) return;
    this.fill(...(ok ? this.parts(json) : [empty(json.error), this.close()]));
    this.section.scrollTop = 0;
    this.reveal();
    if (!ok) return;
    say(`push ${number}, ${json.outcome}`);
    const parts = await history(json, this.language);
    if (this.number === number) this.element.append(...parts);
  }

  fill(...parts) {
    this.element.replaceChildren(...parts);
  }

  /** If the columns stand below each other, the picked push scrolls into view. */
  reveal() {
    const { top } = this.section.getBoundingClientRect();
    if (top < 0 || top > innerHeight / 2) this.section.scrollIntoView({ block: "start", behavior: "instant" });
  }

  forget(numbers) {
    if (numbers.includes(this.number)) this.fill(empty(`Push ${this.number} was deleted.`));
  }

  parts(push) {
    const outcome = push.outcome + (push.status === null ? "" : `, status ${push.status}`) + (push.reason ? `: ${push.reason}` : "");
    const words = meaning(push);
    return [
      make("p", { class: `verdict ${push.outcome}` }, `Push ${push.number} at `, fullMoment(push.time), ` over connection ${push.connection}: `, foreign(outcome),
        push.duplicate ? "; the same push was accepted before" : ""),
      words === "" ? null : make("p", { class: "meaning" }, words),
      this.delivery(push),
      this.buttons(push),
      !hasBanner(push) ? null : make("ol", { class: "shown-push", "aria-label": "As the device shows it" }, banner(push, go)),
      ...this.payload(push),
      ...this.headers(push),
      ...this.frame(push),
    ].filter(Boolean);
  }

  /* * The identifiers under which Apple's console, and this page, list it. */
  delivery(push) {
    if (push.protocol !== "http2") return null;
    const parts = [];
    if (push.channel !== null) {
      parts.push("A broadcast to channel ", make("code", {}, foreign(visible(push.channel))), `, ${devices(push.devices)} got it. `);
    }
    parts.push(push.channel === null ? "apns-id " : "apns-request-id ", make("code", {}, foreign(visible(push.identifier))));
    if (push.unique_id !== null) parts.push(", apns-unique-id ", make("code", {}, push.unique_id));
    return make("p", { class: "delivery" }, ...parts);
  }

  buttons(push) {
    const { number, token } = push;
    const button = (id, text, act, isOff = false) =>
      make("button", { type: "button", id, disabled: isOff, on: { click: act } }, text);
    const download = (what, isOff) => (isOff ? null : make("a", { class: "download", href: `pushes/${number}/${what}`, download: "" }, `Download ${what}`));
    const program = make("pre", { class: "command", tabindex: "0", "aria-label": "Program that repeats this push", hidden: true });
    const cannotRepeat = push.repetition_fault !== null;
    const all = snippets(push, this.gateway);
    const form = make("select", { id: "form", "aria-label": "Copy as", disabled: cannotRepeat }, ...Object.keys(all).map((name) => make("option", {}, name)));
    const buttons = make("p", { class: "buttons" },
      button("repeat", "Repeat", () => repeat(number), cannotRepeat),
      make("span", { class: "joined" }, button("copy", "Copy as", () => copy(all[form.value](), program), cannotRepeat), form),
      button("delete", "Delete", () => this.delete()),
      button("removed", "App removed", async () => {
        if ((await order("POST", "control/unregistered", { token })).ok) say(`${shortToken(token)} is in the feedback now`);
      }, token === ""),
      download("payload", push.payload_length === 0), download("frame", push.bytes === ""),
      make("a", { class: "self", href: link(number) }, "Link"),
      this.close());
    return make("div", {}, buttons, program);
  }

  close() {
    return make("button", { type: "button", class: "back", on: { click: () => go(null) } }, "Close");
  }

  async delete() {
    const { number } = this;
    if (number !== null && (await order("DELETE", `pushes/${number}`)).ok) say(`push ${number} is deleted`);
  }

  headers(push) {
    if (push.protocol !== "http2") return [];
    const rows = push.headers.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, foreign(name)), make("td", {}, foreign(visible(value)))));
    return [
      make("h3", {}, `Headers of stream ${push.stream}`),
      make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Headers" }, make("table", {}, make("tbody", {}, ...rows))),
    ];
  }

  frame(push) {
    const fields = push.fields;
    if (fields.length === 0) return [];
    const bytes = bytesOf(push.bytes);
    const rows = fields.map(({ name, value, offset, length }, index) =>
      make("li", {},
        make("button", { type: "button", class: "field", tabindex: index === 0 ? "0" : "-1", "data-field": index },
          make("span", { class: "field-name" }, name), foreign(value, { class: "field-value" }),
          make("span", { class: "field-place" }, length === 1 ? `byte ${offset}` : `bytes ${offset} to ${offset + length - 1}`))));
    const list = make("ol", { class: "fields", "aria-label": "Fields" }, ...rows);
    const lines = dump(bytes, fields);
    const both = make("div", { class: "frame" }, list, lines);
    rove(list, ".field");
    rove(lines, ".first", { back: "ArrowLeft", on: "ArrowRight" });
    const light = (event) => {
      const field = event.target.closest("[data-field]")?.dataset.field;
      for (const lit of both.querySelectorAll(".lit")) lit.classList.remove("lit");
      if (field === undefined) return;
      for (const part of both.querySelectorAll(`[data-field="${field}"]`)) part.classList.add("lit");
    };
    both.addEventListener("pointerover", light);
    both.addEventListener("focusin", light);
    both.addEventListener("click", (event) => {
      const field = event.target.closest(".bytes [data-field]")?.dataset.field;
      if (field !== undefined) lines.querySelector(`.first[data-field="${field}"]`)?.focus({ preventScroll: true });
    });
    return [make("h3", {}, push.protocol === "http2" ? "Body" : `Frame of ${bytes.length} bytes`), both];
  }

  payload(push) {
    if (push.payload_length === 0) return [];
    const findings = push.findings.map(({ severity, line, column, message }) =>
      make("li", { class: severity }, `${severity}, line ${line}, column ${column}: `, foreign(message)));
    const { kind, text } = readable(payloadBytes(push));
    return [
      make("h3", {}, kind === "" ? "Payload" : `Payload (${kind})`),
      make("ul", { class: "findings", tabindex: "0", role: "list", "aria-label": "Findings of the payload check" },
        ...(findings.length > 0 ? findings : [make("li", { class: "fine" }, "The payload check finds nothing.")])),
      make("pre", { class: "json", dir: "ltr", tabindex: "0", "aria-label": "Payload" }, text),
    ];
  }
}

const empty = (text) => make("p", { class: "empty" }, text);

async function copy(text, element) {
  element.textContent = text;
  element.hidden = false;
  try {
    await navigator.clipboard.writeText(text);
    say("copied");
  } catch {
    say("the text is below the button: the browser does not allow copying");
  }
}

async function repeat(number) {
  say(`push ${number} is sent again`);
  const { ok, json } = await order("POST", `pushes/${number}/repeat`);
  if (ok) say(`push ${number} sent again: ${json.outcome}${json.reason ? `, ${json.reason}` : ""}`);
}
