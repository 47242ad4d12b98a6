// SPDX-License-Identifier: Apache-2.0
"use strict";
document.documentElement.classList.add("js");
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = document.body.appendChild(document.createElement("textarea"));
    box.value = text;
    box.select();
    document.execCommand("copy");
    box.remove();
  }
}
function copies(button, what, text) {
  button.textContent = `copy ${what}`;
  button.onclick = async () => {
    await copy(text());
    button.textContent = "copied";
    setTimeout(() => { button.textContent = `copy ${what}`; }, 1500);
  };
  return button;
}
for (const place of all("[data-copy]"))
  place.append(copies(document.createElement("button"), place.dataset.what, () => place.dataset.copy));
for (const head of all(".matrix thead th")) {
  const button = document.createElement("button");
  button.append(...head.childNodes);
  button.addEventListener("click", () => sort(head));
  head.append(button);
}
function sort(head) {
  const order = head.ariaSort === "ascending" ? "descending" : "ascending";
  for (const other of head.parentNode.cells) other.ariaSort = null;
  head.ariaSort = order;
  const text = (row) => row.cells[head.cellIndex].textContent;
  const body = head.closest("table").tBodies[0];
  const rows = [...body.rows].sort((one, other) => text(one).localeCompare(text(other), "en", { numeric: true }));
  body.append(...(order === "ascending" ? rows : rows.reverse()));
}
const form = document.querySelector("form");
if (form) {
  const [search, boxes, button] = [form.elements.text, all("[type=checkbox]", form), form.querySelector("button")];
  const parts = all("[data-kinds]").map((part) => ({
    part, kinds: part.dataset.kinds.split(" "), host: part.dataset.host,
    text: `${part.textContent} ${part.dataset.find ?? ""}`.toLowerCase(),
  }));
  const hosts = parts.filter(({ host }) => host !== undefined);
  const squares = new Map(all(".square").map((square) => [square.dataset.host, square]));
  const filter = () => {
    const asked = boxes.filter((box) => box.checked).map((box) => box.value);
    const words = search.value.toLowerCase().split(/\s+/);
    for (const { part, kinds, text, host } of parts) {
      part.hidden = !words.every((word) => text.includes(word))
        || (asked.length > 0 && !asked.some((kind) => kinds.includes(kind)));
      squares.get(host)?.classList.toggle("out", part.hidden);
    }
    const shown = hosts.filter(({ part }) => !part.hidden).map(({ part }) => part);
    const filtered = asked.length > 0 || search.value.trim() !== "";
    form.querySelector("output").textContent = `${shown.length} of ${hosts.length} hosts`;
    for (const fold of all("details:has(> .names [data-kinds])"))
      if (filtered) fold.open = shown.some((part) => fold.contains(part));
    button.hidden = !filtered || shown.length === 0;
    copies(button, `these ${shown.length} hosts`,
      () => shown.map((part) => (part.cells?.[0] ?? part).textContent.trim()).join(","));
  };
  const restore = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    search.value = asked.get("text") ?? "";
    for (const box of boxes) box.checked = asked.getAll("kind").includes(box.value);
    filter();
  };
  for (const box of boxes) box.disabled = false;
  form.querySelector(".search").hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    const asked = new URLSearchParams(boxes.filter((box) => box.checked).map((box) => ["kind", box.value]));
    if (search.value.trim()) asked.set("text", search.value.trim());
    history.replaceState(null, "", `#${asked}`);
    filter();
  });
  addEventListener("hashchange", () => { if (/[#&](kind|text)=|^$/.test(location.hash)) restore(); });
  restore();
}
