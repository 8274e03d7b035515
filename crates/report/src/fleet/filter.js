"use strict";
// Hides rows of all tables that lack a word of the field; a run such as kvm01–kvm12 stands for its names.
addEventListener("DOMContentLoaded", () => {
  const field = document.querySelector("#filter input");
  const said = document.querySelector("#filter [role=status]");
  const names = (run) => {
    const [first, last] = run.split("–");
    if (!last) return run;
    let same = 0;
    while (same < first.length && first[same] === last[same]) same++;
    while (same && /\d/.test(first[same - 1])) same--;
    const number = (text) => /^\d*/.exec(text.slice(same))[0];
    const [from, to] = [number(first), number(last)];
    const rest = first.slice(same + from.length);
    const all = [];
    for (let n = Number(from); n <= Number(to) && all.length < 100000; n++)
      all.push(first.slice(0, same) + String(n).padStart(from.length, "0") + rest);
    return all.join(" ");
  };
  const texts = new WeakMap();
  const text = (row) => {
    if (!texts.has(row)) {
      const cells = [...row.cells].map((cell) => cell.dataset.v ?? cell.textContent);
      const runs = cells.map((cell) => cell.split(", ").map(names).join(" "));
      texts.set(row, runs.join(" ").toLowerCase());
    }
    return texts.get(row);
  };
  field.closest("p").hidden = false;
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const table of document.querySelectorAll("table.sortable")) {
      if (words.length && folded.has(table)) unfold(table);
      for (const row of table.tBodies[0].rows) {
        row.hidden = !words.every((word) => text(row).includes(word));
        if (!row.hidden) shown++;
      }
    }
    said.textContent = words.length ? `${shown.toLocaleString("en")} ${shown === 1 ? "row" : "rows"}` : "";
  });
});
