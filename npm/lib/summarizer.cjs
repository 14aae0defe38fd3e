"use strict";
// Lets the program call a JavaScript function for a summary. The program runs `callback.cjs` as its `--summarizer-cmd`,
// which passes the prompt on through a socket in a folder of this user (on Windows, a named pipe) and prints the answer.
// Whoever connects and does not soon prove that it knows the key is dropped.
const { randomBytes, timingSafeEqual } = require("node:crypto");
const net = require("node:net");
const path = require("node:path");

const isWindows = process.platform === "win32";
// How long a connection may say nothing, in milliseconds: before it has proved that it knows the key, and afterwards.
const [SOON, LATER] = [10_000, 60_000];
// Connections that have not proved it yet; of more, the oldest is dropped.
const MOST_STRANGERS = 64;

/** Returns the command for a function. What it runs is in a variable, by its whole path. */
function commandFor(summarizer) {
  // Summaries in a cache are found by the command, and so by the name of the function, wherever this is installed.
  const name = String(summarizer.name).replace(/[^\w.]/g, "") || "summarizer";
  return isWindows ? `%NODE_SUMMARIZER_COMMAND% ${name}` : `eval "$NODE_SUMMARIZER_COMMAND" ${name}`;
}

/** Answers prompts with a function until `close` is called. `error` is what the function threw last. */
async function serve(summarizer, folder) {
  const key = randomBytes(32).toString("hex");
  const isKey = (proof) => timingSafeEqual(Buffer.from(proof, "latin1"), Buffer.from(key));
  const address = isWindows ? `\\\\.\\pipe\\tcompact-${randomBytes(16).toString("hex")}` : path.join(folder, "socket");
  const [all, strangers] = [new Set(), new Set()];
  const close = () => {
    server.close();
    for (const socket of all) socket.destroy(); // One that is left open would keep the process alive.
  };
  const served = { env: environment(address, key), error: undefined, close };
  const answer = async (prompt) => {
    try {
      const summary = await summarizer(JSON.parse(prompt));
      if (typeof summary === "string") return { summary };
      throw new TypeError(`the summarizer must return a string, and returned ${typeof summary}`);
    } catch (error) {
      served.error = error;
      return { failure: String(error) };
    }
  };
  const server = net.createServer((socket) => {
    let [text, isKnown] = ["", false];
    all.add(socket);
    strangers.add(socket);
    if (strangers.size > MOST_STRANGERS) strangers.values().next().value.destroy();
    const late = setTimeout(() => socket.destroy(), SOON);
    socket.on("error", () => {}); // The program may wait no longer.
    socket.on("close", () => (clearTimeout(late), all.delete(socket), strangers.delete(socket)));
    socket.setEncoding("utf8").on("data", async (chunk) => {
      text += chunk;
      if (text.length < key.length) return;
      isKnown ||= isKey(text.slice(0, key.length));
      if (!isKnown) return socket.destroy();
      clearTimeout(late);
      strangers.delete(socket);
      socket.setTimeout(LATER, () => socket.destroy());
      // Not every pipe can be half closed: a line break ends the prompt, which is JSON and has none.
      if (!chunk.endsWith("\n")) return;
      socket.setTimeout(0);
      socket.end(JSON.stringify(await answer(text.slice(key.length))));
    });
  });
  await new Promise((resolve, reject) => server.on("error", reject).listen(address, resolve));
  return served;
}

function environment(address, key) {
  const words = [process.execPath, path.join(__dirname, "callback.cjs")];
  const quoted = (word) => (isWindows ? `"${word}"` : `'${word.replaceAll("'", "'\\''")}'`);
  return {
    NODE_SUMMARIZER_COMMAND: (isWindows ? "" : "exec ") + words.map(quoted).join(" "),
    NODE_OPTIONS: "",
    NODE_PATH: "",
    ELECTRON_RUN_AS_NODE: "1",
    NODE_SUMMARIZER: address,
    NODE_SUMMARIZER_KEY: key,
  };
}

module.exports = { commandFor, serve };
