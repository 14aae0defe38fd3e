// An agent of the AI SDK that compacts its messages between steps. Run it beside the packages `tcompact` and `ai`:
//   node prepare-step.mjs
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import * as mocks from "ai/test";
import { compact } from "tcompact";

// Beyond 8 messages, the last 4 stay behind a summary. A real agent rather has `trigger: "tokens:100k"`.
const prepareStep = async ({ messages }) => {
  const { messages: short } = await compact(messages, { from: "ai-sdk", trigger: "messages:8", keep: "messages:4" });
  return { messages: short };
};

// In the place of a model: it reads ten files, one after the other, and counts the messages that it is sent.
const Model = mocks.MockLanguageModelV4 ?? mocks.MockLanguageModelV3;
const tokens = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const prompts = [];
const model = new Model({
  doGenerate: async ({ prompt }) => {
    prompts.push(prompt);
    const id = `call_${prompts.length}`;
    const call = { type: "tool-call", toolCallId: id, toolName: "read", input: JSON.stringify({ file: `${id}.txt` }) };
    const isDone = prompts.length > 10;
    return {
      content: [isDone ? { type: "text", text: "I read all of them." } : call],
      finishReason: { unified: isDone ? "stop" : "tool-calls", raw: undefined },
      usage: tokens,
      warnings: [],
    };
  },
});

const { text } = await generateText({
  model,
  prompt: "Read the ten files and say what they have in common.",
  tools: {
    read: tool({
      inputSchema: jsonSchema({ type: "object", properties: { file: { type: "string" } }, required: ["file"] }),
      execute: async ({ file }) => `${file}: ${"a line of its text, ".repeat(40)}`,
    }),
  },
  stopWhen: stepCountIs(20),
  prepareStep,
});

for (const prompt of prompts) {
  const parts = prompt.flatMap((message) => (Array.isArray(message.content) ? message.content : []));
  const ids = (type) => parts.filter((part) => part.type === type).map((part) => part.toolCallId);
  if (String(ids("tool-call")) !== String(ids("tool-result"))) throw new Error("a call is parted from its result");
}
console.log(`messages of each prompt: ${prompts.map((prompt) => prompt.length).join(" ")}`);
console.log(text);
