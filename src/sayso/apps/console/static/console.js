// What changes by itself, and nothing else: every act on these pages is a form that works without this file.
"use strict";

(function () {
  const from = document.body.dataset.live;
  if (!from || !window.EventSource || !window.htmx) return;
  let source = null;
  let over = false;

  // A part is fetched again when something it shows has changed (without a name: every part).
  function refresh(name) {
    for (const part of document.querySelectorAll("[data-live-on]")) {
      if (name && !part.dataset.liveOn.split(" ").includes(name)) continue;
      window.htmx.ajax("GET", part.dataset.liveFrom, { target: part, swap: "innerHTML" });
    }
  }

  // What is fetched is put in only where it differs, and a person at a link stays at it. Both are judged when the answer is
  // here, not when it was asked for: a person goes on in between.
  let held = null;
  document.body.addEventListener("htmx:beforeSwap", function (event) {
    const part = event.detail.target;
    if (!part.dataset.liveOn) return;
    const fetched = document.createElement("template");
    fetched.innerHTML = event.detail.serverResponse;
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    if (fetched.innerHTML.trim() === part.innerHTML.trim()) event.detail.shouldSwap = false;
    held = focused && focused.getAttribute("href");
  });
  document.body.addEventListener("htmx:afterSwap", function (event) {
    const part = event.detail.target;
    const again = held && part.dataset.liveOn && part.querySelector('a[href="' + CSS.escape(held) + '"]');
    if (again) again.focus();
    held = null;
  });

  // A browser holds six connections to one host: a page that nobody looks at gives its own back, and catches up later.
  function follow() {
    if (document.visibilityState === "hidden" || over) {
      if (source) source.close();
      source = null;
      return;
    }
    if (source) return;
    source = new EventSource(from);
    for (const name of ["gate", "receipts"]) {
      source.addEventListener(name, function () { refresh(name); });
    }
    // What changed before the stream stood was told to nobody: after the page was written, or after the stream before.
    source.addEventListener("following", function () { refresh(null); });
    source.addEventListener("end", function () {
      over = true;
      follow();
    });
  }

  follow();
  document.addEventListener("visibilitychange", follow);
  window.addEventListener("pagehide", function () { if (source) source.close(); });
})();
