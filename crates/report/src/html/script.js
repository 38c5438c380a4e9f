// Sorts tables and filters claims. Without it the page is whole and everything is shown.
(() => {
  const value = (row, n) => (row.cells[n] ? row.cells[n].textContent.trim() : "");
  const compare = (a, b) => {
    const [x, y] = [parseFloat(a), parseFloat(b)];
    if (!isNaN(x) && !isNaN(y) && x !== y) return x - y;
    return a.localeCompare(b, "en", { numeric: true });
  };
  // Rows that sum others up have no place in another order.
  const isSum = (row) => row.matches(".paper, .all");
  const sortBy = (head, th, n) => {
    const up = th.getAttribute("aria-sort") !== "ascending";
    for (const other of head.cells) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...head.parentNode.rows].slice(1);
    const own = rows.filter((row) => !isSum(row));
    own.sort((a, b) => (up ? 1 : -1) * compare(value(a, n), value(b, n)));
    for (const row of own) head.parentNode.append(row);
    for (const row of rows.filter(isSum)) {
      row.hidden = row.matches(".paper");
      head.parentNode.append(row);
    }
  };
  for (const head of document.querySelectorAll("tr:first-child")) {
    const cells = [...head.cells];
    if (head.parentNode.rows.length < 3 || cells.some((cell) => cell.tagName !== "TH")) continue;
    cells.forEach((th, n) => {
      if (!th.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...th.childNodes);
      button.onclick = () => sortBy(head, th, n);
      th.append(button);
    });
  }

  const verdicts = ["holds", "does-not-hold", "unclear"];
  const own = [...document.querySelectorAll("section td.id[id]")];
  const ids = new Set(own.map((cell) => cell.id));
  // Those that do not hold stand in the overview as well.
  const again = [...document.querySelectorAll("td.id")].filter((cell) => !cell.id);
  const claims = own
    .concat(again.filter((cell) => ids.has(cell.textContent.trim())))
    .map((cell) => {
      const [row, id] = [cell.parentNode, cell.id || cell.textContent.trim()];
      const badge = row.querySelector(verdicts.map((name) => "." + name).join(","));
      return { row, id, paper: id.split("-")[0], verdict: badge ? badge.classList[0] : "" };
    });
  if (!claims.length) return;
  const bar = document.createElement("form");
  bar.id = "filter";
  bar.onsubmit = () => false;
  const choice = (name, options) => {
    const label = document.createElement("label");
    const select = document.createElement("select");
    select.add(new Option("all", ""));
    for (const option of options) select.add(new Option(option.replaceAll("-", " "), option));
    label.append(name + " ", select);
    bar.append(label);
    return select;
  };
  const verdict = choice("Verdict", verdicts);
  const paper = choice("Paper", [...new Set(claims.map((one) => one.paper))]);
  const label = document.createElement("label");
  const text = document.createElement("input");
  text.type = "search";
  label.append("Text ", text);
  const count = document.createElement("output");
  bar.append(label, count);
  document.querySelector("h2").before(bar);
  const filter = () => {
    const wanted = text.value.trim().toLowerCase();
    const active = verdict.value || paper.value || wanted;
    const seen = new Set();
    for (const one of claims) {
      const fits =
        (!verdict.value || one.verdict === verdict.value) &&
        (!paper.value || one.paper === paper.value) &&
        (!wanted || one.row.textContent.toLowerCase().includes(wanted));
      one.row.hidden = !fits;
      if (fits) seen.add(one.id);
    }
    for (const part of document.querySelectorAll("section")) {
      const claims = [...part.querySelectorAll("td.id[id]")];
      part.hidden = active && !claims.some((cell) => !cell.parentNode.hidden);
    }
    count.value = `${seen.size} of ${ids.size} claims`;
  };
  bar.oninput = filter;
  filter();
})();
