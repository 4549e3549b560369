import { asked } from "./elements.js";

/** The numbers of the pushes that match a search: the simulator finds them. */
export class Matches {
  constructor(search, language) {
    this.search = search;
    this.language = language;
    /** In ascending order. Another array after each change. */
    this.numbers = [];
    /** Where the next request begins. */
    this.last = 0;
    /** Selects only seen or only unseen pushes, which the simulator cannot. */
    this.seen = null;
    this.kept = 0;
    this.dropped = 0;
    this.isComplete = false;
    /** Why the simulator did not answer; null if it did. */
    this.fault = null;
  }

  /** The newest matches, so that they show before all are found. Returns their pushes. */
  async begin(limit) {
    const { search, language } = this;
    const { ok, json } = await asked("pushes", { search, language, limit });
    if (!ok || this.isComplete) return [];
    this.numbers = json.pushes.map(({ number }) => number);
    this.seen = json.seen;
    return json.pushes;
  }

  /** Finds the matches among the pushes that came since. */
  async refresh() {
    const { search, language, last } = this;
    const { ok, json } = await asked("pushes/matches", { search, language, after: last });
    this.fault = ok ? null : json.error;
    if (!ok) return;
    const added = [];
    for (const [from, to] of json.matches) for (let number = from; number <= to; number += 1) added.push(number);
    const known = this.isComplete ? this.numbers : [];
    const dropped = place(known, json.first);
    if (!this.isComplete || dropped > 0 || added.length > 0) this.numbers = known.slice(dropped).concat(added);
    ({ last: this.last, kept: this.kept, dropped: this.dropped, seen: this.seen } = json);
    this.isComplete = true;
  }

  remove(gone) {
    this.numbers = this.numbers.filter((number) => !gone.has(number));
  }
}

/** The index of the first element that is at least `number`. */
export function place(numbers, number) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
