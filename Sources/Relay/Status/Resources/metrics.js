// Parses the relay's metrics in Prometheus' text format.

const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;
const MEANT = { "\\\\": "\\", '\\"': '"', "\\n": "\n" };

/** The samples by name, each with its labels and its value. */
export function readMetrics(text) {
  const samples = new Map();
  for (const line of text.split("\n")) {
    const found = LINE.exec(line);
    if (!found) continue;
    const labels = {};
    for (const [, name, value] of (found[2] ?? "").matchAll(LABEL)) labels[name] = value.replace(/\\./g, (two) => MEANT[two] ?? two);
    if (!samples.has(found[1])) samples.set(found[1], []);
    samples.get(found[1]).push({ labels, value: Number(found[3]) });
  }
  return samples;
}

/** The metrics of one app. */
export class AppMetrics {
  constructor(samples, app) {
    this.samples = samples;
    this.app = app;
  }

  all(name) {
    return (this.samples.get(name) ?? []).filter((sample) => sample.labels.app === this.app);
  }

  /** The sum of the samples with these labels; null without a sample. */
  sum(name, labels = {}) {
    const found = this.all(name).filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value));
    return found.length ? found.reduce((sum, sample) => sum + sample.value, 0) : null;
  }

  /** Pairs of a label's value and the sample, largest first, without zeros. */
  by(name, label) {
    return this.all(name)
      .filter((sample) => sample.value > 0)
      .map((sample) => [sample.labels[label], sample.value])
      .sort((one, other) => other[1] - one[1]);
  }

  /** The histogram bound in seconds below which this share of the responses since `before` lies; null without responses. */
  quantile(share, name, before) {
    const buckets = this.all(`${name}_bucket`).map((sample) => {
      const old = before?.all(`${name}_bucket`).find((other) => other.labels.le === sample.labels.le);
      return { bound: sample.labels.le === "+Inf" ? Infinity : Number(sample.labels.le), count: sample.value - (old?.value ?? 0) };
    });
    buckets.sort((one, other) => one.bound - other.bound);
    const total = buckets.at(-1)?.count ?? 0;
    return total > 0 ? buckets.find((bucket) => bucket.count >= total * share).bound : null;
  }
}
