"use strict";
const form = document.getElementById("form"), rows = document.getElementById("rows");
const message = document.getElementById("message"), answer = document.getElementById("answer");
document.getElementById("file").addEventListener("change", async (event) => {
  if (event.target.files.length) rows.value = await event.target.files[0].text();
});
function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
function shown(value) {
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : value.toFixed(4);
  if (value === null || typeof value !== "object") return String(value);
  return Object.entries(value).map(([name, number]) => name + " " + shown(number)).join(", ");
}
function tableOf(records) {
  const table = document.createElement("table"), head = table.createTHead().insertRow();
  const names = Object.keys(records[0]);
  for (const name of names) {
    const cell = element("th", name);
    cell.scope = "col";
    head.append(cell);
  }
  const body = table.createTBody();
  for (const record of records.slice(0, 200)) {
    const line = body.insertRow();
    for (const name of names) line.append(element("td", shown(record[name])));
  }
  return table;
}
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  answer.replaceChildren();
  message.textContent = "…";
  try {
    const response = await fetch(event.submitter.value, {
      method: "POST",
      headers: { "Content-Type": "text/csv", Accept: "application/json" },
      body: rows.value,
    });
    const result = await response.json();
    if (!response.ok) {
      message.textContent = result.error;
      return;
    }
    const records = result.predictions || result.explanations;
    message.textContent = [records.length + (records.length === 1 ? " row" : " rows"), ...result.notes].join(". ");
    answer.append(tableOf(records));
  } catch (error) {
    message.textContent = String(error);
  }
});
