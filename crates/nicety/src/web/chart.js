// Charts of the live pages, on top of uPlot: colours of the theme, values where the pointer or the
// arrow keys are, a size that follows the page.
const colours = new Map();

// A colour of the style sheet as it is now.
function colour(name) {
  if (!colours.has(name)) colours.set(name, getComputedStyle(root).getPropertyValue(name).trim());
  return colours.get(name);
}

const charts = new Set();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  colours.clear();
  for (const chart of charts) chart.plot.redraw(false);
});

const follow = new ResizeObserver((entries) => {
  for (const { target } of entries) for (const chart of charts) if (chart.place === target) chart.fit();
});

const FONT = "12px system-ui, sans-serif";

function axis(more) {
  const line = { stroke: () => colour("--line"), width: 1 };
  return { stroke: () => colour("--soft"), font: FONT, grid: line, ticks: { ...line, size: 4 }, gap: 4, ...more };
}

// Steps between marks of time, in s.
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400];

// What times are called below an axis: seconds only where marks are that close.
function times(chart, splits, at, space, step) {
  return splits.map((value) => step < 60 ? timeOfDay(value) : timeOfDay(value).slice(0, 5));
}

class Chart {
  // `series` are uPlot's; `readout(idx)` is said of a point, `idle()` when none is looked at.
  constructor(parent, { label, x, height, series, scales, axes, readout, idle, hooks, sync }) {
    this.box = make(parent, "figure", "", "chart");
    const caption = make(this.box, "figcaption");
    this.unit = make(caption, "span", "", "unit");
    make(caption, "span", x);
    this.place = make(this.box, "div", "", "plot");
    this.place.tabIndex = 0;
    this.place.setAttribute("role", "group");
    this.readout = make(this.box, "p", "", "readout");
    this.height = height;
    this.say = () => {
      const idx = this.plot && this.plot.cursor.idx;
      const seen = idx != null && this.plot.cursor.left >= 0;
      say(this.readout, seen ? readout(idx) : idle ? idle() : "");
    };
    this.plot = new uPlot({
      width: this.width(), height, series, scales, legend: { show: false }, padding: [8, 28, 0, 0],
      axes: axes.map(axis),
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, ...(sync && { sync: { key: sync } }) },
      hooks: { ...hooks, setCursor: [() => this.say()] },
    }, series.map(() => []), this.place);
    this.name(label);
    this.place.addEventListener("keydown", (event) => this.key(event));
    this.place.addEventListener("blur", () => this.leave());
    charts.add(this);
    follow.observe(this.place);
  }

  width() { return Math.max(120, this.place.clientWidth); }

  fit() {
    if (this.plot.width !== this.width()) this.plot.setSize({ width: this.width(), height: this.height });
  }

  name(label) {
    if (this.place.getAttribute("aria-label") !== label) this.place.setAttribute("aria-label", label);
  }

  // Shows other values; what the vertical axis counts in stands above it.
  show(data, unit, top) {
    say(this.unit, unit);
    this.box.dataset.unit = unit;
    this.box.dataset.top = top;
    this.box.dataset.points = data[0].length;
    this.plot.setData(data);
    this.say();
  }

  // From point to point with the arrow keys; what is read is spoken then and only then.
  key(event) {
    const last = this.plot.data[0].length - 1;
    const from = this.plot.cursor.left >= 0 ? this.plot.cursor.idx : null;
    const to = { ArrowLeft: (from ?? last + 1) - 1, ArrowRight: (from ?? last) + 1, Home: 0, End: last }[event.key];
    if (event.key === "Escape") this.leave();
    if (to == null || last < 0) return;
    event.preventDefault();
    this.readout.setAttribute("aria-live", "polite");
    const at = this.plot.data[0][Math.min(last, Math.max(0, to))];
    this.plot.setCursor({ left: this.plot.valToPos(at, "x"), top: 1 });
  }

  leave() {
    this.readout.removeAttribute("aria-live");
    this.plot.setCursor({ left: -10, top: -10 });
  }

  remove() {
    charts.delete(this);
    follow.unobserve(this.place);
    this.plot.destroy();
    this.box.remove();
  }
}

// A line by its colour, dash and what else uPlot takes.
function line(name, more) {
  return { stroke: () => colour(name), width: 2, points: { show: false }, ...more };
}
