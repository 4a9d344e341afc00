// What changes by itself, and nothing else: every act on these pages is a form that works without this file.
"use strict";

(function () {
  const from = document.body.dataset.live;
  if (!from || !window.EventSource || !window.htmx) return;
  let source = null;
  let over = false;

  // A part is fetched again when something it shows has changed (without a name: every part), unless somebody is typing
  // in it.
  function refresh(name) {
    for (const part of document.querySelectorAll("[data-live-on]")) {
      if (name && !part.dataset.liveOn.split(" ").includes(name)) continue;
      const inside = part.contains(document.activeElement);
      if (inside && document.activeElement.matches("input, textarea, select")) continue;
      const held = inside ? document.activeElement.getAttribute("href") : null;
      window.htmx.ajax("GET", part.dataset.liveFrom, { target: part, swap: "innerHTML" }).then(function () {
        const again = held && part.querySelector('a[href="' + CSS.escape(held) + '"]');
        if (again) again.focus();
      });
    }
  }

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
