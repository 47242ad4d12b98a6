// SPDX-License-Identifier: Apache-2.0
"use strict";
const form = document.querySelector("form");
const found = form.querySelector("output");
const shown = [...document.querySelectorAll("[data-kinds]")].map((part) =>
  ({ part, kinds: part.dataset.kinds.split(" "), text: part.textContent.toLowerCase() }));
const hosts = shown.filter(({ part }) => part.tagName === "TR");
function filter() {
  const asked = [...form.querySelectorAll(":checked")].map((box) => box.value);
  const words = form.querySelector("[type=search]").value.toLowerCase().split(/\s+/);
  for (const { part, kinds, text } of shown)
    part.hidden = !words.every((word) => text.includes(word))
      || (asked.length > 0 && !asked.some((kind) => kinds.includes(kind)));
  found.textContent = `${hosts.filter(({ part }) => !part.hidden).length} of ${hosts.length} hosts`;
}
function sort(head) {
  const order = head.ariaSort === "ascending" ? "descending" : "ascending";
  for (const other of head.parentNode.cells) other.ariaSort = null;
  head.ariaSort = order;
  const text = (row) => row.cells[head.cellIndex].textContent;
  const rows = hosts.map(({ part }) => part)
    .sort((one, other) => text(one).localeCompare(text(other), "en", { numeric: true }));
  head.closest("table").tBodies[0].append(...(order === "ascending" ? rows : rows.reverse()));
}
for (const head of document.querySelectorAll(".matrix thead th")) {
  const button = document.createElement("button");
  button.append(...head.childNodes);
  button.addEventListener("click", () => sort(head));
  head.append(button);
}
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
