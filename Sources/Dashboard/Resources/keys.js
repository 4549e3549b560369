import { byId } from "./elements.js";

const KEPT = "keys are off";

/** Keyboard shortcuts; those of a single letter can be switched off. */
export function listenForKeys(acts) {
  const toggle = byId("keys-on");
  try {
    toggle.checked = localStorage.getItem(KEPT) === null;
    toggle.addEventListener("change", () => {
      if (toggle.checked) localStorage.removeItem(KEPT);
      else localStorage.setItem(KEPT, "1");
    });
  } catch {
    // Applies until the page is closed.
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    const isField = event.target.closest?.("input:not([type=checkbox]), select, textarea");
    if (isField && event.key === "Escape") event.target.blur();
    if (isField || (event.key.length === 1 && !toggle.checked)) return;
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
