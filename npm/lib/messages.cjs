"use strict";

/** Returns messages as JSON for the program, and a function that makes what it wrote the given objects again. */
function dumped(messages) {
  if (!Array.isArray(messages)) return { text: JSON.stringify(messages, plain) ?? "null", restored: JSON.parse };
  const texts = messages.map((message) => JSON.stringify(message, plain) ?? "null");
  const restored = (written) => {
    const places = new Map();
    texts.forEach((text, index) => {
      // Parsed keys such as `1` stand in the order in which they do in what the program wrote.
      const key = JSON.stringify(JSON.parse(text));
      if (!places.has(key)) places.set(key, []);
      places.get(key).push(index);
    });
    // From the end, since what is kept is there: of equal messages, the last is meant.
    const kept = JSON.parse(written)
      .reverse()
      .map((message) => {
        const index = places.get(JSON.stringify(message))?.pop();
        return index === undefined ? message : messages[index];
      });
    return kept.reverse();
  };
  return { text: `[${texts.join(",")}]`, restored };
}

/** Bytes become base64, which SDKs take too. */
function plain(key, value) {
  return this[key] instanceof Uint8Array ? Buffer.from(this[key]).toString("base64") : value;
}

module.exports = { dumped };
