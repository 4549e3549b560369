// The syntax of the search field: words, "words together", name:value, and - to exclude. A word without a
// name is searched in payload, text, reason and identifiers.

const includes = (whole, part) => (whole ?? "").toLowerCase().includes(part);

const NAMED = {
  protocol: (push, value) => push.protocol.startsWith(value.replace("/", "")),
  connection: (push, value) => String(push.connection) === value,
  outcome: (push, value) => push.outcome.startsWith(value),
  status: (push, value) => String(push.status) === value,
  reason: (push, value) => includes(push.reason, value),
  token: (push, value) => push.token.includes(value.replace(/[^0-9a-f]/g, "")),
  topic: (push, value) => includes(push.topic, value),
  channel: (push, value) => includes(push.channel, value),
  number: (push, value) => String(push.number) === value,
  findings: (push, value) => ({
    yes: push.findings > 0, no: push.findings === 0, none: push.findings === 0,
    error: push.error, warning: push.findings > 0 && !push.error,
  })[value] ?? false,
  is: (push, value, seen) => ({
    unseen: !seen(push.number), seen: seen(push.number), duplicate: push.duplicate, silent: push.banner?.silent ?? false,
  })[value] ?? false,
};

/** Returns a function that takes a push and the seen ones, and returns whether the push matches. */
export function compile(text) {
  const tests = [];
  for (const [, minus, name, quoted, plain] of text.toLowerCase().matchAll(/(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/g)) {
    const value = quoted ?? plain;
    if (value === "") continue;
    const named = name !== undefined && Object.hasOwn(NAMED, name);
    // An unknown name is part of the text: payloads are full of colons.
    const whole = named || name === undefined ? value : `${name}:${value}`;
    const test = named ? (push, seen) => NAMED[name](push, whole, seen) : (push) => searched(push).includes(whole);
    tests.push(minus === "-" ? (push, seen) => !test(push, seen) : test);
  }
  return (push, seen) => tests.every((test) => test(push, seen));
}

function searched(push) {
  const banner = push.banner;
  return [push.payload, banner?.title, banner?.subtitle, banner?.body, push.reason, push.identifier, push.unique_id]
    .filter((part) => part !== null && part !== undefined).join("\n").toLowerCase();
}
