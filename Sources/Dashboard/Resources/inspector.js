import { clock, foreign, make, order, rove, say, shortToken, visible } from "./elements.js";
import { repeatCommand } from "./repeat.js";

/** One push with its bytes, and which of them mean what. */
export class Inspector {
  constructor(element) {
    this.element = element;
    this.gateway = null;
  }

  async show(number) {
    this.number = number;
    const answer = await fetch(`pushes/${number}`);
    const push = await answer.json();
    // Another one was picked meanwhile.
    if (this.number !== number) return;
    this.element.replaceChildren(...(answer.ok ? this.parts(push) : [make("p", { class: "empty" }, push.error)]));
    if (answer.ok) say(`push ${number}, ${push.fate}`);
  }

  parts(push) {
    const fate = push.fate + (push.status === null ? "" : `, status ${push.status}`) + (push.reason ? `: ${push.reason}` : "");
    return [
      make("p", { class: `verdict ${push.fate}` }, `Push ${push.number} at ${clock(push.time)} over connection ${push.connection}: `, foreign(fate),
        push.duplicate ? "; one like it had been accepted before" : ""),
      this.buttons(push),
      ...this.headers(push),
      ...this.frame(push),
      ...this.payload(push),
    ];
  }

  buttons(push) {
    const repeat = make("button", { type: "button", id: "repeat" }, "Repeat");
    const command = make("pre", { class: "command", tabindex: "0", "aria-label": "Command that repeats this push", hidden: true });
    repeat.addEventListener("click", async () => {
      command.textContent = repeatCommand(push, this.gateway);
      command.hidden = false;
      try {
        await navigator.clipboard.writeText(command.textContent);
        say("the command is copied");
      } catch {
        say("the command is below the button: the browser does not let it be copied");
      }
    });
    const remove = make("button", { type: "button", disabled: push.token === "" }, "App removed");
    remove.addEventListener("click", async () => {
      if ((await order("POST", "/unregistered", { token: push.token })).ok) say(`${shortToken(push.token)} is in the feedback now`);
    });
    return make("div", {}, make("p", { class: "buttons" }, repeat, remove), command);
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
    const bytes = push.bytes.match(/../g) ?? [];
    const runs = fields.map(({ name, offset, length }, index) =>
      make("span", {
        class: "run", role: "button", tabindex: index === 0 ? "0" : "-1", "data-field": index,
        "aria-label": `bytes ${offset} to ${offset + length - 1}, ${name}`,
      }, bytes.slice(offset, offset + length).join(" ")));
    const rows = fields.map(({ name, value, offset, length }, index) =>
      make("li", {},
        make("button", { type: "button", class: "field", tabindex: index === 0 ? "0" : "-1", "data-field": index },
          make("span", { class: "field-name" }, name), foreign(value, { class: "field-value" }),
          make("span", { class: "field-place" }, length === 1 ? `byte ${offset}` : `bytes ${offset} to ${offset + length - 1}`))));
    const list = make("ol", { class: "fields", "aria-label": "Fields" }, ...rows);
    const dump = make("div", { class: "bytes", role: "group", "aria-label": "Bytes" });
    runs.forEach((run) => dump.append(run, " "));
    const both = make("div", { class: "frame" }, list, dump);
    rove(list, ".field");
    rove(dump, ".run", { back: "ArrowLeft", on: "ArrowRight" });
    const light = (event) => {
      const field = event.target.closest("[data-field]")?.dataset.field;
      for (const lit of both.querySelectorAll(".lit")) lit.classList.remove("lit");
      if (field === undefined) return;
      for (const part of both.querySelectorAll(`[data-field="${field}"]`)) part.classList.add("lit");
    };
    both.addEventListener("pointerover", light);
    both.addEventListener("focusin", light);
    both.addEventListener("click", (event) => {
      const run = event.target.closest(".run");
      if (run) run.focus();
    });
    return [make("h3", {}, push.protocol === "http2" ? "Body" : `Frame of ${bytes.length} bytes`), both];
  }

  payload(push) {
    if (push.payload === "") return [];
    const findings = push.findings.map(({ severity, line, column, message }) =>
      make("li", { class: severity }, `${severity}, line ${line}, column ${column}: `, foreign(message)));
    return [
      make("h3", {}, "Payload"),
      make("ul", { class: "findings", "aria-label": "What the payload check says" },
        ...(findings.length > 0 ? findings : [make("li", { class: "fine" }, "The payload check finds nothing.")])),
      make("pre", { class: "json", dir: "ltr", tabindex: "0", "aria-label": "Payload" }, visible(pretty(push.payload))),
    ];
  }
}

/** The same JSON in lines: every key and number as it came, twice where it came twice. */
export function pretty(text) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/gs) ?? [];
  let depth = 0;
  let out = "";
  tokens.forEach((token, index) => {
    const next = tokens[index + 1];
    const line = () => "\n" + "  ".repeat(Math.max(0, Math.min(depth, 64)));
    if (token === "{" || token === "[") {
      depth += 1;
      out += token + (next === "}" || next === "]" ? "" : line());
    } else if (token === "}" || token === "]") {
      depth -= 1;
      const before = tokens[index - 1];
      out += (before === "{" || before === "[" ? "" : line()) + token;
    } else if (token === ",") out += token + line();
    else if (token === ":") out += ": ";
    else out += token;
  });
  return out;
}
