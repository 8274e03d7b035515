"use strict";
// The page is complete without this: it only adds sorting and saving the data.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = table.tHead.rows[0].cells;
  for (let column = 0; column < heads.length; column++) {
    const head = heads[column];
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => {
        const cell = row.cells[column];
        const text = (cell.dataset.v ?? cell.textContent).trim();
        const bare = text.replaceAll(",", "");
        const number = /^[-+]?[0-9.]/.test(bare) ? parseFloat(bare) : NaN;
        return Number.isNaN(number) ? text : number;
      };
      const order = (a, b) => {
        const [x, y] = [value(a), value(b)];
        if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
        const by = typeof x === "number" ? x - y : x.localeCompare(y);
        return up ? by : -by;
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
    });
  }
}
const save = document.getElementById("save");
save.hidden = false;
save.addEventListener("click", () => {
  const data = document.getElementById("run-data");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data.textContent], { type: "application/json" }));
  link.download = data.dataset.name;
  link.click();
  URL.revokeObjectURL(link.href);
});
