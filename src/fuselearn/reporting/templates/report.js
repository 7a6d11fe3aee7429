"use strict";
(() => {
  const root = document.documentElement;

  // Light or dark: the last choice of the reader, else that of the system. Storage may be forbidden.
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const remembered = () => { try { return localStorage.getItem("fuselearn-theme"); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem("fuselearn-theme", theme); } catch { /* not kept */ } };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => {
    const other = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `${other} colours`);
    button.querySelector("span").textContent = other;
  };
  const kept = remembered();
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  button.hidden = false;
  show();
  system.addEventListener("change", show);
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    show();
  });

  // Sorting: numbers by value, words by the alphabet of the reader, missing values always last.
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value ?? cell.textContent.trim();
  };
  const compare = (a, b) => {
    const x = Number(a), y = Number(b);
    return Number.isNaN(x) || Number.isNaN(y) ? words.compare(a, b) : x - y;
  };
  for (const head of document.querySelectorAll("table.sortable th button.sort")) {
    head.addEventListener("click", () => {
      const cell = head.closest("th"), table = head.closest("table"), body = table.tBodies[0];
      const column = cell.cellIndex;
      // Numbers are first sorted from the largest, names from A.
      const first = cell.classList.contains("n") ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = cell.getAttribute("aria-sort") === first ? other : first;
      for (const th of table.tHead.rows[0].cells) th.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const keyed = Array.from(body.rows, (row) => [valueOf(row, column), row]);
      keyed.sort(([a], [b]) => (a === "" || b === "" ? (a === "") - (b === "") : sign * compare(a, b)));
      body.append(...keyed.map(([, row]) => row));
    });
  }

  // Filter of long tables.
  for (const box of document.querySelectorAll("input.filter")) {
    const rows = document.getElementById(box.getAttribute("aria-controls")).tBodies[0].rows;
    box.hidden = false;
    box.addEventListener("input", () => {
      const wanted = box.value.toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  }

  // A table that is wider than the screen says so, until it has been scrolled to its end.
  const hints = Array.from(document.querySelectorAll(".scroll"), (box) => {
    const hint = document.createElement("p");
    hint.className = "hint";
    hint.textContent = "Scroll sideways for more columns \u2192";
    hint.hidden = true;
    box.before(hint);
    return [box, hint];
  });
  const showHint = (box, hint) => {
    const more = box.scrollWidth - box.clientWidth > 2;
    hint.hidden = !more;
    box.classList.toggle("wide", more && box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
  };
  const showHints = () => { for (const [box, hint] of hints) showHint(box, hint); };
  for (const [box, hint] of hints) box.addEventListener("scroll", () => showHint(box, hint), { passive: true });
  addEventListener("resize", showHints);
  showHints();

  // Copying code, where the browser allows it.
  if (navigator.clipboard) {
    for (const copy of document.querySelectorAll("button.copy")) {
      copy.hidden = false;
      copy.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(copy.parentElement.querySelector("code").textContent);
          copy.textContent = "Copied";
          setTimeout(() => { copy.textContent = "Copy"; }, 1500);
        } catch { copy.hidden = true; }
      });
    }
  }
})();
