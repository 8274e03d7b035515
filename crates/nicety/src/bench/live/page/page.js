// What happens to the run, once a second; more rarely when there is much of it.
let tiles = [];
let names = "";
const throughput = new Throughput();
const search = new Search();

function purpose(of) {
  if (of.kind === "latency") return "latency at " + (100 * of.load_ratio).toFixed(0) + " %";
  return { warm_up: "warm-up", search: "search", confirm: "confirm" }[of.kind] || of.kind;
}

// The number is the path's own, within an interval that may be wide.
const own = (verdict) => verdict === "ok" || verdict === "wide";

// Mark, kind and words of a test point.
function state(name, square, board) {
  if (board.now && !board.now.control && board.now.cell === name) return ["◆", "now", "being measured"];
  if (square.skipped) return ["–", "", "skipped"];
  if (!square.worst) return ["·", "", "to come"];
  const words = square.worst + ", " + square.done + " of " + Math.max(board.repeats, square.done) + " visits"
    + (square.goals
      ? ", frames/s: " + square.goals.map((goal) => goal.goal + " " + (goal.fps == null ? "none" : frames(goal.fps) + interval(goal))).join(", ")
      : square.fps == null ? "" : ", " + frames(square.fps) + " frames/s" + interval(square));
  if (square.worst === "failed") return ["×", "bad", words];
  if (!own(square.worst)) return ["▲", "doubtful", words];
  return [square.done < board.repeats ? "▪" : "■", "ok", words];
}

function cells(board) {
  const told = board.rows.map((row) => row.path + "\n" + row.cells.map(([name]) => name).join("\n")).join("\n");
  if (told !== names) {
    byId("cells").replaceChildren();
    tiles = board.rows.map((row) => {
      make(byId("cells"), "h3", row.path);
      const list = make(byId("cells"), "ul");
      return row.cells.map(() => {
        const item = make(list, "li");
        const mark = make(item, "span");
        mark.setAttribute("role", "img");
        return mark;
      });
    });
    names = told;
  }
  board.rows.forEach((row, r) => row.cells.forEach(([name, square], c) => {
    const [mark, kind, words] = state(name, square, board);
    const element = tiles[r][c];
    if (element.title === name + ": " + words) return;
    element.textContent = mark;
    element.className = kind;
    element.title = name + ": " + words;
    element.setAttribute("aria-label", element.title);
  }));
}

// Which test point is looked at, by pointer or keyboard.
function look(element, spoken) {
  const all = tiles.flat();
  for (const one of all) one.parentElement.classList.toggle("at", one === element && spoken);
  if (spoken) byId("point").setAttribute("aria-live", "polite");
  else byId("point").removeAttribute("aria-live");
  say(byId("point"), element ? element.title : "");
}

byId("cells").addEventListener("mouseover", (event) => {
  // A page that scrolls under a pointer at rest tells of it too.
  if (event.movementX || event.movementY) look(event.target.closest("[role=img]"), false);
});
byId("cells").addEventListener("mouseleave", () => look(null, false));
byId("cells").addEventListener("blur", () => look(null, false));
byId("cells").addEventListener("keydown", (event) => {
  const all = tiles.flat();
  const from = all.findIndex((one) => one.parentElement.classList.contains("at"));
  const last = all.length - 1;
  const to = { ArrowLeft: from < 0 ? last : from - 1, ArrowRight: from + 1, Home: 0, End: last }[event.key];
  if (event.key === "Escape") look(null, false);
  if (to == null || last < 0) return;
  event.preventDefault();
  look(all[Math.min(last, Math.max(0, to))], true);
});

function now(news) {
  const { board } = news;
  const at = board.now;
  say(byId("cell"), at ? at.cell + (at.control ? " (control)" : "") : board.searched || "This search");
  say(byId("trial"), at && at.trial ? "trial " + at.trial[0] + ": " + news.words.search + " frames/s" : board.stage);
  search.take(board);
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
    say(label, "CPU " + core.cpu);
    [core.user + core.system, core.irq + core.softirq, core.steal].forEach((share, n) => {
      meter.children[n].style.width = (100 * share).toFixed(1) + "%";
    });
    say(busy, (100 * (1 - core.idle)).toFixed(0) + " %");
  });
}

function take(news) {
  const board = news.board;
  const squares = board.rows.flatMap((row) => row.cells.map(([, square]) => square));
  const planned = squares.filter((square) => !square.skipped).length * board.repeats;
  const visits = squares.reduce((sum, square) => sum + (square.skipped ? 0 : Math.min(square.done, board.repeats)), 0);
  entitle(board.host);
  say(byId("link"), (board.now ? "measuring " + board.now.cell : board.stage)
    + (news.words.left ? ", " + news.words.left : ""));
  byId("use").max = Math.max(1, planned);
  byId("use").value = visits;
  say(byId("count"), news.words.counts.concat(board.repeats > 1 ? visits + " of " + planned + " visits" : []).join(", "));
  say(byId("plan"), news.plan + ", running for " + clock(news.elapsed_s));
  throughput.take(board);
  now(news);
  cpus(board);
  cells(board);
  const list = byId("recent");
  if ([...list.children].map((item) => item.textContent).join("\n") !== board.recent.join("\n")) {
    list.replaceChildren();
    for (const line of board.recent) make(list, "li", line);
  }
  return { pause: squares.length > 500 ? 3000 : 1000, at: news.unix_s, late: "" };
}

live(() => "state.json", take, "the run has ended, or cannot be reached.");
