// What happens to the run, once a second; more rarely when there is much of it.
let squares = [];
let names = "";

const shown = (fps) => (fps == null ? "not known" : frames(fps));

function purpose(of) {
  if (of.kind === "latency") return "latency at " + (100 * of.load_ratio).toFixed(0) + " %";
  return { warm_up: "warm-up", search: "search", confirm: "confirm" }[of.kind] || of.kind;
}

// Mark, kind and words of a cell.
function state(name, square, board) {
  if (board.now && !board.now.control && board.now.cell === name) return ["◆", "now", "being measured"];
  if (square.skipped) return ["–", "", "skipped"];
  if (!square.worst) return ["·", "", "to come"];
  const words = square.worst + ", " + square.done + " of " + board.repeats
    + (square.fps == null ? "" : ", " + shown(square.fps) + " frames/s");
  if (square.worst === "failed") return ["×", "bad", words];
  if (square.worst !== "ok") return ["▲", "doubtful", words];
  return [square.done < board.repeats ? "▪" : "■", "ok", words];
}

function cells(board) {
  const told = board.rows.map((row) => row.path + "\n" + row.cells.map(([name]) => name).join("\n")).join("\n");
  if (told !== names) {
    byId("cells").replaceChildren();
    squares = board.rows.map((row) => {
      make(byId("cells"), "h3", row.path);
      const list = make(byId("cells"), "ul");
      return row.cells.map(() => make(list, "li"));
    });
    names = told;
  }
  board.rows.forEach((row, r) => row.cells.forEach(([name, square], c) => {
    const [mark, kind, words] = state(name, square, board);
    const element = squares[r][c];
    if (element.title === name + ": " + words) return;
    element.textContent = mark;
    element.className = kind;
    element.title = name + ": " + words;
    element.setAttribute("aria-label", element.title);
  }));
}

function now(board) {
  const at = board.now;
  byId("cell").textContent = at ? at.cell + (at.control ? " (control)" : "") : "Now";
  byId("trial").textContent = at && at.trial
    ? "trial " + at.trial[0] + ", " + purpose(at.trial[1]) + ", " + shown(at.load_fps) + " frames/s" : board.stage;
  const known = at && at.trial && at.scale_fps > 0;
  const percent = (fps) => (100 * Math.min(1, fps / at.scale_fps)).toFixed(2);
  const { lower_fps: lower, upper_fps: upper } = at ? at.bounds : {};
  byId("between").style.left = known && lower != null ? percent(lower) + "%" : "0";
  byId("between").style.right = known ? (100 - percent(upper ?? at.scale_fps)) + "%" : "100%";
  byId("load").style.display = known ? "block" : "none";
  if (known) byId("load").style.left = percent(at.load_fps) + "%";
  byId("bounds").textContent = known ? "the throughput lies between " + shown(lower) + " and " + shown(upper)
    + " frames/s" : "";
}

function cpus(board) {
  const list = byId("cpus");
  while (list.children.length > board.cores.length) list.lastChild.remove();
  board.cores.forEach((core, i) => {
    let line = list.children[i];
    if (!line) {
      line = make(list, "li");
      make(line, "span");
      const meter = make(line, "div", "", "meter");
      for (const kind of ["work", "irq", "steal"]) make(meter, "i", "", kind);
      make(line, "span");
    }
    const [label, meter, busy] = line.children;
    label.textContent = "CPU " + core.cpu;
    [core.user + core.system, core.irq + core.softirq, core.steal].forEach((share, n) => {
      meter.children[n].style.width = (100 * share).toFixed(1) + "%";
    });
    busy.textContent = (100 * (1 - core.idle)).toFixed(0) + " %";
  });
}

function take(news) {
  const board = news.board;
  const all = board.rows.flatMap((row) => row.cells.map(([, square]) => square));
  const done = all.filter((square) => square.skipped || square.done >= board.repeats).length;
  const doubtful = all.filter((square) => square.worst && !["ok", "failed"].includes(square.worst)).length;
  const failed = all.filter((square) => square.worst === "failed").length;
  byId("link").textContent = (board.now ? "measuring " + board.now.cell : board.stage)
    + (news.left_s == null ? "" : ", " + clock(news.left_s) + " left");
  byId("use").max = Math.max(1, all.length);
  byId("use").value = done;
  byId("count").textContent = done + " of " + all.length + " cells"
    + (board.sockets ? ", " + board.sockets + " socket tests" : "")
    + (doubtful ? ", " + doubtful + " doubtful" : "") + (failed ? ", " + failed + " failed" : "");
  byId("plan").textContent = news.plan + ", since " + clock(news.elapsed_s);
  now(board);
  cpus(board);
  cells(board);
  byId("recent").replaceChildren();
  for (const line of board.recent) make(byId("recent"), "li", line);
  return { pause: all.length > 500 ? 3000 : 1000, at: news.unix_s, late: "" };
}

live(() => "state.json", take, "the run has ended, or cannot be reached.");
