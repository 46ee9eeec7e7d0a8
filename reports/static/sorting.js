"use strict";
// A table whose heads are buttons: numbers sort from the largest first, texts from A, and the other way at the next
// click. numeric(column) says which; sorted(column, sign, compare) puts the rows in order, with sign -1 for the largest first.
const sortable = (table, numeric, sorted) => {
  const collator = new Intl.Collator(undefined, { numeric: true });
  const sort = (head) => {
    const numbers = numeric(head.cellIndex);
    const [one, two] = numbers ? ["descending", "ascending"] : ["ascending", "descending"];
    const direction = head.getAttribute("aria-sort") === one ? two : one;
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
    sorted(head.cellIndex, direction === "ascending" ? 1 : -1, numbers ? (a, b) => a - b : collator.compare);
  };
  for (const button of table.tHead.querySelectorAll("button")) {
    button.addEventListener("click", () => sort(button.parentElement));
  }
};
// How many rows are shown, in words: "12 of 300 points".
const shownOf = (shown, all, noun) => {
  const total = `${all.toLocaleString("en")} ${noun}${all === 1 ? "" : "s"}`;
  return shown === all ? total : `${shown.toLocaleString("en")} of ${total}`;
};
