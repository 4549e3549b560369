const SECONDS = 60;
const KINDS = ["accepted", "rejected", "other"];
const WIDTH = 240;
const HEIGHT = 40;

const total = (counts) => counts[0] + counts[1] + counts[2];
const kinds = (counters) =>
  [counters.accepted, counters.rejected, counters.discarded + counters.ignored];

/** Pushes per second over the last minute, by outcome. */
export class Chart {
  constructor(svg, text) {
    this.svg = svg;
    this.text = text;
    this.seconds = Array.from({ length: SECONDS }, () => [0, 0, 0]);
    this.bars = this.seconds.map((_, index) => KINDS.map((kind) => {
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      bar.setAttribute("class", kind);
      bar.setAttribute("x", (index * WIDTH) / SECONDS);
      bar.setAttribute("width", WIDTH / SECONDS - 0.5);
      svg.append(bar);
      return bar;
    }));
    this.now = null;
    this.before = null;
    setInterval(() => this.tick(), 1000);
  }

  /** The minute before the page opened, as the simulator remembers it. */
  begin(minute, counters) {
    this.seconds = minute.length === SECONDS ? minute : this.seconds;
    this.now = this.before = kinds(counters);
    this.draw();
  }

  take(counters) {
    this.now = kinds(counters);
    this.before ??= this.now;
  }

  tick() {
    if (!this.now) return;
    this.seconds.push(this.now.map((count, kind) => Math.max(0, count - this.before[kind])));
    this.before = this.now;
    this.seconds.shift();
    this.draw();
  }

  draw() {
    const highest = Math.max(...this.seconds.map(total));
    this.seconds.forEach((counts, index) => {
      let top = HEIGHT;
      counts.forEach((count, kind) => {
        const height = (count / Math.max(1, highest)) * HEIGHT;
        top -= height;
        this.bars[index][kind].setAttribute("y", top);
        this.bars[index][kind].setAttribute("height", height);
      });
    });
    this.text.textContent = `${total(this.seconds[SECONDS - 1]).toLocaleString()} a second, at most ` +
      `${highest.toLocaleString()}, ${this.seconds.reduce((all, counts) => all + total(counts), 0).toLocaleString()} in the last minute`;
  }
}
