// The page's address names the push, the search and the device on the lock screen, for example
// #push=12&search=outcome:rejected&device=5f79. So a link shows a colleague the same, and the back
// button leads to the previous push.

export function read() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const push = parts.get("push") ?? "";
  const device = parts.get("device") ?? "";
  return {
    push: /^[1-9]\d{0,14}$/.test(push) ? Number(push) : null,
    search: parts.get("search") ?? "",
    device: /^([0-9a-f]{2})+$/.test(device) ? device : "",
  };
}

function text({ push = null, search = "", device = "" }) {
  const parts = new URLSearchParams();
  if (push !== null) parts.set("push", push);
  if (search !== "") parts.set("search", search);
  if (device !== "") parts.set("device", device);
  return "#" + parts;
}

/** The address of a push, without the search. */
export const link = (number) => text({ push: number });

/** Follows a change of the address. The back button undoes this step. */
function follow(change) {
  const wanted = text({ ...read(), ...change });
  if (location.hash === wanted || (wanted === "#" && location.hash === "")) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = wanted;
}

/** Shows a push; null closes it. */
export const go = (number) => follow({ push: number });

/** Shows a device on the lock screen; "" shows that of the newest push. */
export const show = (device) => follow({ device });

/** Otherwise every typed letter would be a step. */
export function keepSearch(search) {
  history.replaceState(null, "", text({ ...read(), search }));
}
