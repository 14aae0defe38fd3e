"use strict";
// Lets the program call a JavaScript function for a summary. The program runs `callback.cjs` as its `--summarizer-cmd`,
// which passes the prompt on through a socket in a folder of this user (on Windows, a named pipe) and prints the answer.
const { randomBytes, timingSafeEqual } = require("node:crypto");
const net = require("node:net");
const path = require("node:path");

const isWindows = process.platform === "win32";

/** Returns the command for a function. It has no quotes and no variables, so that every shell reads it alike. */
function commandFor(summarizer) {
  // Summaries in a cache are found by the command, and so by the name of the function.
  const name = String(summarizer.name).replace(/[^\w.]/g, "") || "summarizer";
  return `${path.basename(process.execPath, ".exe")} -r callback.cjs -e 0 ${name}`;
}

/** Answers prompts with a function until `close` is called. `error` is what the function threw last. */
async function serve(summarizer, folder) {
  const key = randomBytes(32).toString("hex");
  const isKey = (proof) => timingSafeEqual(Buffer.from(proof, "latin1"), Buffer.from(key));
  const address = isWindows ? `\\\\.\\pipe\\tcompact-${randomBytes(16).toString("hex")}` : path.join(folder, "socket");
  const served = { env: environment(address, key), error: undefined, close: () => server.close() };
  const answer = async (prompt) => {
    try {
      const summary = await summarizer(prompt);
      if (typeof summary === "string") return { summary };
      throw new TypeError(`the summarizer must return a string, and returned ${typeof summary}`);
    } catch (error) {
      served.error = error;
      return { failure: String(error) };
    }
  };
  const server = net.createServer((socket) => {
    let [text, isKnown] = ["", false];
    socket.on("error", () => {}); // The program may wait no longer.
    socket.setEncoding("utf8").on("data", async (chunk) => {
      text += chunk;
      if (text.length < key.length) return;
      isKnown ||= isKey(text.slice(0, key.length));
      if (!isKnown) socket.destroy();
      // Not every pipe can be half closed: a line break ends the prompt, which is JSON and has none.
      else if (chunk.endsWith("\n")) socket.end(JSON.stringify(await answer(JSON.parse(text.slice(key.length)))));
    });
  });
  await new Promise((resolve, reject) => server.on("error", reject).listen(address, resolve));
  return served;
}

function environment(address, key) {
  const variable = Object.keys(process.env).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
  return {
    [variable]: [path.dirname(process.execPath), process.env[variable] ?? ""].join(path.delimiter),
    NODE_PATH: __dirname, // where `-r` finds `callback.cjs`
    NODE_OPTIONS: "",
    ELECTRON_RUN_AS_NODE: "1",
    NODE_SUMMARIZER: address,
    NODE_SUMMARIZER_KEY: key,
  };
}

module.exports = { commandFor, serve };
