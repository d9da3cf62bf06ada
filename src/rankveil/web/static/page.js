// Small comforts. Everything on the page works without this file.
"use strict";

const byId = (id) => document.getElementById(id);

function say(words) {
  byId("said").textContent = words;
}

// Copy buttons are of no use without scripts, so they are hidden until now.
function showCopyButtons(root) {
  for (const button of root.querySelectorAll("button.copy[hidden]")) button.hidden = false;
}

async function copy(button) {
  const text = byId(button.dataset.copy).textContent;
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
    button.firstChild.textContent = "Copied";
    setTimeout(() => { button.firstChild.textContent = "Copy"; }, 1500);
  } catch {
    const range = document.createRange();
    range.selectNodeContents(byId(button.dataset.copy));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    say("Selected; copy it with the keyboard.");
  }
}

// The slider is logarithmic and only moves the number, which is what is sent.
function tuneSlider() {
  const slider = byId("epsilon-slider");
  const number = byId("epsilon");
  if (!slider || !number) return;
  const toSlider = () => {
    const value = Number(number.value);
    // What is no ε stands at the very left: the slider must not seem to say another one.
    slider.value = String(value > 0 ? Math.min(1.3, Math.max(-2, Math.log10(value))) : -2);
    slider.setAttribute("aria-valuetext", value > 0 ? "ε = " + number.value : "no ε is given");
  };
  slider.addEventListener("input", () => {
    number.value = String(Number((10 ** Number(slider.value)).toPrecision(2)));
    toSlider();
    number.dispatchEvent(new Event("input", { bubbles: true }));
  });
  number.addEventListener("input", toSlider);
  slider.hidden = false;
  toSlider();
  // Whoever was quicker than the scripts has typed unheard.
  addEventListener("load", () => {
    if (number.value !== number.defaultValue) number.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy");
  if (button) copy(button);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sure && !confirm(form.dataset.sure)) {
    event.preventDefault();
    return;
  }
  if (form.dataset.limit) {
    const total = [...form.querySelectorAll("input[type=file]")].flatMap((input) => [...input.files]).reduce((sum, file) => sum + file.size, 0);
    const tooLarge = form.querySelector("#too-large");
    if (tooLarge) tooLarge.hidden = total <= Number(form.dataset.limit);
    if (total > Number(form.dataset.limit)) {
      event.preventDefault();
      return;
    }
  }
  // The server starts a release once however often its form is sent; this only shows that it was sent.
  if (form.dataset.once !== undefined || form.dataset.limit) {
    for (const button of form.querySelectorAll("button")) {
      button.setAttribute("aria-busy", "true");
      button.addEventListener("click", (again) => again.preventDefault());
    }
  }
});

// The table of columns: filter, ticks and keys.
const bodies = () => [...document.querySelectorAll("table.columns > tbody")];
const shownBodies = () => bodies().filter((body) => !body.hidden);
const ticked = () => bodies().filter((body) => body.querySelector(".pick input").checked);

function countTicks() {
  const count = ticked().length;
  const hidden = ticked().filter((body) => body.hidden).length;
  byId("ticked-count").textContent = count ? count + " ticked" + (hidden ? ", " + hidden + " of them not shown" : "") : "None is ticked.";
  byId("confirm-several").textContent = count ? "Confirm " + count + (count === 1 ? " ticked column" : " ticked columns") : "Confirm the ticked columns";
  const all = shownBodies();
  byId("pick-all").checked = all.length > 0 && all.every((body) => body.querySelector(".pick input").checked);
}

function filterColumns() {
  const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const show = byId("show").value;
  const kept = (body) => show === "all" || (show === "guesses" && body.classList.contains("unsure")) || (show === "misfits" && body.classList.contains("misfit")) || body.dataset.kind === show;
  let count = 0;
  for (const body of bodies()) {
    body.hidden = !(kept(body) && words.every((word) => body.dataset.words.includes(word)));
    if (!body.hidden) count += 1;
  }
  const said = byId("shown-count");
  said.textContent = count + " of " + said.textContent.replace(/^.* of /, "");
  byId("none-shown").hidden = count > 0;
  const form = byId("several");
  form.elements.q.value = byId("filter").value;
  form.elements.show.value = show;
  countTicks();
}

function moveTo(body) {
  if (!body) return;
  body.querySelector(".opens").focus({ preventScroll: true });
  body.scrollIntoView({ block: "nearest" });
}

function tickShown(on) {
  for (const body of shownBodies()) body.querySelector(".pick input").checked = on;
  countTicks();
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  if (target.id === "filter" && (event.key === "Escape" || event.key === "ArrowDown" || event.key === "Enter")) {
    event.preventDefault();
    moveTo(shownBodies()[0]);
    return;
  }
  if (target.closest("input:not([type=checkbox]), select, textarea, [contenteditable]")) return;
  const here = target.closest("table.columns > tbody");
  const inCard = target.closest(".below");
  const all = shownBodies();
  const at = all.indexOf(here);
  const act = {
    ArrowDown: () => moveTo(all[at + 1] || (at < 0 ? all[0] : null)),
    ArrowUp: () => moveTo(all[at - 1]),
    a: () => tickShown(!byId("pick-all").checked),
    "/": () => byId("filter").focus(),
    e: () => { const details = byId("several-edit"); details.open = true; byId("all-kind").focus(); },
    c: () => {
      if (ticked().length) byId("confirm-several").click();
      else if (here && here.querySelector("form.inline button")) here.querySelector(".state form button, .buttons form.inline button").click();
    },
  };
  act.j = act.ArrowDown;
  act.k = act.ArrowUp;
  if (here && !inCard && target.type !== "checkbox") {
    act[" "] = () => { const box = here.querySelector(".pick input"); box.checked = !box.checked; countTicks(); };
    if (!ticked().length) act.e = () => htmx.ajax("GET", here.querySelector(".opens").getAttribute("hx-get").split("?")[0] + "?edit", { target: here, swap: "outerHTML" });
  }
  if (inCard) act.Escape = () => here.querySelector(".opens").click();
  // Arrows scroll the page unless the keyboard is in the table.
  if (event.key.startsWith("Arrow") && (!here || inCard)) return;
  if (!act[event.key] || (target.tagName === "BUTTON" && event.key === " ")) return;
  event.preventDefault();
  act[event.key]();
}

function tuneColumns() {
  if (!document.querySelector("table.columns")) return;
  byId("keys").hidden = false;
  byId("pick-all").hidden = false;
  byId("pick-all").addEventListener("change", (event) => tickShown(event.target.checked));
  byId("filter").addEventListener("input", filterColumns);
  byId("show").addEventListener("change", filterColumns);
  document.querySelector(".filter").addEventListener("submit", (event) => event.preventDefault());
  document.querySelector("table.columns").addEventListener("change", (event) => { if (event.target.name === "c") countTicks(); });
  document.addEventListener("keydown", pressed);
  filterColumns(); // of a long page the filter can be typed in before it has loaded
}

// After a column was exchanged the keyboard stays in it, unless it has gone elsewhere in the meantime. Ticks are kept.
document.addEventListener("htmx:beforeSwap", (event) => {
  const body = event.target.closest && event.target.closest("table.columns > tbody");
  if (body) wasTicked.set(body.id, body.querySelector(".pick input").checked);
});
const wasTicked = new Map();
document.addEventListener("htmx:afterSettle", (event) => {
  showCopyButtons(document);
  const body = event.target.closest && event.target.closest("table.columns > tbody");
  if (!body) return;
  const box = body.querySelector(".pick input");
  if (wasTicked.get(body.id)) box.checked = true;
  wasTicked.delete(body.id);
  countTicks();
  const next = body.querySelector("form.edit select") || body.querySelector(".below form.inline button") || body.querySelector(".below a.button") || body.querySelector(".opens");
  if (next && document.activeElement === document.body) next.focus();
});
// When a job has ended the page is loaded anew. Until that has happened nobody needs to be asked how the job goes.
let leaving = false;
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (event.detail.xhr.getResponseHeader("HX-Refresh") === "true") leaving = true;
});
document.addEventListener("htmx:beforeRequest", (event) => {
  if (leaving) event.preventDefault();
});
document.addEventListener("htmx:sendError", () => say("The page does not answer. Is rankveil web still running?"));
document.addEventListener("htmx:responseError", (event) => {
  if (event.detail.xhr.status === 403) say("The page was restarted. Open the address printed in the terminal.");
});

// htmx, loaded before, listens from this event on: a slider that shows earlier could be moved with nobody listening.
document.addEventListener("DOMContentLoaded", () => {
  showCopyButtons(document);
  tuneSlider();
  tuneColumns();
});
