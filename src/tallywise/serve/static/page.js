// What makes the pages quick: a form or link replaces a part of the page, keys press buttons, figures stay up to date.
"use strict";
(() => {
  const typing = (element) => element.matches("input:not([type=checkbox]):not([type=range]), textarea, select");

  // --- swap: fetch a page and put its part in the place of ours ---
  let swapping = false;
  async function swap(selector, url, options, keep) {
    if (swapping) return;
    swapping = true;
    document.body.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(url, { credentials: "same-origin", ...options }).catch(() => null);
      if (!response) return announce("The service does not answer. Is it still running?");
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const fresh = page.querySelector(selector);
      if (!fresh) return void location.assign(response.url);
      document.querySelector(selector).replaceWith(fresh);
      replace("#status", page);
      shown = state();
      document.title = page.title;
      if (!keep) history.pushState(null, "", response.url);
      ready(fresh);
      const first = fresh.querySelector("[autofocus]");
      if (first) first.focus();
    } finally {
      swapping = false;
      document.body.removeAttribute("aria-busy");
    }
  }

  function replace(selector, page) {
    const ours = document.querySelector(selector);
    const theirs = page.querySelector(selector);
    if (ours && theirs && ours.innerHTML !== theirs.innerHTML) ours.replaceWith(theirs);
  }

  function announce(message) {
    const line = document.createElement("p");
    line.className = "wrong";
    line.setAttribute("role", "alert");
    line.textContent = message;
    document.getElementById("main").prepend(line);
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    const pressed = event.submitter;
    const question = pressed && pressed.dataset.confirm;
    if (question && !confirm(question)) return event.preventDefault();
    if (!form.dataset.swap) return;
    event.preventDefault();
    const fields = new FormData(form, pressed);
    const body = new URLSearchParams(fields);
    if (form.method === "post") swap(form.dataset.swap, form.action, { method: "POST", body }, form.action.endsWith("/try"));
    else swap(form.dataset.swap, form.action + "?" + body, {});
  });

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto]");
    if (form) form.requestSubmit();
    const all = event.target.dataset.all;
    if (all) document.getElementsByName(all).forEach((box) => (box.checked = event.target.checked));
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-swap]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    swap(link.dataset.swap, link.href, {});
  });

  addEventListener("popstate", () => swap("#main", location.href, {}, true));

  // --- keys ---
  let going = false;
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return;
    const name = (event.ctrlKey ? "ctrl+" : "") + event.key;
    // A browser would press the form's first button, which may be anything.
    if (event.key === "Enter" && event.target.matches("[type=checkbox]")) return event.preventDefault();
    if (typing(event.target) && !event.ctrlKey) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
    if (going) {
      going = false;
      const link = document.querySelector(`nav a[data-go="${CSS.escape(event.key)}"]`);
      if (link) return link.click();
    }
    if (name === "g") return void (going = true);
    if (name === "j" || name === "k") return move(name === "j" ? 1 : -1);
    const row = document.querySelector("tr.here");
    if (row && name === "x") return void row.querySelector("input[type=checkbox]").click();
    const own = row && row.querySelector(`[data-row-key="${CSS.escape(name)}"]`);
    const target = own || document.querySelector(`[data-key="${CSS.escape(name)}"]`);
    if (!target || target.disabled) return;
    event.preventDefault();
    if (typing(target)) target.focus();
    else target.click();
  });

  function move(step) {
    const rows = [...document.querySelectorAll("tr[data-row]")];
    if (!rows.length) return;
    const at = rows.findIndex((row) => row.classList.contains("here"));
    const to = Math.min(Math.max(at + step, 0), rows.length - 1);
    rows.forEach((row, k) => row.classList.toggle("here", k === to));
    rows[to].scrollIntoView({ block: "nearest" });
    rows[to].querySelector("a").focus();
  }

  // --- live figures ---
  function state() {
    const line = document.querySelector("#status b");
    return line ? line.textContent + (document.querySelector("#status .busy") ? " …" : "") : "";
  }
  // This page anew; the text to label stays, or a key meant for it would label another.
  function same() {
    const url = new URL(location.href);
    const text = document.querySelector("#label-form input[name=id]");
    if (text) url.searchParams.set("id", text.value);
    return url;
  }
  let shown = state(); // what the page was made from
  setInterval(async () => {
    const line = document.querySelector("[data-poll]");
    if (!line || document.hidden || swapping) return;
    try {
      const response = await fetch(line.dataset.poll, { credentials: "same-origin" });
      if (!response.ok || swapping) return;
      replace("#status", new DOMParser().parseFromString(await response.text(), "text/html"));
      const now = state();
      // A new model, or a fit that has ended: pages that show it are fetched anew, once the person is not at work there.
      const shows = /\/(model|label|topics)$/.test(location.pathname);
      const busy = document.querySelector("#main input:checked") || typing(document.activeElement);
      if (now === shown || (busy && !now.endsWith("…"))) return;
      shown = now;
      if (shows && !now.endsWith("…")) swap("#main", same(), {}, true);
    } catch (error) {
      document.querySelector("#status").textContent = "The service does not answer.";
    }
  }, 2000);

  // --- sliders ---
  const percent = (x) => (100 * x).toFixed(1) + " %";
  function threshold(slider) {
    const rows = JSON.parse(slider.dataset.sweep);
    const names = JSON.parse(slider.dataset.names);
    const positive = Number(slider.dataset.positive);
    const start = Number(slider.dataset.start);
    slider.max = rows.length - 1;
    slider.value = rows.reduce((best, row, k) => (Math.abs(row[0] - start) < Math.abs(rows[best][0] - start) ? k : best), 0);
    const show = () => {
      const [at, lost, lostLow, lostHigh, caught, caughtLow, caughtHigh] = rows[Number(slider.value)];
      const put = (id, text) => (document.getElementById("threshold-" + id).textContent = text);
      put("at", at.toFixed(3));
      put("lost", `${percent(lost)} (${percent(lostLow)} to ${percent(lostHigh)})`);
      put("caught", `${percent(caught)} (${percent(caughtLow)} to ${percent(caughtHigh)})`);
      put("this", names[Number(slider.dataset.now) >= at ? positive : 1 - positive]);
      slider.setAttribute("aria-valuetext", at.toFixed(3));
    };
    slider.addEventListener("input", show);
    show();
  }

  function ready(root) {
    root.querySelectorAll("[data-sweep]").forEach(threshold);
    root.querySelectorAll("[data-show]").forEach((slider) =>
      slider.addEventListener("input", () =>
        document.querySelectorAll("[data-words]").forEach((part) => (part.hidden = part.dataset.words !== slider.value))
      )
    );
  }
  ready(document);
})();
