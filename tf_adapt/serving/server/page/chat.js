// A conversation with a model of dialogues, in place of the fields and results of other models.
"use strict";

const NO_WORDS = "…";
const MOST_TOKENS = 40;
// Turns that are sent: a model reads its last exchanges alone.
const SENT_TURNS = 21;

function talks(model) {
  return model.inputs.includes("history");
}

// The view of a new conversation; `model` is an entry of page/models.json.
function conversation(model) {
  const view = element("div");
  const persona = area("persona", "Persona, a sentence a line", model.sample.persona);
  const message = area("message", "Message", "");
  const temperature = element("input");
  const settings = { id: "temperature", type: "number", min: 0, max: 100, step: "any", value: 0.7 };
  Object.assign(temperature, settings);
  const turns = element("ol", "", "turns");
  const buttons = element("div", "", "buttons");
  const [send, anew] = [element("button", "Send"), element("button", "New conversation")];
  Object.assign(send, { id: "send" });
  Object.assign(anew, { id: "anew", type: "button" });
  // It scrolls: so a keyboard must get there.
  turns.tabIndex = 0;
  turns.setAttribute("role", "log");
  turns.setAttribute("aria-label", "Conversation");
  buttons.append(send, anew);
  view.append(...labelled(persona), turns, ...labelled(message));
  view.append(...labelled({ area: temperature, text: "Temperature (0: no draw)" }), buttons);
  const history = [];

  function show(speaker, text) {
    const turn = element("li", "", speaker === "You" ? "turn own" : "turn");
    turn.append(element("small", speaker), element("p", text));
    turns.append(turn);
    turns.scrollTop = turns.scrollHeight;
    return turn;
  }

  function wrong(field, text) {
    for (const one of [persona.area, message.area, temperature]) {
      one.setAttribute("aria-invalid", `${one === field}`);
    }
    say(text, text !== "");
    if (field) field.focus();
  }

  async function reply() {
    const facts = persona.area.value.split("\n").map((line) => line.trim()).filter((line) => line);
    const said = message.area.value.trim();
    if (facts.length === 0) return wrong(persona.area, "Persona: type at least one sentence");
    if (said === "") return wrong(message.area, "Message: type something first");
    if (temperature.value === "") return wrong(temperature, "Temperature: type a number, at least 0");
    wrong(null, "");
    const number = ++asked;
    const turn = show("You", said);
    message.area.value = "";
    send.disabled = true;
    say("…");
    const inputs = {
      persona: [facts],
      history: [[...history, said].slice(-SENT_TURNS)],
      max_new_tokens: MOST_TOKENS,
      temperature: temperature.valueAsNumber,
      seed: history.length,
    };
    try {
      const path = `v1/models/${encodeURIComponent(model.model)}:predict`;
      const found = await answer(path, { signature_name: "generate", inputs });
      if (number !== asked) return;
      const text = found.outputs[0] || NO_WORDS;
      history.push(said, text);
      show(model.model, text);
      say("");
    } catch (error) {
      if (number !== asked) return;
      // What was not answered is no part of the conversation.
      turn.remove();
      message.area.value ||= said;
      say(error.message, true);
    } finally {
      if (number === asked) send.disabled = false;
    }
  }

  message.area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!send.disabled) reply();
  });
  send.type = "button";
  send.addEventListener("click", reply);
  anew.addEventListener("click", () => {
    asked += 1;
    send.disabled = false;
    history.length = 0;
    turns.replaceChildren();
    wrong(message.area, "");
  });
  return view;
}

function area(id, text, value) {
  const made = element("textarea");
  Object.assign(made, { id, value });
  return { area: made, text };
}

function labelled({ area: field, text }) {
  const label = element("label", text);
  label.htmlFor = field.id;
  field.setAttribute("aria-describedby", "status");
  return [label, field];
}
