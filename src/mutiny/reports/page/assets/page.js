"use strict";
(() => {
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  /* Light and dark: the system's choice until the reader makes one, which is remembered where that is allowed. */
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const remembered = () => {
    try {
      return localStorage.getItem("mutiny-theme");
    } catch {
      return null;
    }
  };
  const shown = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const tell = () => {
    button.textContent = shown() === "dark" ? "Light page" : "Dark page";
  };
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
  button.hidden = false;
  tell();
  dark.addEventListener("change", tell);
  button.addEventListener("click", () => {
    root.dataset.theme = shown() === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("mutiny-theme", root.dataset.theme);
    } catch {
      /* a page from a file may not be allowed to remember */
    }
    tell();
  });

  /* Tables: a click on a title sorts by its column, a second one the other way round. */
  const key = (row, column) => {
    const cell = row.cells[column];
    const value = "value" in cell.dataset ? cell.dataset.value : cell.textContent.trim();
    const number = Number(value);
    return value !== "" && Number.isFinite(number) ? number : value;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return collator.compare(a, b);
  };
  const sort = (table, column, way) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row, column), row]);
    rows.sort(([a], [b]) => {
      if (a === "" || b === "") return (a === "") - (b === ""); /* what has no value stays at the end */
      return way * compare(a, b);
    });
    body.append(...rows.map(([, row]) => row));
  };
  for (const table of document.querySelectorAll("[data-table] table")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const title = document.createElement("button");
      title.type = "button";
      title.textContent = head.textContent;
      head.replaceChildren(title);
      title.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        sort(table, column, falling ? -1 : 1);
      });
    });
  }

  /* Tables: rows by a word and by verdict. */
  for (const box of document.querySelectorAll("[data-table]")) {
    const tools = box.querySelector(".tools");
    if (!tools) continue;
    const word = tools.querySelector("[data-filter-text]");
    const verdict = tools.querySelector("[data-filter-verdict]");
    const count = tools.querySelector("[data-filter-count]");
    const rows = [...box.querySelectorAll("tbody tr")];
    const filter = () => {
      const wanted = word.value.trim().toLowerCase();
      let left = 0;
      for (const row of rows) {
        const fits =
          (!verdict.value || row.dataset.verdict === verdict.value) &&
          (!wanted || row.textContent.toLowerCase().includes(wanted));
        row.hidden = !fits;
        left += fits;
      }
      count.textContent = left === rows.length ? `${left} rows` : `${left} of ${rows.length} rows`;
    };
    tools.hidden = false;
    word.addEventListener("input", filter);
    verdict.addEventListener("change", filter);
    filter();
  }

  /* Print: nothing is folded. */
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((fold) => (fold.open = true));
  });
  window.addEventListener("afterprint", () => closed.forEach((fold) => (fold.open = false)));
})();
