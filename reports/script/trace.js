// A click on a value opens a panel with the chain behind it: what `benchbook trace` prints, line by line.
(() => {
  "use strict";
  const block = document.getElementById("trace-data");
  if (!block) return;
  const LISTED = 12;
  const SUMMED = ["runs", "sessions", "failures", "verdicts"];
  let parsed;
  const data = () => (parsed ??= JSON.parse(block.textContent));

  // As address.split: the table stands before the first colon, the column after the last.
  const split = (address) => {
    const first = address.indexOf(":"), last = address.lastIndexOf(":");
    return [address.slice(0, first), address.slice(first + 1, last), address.slice(last + 1)];
  };

  const chain = (starts) => {
    const d = data(), found = [], seen = new Set(), waiting = [...starts];
    d.byPath ??= new Map(d.steps.map((step, at) => [step[0], at]));
    while (waiting.length) {
      const step = d.steps[waiting.shift()];
      if (seen.has(step[0])) continue;
      seen.add(step[0]);
      found.push(step);
      for (const [path] of step[4]) if (d.byPath.has(path)) waiting.push(d.byPath.get(path));
    }
    return found;
  };

  // As trace.store_of and trace.is_of_others.
  const storeOf = (path) => {
    const parts = path.split("/");
    for (const folder of ["raw", "derived", "sessions"]) {
      const at = parts.indexOf(folder);
      if (at >= 0 && at < parts.length - 1) return parts[at + 1].replace(/\.json$/, "");
    }
    return undefined;
  };

  // As trace.lines: [label, text] in the order shown.
  const lines = (address, text, missing) => {
    const d = data();
    const [table, key, column] = split(address);
    const summed = table === "summary";
    const [unit, , meaning, nothing] = summed
      ? ["", "", `counted or added up over the tables ${SUMMED.join(", ")}`, d.why[key] ?? "not recorded"]
      : d.columns[table][column];
    const own = summed ? undefined : d.rows[table]?.[key]?.map((at) => d.names[at]) ?? (d.sources[key] ? [key] : undefined);
    const all = (summed ? SUMMED : [table]).flatMap((name) => d.all[name] ?? []).map((at) => d.names[at]);
    const owners = own ?? [...new Set(all)];
    const more = owners.length > LISTED ? ` and ${owners.length - LISTED} more` : "";
    const shown = [["address", address], ["value", missing ? `missing: ${nothing}` : `${text} ${unit}`.trim()]];
    if (meaning) shown.push(["meaning", meaning]);
    shown.push([own ? "from (of this row)" : "from (of the whole table)",
      owners.length ? owners.slice(0, LISTED).join(", ") + more : "no run"]);
    const stores = new Set((own ?? []).flatMap((owner) => d.sources[owner] ?? []).map(([path]) => storeOf(d.paths[path])));
    const ofOthers = (path) => {
      const store = storeOf(d.paths[path]);
      return stores.size > 0 && store !== undefined && !stores.has(store);
    };
    for (const [output, rule, script, code, inputs] of chain(summed ? d.summary : [d.tables[table]])) {
      if (ofOthers(output)) continue;
      shown.push(["rule", `${rule}: ${script}, code ${code}, wrote ${d.paths[output]}`]);
      const named = inputs.filter(([path]) => !ofOthers(path));
      for (const [path, hash] of named) shown.push(["input", `${d.paths[path]} sha256 ${d.hashes[hash]}`]);
      if (named.length < inputs.length) shown.push(["input", `and ${inputs.length - named.length} files of other sessions`]);
    }
    for (const owner of own ?? []) {
      for (const [path, hash, first, last, what] of d.sources[owner] ?? []) {
        const where = first === null ? "" : ` lines ${first} to ${last}`;
        shown.push(["raw", `${d.paths[path]}${where} sha256 ${d.hashes[hash]} (${d.whats[what]})`]);
      }
    }
    return shown;
  };

  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  const button = (text) => Object.assign(make("button", text), { type: "button" });

  const dialog = make("dialog", undefined, "trace");
  dialog.id = "trace-panel";
  dialog.setAttribute("aria-labelledby", "trace-title");
  const title = make("h2", "Where this number comes from");
  title.id = "trace-title";
  const bar = make("div", undefined, "bar"), list = make("dl");
  const copy = button("Copy address"), close = button("Close");
  bar.append(copy, close);
  dialog.append(title, bar, list);
  document.body.append(dialog);
  let opener;
  close.addEventListener("click", () => dialog.close());
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(dialog.dataset.shown);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Not allowed here: select it below";
    }
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => opener?.focus?.({ preventScroll: true }));

  const HEADINGS = { rule: "Rules, from the table down to the raw files", raw: "Raw files" };
  document.addEventListener("benchbook:address", ({ detail: { element } }) => {
    opener = element;
    dialog.dataset.shown = element.dataset.address;
    copy.textContent = "Copy address";
    const headed = new Set();
    list.replaceChildren();
    for (const [label, text] of lines(element.dataset.address, element.textContent, element.classList.contains("missing"))) {
      if (HEADINGS[label] && !headed.has(label)) list.append(make("dt", HEADINGS[label], "group"));
      headed.add(label);
      list.append(make("dt", label), make("dd", text, label));
    }
    dialog.showModal();
    dialog.scrollTop = 0;
  });
})();
