// The two charts of a run: throughput against frame size, and the trials of one search.

// Lines drawn at the same time, each told from the others by its colour and its dash.
const LINES = [["--rate", []], ["--limit", [8, 4]], ["--good", [2, 3]], ["--bad", [12, 4, 2, 4]], ["--ink", [4, 4]],
  ["--soft", [1, 4]]];

// A scale of frames per second from 0: the unit is that of its end.
function rateScale(top) {
  const [one, prefix] = unitOf(top, FRAMES);
  return { one, unit: (prefix ? prefix + " " : "") + "frames/s", values: (chart, splits) =>
    splits.map((value) => String(+(value / one).toPrecision(6))) };
}

// Leaves out marks that would stand on each other, the later one.
function apart(chart, splits, least) {
  let last = -Infinity;
  return splits.map((value) => {
    const at = value == null ? -Infinity : chart.valToPos(value, "x");
    if (at - last < least) return null;
    last = at;
    return value;
  });
}

// What is drawn in device pixels on top of a chart.
function strokes(chart, colour, width, draw) {
  const { ctx } = chart;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = width * devicePixelRatio;
  draw(ctx);
  ctx.restore();
}

const interval = (square) => square.interval_fps
  ? " (" + frames(square.interval_fps[0]) + "–" + frames(square.interval_fps[1]) + ")" : "";

// Throughput so far against frame size: a line for each path, direction, number of flows and loss goal.
class Throughput {
  lines = [];
  sizes = [];
  drawn = "";

  // Squares with a frame size, as lines.
  static lines(rows) {
    const all = new Map();
    const cells = rows.flatMap((row) => row.cells.map(([, square]) => square));
    const goals = [...new Set(cells.flatMap((square) => (square.goals || []).map((goal) => goal.goal)))];
    for (const row of rows) {
      for (const [, square] of row.cells) {
        if (!square.point) continue;
        const { frame_size_bytes: size, direction, flows } = square.point;
        const name = row.path + ", " + (direction === "bi" ? "both directions" : "one direction")
          + (flows > 1 ? ", " + flows + " flows" : "");
        // Without a result yet there are no goals either.
        const found = (goal) => (square.goals || []).find((one) => one.goal === goal) || {};
        for (const goal of goals.length ? goals : [null]) {
          const line = goal == null ? name : name + ", " + goal;
          if (!all.has(line)) all.set(line, new Map());
          all.get(line).set(size, goal == null ? square : found(goal));
        }
      }
    }
    return [...all].map(([name, squares]) => ({ name, squares }));
  }

  take(board) {
    const all = Throughput.lines(board.rows);
    // Of many the first with results: they stay where they are.
    const known = all.filter((line) => [...line.squares.values()].some((square) => square.fps != null));
    const lines = (all.length > LINES.length ? known : all).slice(0, LINES.length);
    this.sizes = [...new Set(lines.flatMap((line) => [...line.squares.keys()]))].sort((a, b) => a - b);
    const drawn = JSON.stringify([lines.map((line) => line.name), this.sizes]);
    this.lines = lines;
    if (drawn !== this.drawn) this.make();
    this.drawn = drawn;
    if (!this.figure) return;
    const ends = lines.flatMap((line) => [...line.squares.values()])
      .flatMap((square) => [square.fps, ...(square.interval_fps || [])]);
    this.top = 1.1 * Math.max(1, ...ends.filter((fps) => fps != null));
    this.scale = rateScale(this.top);
    this.figure.fit();
    this.figure.show([this.sizes, ...lines.map((line) => this.sizes.map((size) => line.squares.get(size)?.fps ?? null))],
      this.scale.unit, this.top);
    this.figure.name("throughput so far in " + this.scale.unit + " against frame size; the arrow keys read values");
    const left = all.length - lines.length;
    say(this.left, left > 0 && known.length > LINES.length
      ? LINES.length + " of " + all.length + " lines are drawn; the table of test points has all" : "");
  }

  make() {
    this.figure?.remove();
    byId("throughput").replaceChildren();
    this.figure = null;
    if (!this.lines.length) return;
    const size = (idx) => this.sizes[idx];
    this.figure = new Chart(byId("throughput"), {
      label: "", x: "frame size in bytes", height: 220,
      series: [{}, ...this.lines.map((_, at) => line(LINES[at][0], { dash: LINES[at][1], spanGaps: true,
        points: { show: true, size: 7, stroke: () => colour(LINES[at][0]), fill: () => colour(LINES[at][0]) } }))],
      scales: {
        x: { time: false, distr: 3, log: 2, range: () => [this.sizes[0] / 1.25, this.sizes[this.sizes.length - 1] * 1.25] },
        y: { range: () => [0, this.top] },
      },
      axes: [
        { splits: () => this.sizes, filter: (chart, splits) => apart(chart, splits, 36), size: 24,
          values: (chart, splits) => splits.map((value) => value == null ? "" : String(value)) },
        { values: (chart, splits) => this.scale.values(chart, splits), size: 52, space: 30 },
      ],
      hooks: { draw: [(chart) => this.bars(chart)] },
      readout: (idx) => size(idx) + " bytes: " + (this.lines.map((line) => {
        const square = line.squares.get(size(idx));
        if (!square || square.fps == null) return null;
        return (this.lines.length > 1 ? line.name + " " : "") + frames(square.fps) + " frames/s" + interval(square);
      }).filter((text) => text).join("; ") || "no result yet"),
      idle: () => this.lines.some((line) => [...line.squares.values()].some((square) => square.fps != null)) ? ""
        : "no result yet",
    });
    if (this.lines.length > 1) this.legend();
    this.left = make(byId("throughput"), "p");
  }

  legend() {
    const key = make(byId("throughput"), "p", "", "key");
    this.lines.forEach((line, at) => {
      const entry = make(key, "span");
      const swatch = entry.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
      swatch.setAttribute("viewBox", "0 0 32 12");
      swatch.setAttribute("aria-hidden", "true");
      const path = swatch.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "path"));
      path.setAttribute("d", "M0 6H32");
      path.setAttribute("stroke", "var(" + LINES[at][0] + ")");
      path.setAttribute("stroke-width", "2");
      path.setAttribute("stroke-dasharray", LINES[at][1].join(" "));
      entry.append(line.name);
    });
  }

  // An interval of each point that has one.
  bars(chart) {
    this.lines.forEach((line, at) => {
      strokes(chart, colour(LINES[at][0]), 1.5, (ctx) => {
        ctx.beginPath();
        for (const [size, square] of line.squares) {
          if (!square.interval_fps) continue;
          const x = chart.valToPos(size, "x", true);
          const [low, high] = square.interval_fps.map((fps) => chart.valToPos(fps, "y", true));
          const wide = 4 * devicePixelRatio;
          ctx.moveTo(x, low); ctx.lineTo(x, high);
          for (const y of [low, high]) { ctx.moveTo(x - wide, y); ctx.lineTo(x + wide, y); }
        }
        ctx.stroke();
      });
    });
  }
}

// Marks of loss in per cent.
const LOSSES = [0, 0.001, 0.01, 0.1, 1, 10, 100];

// Loss in per cent with two digits: 0.012 %, 3.4 %, 100 %.
const percents = (ratio) => (ratio === 0 ? "0" : ratio >= 0.995 ? "100" : String(+(100 * ratio).toPrecision(2))) + " %";

const judged = (trial) => trial.within == null ? "does not count" : trial.within ? "passed" : "failed";

// The trials of one search: loss against load, and where the throughput lies by now.
class Search {
  loads = [];
  top = 1;
  goal = 0;

  take(board) {
    if (!this.figure) this.make();
    const by = new Map();
    board.trials.forEach((trial, at) => {
      if (!by.has(trial.load_fps)) by.set(trial.load_fps, []);
      by.get(trial.load_fps).push({ ...trial, number: at + 1 });
    });
    this.loads = [...by].sort(([a], [b]) => a - b);
    this.goal = board.loss_goal_ratio || 0;
    const at = board.now && board.now.cell === board.searched ? board.now : null;
    this.load = at && at.trial ? at.load_fps : null;
    this.bounds = at ? at.bounds : {};
    const highest = Math.max(1, ...this.loads.map(([load]) => load), this.load || 0, this.bounds.upper_fps || 0);
    this.right = 1.05 * highest;
    this.scale = rateScale(highest);
    const losses = board.trials.map((trial) => trial.loss_ratio);
    this.top = Math.min(100, LOSSES.find((one) => one >= 150 * Math.max(this.goal, ...losses)) || 100);
    const worst = (of) => this.loads.map(([, trials]) => {
      const some = trials.filter(of).map((trial) => 100 * trial.loss_ratio);
      return some.length ? Math.max(...some) : null;
    });
    this.figure.fit();
    this.figure.show([this.loads.map(([load]) => load), worst((trial) => trial.within === true),
      worst((trial) => trial.within === false), worst((trial) => trial.within == null)], "loss in %", this.top);
    say(this.x, "load in " + this.scale.unit);
    this.figure.name("trials of this search: loss in per cent against load in " + this.scale.unit
      + "; the arrow keys read values");
  }

  make() {
    const points = (name, shape) => ({ stroke: () => colour(name), paths: () => null, points: { show: true, size: 8,
      stroke: () => colour(name), fill: () => shape === "hollow" ? colour("--card") : colour(name),
      ...(shape === "square" && { paths: squares }) } });
    this.figure = new Chart(byId("trials"), {
      label: "", x: "load", height: 220,
      series: [{}, points("--good", "round"), points("--bad", "square"), points("--soft", "hollow")],
      scales: {
        x: { time: false, range: () => [0, this.right || 1] },
        y: { distr: 4, asinh: Math.max(0.001, 100 * this.goal || 0.01), range: () => [0, this.top] },
      },
      axes: [
        { values: (chart, splits) => this.scale.values(chart, splits), space: 60, size: 24 },
        { splits: () => LOSSES.filter((one) => one <= this.top && (one === 0 || one >= 100 * this.goal)),
          filter: (chart, splits) => splits, values: (chart, splits) => splits.map(String), size: 52 },
      ],
      hooks: { drawAxes: [(chart) => this.ground(chart)] },
      readout: (idx) => this.loads[idx] ? frames(this.loads[idx][0]) + " frames/s: " + this.loads[idx][1]
        .map((trial) => "trial " + trial.number + ", " + purpose(trial.purpose) + ", "
          + "lost " + percents(trial.loss_ratio) + ", " + judged(trial)).join("; ") : "",
      idle: () => this.loads.length ? "" : "no trial has ended yet",
    });
    this.x = this.figure.box.querySelector("figcaption span:last-child");
  }

  // Below the points: where the throughput lies, the loss goal, the load of the trial under way.
  ground(chart) {
    const { left, top, width, height } = chart.bbox;
    const x = (fps) => chart.valToPos(fps, "x", true);
    const { lower_fps: lower, upper_fps: upper } = this.bounds || {};
    if (lower != null || upper != null) {
      const from = x(Math.min(lower ?? 0, upper ?? Infinity));
      const to = upper == null ? left + width : x(Math.max(lower ?? 0, upper));
      strokes(chart, colour("--good") + "33", 0, (ctx) => ctx.fillRect(from, top, Math.max(2, to - from), height));
    }
    const dashed = (name, from, to) => strokes(chart, colour(name), 1, (ctx) => {
      ctx.setLineDash([4, 4].map((n) => n * devicePixelRatio));
      ctx.beginPath();
      ctx.moveTo(...from);
      ctx.lineTo(...to);
      ctx.stroke();
    });
    if (this.goal) {
      const y = chart.valToPos(100 * this.goal, "y", true);
      dashed("--limit", [left, y], [left + width, y]);
      strokes(chart, colour("--limit"), 0, (ctx) => {
        ctx.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
        [ctx.textAlign, ctx.textBaseline] = ["left", "alphabetic"];
        ctx.fillText("loss goal", left + 4 * devicePixelRatio, y - 4 * devicePixelRatio);
      });
    }
    if (this.load != null) dashed("--ink", [x(this.load), top], [x(this.load), top + height]);
  }
}

// Squares instead of circles, so that colour is not alone.
function squares(chart, series, from, to) {
  const path = new Path2D();
  const side = 7 * devicePixelRatio;
  for (let at = from; at <= to; at++) {
    const y = chart.data[series][at];
    if (y == null) continue;
    path.rect(chart.valToPos(chart.data[0][at], "x", true) - side / 2, chart.valToPos(y, "y", true) - side / 2, side, side);
  }
  return { fill: path, stroke: path };
}
