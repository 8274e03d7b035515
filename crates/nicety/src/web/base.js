"use strict";
// Parts of every live page. Nothing but text is put into a page.
const root = document.documentElement;
const byId = (id) => document.getElementById(id);

function make(parent, name, text, kind) {
  const element = document.createElement(name);
  if (text) element.textContent = text;
  if (kind) element.className = kind;
  return parent.appendChild(element);
}

// Writes only what is new: a text that stays is not laid out again.
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const kind = document.title;

// The title of the page, with the host where it may be named.
function entitle(host) {
  const title = kind + (host ? ": " + host : "");
  say(document.querySelector("h1"), title);
  if (document.title !== title) document.title = title;
}

// A button that is pressed or not, and what is to be done then.
function toggle(id, then) {
  const button = byId(id);
  button.addEventListener("click", () => {
    const pressed = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", pressed);
    then(pressed);
  });
}

const two = (n) => String(n).padStart(2, "0");

// Time of day here, of seconds since 1970 by the clock of the host.
function timeOfDay(seconds) {
  const at = new Date(1000 * seconds);
  return two(at.getHours()) + ":" + two(at.getMinutes()) + ":" + two(at.getSeconds());
}

// A length of time: 0:54, 1:02:03.
function clock(seconds) {
  const s = Math.max(0, Math.round(seconds));
  return s < 3600 ? Math.floor(s / 60) + ":" + two(s % 60)
    : Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
}

// Units by what one of them is, the largest first.
const BITS = [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"]];
const FRAMES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

// The largest unit that makes no less than 1 of a value when rounded to three digits.
function unitOf(value, units) {
  return units.find(([one]) => value >= 0.9995 * one) || units[units.length - 1];
}

// A rate in bits per second: 129 Mbit/s, 5.02 Mbit/s.
function readable(bps) {
  const [one, unit] = unitOf(bps, BITS);
  const value = bps / one;
  return (value >= 1000 || value === 0 ? value.toFixed(0) : value < 1 ? value.toFixed(1) : value.toPrecision(3))
    + " " + unit;
}

// Frames per second as in reports: 1.24 M, 208 k, 812.
function frames(fps) {
  if (fps === 0) return "0";
  const [one, prefix] = unitOf(fps, FRAMES);
  return (fps / one).toPrecision(3) + (prefix ? " " + prefix : "");
}

// How long an answer may take, in ms.
const PATIENCE = 10000;
// Least time between two drawings where less motion is asked for.
const CALM = matchMedia("(prefers-reduced-motion: reduce)").matches ? 5000 : 0;

// Asks `where()` for what is new, again and again. `take` shows it, and tells how long to wait in ms
// and when it was by the clock of the host. When nobody answers, #lost says since when.
async function live(where, take, reason, last) {
  let pause = 1000;
  try {
    const answer = await fetch(where(), { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const news = await answer.json();
    const told = take(news);
    pause = Math.max(CALM, told.pause);
    last = told.at;
    root.dataset.live = "live";
    byId("lost").hidden = !told.late;
    say(byId("lost"), told.late || "");
  } catch (error) {
    root.dataset.live = "lost";
    say(byId("lost"), (last == null ? "No answer yet: " : "No answer since " + timeOfDay(last) + ": ") + reason
      + (last == null ? "" : " What is below is old.") + " This page asks again every second. (" + error.message + ")");
    byId("lost").hidden = false;
  }
  setTimeout(live, pause, where, take, reason, last);
}
