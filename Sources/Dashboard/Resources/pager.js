/** The number of pushes in one request. */
const PIECE = 500;

/** Fetches pushes that only the simulator still holds. */
export class Pager {
  constructor() {
    this.language = "";
    this.forget();
  }

  forget() {
    this.hasOlder = false;
    // Responses to earlier requests do not belong to the new list.
    this.generation = (this.generation ?? 0) + 1;
  }

  /* * The pushes before a number, the oldest first; may be empty. */
  async before(number) {
    const generation = this.generation;
    const query = new URLSearchParams({ before: number, limit: PIECE });
    if (this.language) query.set("language", this.language);
    const response = await fetch(`pushes?${query}`);
    if (!response.ok || generation !== this.generation) return [];
    const { older, pushes } = await response.json();
    if (generation !== this.generation) return [];
    this.hasOlder = older;
    return pushes;
  }
}
