const TITLE = "apns simulate";

/** The pushes that a person has opened, until this tab or this simulator ends. */
export class Seen {
  constructor() {
    this.key = null;
    this.upTo = 0;
    this.numbers = new Set();
  }

  /** Another run counts its pushes from 1 again. */
  begin(gateway) {
    const key = `seen ${gateway?.pid} ${gateway?.seed}`;
    if (this.key === key) return;
    this.key = key;
    this.upTo = 0;
    this.numbers = new Set();
    try {
      const { upTo, numbers } = JSON.parse(sessionStorage.getItem(key) ?? "{}");
      this.upTo = Number.isSafeInteger(upTo) ? upTo : 0;
      this.numbers = new Set(Array.isArray(numbers) ? numbers : []);
    } catch {
      // A browser without storage shows all pushes as new.
    }
  }

  has(number) {
    return number <= this.upTo || this.numbers.has(number);
  }

  add(number) {
    if (this.has(number)) return;
    this.numbers.add(number);
    this.keep();
  }

  addAll(last) {
    this.upTo = Math.max(this.upTo, last);
    for (const number of this.numbers) if (number <= this.upTo) this.numbers.delete(number);
    this.keep();
  }

  keep() {
    try {
      sessionStorage.setItem(this.key, JSON.stringify({ upTo: this.upTo, numbers: [...this.numbers] }));
    } catch {
      // Forgotten when the page closes.
    }
  }

  /* * The number of new pushes, in the tab's title. */
  tell(count) {
    const title = count === 0 ? TITLE : `(${count}) ${TITLE}`;
    if (document.title !== title) document.title = title;
  }
}
