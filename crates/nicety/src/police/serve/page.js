// What is new once a period.
const SVG = "http://www.w3.org/2000/svg";
const KEPT = 600;
let history = [];
let cards = [];
let names = "";

function readable(bps) {
  if (bps == null) return "more";
  if (bps >= 9.995e9) return (bps / 1e9).toFixed(1) + " Gbit/s";
  if (bps >= 0.9995e6) return (bps / 1e6).toFixed(1) + " Mbit/s";
  return (bps / 1e3).toFixed(0) + " kbit/s";
}

function card(tenant) {
  const box = make(byId("tenants"), "article");
  make(box, "h2", tenant.tenant);
  const list = make(box, "dl");
  const number = (label, kind) => {
    const cell = make(list, "div");
    make(cell, "dt", label);
    return make(cell, "dd", "", kind);
  };
  const made = { rate: number("sends", "rate"), wants: number("wants"), may: number("may send", "may") };
  const svg = box.appendChild(document.createElementNS(SVG, "svg"));
  svg.setAttribute("viewBox", "0 0 100 40");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  made.svg = svg;
  for (const kind of ["area", "line", "cap"]) {
    made[kind] = svg.appendChild(document.createElementNS(SVG, "path"));
    made[kind].setAttribute("class", kind);
  }
  made.why = make(box, "p");
  made.ports = make(box, "p");
  return made;
}

function path(values, top) {
  const last = Math.max(values.length - 1, 1);
  return values.map((value, i) =>
    (i ? "L" : "M") + (100 * i / last).toFixed(2) + " " + (39 - 38 * value / top).toFixed(2)).join("");
}

function why(tenant) {
  const of = tenant.bottleneck;
  if (of.kind === "absent") return of.why || "none of its ports is there";
  if (of.kind === "own-demand") return "gets all it asks for";
  if (of.kind === "cap") return "its cap is the bottleneck";
  if (of.kind === "soft-limit") return "its own soft limit is the bottleneck";
  const more = Math.max(0, of.with.length - 3) + (of.more || 0);
  return "the link is the bottleneck" + (of.with.length ? ", shared with " + of.with.slice(0, 3).join(", ") : "")
    + (more ? " and " + more + " more" : "");
}

function namesOf(state) {
  return state.tenants.map((tenant) => tenant.tenant).join("\n");
}

function draw(state) {
  const told = namesOf(state);
  if (told !== names) {
    byId("tenants").replaceChildren();
    cards = state.tenants.map(card);
    names = told;
  }
  const total = state.decision.total_bps;
  const share = Math.min(1, total / state.capacity_bps);
  byId("link").textContent = readable(total) + " of " + readable(state.capacity_bps)
    + (state.decision.level_bps == null ? ", all demand fits"
      : ", level " + readable(state.decision.level_bps) + " for each unit of weight");
  byId("use").style.width = (100 * share).toFixed(1) + "%";
  byId("daemon").textContent = state.policy + ", every " + state.period_s + " s, "
    + state.writes + " limits written, " + state.errors + " errors";
  state.tenants.forEach((tenant, i) => {
    const made = cards[i];
    const rates = history.map((point) => point.rate[i] || 0);
    // A limit that the link has not is no news: the picture is as high as what is sent needs it.
    const top = Math.max(1e3, 1.25 * Math.max(...rates, tenant.rate_bps));
    const limits = history.map((point) => Math.min(point.limit[i] || 0, top * 1.02));
    made.rate.textContent = readable(tenant.rate_bps);
    made.wants.textContent = readable(tenant.demand_bps);
    made.may.textContent = readable(tenant.limit_bps);
    made.line.setAttribute("d", path(rates, top));
    made.area.setAttribute("d", path(rates, top) + "L100 39L0 39Z");
    made.cap.setAttribute("d", path(limits, top));
    made.svg.setAttribute("aria-label", tenant.tenant + ": rate and limit of the last "
      + history.length + " periods");
    made.why.textContent = "weight " + tenant.weight + ", " + why(tenant);
    const ports = state.decision.ports.filter((port) => port.tenant === i);
    const wrong = ports.filter((port) => !port.present || port.enforcement === "not-enforced");
    made.ports.className = wrong.length ? "bad" : "";
    made.ports.textContent = ports.slice(0, 8).map((port) => port.port
      + (!port.present ? (port.waits ? " (waits)" : " (not there)") : port.enforcement === "not-enforced" ? " (limit not enforced)" : ""))
      .join(", ") + (ports.length > 8 ? " and " + (ports.length - 8) + " more" : "");
  });
}

function take(news) {
  // Under another policy the curves are of others.
  if (namesOf(news.state) !== names) history = [];
  history = history.concat(news.history).slice(-KEPT);
  draw(news.state);
  root.dataset.periods = history.length;
  return Math.max(500, 1000 * news.state.period_s);
}

live(() => "state.json?since=" + (history.length ? history[history.length - 1].at_s : 0), take,
  "the daemon does not answer; what is below is old");
