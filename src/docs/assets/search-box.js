// Searches as the user types. Without this file the form asks the server, which finds the same.
import { searchSections } from "./search-sections.js";

const box = document.querySelector("#search");
const results = document.querySelector("#results");
const said = document.querySelector("#found");
const resting = document.querySelector("#resting");

let sections;
async function load() {
  sections ??= fetch("/docs/search.json").then((answer) => answer.json());
  return sections;
}

async function search() {
  const question = box.value.trim();
  if (question === "") return show([], "");
  const found = searchSections(await load(), question);
  // The input may have changed meanwhile.
  if (box.value.trim() !== question) return;
  show(found, found.length === 0 ? `Nothing is found for “${question}”.` : "");
}

function show(found, sentence) {
  const count = found.length === 1 ? "1 result" : `${found.length} results`;
  said.textContent = found.length > 0 ? count : sentence;
  results.replaceChildren(...found.map(itemOf));
  resting.hidden = found.length > 0 || sentence !== "";
}

function itemOf({ url, page, heading, excerpt }) {
  const link = document.createElement("a");
  link.href = url;
  link.textContent = heading === page ? page : `${page} › ${heading}`;
  const text = document.createElement("p");
  text.textContent = excerpt;
  const item = document.createElement("li");
  item.append(link, text);
  return item;
}

if (box && results && said && resting) {
  box.addEventListener("focus", load, { once: true });
  box.addEventListener("input", search);
}
