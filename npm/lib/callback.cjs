"use strict";
// Passes the prompt on to the process that started the program, and prints its answer: see `summarizer.cjs`.
const { NODE_SUMMARIZER: address, NODE_SUMMARIZER_KEY: key } = process.env;
const socket = require("node:net").connect(address);
let answer = "";
socket.setEncoding("utf8").on("data", (chunk) => (answer += chunk));
socket.write(`${key}${JSON.stringify(require("node:fs").readFileSync(0, "utf8"))}\n`);
const fail = (why) => {
  process.stderr.write(why);
  process.exitCode = 1;
};
socket.on("error", (error) => fail(error.message));
socket.on("end", () => {
  if (!answer) return fail("the process that asks for the summary is gone");
  const { summary, failure } = JSON.parse(answer);
  (failure === undefined ? process.stdout : process.stderr).write(summary ?? failure);
  process.exitCode = failure === undefined ? 0 : 1;
});
