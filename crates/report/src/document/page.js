"use strict";
const collator = new Intl.Collator();
// The page is complete without this: it adds sorting, saving the data, and folds long tables.
// Rows of a long table that are not shown yet, by table; text until somebody wants them.
const folded = new Map();
const rest = (table) => {
  const part = folded.get(table);
  if (!part) return [];
  if (part.text) {
    const made = document.createElement("template");
    made.innerHTML = part.text;
    part.rows = [...made.content.querySelectorAll("tbody > tr")];
    part.text = "";
  }
  return part.rows;
};
const unfold = (table) => {
  table.tBodies[0].append(...rest(table));
  folded.get(table)?.line.remove();
  folded.delete(table);
};
for (const noscript of document.querySelectorAll("noscript.rest")) {
  const table = noscript.previousElementSibling.querySelector("table");
  const text = noscript.textContent;
  const shown = table.tBodies[0].rows.length;
  const all = shown + text.split("<tr>").length - 2;
  const [line, button] = [document.createElement("p"), document.createElement("button")];
  line.className = "muted";
  button.type = "button";
  button.className = "download";
  button.textContent = "Show all";
  line.append(`${shown} of ${all.toLocaleString("en")} rows. `, button);
  button.addEventListener("click", () => unfold(table));
  noscript.replaceWith(line);
  folded.set(table, { text, line });
}
addEventListener("beforeprint", () => [...folded.keys()].forEach(unfold));
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
      const order = ([x], [y]) => {
        if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
        const by = typeof x === "number" ? x - y : collator.compare(x, y);
        return up ? by : -by;
      };
      const body = table.tBodies[0];
      const shown = body.rows.length;
      const rows = [...body.rows, ...rest(table)].map((row) => [value(row), row]);
      const sorted = rows.sort(order).map(([, row]) => row);
      body.replaceChildren(...sorted.slice(0, shown));
      if (folded.has(table)) folded.get(table).rows = sorted.slice(shown);
    });
  }
}
const download = (name, type, text) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
};
// A table as shown, in the order it is sorted in; numbers without their thousands separators.
const csv = (table) =>
  [...table.rows, ...rest(table)]
    .map((row) =>
      [...row.cells]
        .map((cell) => {
          const text = (cell.dataset.v || cell.innerText).trim().replaceAll(/\s+/g, " ");
          const bare = text.replaceAll(",", "");
          // What a spreadsheet would run as a formula stays text.
          const safe = /^[-+]?[0-9.]+$/.test(bare) ? bare : text.replace(/^[=+@\t\r-]/, "'$&");
          return `"${safe.replaceAll('"', '""')}"`;
        })
        .join(","),
    )
    .join("\r\n") + "\r\n";
for (const table of document.querySelectorAll("table.sortable")) {
  const name = table.caption.textContent;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "download";
  button.textContent = "CSV";
  button.setAttribute("aria-label", `Save as CSV: ${name}`);
  button.addEventListener("click", () => download("nicety-table.csv", "text/csv", csv(table)));
  table.caption.append(button);
}
const save = document.getElementById("save");
save.hidden = false;
save.addEventListener("click", async () => {
  const data = document.getElementById("run-data");
  let text = data.textContent;
  if (data.type === "application/gzip") {
    const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    text = await new Response(plain).text();
  }
  download(data.dataset.name, "application/json", text);
});
