// The page to try a model. Everything that a user or a model says is put in as text, never as HTML.
"use strict";

const byId = (id) => document.getElementById(id);
const LABELS = {
  text: "Text",
  text_a: "First text",
  text_b: "Second text",
  tokens: "Sentence",
  question: "Question",
  context: "Context",
};
let models = [];
let token = null;
// Answers that come late, after another question or another choice, are dropped.
let asked = 0;

function element(name, text = "", classes = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = classes;
  return made;
}

function say(text, isWrong = false) {
  byId("status").textContent = text;
  byId("status").className = isWrong ? "wrong" : "";
}

async function answer(path, content) {
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  const options = content === undefined ? {} : { method: "POST", body: JSON.stringify(content) };
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch {
    throw new Error("the server cannot be reached");
  }
  // The form stands from the first refusal of a token until a request is accepted.
  if (response.ok || response.status === 401) byId("token-form").hidden = response.ok;
  const found = await response.json().catch(() => ({ error: response.statusText }));
  if (!response.ok) throw Object.assign(new Error(found.error), { status: response.status });
  return found;
}

function title(model) {
  const name = model.signature === "serving_default" ? "" : `: ${model.signature}`;
  return `${model.model}${name}`;
}

async function start() {
  const wasAsked = !byId("token-form").hidden;
  try {
    list((await answer("page/models.json")).models);
  } catch (error) {
    const isFirst = error.status === 401 && token === null;
    say(isFirst ? "This server asks for a token." : error.message, !isFirst);
    return;
  }
  byId("form").hidden = false;
  // The focus was in the token's form, which is hidden now.
  if (wasAsked) byId("form").querySelector("textarea").focus();
}

function list(found) {
  models = found;
  fill(byId("first"), models.map((model, index) => option(index, title(model))));
  choose();
}

function option(value, text) {
  const made = element("option", text);
  made.value = value;
  return made;
}

// What was chosen stays chosen where it is still there.
function fill(select, options) {
  const before = select.selectedOptions[0]?.textContent;
  select.replaceChildren(...options);
  const kept = options.find((one) => one.textContent === before);
  if (kept) kept.selected = true;
}

// Beside a model stand those that read the same inputs.
function choose() {
  const first = models[byId("first").value];
  const isChat = talks(first);
  for (const name of ["asking", "uncalibrated"]) byId(name).hidden = isChat;
  byId("chat").replaceChildren(...(isChat ? [conversation(first)] : []));
  const fits = (model) => model !== first && !isChat && model.inputs.join() === first.inputs.join();
  const others = models.map((model, index) => [model, index]).filter(([model]) => fits(model));
  fill(byId("second"), [
    option("", "none"),
    ...others.map(([model, index]) => option(index, title(model))),
  ]);
  byId("second").disabled = others.length === 0;
  const names = isChat ? [] : first.inputs;
  if (fields().map((area) => area.name).join() !== names.join()) {
    byId("fields").replaceChildren(...names.flatMap(field));
  }
  byId("hint").textContent = first.inputs[0] === "tokens"
    ? "Words are what stands between spaces: put spaces around punctuation too." : "";
  showChosen();
}

const chosen = () => [byId("first").value, byId("second").value]
  .filter((index) => index !== "").map((index) => models[index]);
const fields = () => [...byId("fields").querySelectorAll("textarea")];

function field(name) {
  const label = element("label", LABELS[name] ?? name);
  const area = element("textarea");
  Object.assign(area, { id: `input-${name}`, name, required: true });
  label.htmlFor = area.id;
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("form").requestSubmit();
  });
  return [label, area];
}

// The field that is wrong, if one is: the status says why.
function mark(wrong) {
  for (const area of fields()) {
    area.setAttribute("aria-invalid", `${area.name === wrong}`);
    area.setAttribute("aria-describedby", area.name === wrong ? "hint status" : "hint");
  }
}

function showChosen() {
  asked += 1;
  say("");
  mark();
  byId("results").replaceChildren();
  byId("cards").replaceChildren(...chosen().map(cards));
}

function cards({ model, version, card, verdict, report }) {
  const made = element("div");
  if (card) made.append(folded(`Model card of ${model}, version ${version}`, card));
  if (verdict) made.append(element("p", `Verdict of the comparison: ${verdict}`, "verdict"));
  if (report) made.append(folded(`Comparison that ${model} comes from`, report));
  return made;
}

function folded(summary, text) {
  const made = element("details");
  const content = element("pre", text);
  // It scrolls: so a keyboard must get there.
  content.tabIndex = 0;
  content.setAttribute("role", "region");
  content.setAttribute("aria-label", summary);
  made.append(element("summary", summary), content);
  return made;
}

// What is typed, as a row of a request; null where a field is empty.
function typed() {
  const row = Object.fromEntries(fields().map((area) => [area.name, area.value]));
  if ("tokens" in row) row.tokens = row.tokens.split(/\s+/).filter((word) => word !== "");
  const empty = Object.keys(row).find((name) => row[name].length === 0 || `${row[name]}`.trim() === "");
  mark(empty);
  if (empty === undefined) return row;
  say(`${LABELS[empty] ?? empty}: type something first`, true);
  byId(`input-${empty}`).focus();
  return null;
}

async function ask(isAgain = false) {
  const number = ++asked;
  byId("results").replaceChildren();
  const row = typed();
  if (row === null) return;
  say("…");
  const found = await Promise.all(chosen().map((model) => outcome(model, row)));
  if (number !== asked) return;
  if (!isAgain && found.some(({ isOld }) => isOld)) {
    await askNewest(number);
    return;
  }
  say("");
  byId("results").replaceChildren(...found.map(result));
}

// Another version is served by now, perhaps with other labels.
async function askNewest(number) {
  const before = chosen().map(title).join();
  let found;
  try {
    found = (await answer("page/models.json")).models;
  } catch (error) {
    if (number === asked) say(error.message, true);
    return;
  }
  if (number !== asked) return;
  list(found);
  if (chosen().map(title).join() === before) await ask(true);
  else say("The models have changed: choose again.", true);
}

// Scores have the order of one version's labels: so that version is asked.
async function outcome(model, row) {
  const path = `v1/models/${encodeURIComponent(model.model)}/versions/${model.version}:predict`;
  const content = { signature_name: model.signature, instances: [row] };
  try {
    const [prediction] = (await answer(path, content)).predictions;
    return { model, made: shown(model, row, prediction), isOld: !hasLabelsOf(model, prediction) };
  } catch (error) {
    return { model, made: element("p", error.message, "wrong"), isOld: error.status === 404 };
  }
}

// A version may be published again under its number, with other labels.
function hasLabelsOf({ labels }, { label, labels: several, tags, scores }) {
  const said = tags ?? several ?? [label ?? ""];
  const counted = tags ? scores[0] : scores ?? labels;
  return counted.length === labels.length && said.every((one) => one === "" || labels.includes(one));
}

function result({ model, made }) {
  const article = element("article");
  article.append(element("h2", title(model)));
  article.append(element("p", model.kind.replaceAll("_", " "), "kind"), made);
  return article;
}

function shown(model, row, prediction) {
  if (typeof prediction === "number") return scale(model, prediction);
  if (typeof prediction === "string") return element("p", prediction || NO_WORDS, "written");
  if ("answer" in prediction) return answerIn(row.context, prediction);
  if (prediction.tags) return sentence(model, row.tokens, prediction.tags);
  const said = prediction.labels ?? [prediction.label];
  const bars = element("ul", "", "labels");
  const order = model.labels.map((label, index) => [prediction.scores[index], label]);
  order.sort((one, other) => other[0] - one[0]);
  bars.append(...order.map(([score, label]) => bar(label, score, said.includes(label))));
  return bars;
}

// The model's offsets are code points, those of JavaScript's strings are UTF-16 units.
function answerIn(context, { answer, score, start, end }) {
  const made = element("div");
  const said = start < 0 ? "No answer" : answer;
  made.append(element("p", `${said} (${(100 * score).toFixed(1)} %)`, "chosen"));
  const text = element("p", "", "sentence");
  const part = (from, to) => [...context].slice(from, to).join("");
  if (start < 0) text.append(context);
  else text.append(part(0, start), element("mark", part(start, end), "colour-0"), part(end));
  made.append(text);
  return made;
}

function bar(label, score, isChosen) {
  const made = element("li", "", isChosen ? "chosen" : "");
  made.append(element("span", isChosen ? `${label} ✓` : label));
  made.append(element("span", `${(100 * score).toFixed(1)} %`));
  const track = element("div", "", "track");
  track.setAttribute("aria-hidden", "true");
  const fill = element("div", "", "fill");
  fill.style.width = `${100 * score}%`;
  track.append(fill);
  made.append(track);
  return made;
}

function scale(model, score) {
  const made = element("div");
  const [from, to] = model.range.length ? model.range : [0, 1];
  const low = Math.min(from, Math.floor(score));
  const high = Math.max(to, Math.ceil(score));
  const said = element("p", score.toFixed(2), "score");
  said.append(element("span", ` on a scale from ${low} to ${high}`, "unseen"));
  made.append(said);
  const line = element("div", "", "scale");
  line.setAttribute("aria-hidden", "true");
  const point = element("div", "", "point");
  point.style.left = `${(100 * (score - low)) / (high - low)}%`;
  line.append(point);
  const ends = element("div", "", "ends");
  ends.setAttribute("aria-hidden", "true");
  ends.append(element("span", `${low}`), element("span", `${high}`));
  made.append(line, ends);
  return made;
}

// Entities of the tags of each scheme: B- and S- begin one, another type does, E- and S- end one.
function spans(tags) {
  const found = [];
  let open = null;
  tags.forEach((tag, index) => {
    const [place, type] = tag.includes("-") ? [tag[0], tag.slice(2)] : [null, null];
    if (place === null) {
      open = null;
      return;
    }
    if (open === null || open.type !== type || place === "B" || place === "S") {
      open = { type, start: index, end: index };
      found.push(open);
    }
    open.end = index;
    if (place === "E" || place === "S") open = null;
  });
  return found;
}

function sentence(model, words, tags) {
  const types = [...new Set(model.labels.filter((tag) => tag.includes("-")).map((tag) => tag.slice(2)))];
  const made = element("p", "", "sentence");
  const entities = types.length ? spans(tags)
    : tags.map((type, index) => ({ type, start: index, end: index }));
  const names = types.length ? types : model.labels;
  let next = 0;
  for (const entity of entities) {
    made.append(`${words.slice(next, entity.start).join(" ")} `);
    const text = words.slice(entity.start, entity.end + 1).join(" ");
    const mark = element("mark", text, `colour-${names.indexOf(entity.type) % 6}`);
    mark.append(" ", element("small", entity.type));
    made.append(mark, " ");
    next = entity.end + 1;
  }
  made.append(words.slice(next).join(" "));
  if (entities.length > 0) return made;
  const all = element("div");
  all.append(made, element("p", "No entity.", "note"));
  return all;
}

byId("first").addEventListener("change", choose);
byId("second").addEventListener("change", showChosen);
byId("sample").addEventListener("click", () => {
  const { sample } = models[byId("first").value];
  for (const area of fields()) area.value = sample[area.name];
  ask();
});
byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!byId("asking").hidden) ask();
});
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = byId("token").value.trim();
  // A header holds little else, and no server's token has it.
  if (!/^[!-~]+$/.test(given)) {
    say("A token has letters, digits and signs, and no spaces.", true);
    return;
  }
  token = given;
  start();
});
start();
