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
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
