// Shows the cells behind a number. All text is set as text, never as markup.
"use strict";

const data = JSON.parse(document.getElementById("data-of-cells").textContent);
const dialog = document.querySelector("dialog");

function make(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

function factList(facts) {
  const list = make("dl", "", "facts");
  for (const [label, text] of facts) {
    const pair = make("div");
    pair.append(make("dt", label), make("dd", text));
    list.append(pair);
  }
  return list;
}

function cellRow(cell, unit, metrics, origins) {
  const row = make("tr");
  const add = (text, tag = "td") => row.append(make(tag, text));
  add(cell.dataset);
  add(cell.seed);
  if (cell.state === "finished") {
    for (const { metric } of metrics) add(cell.scores[unit]?.[metric] ?? "–");
    for (const name of ["chosen", "seconds", "encoder_seed"]) add(cell[name]);
    add(String(origins.indexOf(cell.origin) + 1));
    for (const key of [cell.key, cell.pretraining]) row.append(codeCell(key));
  } else {
    const why = make("td", cell.why ? `${cell.state}: ${cell.why}` : cell.state, "why");
    why.colSpan = metrics.length + 4;
    row.append(why, codeCell(cell.key), make("td"));
  }
  return row;
}

function codeCell(key) {
  const cell = make("td");
  cell.append(make("code", key));
  return cell;
}

function cellTable(cells, unit, metrics, origins) {
  const table = make("table");
  const head = table.createTHead().insertRow();
  const titles = ["Dataset", "Seed", ...metrics.map(({ title }) => title)];
  for (const title of [...titles, "Chosen", "Seconds", "Encoder seed", "Origin", "Cell", "Pretraining"]) {
    const heading = make("th", title);
    heading.scope = "col";
    head.append(heading);
  }
  table.createTBody().append(...cells.map((cell) => cellRow(cell, unit, metrics, origins)));
  const box = make("div", "", "scroll");
  box.tabIndex = 0;
  box.append(table);
  return box;
}

// The metrics of a column; of Overall, all of its table.
function metricsOf(headings, heading) {
  const shown = heading.dataset.metric ? [heading] : headings.filter((each) => each.dataset.metric);
  const titles = new Map(shown.map((each) => [each.dataset.metric, each.textContent]));
  return [...titles].map(([metric, title]) => ({ metric, title }));
}

// A number without its footnote mark, its interval, and its footnote.
function describe(number, button) {
  const parts = [...number.childNodes].filter((node) => node.nodeName !== "SUP").map((node) => node.textContent);
  const told = [make("p", parts.join(""))];
  if (button.dataset.interval) told.push(make("p", `Interval: ${button.dataset.interval}`));
  const mark = number.querySelector("sup")?.textContent;
  for (const note of number.closest("section").querySelectorAll(".footnotes li")) {
    const [own, text] = note.childNodes;
    if (mark && own.textContent === mark) told.push(make("p", text.textContent.trim()));
  }
  return told;
}

function showCells(button) {
  const number = button.closest("td");
  const table = number.closest("table");
  const unit = table.dataset.unit;
  const headings = [...table.tHead.rows[1].cells];
  const heading = headings[number.cellIndex];
  const cells = button.dataset.cells.split(" ").map((place) => data.cells[place]);
  const origins = [...new Set(cells.filter((cell) => "origin" in cell).map((cell) => cell.origin))];
  const row = number.parentElement.cells[0].textContent;
  const block = number.closest("tbody").dataset.title;
  document.getElementById("behind-title").textContent = `${row}, ${heading.dataset.title.trim()}, ${block}`;
  const parts = [...describe(number, button), cellTable(cells, unit, metricsOf(headings, heading), origins)];
  origins.forEach((origin, place) => parts.push(make("h3", `Origin ${place + 1}`), factList(data.origins[origin])));
  const counts = [...new Set(cells.filter((cell) => cell.counts).map((cell) => `${cell.dataset}: ${cell.counts}`))];
  const notes = [...new Set(cells.flatMap((cell) => cell.notes ?? []))];
  for (const [title, lines] of [["Counts", counts], ["Notes", notes]]) {
    if (!lines.length) continue;
    const list = make("ul");
    list.append(...lines.map((line) => make("li", line)));
    parts.push(make("h3", title), list);
  }
  document.getElementById("behind").replaceChildren(...parts);
  dialog.showModal();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.cells) showCells(button);
  if (button?.className === "paper") button.ariaPressed = String(button.ariaPressed !== "true");
  if (event.target === dialog) dialog.close();
});
window.addEventListener("beforeprint", () => {
  for (const footers of document.querySelectorAll(".footers")) footers.open = true;
});
