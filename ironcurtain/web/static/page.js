// What pages do beyond links and forms. Markup comes from the server alone: a page that changes is fetched
// anew, and its parts with `data-live` take the place of those that are shown. It runs before the page is
// read, so that no key and no choice is lost however slowly the rest arrives.
"use strict";
const one = (selector, from = document) => from.querySelector(selector);
const all = (selector, from = document) => [...from.querySelectorAll(selector)];
document.documentElement.classList.add("js");

// -- parts that change ---------------------------------------------------------------------------

function replace(fresh) {
  for (const old of all("[data-live]")) {
    const now = one(`#${CSS.escape(old.id)}`, fresh);
    if (!now) continue;
    const same = "version" in now.dataset
      ? now.dataset.version === old.dataset.version
      : now.isEqualNode(old);
    if (same) continue;
    for (const shown of all("details[open]", old)) one(`#${CSS.escape(shown.id)}`, now)?.setAttribute("open", "");
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    old.replaceWith(document.adoptNode(now));
    if (focused) document.getElementById(focused)?.focus();
  }
  document.title = fresh.title;
}

let paused = false;
function pause(button) {
  paused = !paused;
  button.setAttribute("aria-pressed", String(paused));
  button.textContent = paused ? "Go on" : "Pause";
  if (!paused) renew();
}

let fetching = false, again = false;
async function renew() {
  if (paused) return;
  if (fetching) { again = true; return; }
  fetching = true;
  try {
    do {
      again = false;
      const answer = await fetch(location.href, { redirect: "error" });
      if (answer.status === 403 || answer.status === 421) { ended(); return; }  // 421: the command runs anew
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (paused) return;  // it was asked for before somebody wanted to read in peace
      replace(fresh);
      told();
    } while (again);
  } catch { say("No connection to ironcurtain web."); } finally { fetching = false; }
}

function say(words) {
  const place = one("#connection");
  if (place && place.textContent !== words) place.textContent = words;
}

function ended() {
  stream?.close();
  say("This session is over. Open the address that ironcurtain web shows in its terminal.");
  for (const button of all("main button")) button.disabled = true;
}

let stream = null;
function follow(address) {
  stream = new EventSource(address);
  stream.addEventListener("version", () => { say(""); renew(); });
  stream.addEventListener("over", ended);
  stream.onerror = () => {
    say("No connection to ironcurtain web. What is shown may be old.");
    if (stream.readyState === EventSource.CLOSED) renew();
  };
}

// -- deciding while somebody types ---------------------------------------------------------------

let asking = false, typedSince = false, looking = null;
async function decide(form) {
  typedSince = true;
  looking?.abort();
  if (asking) return;
  asking = true;
  while (typedSince) {
    typedSince = false;
    const follows = await ask(form, { nearby: "later" });
    if (!follows || typedSince) continue;
    looking = new AbortController();
    await ask(form, {}, looking.signal);
  }
  asking = false;
}

// Shows what is decided; returns whether what is nearby has to be asked for, which takes longer.
async function ask(form, more, signal) {
  try {
    const body = new URLSearchParams([...new FormData(form), ...Object.entries(more)]);
    const answer = await fetch(form.action, { method: "POST", body, redirect: "error", signal });
    if (answer.status === 403) { ended(); return false; }
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    say(answer.ok ? "" : one("main p", fresh)?.textContent ?? "Not decided.");
    if (!answer.ok) return false;
    const follows = !one("#nearby", fresh);
    replace(fresh);
    one("#nearby").inert = follows;  // until then it is that of another call
    return follows;
  } catch {
    if (!signal?.aborted) say("No connection to ironcurtain web. What is shown may be old.");
    return false;
  }
}

function typed(event) {
  const form = event.target.form;
  if (form?.matches("[data-while-typing]")) decide(form);
}

// -- what waits ----------------------------------------------------------------------------------

let known = null;
function told() {
  const rows = all("[data-row]").map((row) => row.id);
  if (known !== null && rows.some((row) => !known.has(row)) && sound()) ring();
  known = new Set(rows);
}

const sound = () => one("#sound")?.getAttribute("aria-pressed") === "true";
function ring() {
  const audio = new AudioContext(), tone = audio.createOscillator(), volume = audio.createGain();
  volume.gain.value = 0.1;
  tone.connect(volume).connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.15);
  tone.onended = () => audio.close();
}

function count() {
  for (const place of all("[data-expires]")) {
    const left = Math.max(0, Math.floor((Date.parse(place.dataset.expires) - Date.now()) / 1000));
    place.textContent = `, ${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")} left`;
  }
}

// -- reading before approving --------------------------------------------------------------------

let wasRead = false;
function reading() {
  const box = one("[data-to-the-end]"), check = one("[data-after-the-end]");
  if (!box || !check) return;
  wasRead ||= box.scrollTop + box.clientHeight >= box.scrollHeight - 2;
  check.disabled = !wasRead;
  one("#to-the-end").hidden = wasRead;
  for (const button of all("[data-after-reading]")) button.disabled = !check.checked;
}

// -- passkeys ------------------------------------------------------------------------------------

async function confirmed(event) {
  const form = event.target, button = event.submitter, field = one("[name=passkey]", form);
  const { makesPasskey, asksPasskey } = button?.dataset ?? {};
  if (!(makesPasskey || asksPasskey) || field.value) return;
  event.preventDefault();
  try {
    const given = makesPasskey
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(makesPasskey)) })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(JSON.parse(asksPasskey)) });
    field.value = JSON.stringify(given.toJSON());
    form.requestSubmit(button);
    field.value = "";  // it was sent; whatever is pressed next is asked for anew
  } catch { one("#passkey-trouble").textContent = "The passkey was not given, so nothing was done."; }
}

// -- keys ----------------------------------------------------------------------------------------

function pressed(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input:not([type=checkbox]),select,textarea")) return;
  const rows = all("[data-row]");
  if (event.key === "j" || event.key === "k") {
    const at = rows.indexOf(document.activeElement);
    const next = at < 0 ? 0 : Math.min(Math.max(at + (event.key === "j" ? 1 : -1), 0), rows.length - 1);
    rows[next]?.focus();
  } else if (event.key === "d") one("#deny")?.focus();
  else if (event.key === "a") {
    reading();
    const check = one("#read");
    (check?.disabled ? one("[data-to-the-end]") : check?.checked ? one("[data-after-reading]") : check)?.focus();
  }
}

// -- begin ---------------------------------------------------------------------------------------

function sounding(bell) {
  const on = bell.getAttribute("aria-pressed") !== "true";
  bell.setAttribute("aria-pressed", String(on));
  bell.textContent = on ? "Sound on" : "Sound off";
}

function changed(event) {
  reading();
  event.target.closest("form[data-send-on-change]")?.requestSubmit();
}

function begin() {
  one("form[data-send-at-once]")?.requestSubmit();
  const followed = one("[data-changes]");
  if (followed) { told(); follow(followed.dataset.changes); }
  for (const [name, does] of [["#pause", pause], ["#sound", sounding]]) {
    const button = one(name);
    if (!button) continue;
    button.hidden = false;
    button.addEventListener("click", () => does(button));
  }
  const chosen = one(".sentences [aria-current]"), list = chosen?.closest(".sentences");
  if (chosen) list.scrollTop += chosen.getBoundingClientRect().top - list.getBoundingClientRect().top - list.clientHeight / 3;
  count();
  setInterval(count, 1000);
  reading();
  one("[data-to-the-end]")?.addEventListener("scroll", reading);
}

addEventListener("resize", reading);
document.addEventListener("change", changed);
document.addEventListener("input", typed);
document.addEventListener("keydown", pressed);
document.addEventListener("submit", confirmed);
document.addEventListener("DOMContentLoaded", begin);
