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
    if (value > 0) slider.value = String(Math.min(1.3, Math.max(-2, Math.log10(value))));
    slider.setAttribute("aria-valuetext", "ε = " + number.value);
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

// After a card was exchanged the keyboard stays in it, unless it has gone elsewhere in the meantime.
document.addEventListener("htmx:afterSettle", (event) => {
  showCopyButtons(document);
  const card = event.target.closest && event.target.closest(".card");
  if (!card) return;
  const next = card.querySelector("form.edit select") || card.querySelector("form.inline button") || card.querySelector("h2");
  if (next && document.activeElement === document.body) next.focus();
});
document.addEventListener("htmx:sendError", () => say("The page does not answer. Is rankveil web still running?"));
document.addEventListener("htmx:responseError", (event) => {
  if (event.detail.xhr.status === 403) say("The page was restarted. Open the address printed in the terminal.");
});

// htmx, loaded before, listens from this event on: a slider that shows earlier could be moved with nobody listening.
document.addEventListener("DOMContentLoaded", () => {
  showCopyButtons(document);
  tuneSlider();
});
