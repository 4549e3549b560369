// The page's address names the push and the search: #push=12&search=outcome:rejected. So a link can
// lead to a push, and the back button to the previous one.

export function read() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const push = parts.get("push") ?? "";
  return { push: /^[1-9]\d{0,14}$/.test(push) ? Number(push) : null, search: parts.get("search") ?? "" };
}

function text({ push, search }) {
  const parts = new URLSearchParams();
  if (push !== null) parts.set("push", push);
  if (search !== "") parts.set("search", search);
  return "#" + parts;
}

/** The address of a push, without the search. */
export const link = (number) => text({ push: number, search: "" });

/** Shows a push; null closes it. The back button undoes this step. */
export function go(number) {
  const wanted = text({ ...read(), push: number });
  if (location.hash === wanted || (wanted === "#" && location.hash === "")) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = wanted;
}

/** Otherwise every typed letter would be a step. */
export function keepSearch(search) {
  history.replaceState(null, "", text({ ...read(), search }));
}
