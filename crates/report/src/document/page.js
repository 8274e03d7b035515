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
const save_blob = (name, blob) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
};
const download = (name, type, text) => save_blob(name, new Blob([text], { type }));
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

// Charts: values where they are pointed at, and the charts as files.
const tip = document.createElement("div");
tip.className = "tip";
tip.setAttribute("role", "status");
document.body.append(tip);
let lit = null;
const point = (mark) => {
  if (mark === lit) return;
  lit?.classList.remove("on");
  lit = mark;
  tip.textContent = mark ? mark.dataset.t : "";
  if (!mark) return;
  mark.classList.add("on");
  const [at, of] = [mark.getBoundingClientRect(), tip.getBoundingClientRect()];
  const column = mark.classList.contains("col");
  const left = at.x + at.width / 2 - of.width / 2;
  const above = column ? at.y : at.y - of.height - 8;
  tip.style.left = `${Math.max(4, Math.min(left, innerWidth - of.width - 4))}px`;
  tip.style.top = `${above < 4 ? at.bottom + 8 : above}px`;
};
// How far a finger or a mouse may be from a mark, in pixels.
const NEAR = 28;
for (const svg of document.querySelectorAll("figure svg")) {
  const marks = [...svg.querySelectorAll(".pt:has(title)")];
  if (!marks.length) continue;
  for (const mark of marks) {
    const title = mark.querySelector("title");
    // The browser's own tooltip would cover this one.
    mark.dataset.t = title.textContent;
    title.remove();
  }
  const middle = (mark) => {
    const { x, y, width, height } = mark.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  };
  const nearest = ({ target, clientX, clientY }) => {
    const own = target.closest(".pt[data-t]");
    if (own) return own;
    let best = [NEAR, null];
    for (const mark of marks) {
      const [x, y] = middle(mark);
      const far = Math.hypot(x - clientX, y - clientY);
      if (far < best[0]) best = [far, mark];
    }
    return best[1];
  };
  svg.addEventListener("pointermove", (event) => point(nearest(event)));
  svg.addEventListener("pointerdown", (event) => point(nearest(event)));
  svg.addEventListener("pointerleave", (event) => event.pointerType === "touch" || point(null));
  svg.setAttribute("tabindex", "0");
  const step = (by) => {
    const order = marks.map((mark) => [middle(mark), mark]).sort(([a], [b]) => a[0] - b[0] || a[1] - b[1]);
    const at = order.findIndex(([, mark]) => mark === lit);
    const to = at < 0 ? (by > 0 ? 0 : order.length - 1) : at + by;
    point(order[Math.max(0, Math.min(to, order.length - 1))][1]);
  };
  svg.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") point(null);
    if (!by) return;
    event.preventDefault();
    step(by);
  });
  svg.addEventListener("blur", () => point(null));
}
addEventListener("scroll", () => point(null), { passive: true });
const shown = (figure) => [...figure.querySelectorAll("svg")].find((svg) => svg.checkVisibility());
// A chart that looks right alone: colours of the page as it is now, title and legend inside.
const alone = (figure) => {
  const svg = shown(figure);
  const style = getComputedStyle(document.documentElement);
  const colour = (text) => text.replaceAll(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  const make = (name, attributes, text = "") => {
    const made = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  };
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const inside = svg.cloneNode(true);
  for (const mark of inside.querySelectorAll("[data-t]")) {
    mark.prepend(make("title", {}, mark.dataset.t));
    mark.removeAttribute("data-t");
    mark.classList.remove("on");
  }
  for (const name of ["class", "style", "tabindex", "role"]) inside.removeAttribute(name);
  const [line, pad] = [20, 14];
  const title = figure.querySelector("figcaption strong")?.textContent ?? document.title;
  const out = make("svg", { "font-family": "system-ui, sans-serif" });
  const parts = [make("text", { x: pad, y: pad + 14, "font-size": 15, "font-weight": 600, fill: "var(--ink)" }, title)];
  let [x, y] = [pad, pad + 20];
  const legends = figure.querySelectorAll(".legend");
  const legend = [...legends].find((one) => one.checkVisibility()) ?? figure.closest(".grid")?.parentElement.querySelector(":scope > .legend");
  for (const item of legend?.children ?? []) {
    const key = item.querySelector(".key");
    const words = item.textContent.slice(key.textContent.length);
    const wide = 34 + words.length * 7;
    if (x > pad && x + wide > width + pad) [x, y] = [pad, y + line];
    const look = getComputedStyle(key);
    if (key.textContent) {
      parts.push(make("text", { x: x + 4, y: y + 14, "font-size": 13, fill: look.color }, key.textContent));
    } else if (key.classList.contains("swatch")) {
      parts.push(make("rect", { x: x + 4, y: y + 4, width: 12, height: 12, fill: look.backgroundColor }));
    } else {
      const upright = key.classList.contains("throughput-line");
      const d = upright ? `M${x + 10} ${y + 2}v15` : `M${x} ${y + 10}h20`;
      const dash = { dashed: "6 4", dotted: "2 3" }[upright ? look.borderLeftStyle : look.borderTopStyle] ?? "none";
      const stroke = upright ? look.borderLeftColor : look.borderTopColor;
      parts.push(make("path", { d, stroke, "stroke-width": 2, "stroke-dasharray": dash }));
    }
    parts.push(make("text", { x: x + 26, y: y + 14, "font-size": 12, fill: "var(--ink)" }, words));
    x += wide;
  }
  y += (x > pad ? line : 0) + 8;
  const size = [width + 2 * pad, y + height + pad];
  for (const [key, value] of [["x", pad], ["y", y], ["width", width], ["height", height]]) inside.setAttribute(key, value);
  for (const [key, value] of [["width", size[0]], ["height", size[1]], ["viewBox", `0 0 ${size[0]} ${size[1]}`]]) out.setAttribute(key, value);
  out.append(make("rect", { width: size[0], height: size[1], fill: "var(--paper)" }), ...parts, inside);
  return { text: colour(new XMLSerializer().serializeToString(out)), size, name: `nicety-${figure.id || "chart"}`.replaceAll(/[^\w.-]+/g, "-") };
};
// Twice as large as on the page, for screens and print.
const png = ({ text, size: [width, height] }) =>
  new Promise((done, failed) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [width * 2, height * 2];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(done, "image/png");
    };
    image.onerror = failed;
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  });
for (const figure of document.querySelectorAll("figure:has(svg)")) {
  const caption = figure.querySelector("figcaption");
  if (!caption) continue;
  const tools = document.createElement("span");
  tools.className = "tools";
  const save = {
    SVG: (chart) => download(`${chart.name}.svg`, "image/svg+xml", chart.text),
    PNG: async (chart) => save_blob(`${chart.name}.png`, await png(chart)),
  };
  for (const [kind, run] of Object.entries(save)) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "download";
    button.textContent = kind;
    button.setAttribute("aria-label", `Save as ${kind}: ${caption.querySelector("strong")?.textContent ?? "chart"}`);
    button.addEventListener("click", () => run(alone(figure)));
    tools.append(button);
  }
  caption.prepend(tools);
}
// A link to a result that stands among the rows not shown yet.
const arrive = () => {
  if (!location.hash.startsWith("#result-") || document.getElementById(location.hash.slice(1))) return;
  [...folded.keys()].forEach(unfold);
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
};
addEventListener("hashchange", arrive);
arrive();
