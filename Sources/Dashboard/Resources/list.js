import { reconcile } from "./elements.js";
import { place } from "./matches.js";

/** A list that is taller cannot be laid out by every browser: its scroll bar stands for it in scale. */
const TALLEST = 8_000_000;
/** Rows drawn above and below the visible ones. */
const SPARE = 8;

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

/**
 * A list of numbered rows, the highest number first, of which only the visible ones are elements. One
 * row is the stop of the tab key; it stays an element, so that it keeps the focus.
 */
export class VirtualList {
  /** `create` makes a row, `update` gets its element and number at every drawing, and `drawn` comes after it. */
  constructor(list, { create, update, drawn = () => {} }) {
    Object.assign(this, { list, create, update, drawn });
    this.numbers = [];
    this.active = null;
    /** The distance from the list's top to the visible part's, in unscaled pixels. */
    this.top = 0;
    this.scrolled = 0;
    list.addEventListener("scroll", () => {
      this.follow();
      this.draw();
    });
    list.addEventListener("scrollend", () => this.moveTo(this.top));
    list.addEventListener("keydown", (event) => this.press(event));
    list.addEventListener("focusin", (event) => {
      this.active = Number(event.target.closest("[data-key]").dataset.key);
      this.draw();
    });
    new ResizeObserver(() => this.moveTo(this.top)).observe(list);
  }

  /** In ascending order. The rows in view stay where they are, unless they are the newest. */
  set(numbers) {
    this.follow();
    const anchor = this.top > 0 ? this.numberAt(Math.floor(this.top / this.row)) : undefined;
    const before = this.indexOf(anchor);
    this.numbers = numbers;
    const moved = anchor === undefined ? 0 : this.indexOf(anchor) - before;
    this.moveTo(this.top + moved * this.row);
  }

  numberAt(index) {
    return this.numbers[this.numbers.length - 1 - index];
  }

  /** The index of the row, or of the next older one. */
  indexOf(number) {
    const at = place(this.numbers, number);
    return this.numbers.length - 1 - (this.numbers[at] === number ? at : at - 1);
  }

  has(number) {
    return this.numbers[place(this.numbers, number)] === number;
  }

  get row() {
    return Math.round(2.9 * parseFloat(getComputedStyle(document.documentElement).fontSize));
  }

  get whole() {
    return this.numbers.length * this.row;
  }

  /** How far it can be scrolled: in unscaled pixels, and in the scroll bar's. */
  ends() {
    const { clientHeight } = this.list;
    return [this.whole, Math.min(this.whole, TALLEST)].map((height) => Math.max(0, height - clientHeight));
  }

  moveTo(top) {
    const [end, bar] = this.ends();
    this.top = clamp(top, 0, end);
    this.list.style.setProperty("--tall", `${Math.min(this.whole, TALLEST)}px`);
    this.list.scrollTop = end === bar ? this.top : Math.round((this.top / end) * bar);
    this.scrolled = this.list.scrollTop;
    this.draw();
  }

  /** Takes over what a person has scrolled: in a scaled list a short way is a wheel's, and a long one the scroll bar's. */
  follow() {
    const { scrollTop, clientHeight } = this.list;
    const [end, bar] = this.ends();
    const way = scrollTop - this.scrolled;
    if (way === 0) return;
    if (end === bar) this.top = scrollTop;
    else if (scrollTop <= 0 || scrollTop >= bar || Math.abs(way) > clientHeight) this.top = (scrollTop / bar) * end;
    else this.top = clamp(this.top + way, 0, end);
    this.scrolled = scrollTop;
  }

  isInView(number) {
    const top = this.indexOf(number) * this.row - this.top;
    return top > -this.row && top < this.list.clientHeight;
  }

  /** Scrolls no further than needed. */
  reveal(number) {
    const top = this.indexOf(number) * this.row;
    this.moveTo(clamp(this.top, top + this.row - this.list.clientHeight, top));
  }

  focus(number) {
    this.active = number;
    this.reveal(number);
    this.elementOf(number)?.focus({ preventScroll: true });
  }

  elementOf(number) {
    return this.list.querySelector(`[data-key="${number}"] .row`);
  }

  press(event) {
    const most = this.numbers.length - 1;
    const page = Math.max(1, Math.floor(this.list.clientHeight / this.row) - 1);
    const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -most, End: most }[event.key];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.focus(this.numberAt(clamp(this.indexOf(this.active) + step, 0, most)));
  }

  /** The numbers of the rows in view. */
  visible() {
    const first = Math.max(0, Math.floor(this.top / this.row) - SPARE);
    const end = Math.min(this.numbers.length, Math.ceil((this.top + this.list.clientHeight) / this.row) + SPARE);
    return Array.from({ length: Math.max(0, end - first) }, (_, index) => this.numberAt(first + index));
  }

  draw() {
    const shown = this.visible();
    if (this.active !== null && !this.has(this.active)) this.active = null;
    const stop = this.active ?? shown[0];
    const keys = this.active === null || shown.includes(stop) ? shown : stop > shown[0] ? [stop, ...shown] : [...shown, stop];
    const shift = this.list.scrollTop - this.top;
    const lowest = Math.min(this.whole, TALLEST) - this.row;
    reconcile(this.list, keys, this.create, (element, number) => {
      const index = this.indexOf(number);
      element.style.top = `${clamp(index * this.row + shift, 0, lowest)}px`;
      element.setAttribute("aria-posinset", index + 1);
      element.setAttribute("aria-setsize", this.numbers.length);
      element.firstElementChild.tabIndex = number === stop ? 0 : -1;
      this.update(element, number);
    });
    this.drawn();
  }
}
