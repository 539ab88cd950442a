// What makes the pages quick: a form or link replaces a part of the page, keys press buttons, figures stay up to date.
"use strict";
(() => {
  document.documentElement.classList.add("script");
  const typing = (element) => element.matches("input:not([type=checkbox]):not([type=range]):not([type=radio]), textarea, select");

  // --- swap: fetch a page and put its part in the place of ours ---
  let swapping = false;
  async function swap(selector, url, options, keep, form) {
    if (swapping) return;
    swapping = true;
    document.body.setAttribute("aria-busy", "true");
    document.querySelectorAll(".told").forEach((line) => line.remove());
    try {
      const response = await fetch(url, { credentials: "same-origin", headers: { accept: "text/html" }, ...options }).catch(() => null);
      if (!response) return tell(form, "The service does not answer. Is it still running?");
      const html = (response.headers.get("content-type") || "").startsWith("text/html");
      const body = await response.text();
      const page = html ? new DOMParser().parseFromString(body, "text/html") : null;
      if (!response.ok) {
        const said = page && page.querySelector("[role=alert]");
        return tell(form, said ? said.textContent : message(body) || `That did not work (${response.status}).`, said && said.dataset.field);
      }
      const fresh = page && page.querySelector(selector);
      if (!fresh) return void location.assign(response.url);
      document.querySelector(selector).replaceWith(fresh);
      replace("#status", page);
      shown = state();
      document.title = page.title;
      document.querySelectorAll("header nav a").forEach((link, k) => {
        const theirs = page.querySelectorAll("header nav a")[k];
        if (theirs && theirs.hasAttribute("aria-current")) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      });
      if (!keep) history.pushState(null, "", response.url);
      ready(fresh);
      const first = fresh.querySelector("[autofocus]");
      if (first) first.focus();
    } finally {
      swapping = false;
      document.body.removeAttribute("aria-busy");
    }
  }

  function message(body) {
    try {
      return JSON.parse(body).error.message;
    } catch (error) {
      return "";
    }
  }

  function replace(selector, page) {
    const ours = document.querySelector(selector);
    const theirs = page.querySelector(selector);
    if (ours && theirs && ours.outerHTML !== theirs.outerHTML) ours.replaceWith(theirs);
  }

  // An error stands beside the field that it is about, or at the foot of its form; nothing else of the page changes.
  function tell(form, words, field) {
    const line = document.createElement("p");
    line.className = "wrong told";
    line.setAttribute("role", "alert");
    line.textContent = words;
    const about = form && field && form.elements[field];
    if (about && about.closest) {
      (about.closest(".drop, .row") || about.closest("label") || about).after(line);
      about.setAttribute("aria-invalid", "true");
      about.focus();
    } else if (form) form.append(line);
    else document.getElementById("main").prepend(line);
    line.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    const pressed = event.submitter;
    const question = pressed && pressed.dataset.confirm;
    if (question && !confirm(question)) return event.preventDefault();
    if (!form.dataset.swap) return;
    event.preventDefault();
    const fields = new FormData(form, pressed);
    const body = form.enctype === "multipart/form-data" ? fields : new URLSearchParams(fields);
    if (form.method === "post") swap(form.dataset.swap, form.action, { method: "POST", body }, form.action.endsWith("/try"), form);
    else swap(form.dataset.swap, form.action + "?" + body, {}, false, form);
  });

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto]");
    if (form) form.requestSubmit();
    const all = event.target.dataset.all;
    if (all) document.getElementsByName(all).forEach((box) => (box.checked = event.target.checked));
    if ("keys" in event.target.dataset) setKeys(event.target.checked);
  });

  document.addEventListener("input", (event) => {
    const list = event.target.dataset.filter;
    if (!list) return;
    const wanted = event.target.value.trim().toLowerCase();
    document.querySelectorAll(list).forEach((one) => (one.hidden = !one.textContent.toLowerCase().includes(wanted)));
  });

  document.addEventListener("click", (event) => {
    const opens = event.target.closest("[data-dialog]");
    if (opens) return document.getElementById(opens.dataset.dialog).showModal();
    const label = event.target.closest('header nav a[data-go="l"]');
    if (label && tab()) label.search = "?tab=" + tab();
    const link = event.target.closest("a[data-swap]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    swap(link.dataset.swap, link.href, {});
  });

  addEventListener("popstate", () => swap("#main", location.href, {}, true));

  // --- files dropped ---
  for (const name of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      const place = event.target.closest && event.target.closest("[data-drop]");
      document.querySelectorAll("[data-drop]").forEach((one) => one.classList.toggle("over", one === place && name === "dragover"));
      if (!place) return;
      event.preventDefault();
      if (name !== "drop" || !event.dataTransfer.files.length) return;
      place.querySelector("input").files = event.dataTransfer.files;
      place.closest("form").requestSubmit();
    });
  }

  // --- keys ---
  let going = false;
  const keysOn = () => localStorage.getItem("keys") !== "off";
  function setKeys(on) {
    localStorage.setItem("keys", on ? "on" : "off");
    document.documentElement.classList.toggle("keys-off", !on);
  }
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return;
    const name = (event.ctrlKey ? "ctrl+" : "") + event.key;
    if (event.key === "Enter" && event.target.dataset.filter) {
      event.preventDefault();
      const first = [...document.querySelectorAll(event.target.dataset.filter)].find((one) => !one.hidden);
      return first && first.click();
    }
    // A browser would press the form's first button, which may be anything.
    if (event.key === "Enter" && event.target.matches("[type=checkbox]")) return event.preventDefault();
    if (typing(event.target) && !event.ctrlKey) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (document.querySelector("dialog[open]") || (!keysOn() && !event.ctrlKey && name !== "?")) return;
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
    const line = document.getElementById("status");
    return line ? line.dataset.state : "";
  }
  function tab() {
    const field = document.querySelector("#label-form input[name=tab]");
    if (field) sessionStorage.setItem("tab", field.value);
    return sessionStorage.getItem("tab");
  }
  // This page anew; the text to label stays, or a key meant for it would label another.
  function same() {
    const url = new URL(location.href);
    const text = document.querySelector("#label-form input[name=id]");
    if (text) {
      url.searchParams.set("id", text.value);
      url.searchParams.set("tab", tab());
    }
    return url;
  }
  let shown = state(); // what the page was made from
  async function look() {
    const line = document.querySelector("[data-poll]");
    if (!line || document.hidden || swapping) return;
    try {
      const held = document.querySelector("#label-form") ? "?tab=" + tab() : "";
      const response = await fetch(line.dataset.poll + held, { credentials: "same-origin" });
      if (!response.ok || swapping) return;
      replace("#status", new DOMParser().parseFromString(await response.text(), "text/html"));
      const now = state();
      // A new model, topics or texts: pages that show them are fetched anew, once the person is not at work there.
      const shows = /\/(model|label|topics|data|)$/.test(location.pathname);
      const main = document.getElementById("main");
      const busy = document.querySelector("#main input:checked") || (main.contains(document.activeElement) && typing(document.activeElement));
      const refresh = document.querySelector("[data-refresh]");
      if (refresh) return void swap("#main", location.href, {}, true);
      if (now === shown || busy) return;
      shown = now;
      if (shows) swap("#main", same(), {}, true);
    } catch (error) {
      document.querySelector("#status").textContent = "The service does not answer.";
    }
  }
  setInterval(look, 2000);

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
    root.querySelectorAll(".done").forEach((toast) => setTimeout(() => toast.matches(":hover, :focus-within") || toast.remove(), 12000));
    const here = new URL(location.href);
    if (tab() && root.querySelector("#label-form") && !here.searchParams.has("tab")) {
      here.searchParams.set("tab", tab());
      history.replaceState(null, "", here);
    }
  }
  document.documentElement.classList.toggle("keys-off", !keysOn());
  document.querySelectorAll("[data-keys]").forEach((box) => (box.checked = keysOn()));
  ready(document);
})();
