// The page for people who look things up: sortable tables, the address of every number, a table of contents that follows.
// Without this script all numbers, tables and links are there all the same.
(() => {
  "use strict";
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const VALUE = "[data-address]";

  // --- the address of a value, on hover and on focus -------------------------------------------------------------
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.role = "tooltip";
  tip.hidden = true;
  document.body.append(tip);
  let tipped;
  const hide = () => {
    tipped?.removeAttribute("aria-describedby");
    tipped = undefined;
    tip.hidden = true;
  };
  const show = (element) => {
    hide();
    tipped = element;
    tip.textContent = element.dataset.why ? `missing: ${element.dataset.why} (${element.dataset.address})` : element.dataset.address;
    element.setAttribute("aria-describedby", "tip");
    tip.hidden = false;
    place();
  };
  const place = () => {
    if (!tipped) return;
    const box = tipped.getBoundingClientRect(), width = tip.offsetWidth, height = tip.offsetHeight;
    const above = box.top - height - 6;
    tip.style.left = `${Math.max(8, Math.min(box.left, document.documentElement.clientWidth - width - 8))}px`;
    tip.style.top = `${above > 8 ? above : box.bottom + 6}px`;
  };
  document.addEventListener("mouseover", (event) => {
    const value = event.target.closest?.(VALUE);
    if (value) show(value);
    else if (event.target !== tip) hide();
  });
  document.addEventListener("focusin", (event) => (event.target.matches?.(VALUE) ? show(event.target) : hide()));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.addEventListener("scroll", place, { capture: true, passive: true });

  // --- a click on a value, or Enter, asks for the chain behind it ------------------------------------------------
  const ask = (element) => element.dispatchEvent(
    new CustomEvent("benchbook:address", { bubbles: true, detail: { address: element.dataset.address, element } }));
  document.addEventListener("click", (event) => {
    const value = event.target.closest?.(VALUE);
    if (value && !event.target.closest("a, button, summary") && !String(getSelection())) ask(value);
  });

  // --- the keyboard: one stop for each table or paragraph, arrows from value to value ----------------------------
  const groupOf = (value) => value.closest("table") ?? value.closest("p, ul, dl, section");
  const valuesOf = (group) => $$(VALUE, group).filter((value) => value.offsetParent !== null);
  const groups = new Set($$(VALUE).map(groupOf));
  for (const group of groups) group.querySelector(VALUE).tabIndex = 0;
  const goTo = (from, to) => {
    if (!to) return;
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  };
  const inRow = (value, step) => {
    const all = valuesOf(groupOf(value));
    return all[all.indexOf(value) + step];
  };
  const inColumn = (value, step) => {
    const cell = value.closest("td, th"), row = cell?.parentElement;
    if (!row) return inRow(value, step);
    const next = step > 0 ? row.nextElementSibling : row.previousElementSibling;
    const target = next?.cells[cell.cellIndex];
    return target?.matches(VALUE) ? target : target?.querySelector(VALUE);
  };
  const MOVES = {
    ArrowRight: (value) => inRow(value, 1), ArrowLeft: (value) => inRow(value, -1),
    ArrowDown: (value) => inColumn(value, 1), ArrowUp: (value) => inColumn(value, -1),
    Home: (value) => valuesOf(value.closest("tr") ?? groupOf(value))[0],
    End: (value) => valuesOf(value.closest("tr") ?? groupOf(value)).at(-1),
  };
  document.addEventListener("keydown", (event) => {
    const value = event.target;
    if (!value.matches?.(VALUE) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") ask(value);
    else if (MOVES[event.key]) goTo(value, MOVES[event.key](value));
    else return;
    event.preventDefault();
  });

  // --- tables sorted by a column; a third time gives the order back ----------------------------------------------
  const SECONDS = { s: 1, min: 60, h: 3600 };
  const textOf = (cell) => (cell.querySelector(VALUE) ?? cell).textContent.trim();
  const numberOf = (text) => {
    const plain = text.replaceAll(",", "").replaceAll("\u2212", "-").replaceAll("\u00a0", " ").replace(/^[$]/, "");
    const times = [...plain.matchAll(/(\d+(?:\.\d+)?) (h|min|s)\b/g)];
    if (times.length) return times.reduce((sum, [, count, unit]) => sum + count * SECONDS[unit], 0);
    const found = /^[<>]?\s*([+-]?\d+(?:\.\d+)?)(?:\s*%)?$/.exec(plain);
    return found ? Number(found[1]) : /^-?\u221e$/.test(plain) ? Number(plain.replace("\u221e", "Infinity")) : undefined;
  };
  const isMissing = (text) => text === "" || text === "\u2013";
  const compare = (a, b) => {
    const [x, y] = [numberOf(a), numberOf(b)];
    if (x !== undefined && y !== undefined) return x - y;
    return a.localeCompare(b, "en", { numeric: true });
  };
  const NEXT = { none: "ascending", ascending: "descending", descending: "none" };
  const sort = (table, head, column) => {
    const direction = NEXT[head.ariaSort ?? "none"] ?? "ascending";
    for (const other of $$("thead th", table)) other.removeAttribute("aria-sort");
    if (direction !== "none") head.setAttribute("aria-sort", direction);
    const body = table.tBodies[0];
    table.order ??= [...body.rows];
    const sign = direction === "descending" ? -1 : 1;
    const keyed = table.order.map((row) => [row, textOf(row.cells[column])]);
    if (direction !== "none") {
      keyed.sort(([, a], [, b]) => isMissing(a) - isMissing(b) || (isMissing(a) ? 0 : sign * compare(a, b)));
    }
    body.append(...keyed.map(([row]) => row));
  };
  for (const table of $$("table.data")) {
    const rows = table.tBodies[0]?.rows ?? [], heads = $$("thead tr:only-child th", table);
    if (rows.length < 2 || heads.some((head) => head.colSpan > 1) || [...rows].some((row) => row.cells.length !== heads.length)) continue;
    heads.forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, head, column));
    });
  }

  // --- boxes that scroll say so -----------------------------------------------------------------------------------
  const mark = (box) => {
    box.classList.toggle("more-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
    box.classList.toggle("more-left", box.scrollLeft > 2);
  };
  const boxes = $$(".scroll");
  const sizes = new ResizeObserver((entries) => entries.forEach((entry) => mark(entry.target)));
  for (const box of boxes) {
    sizes.observe(box);
    box.addEventListener("scroll", () => mark(box), { passive: true });
  }

  // --- contents: folded on a phone, the current chapter marked ----------------------------------------------------
  const contents = document.querySelector(".toc details");
  const narrow = matchMedia("(max-width: 1099px)");
  const fold = () => { if (contents) contents.open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();
  contents?.addEventListener("click", (event) => { if (event.target.closest("a") && narrow.matches) contents.open = false; });
  const links = new Map($$(".toc a").map((link) => [link.hash.slice(1), link]));
  const seen = new Set();
  const chapters = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) isIntersecting ? seen.add(target.id) : seen.delete(target.id);
    const current = [...links.keys()].find((id) => seen.has(id));
    for (const [id, link] of links) id === current ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
  }, { rootMargin: "-8px 0px -70% 0px" });
  $$("section.chapter").forEach((chapter) => chapters.observe(chapter));

  // --- #at=table:row:column leads to a number, and any link into a fold opens it ----------------------------------
  const reveal = (element) => {
    for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    element.scrollIntoView({ block: "center" });
  };
  const follow = () => {
    $$(".at").forEach((element) => element.classList.remove("at"));
    const hash = decodeURIComponent(location.hash.slice(1));
    if (!hash.startsWith("at=")) {
      const target = hash ? document.getElementById(hash) : null;
      if (target?.closest("details")) reveal(target);
      return;
    }
    const value = $$(VALUE).find((element) => element.dataset.address === hash.slice(3));
    if (!value) return;
    value.classList.add("at");
    reveal(value);
    value.tabIndex = 0;
    value.focus({ preventScroll: true });
  };
  addEventListener("hashchange", follow);
  follow();
})();
