// What is new once a period.
// Tenants drawn at the same time, rows of the table, and how long a choice of tenants stays, in s.
const DRAWN = 12;
const ROWS = 200;
const STAYS = 10;

const past = new History();
const cards = new Map();
let rows = [];
let shown = { state: null, heldBy: [], chosen: [], until: 0, offset: 0 };
let own = false;
let paused = false;
let link;

const RATE = () => line("--rate", { fill: () => colour("--rate") + "26" });
const LIMIT = () => line("--limit", { dash: [8, 4] });
const GUARANTEE = () => line("--ink", { dash: [2, 4] });

// A figure whose scale is in bits per second: `spec.top` is its height.
function rates(parent, height, series, spec) {
  return new Chart(parent, {
    label: "", x: "time of day", height, sync: "time",
    series: [{}, ...series],
    scales: {
      x: { range: (chart, from, to) => [Math.min(from, to - 60), to] },
      y: { range: () => [0, spec.top] },
    },
    axes: [
      { values: times, incrs: STEPS, space: 60, size: 24 },
      { values: (chart, splits) => splits.map((value) => String(+(value / spec.one).toPrecision(6))), size: 52, space: 24 },
    ],
    readout: (idx) => {
      const values = spec.words.map((word, i) => [word, chart(spec).data[i + 1][idx]]);
      const known = values.filter(([, value]) => value != null).map(([word, value]) => word + " " + readable(value));
      return timeOfDay(chart(spec).data[0][idx]) + ": " + (known.join(", ") || "no answer");
    },
  });
}

const chart = (spec) => spec.figure.plot;

// Shows values in bits per second up to `top`.
function plot(spec, values, top) {
  const [one, unit] = unitOf(top, BITS);
  Object.assign(spec, { one, top });
  spec.figure.show([past.at.map((at) => at + shown.offset), ...values], unit, top);
}

const constant = (value) => past.at.map(() => value || null);

function card(name) {
  const box = document.createElement("article");
  make(box, "h2", name);
  const list = make(box, "dl");
  const number = (label, kind) => {
    const cell = make(list, "div");
    make(cell, "dt", label);
    return make(cell, "dd", "", kind);
  };
  const made = { box, sends: number("sends", "rate"), may: number("may send", "may"), guarantee: number("guarantee"),
    weight: number("weight"), top: 1, one: 1, words: ["sends", "may send", "guarantee"] };
  made.figure = rates(box, 120, [RATE(), LIMIT(), GUARANTEE()], made);
  made.above = make(made.figure.box, "p", "", "above");
  made.why = make(box, "p");
  made.more = make(box, "p");
  made.ports = make(box, "p");
  return made;
}

const idle = (tenant) => tenant.rate_bps < 1e3 && tenant.bottleneck.kind === "own-demand";

function numbers(tenant) {
  return { sends: idle(tenant) || tenant.bottleneck.kind === "absent" ? "–" : readable(tenant.rate_bps),
    may: readable(tenant.limit_bps) + (tenant.burst ? ", burst credit " + tenant.burst.lasts_s.toFixed(1) + " s" : ""),
    guarantee: tenant.guarantee_bps ? readable(tenant.guarantee_bps) : "–",
    weight: String(tenant.weight) };
}

// What else of a tenant the policy limits: packets that it sends, and what it receives.
function others(state, name) {
  const packets = (of, does) => of ? [does + " " + Math.round(of.rate_pps) + " of at most " + Math.round(of.limit_pps) + " packets/s"] : [];
  const find = (all) => all?.tenants.find((of) => of.tenant === name);
  const received = find(state.received);
  const credit = received?.burst ? ", burst credit " + received.burst.lasts_s.toFixed(1) + " s" : "";
  return [...packets(find(state.packets), "sends"),
    ...(received ? ["receives " + readable(received.rate_bps) + " of at most " + readable(received.limit_bps) + credit] : []),
    ...packets(find(state.received?.packets), "receives")].join("; ");
}

const wrong = (port) => !port.present || port.enforcement === "not-enforced";

function portWords(port) {
  if (!port.present) return port.port + (port.waits ? " (waits)" : " (not there)");
  const is = port.interface ? ", now " + port.interface : "";
  return port.port + is + (port.enforcement === "not-enforced" ? " (limit not enforced)" : "");
}

// Which tenants are drawn, in the order of the policy: those that are sought, and of many those that
// send most. It stays for some seconds, so that the page does not jump.
function choose(state, sought) {
  if (sought.length <= DRAWN) return sought;
  const names = new Set(sought.map((at) => state.tenants[at].tenant));
  const stays = shown.chosen.length === DRAWN && shown.chosen.every((name) => names.has(name));
  if (!stays || past.last() > shown.until) {
    const most = [...names].map((name) => [past.mean(name), name]).sort((a, b) => b[0] - a[0]);
    shown.chosen = most.slice(0, DRAWN).map(([, name]) => name);
    shown.until = past.last() + STAYS;
  }
  const chosen = new Set(shown.chosen);
  return sought.filter((at) => chosen.has(state.tenants[at].tenant));
}

// Makes and removes cards until there is one for each of these names, in this order.
function deal(names) {
  for (const [name, made] of cards) {
    if (names.includes(name)) continue;
    made.figure.remove();
    made.box.remove();
    cards.delete(name);
  }
  names.forEach((name, at) => {
    const place = byId("tenants").children[at];
    let made = cards.get(name);
    if (!made) {
      made = card(name);
      cards.set(name, made);
    }
    if (made.box !== place) byId("tenants").insertBefore(made.box, place || null);
  });
}

function drawTenant(tenant, heldBy, ports, top) {
  const made = cards.get(tenant.tenant);
  const { rate, limit } = past.tenants.get(tenant.tenant);
  made.figure.fit();
  plot(made, [rate, limit, constant(tenant.guarantee_bps)], top);
  made.figure.box.dataset.limit = tenant.limit_bps;
  made.figure.name(tenant.tenant + ": what it sends and may send, " + made.figure.unit.textContent
    + "; the arrow keys read values");
  const told = numbers(tenant);
  for (const word of ["sends", "may", "guarantee", "weight"]) say(made[word], told[word]);
  say(made.above, above([["limit", tenant.limit_bps], ["guarantee", tenant.guarantee_bps]], top));
  say(made.why, heldBy);
  say(made.more, others(shown.state, tenant.tenant));
  made.more.hidden = !made.more.textContent;
  made.ports.className = ports.some(wrong) ? "bad" : "";
  say(made.ports, ports.slice(0, 8).map(portWords).join(", ") + (ports.length > 8 ? " and " + (ports.length - 8) + " more" : ""));
}

function drawLink(state) {
  if (!link) {
    link = { top: 1, one: 1, words: ["all send", "link"] };
    link.figure = rates(byId("total"), 150, [RATE(), LIMIT()], link);
    link.above = make(link.figure.box, "p", "", "above");
  }
  const all = [...past.tenants.values()];
  const sums = past.at.map((_, i) => all.some((of) => of.rate[i] != null) ? all.reduce((sum, of) => sum + of.rate[i], 0) : null);
  const top = heightOf(Math.max(0, ...sums), [state.capacity_bps], state.capacity_bps);
  plot(link, [sums, constant(state.capacity_bps)], top);
  link.figure.name("the link: what all tenants send together, " + link.figure.unit.textContent
    + "; the arrow keys read values");
  say(link.above, above([["the link's " + "rate of", state.capacity_bps]], top));
}

function table(state, sought) {
  const some = sought.slice(0, ROWS);
  const body = byId("rows");
  while (rows.length > some.length) rows.pop()[0].parentElement.remove();
  while (rows.length < some.length) {
    const row = make(body, "tr");
    const name = make(row, "th");
    name.scope = "row";
    rows.push([name, ...["number", "number", "number", "number", ""].map((kind) => make(row, "td", "", kind))]);
  }
  some.forEach((at, n) => {
    const tenant = state.tenants[at];
    const told = numbers(tenant);
    const texts = [tenant.tenant, told.sends, told.may, told.guarantee, told.weight, shown.heldBy[at]];
    texts.forEach((text, column) => say(rows[n][column], text));
  });
  say(byId("listed"), some.length < sought.length ? some.length + " of " + sought.length + " are listed; filter to see others" : "");
}

function draw() {
  const { state } = shown;
  if (!state) return;
  entitle(state.host);
  const total = state.decision.total_bps;
  say(byId("link"), readable(total) + " of " + readable(state.capacity_bps) + " used, "
    + (state.decision.level_bps == null ? "link not full"
      : "link full: " + readable(state.decision.level_bps) + " for each unit of weight"));
  const loose = state.decision.ports.filter((port) => port.present && port.enforcement === "not-enforced").length;
  say(byId("loose"), loose ? "Limits not enforced: " + loose + ". Their ports are marked below." : "");
  byId("loose").hidden = !loose;
  say(byId("daemon"), state.policy + ", every " + state.period_s + " s, limits written: " + state.writes
    + ", errors: " + state.errors);
  const ports = state.tenants.map(() => []);
  for (const port of state.decision.ports) ports[port.tenant]?.push(port);
  const word = byId("filter").value.trim().toLowerCase();
  const sought = state.tenants.map((_, at) => at).filter((at) => state.tenants[at].tenant.toLowerCase().includes(word)
    || ports[at].some((port) => (port.port + " " + (port.interface ?? "")).toLowerCase().includes(word)));
  const drawn = choose(state, sought);
  const names = drawn.map((at) => state.tenants[at].tenant);
  deal(names);
  drawLink(state);
  const marks = (at) => [state.tenants[at].limit_bps, state.tenants[at].guarantee_bps];
  const common = heightOf(past.highest(names), drawn.flatMap(marks), state.capacity_bps);
  for (const at of drawn) {
    const tenant = state.tenants[at];
    const top = own ? heightOf(past.highest([tenant.tenant]), marks(at), state.capacity_bps) : common;
    drawTenant(tenant, shown.heldBy[at], ports[at], top);
  }
  say(byId("drawn"), drawn.length < state.tenants.length ? drawn.length + " of " + state.tenants.length + " tenants are drawn"
    + (drawn.length < sought.length ? ", those that send most" : "") : "");
  table(state, sought);
}

function take(news) {
  const { state } = news;
  past.pause = 3 * state.period_s + 1;
  past.take(state.tenants.map((tenant) => tenant.tenant), news.history, state.written_s);
  // Times are the host's: the clock here may be another.
  shown.state = state;
  // The words of `nicety police status TENANT`.
  shown.heldBy = news.held_by;
  shown.offset = news.ended_unix_s - state.written_s;
  if (!paused) draw();
  root.dataset.periods = past.at.length;
  const late = news.age_s > 3 * state.period_s + 1
    ? "The last period ended at " + timeOfDay(news.ended_unix_s) + ", " + clock(news.age_s) + " ago. The daemon answers but does not"
      + " get on; see its log." : "";
  return { pause: Math.max(500, 1000 * state.period_s), at: news.ended_unix_s + news.age_s, late };
}

toggle("own", (pressed) => {
  own = pressed;
  draw();
});
toggle("pause", (pressed) => {
  paused = pressed;
  if (!paused) draw();
});
byId("filter").addEventListener("input", draw);

live(() => "state.json?since=" + past.last(), take, "the daemon has ended, or cannot be reached.");
