// Sorts the tables by their headings. Rows stay within their part of a table.
"use strict";

// What a row is sorted by in a column; null where there is no number.
function sortValue(row, column, kind) {
  const cell = row.cells[column];
  if (kind === "text") return cell.textContent;
  return "value" in cell.dataset ? Number(cell.dataset.value) : null;
}

function compare(a, b) {
  return typeof a === "string" ? a.localeCompare(b, "en") : a - b;
}

// First click: the highest number or the first name on top. Second: the other way round. Third: as it was.
function sortBy(button) {
  const heading = button.closest("th");
  const table = heading.closest("table");
  const kind = button.dataset.sort;
  const turns = kind === "text" ? ["ascending", "descending", "none"] : ["descending", "ascending", "none"];
  const turn = turns[(turns.indexOf(heading.getAttribute("aria-sort")) + 1) % turns.length];
  for (const other of table.querySelectorAll("[aria-sort]")) other.setAttribute("aria-sort", "none");
  heading.setAttribute("aria-sort", turn);
  const sign = turn === "ascending" ? 1 : -1;
  for (const body of table.tBodies) {
    const rows = [...body.querySelectorAll(".line")];
    rows.sort((a, b) => {
      if (turn === "none") return a.dataset.place - b.dataset.place;
      const [one, other] = [a, b].map((row) => sortValue(row, heading.cellIndex, kind));
      if (one === null || other === null) return (one === null) - (other === null);
      return sign * compare(one, other) || a.dataset.place - b.dataset.place;
    });
    body.append(...rows);
  }
}

for (const body of document.querySelectorAll(".scores tbody")) {
  body.querySelectorAll(".line").forEach((row, place) => (row.dataset.place = place));
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.sort) sortBy(button);
});
