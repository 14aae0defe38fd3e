// The lines of docs/agents.md for Cline, in the compaction of Cline's own package. It is large: `run-tests` does not
// install it by itself.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { FAILURES, HERE, assertOneLine, folder, installed, standIn } from "./help.mjs";

const home = installed("cline", "@cline/core");

test("Cline sends what tcompact makes of the messages", { skip: home ? false : "@cline/core is not installed" }, async (context) => {
  const place = folder(context);
  const document = readFileSync(join(HERE, "../docs/agents.md"), "utf8");
  writeFileSync(join(place, "compaction.mjs"), document.split("\n## Cline\n")[1].split("```js\n")[1].split("```")[0].replace("120_000", "500"));
  const { compaction } = await import(join(place, "compaction.mjs"));
  const { createContextCompactionPrepareTurn } = await import(join(home, JSON.parse(readFileSync(join(home, "package.json"), "utf8")).exports["."].import));
  const messages = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((n) => [
    { id: `u${n}`, role: "user", content: [{ type: "text", text: `Question ${n}: never touch migrations/${n}. ${"The parser keeps line numbers. ".repeat(200)}` }] },
    { id: `a${n}`, role: "assistant", content: [{ type: "tool_use", id: `t${n}`, name: "bash", input: { command: "ls" } }] },
    { id: `r${n}`, role: "user", content: [{ type: "tool_result", tool_use_id: `t${n}`, content: "out" }] },
    { id: `b${n}`, role: "assistant", content: [{ type: "text", text: `Answer ${n}.` }] },
  ]);
  const notices = [], model = { id: "m", info: { id: "m", maxInputTokens: 8000, contextWindow: 8000, maxTokens: 1000 } };
  const prepare = createContextCompactionPrepareTurn({ providerId: "anthropic", modelId: "m", sessionId: "s", compaction: compaction(join(place, "cut.jsonl")) });
  const prepared = () => prepare({
    agentId: "a", conversationId: "c", parentAgentId: null, iteration: 1, messages, apiMessages: messages, model, tools: [],
    abortSignal: new AbortController().signal, systemPrompt: "", emitStatusNotice: (notice) => notices.push(notice),
  });
  const result = await prepared();
  assert.ok(result.messages.length < messages.length / 2, `${result.messages.length} messages`);
  assert.match(JSON.stringify(result.messages[0]), /Here is a summary[^]*migrations\/0/);
  assert.deepEqual(result.messages.at(-1), messages.at(-1));
  assert.match(readFileSync(join(place, "cut.jsonl"), "utf8"), /Question 0/);

  const { path, become } = standIn(join(place, "bin")), own = process.env.PATH, error = console.error, lines = [];
  context.after(() => { process.env.PATH = own; console.error = error; });
  process.env.PATH = path;
  console.error = (line) => lines.push(line);
  for (const [name, script, line] of FAILURES) {
    become(script);
    assert.equal((await prepared())?.messages, undefined, name);
    assertOneLine(lines.splice(0), line, name);
  }
});
