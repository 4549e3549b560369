/** What is asked for at once. */
const PIECE = 500;

/** Fetches pushes that the page does not hold, from the simulator that does. */
export class Pager {
  constructor() {
    this.language = "";
    this.forget();
  }

  forget() {
    this.hasOlder = false;
    // What comes in answer to a question from before is not for this list.
    this.generation = (this.generation ?? 0) + 1;
  }

  /** Those before a number, the oldest first; [] where there are none. */
  async before(number) {
    const generation = this.generation;
    const query = new URLSearchParams({ before: number, limit: PIECE });
    if (this.language) query.set("language", this.language);
    const answer = await fetch(`pushes?${query}`);
    if (!answer.ok || generation !== this.generation) return [];
    const { older, pushes } = await answer.json();
    if (generation !== this.generation) return [];
    this.hasOlder = older;
    return pushes;
  }
}
