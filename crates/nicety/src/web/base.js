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

// Asks `where()` for what is new, again and again; `take` shows it and tells how long to wait, in
// ms. When nobody answers, #link says so.
async function live(where, take, silence) {
  let pause = 1000;
  try {
    const answer = await fetch(where(), { cache: "no-store" });
    if (!answer.ok) throw new Error(await answer.text());
    const news = await answer.json();
    byId("link").className = "";
    pause = take(news);
    root.dataset.live = "live";
  } catch (error) {
    root.dataset.live = "lost";
    byId("link").textContent = silence + " (" + error.message.trim() + ")";
    byId("link").className = "bad";
  }
  setTimeout(live, pause, where, take, silence);
}
