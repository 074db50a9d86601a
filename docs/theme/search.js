/** Search the whole site in the reader's browser. The index is loaded at the first search. */

const root = document.body.dataset.root;
const field = document.getElementById("search");
const list = document.getElementById("found");
const menu = document.getElementById("menu");
const MOST = 20;

/** Load the index by a script, since pages that are opened as files may not fetch. */
function load() {
  return new Promise((resolve, reject) => {
    if (window.searchIndex) return resolve(window.searchIndex);
    const script = document.createElement("script");
    script.src = `${root}/search-index.js`;
    script.onload = () => resolve(window.searchIndex);
    script.onerror = reject;
    document.head.append(script);
  });
}

/** Rank sections that have every word: a word in the heading counts more than one in the text. */
function search(index, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const scored = [];
  for (const [address, heading, text] of words.length ? index : []) {
    const [above, below] = [heading.toLowerCase(), text.toLowerCase()];
    if (!words.every((word) => above.includes(word) || below.includes(word))) continue;
    const score = words.reduce(
      (sum, word) => sum + (above.includes(word) ? 10 : 0) + Math.min(below.split(word).length, 5),
      0,
    );
    scored.push({ address, heading, excerpt: excerpt(text, words), score });
  }
  return scored.sort((a, b) => b.score - a.score).slice(0, MOST);
}

function excerpt(text, words) {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((k) => k >= 0);
  const start = Math.max(0, Math.min(...places, text.length) - 40);
  return (start > 0 ? "… " : "") + text.slice(start, start + 140);
}

async function show() {
  const query = field.value.trim();
  const found = query ? search(await load(), query) : [];
  if (field.value.trim() !== query) return;
  menu.hidden = query !== "";
  list.replaceChildren(
    ...found.map(({ address, heading, excerpt }) => {
      const [item, link, words] = ["li", "a", "span"].map((name) => document.createElement(name));
      link.href = `${root}/${address}`;
      link.textContent = heading;
      words.textContent = excerpt;
      item.append(link, words);
      return item;
    }),
  );
  if (query && found.length === 0) list.textContent = "Nothing found.";
}

field?.addEventListener("input", show);
field?.form.addEventListener("submit", (event) => {
  event.preventDefault();
  list.querySelector("a")?.click();
});
