"use strict";
// Everything works without this file; it adds a theme switch, filters, copy buttons and a whole print.
(() => {
  const root = document.documentElement, order = ["auto", "light", "dark"];
  const button = document.querySelector(".theme");
  const stored = () => { try { return localStorage.getItem("theme") || "auto"; } catch { return "auto"; } };
  const show = (theme) => {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    if (button) { button.hidden = false; button.textContent = "Theme: " + theme; }
  };
  show(stored());
  button?.addEventListener("click", () => {
    const next = order[(order.indexOf(stored()) + 1) % order.length];
    try { localStorage.setItem("theme", next); } catch { /* private window: lasts for this page */ }
    show(next);
  });

  const form = document.querySelector(".filters");
  if (form) {
    form.hidden = false;
    const rows = [...document.querySelectorAll("tr[data-kind]")], count = document.querySelector("#count");
    const filter = () => {
      const words = form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        const fits = words.every((word) => text.includes(word))
          && (!form.kind.value || row.dataset.kind === form.kind.value)
          && (!form.live.checked || row.dataset.live === "1")
          && (!form.open.checked || row.dataset.guarded === "0");
        row.hidden = !fits;
        if (fits) shown += 1;
      }
      count.textContent = shown + " of " + rows.length + " findings";
    };
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    filter();
  }

  if (navigator.clipboard) {
    for (const line of document.querySelectorAll(".cmd")) {
      const copy = Object.assign(document.createElement("button"), { className: "copy", type: "button", textContent: "Copy" });
      copy.setAttribute("aria-label", "Copy the command " + line.textContent.trim());
      copy.addEventListener("click", async () => {
        await navigator.clipboard.writeText(line.querySelector("code").textContent);
        copy.textContent = "Copied";
        setTimeout(() => { copy.textContent = "Copy"; }, 1500);
      });
      line.append(copy);
    }
  }

  addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
})();
