// A stand-in for a provider of models, on this machine: it answers Anthropic's Messages API in a stream and keeps
// the requests.
import http from "node:http";

/** What a stand-in for the model plants in the output of a command, and looks for when it is asked for it. */
export const FACT = "the probe listens on port 7316";
const words = (body) => body.messages.flatMap(({ content }) => (typeof content === "string" ? content : content.map(({ text }) => text ?? ""))).join("\n");

// The command of a call: it knows nothing but the line in the result that says how to search what was cut.
const command = (body, last, isFirst) => {
  // The command itself does not say it.
  if (isFirst) return `seq -f 'object %g is linked' 900 | sed "450s/.*/$(echo '${[...FACT].reverse().join("")}' | rev)/"`;
  if (!last.includes("which port")) return "echo out";
  const [, file] = /`tcompact search REGEX ([^`]+)`/.exec(words(body)) ?? [];
  return file ? `tcompact search 'listens on' ${file}` : "echo 'no line says where to look'";
};

// The first request of each question is answered with a call of `tool`, and the next one with words.
const answer = (body, count, tool) => {
  const last = JSON.stringify(body.messages.at(-1).content);
  const text = { type: "text", text: `Answer ${count}.` };
  const asks = body.tools?.some(({ name }) => name === tool.name) && last.includes("Question") && !last.includes("tool_result");
  if (!asks) return [text];
  const { name } = tool;
  return [text, { type: "tool_use", id: `toolu_${count}`, name, input: { ...tool.input, command: command(body, last, tool.calls++ === 0) } }];
};

const events = (body, content, count) => {
  const usage = { input_tokens: 1000 * count, output_tokens: 20 };
  const message = { id: `msg_${count}`, type: "message", role: "assistant", model: body.model, content: [], stop_reason: null, usage };
  const blocks = content.flatMap((block, index) => [
    { type: "content_block_start", index, content_block: block.type === "text" ? { ...block, text: "" } : { ...block, input: {} } },
    { type: "content_block_delta", index, delta: block.type === "text" ? { type: "text_delta", text: block.text }
      : { type: "input_json_delta", partial_json: JSON.stringify(block.input) } },
    { type: "content_block_stop", index },
  ]);
  const delta = { stop_reason: content.length > 1 ? "tool_use" : "end_turn", stop_sequence: null };
  return [{ type: "message_start", message }, ...blocks, { type: "message_delta", delta, usage }, { type: "message_stop" }];
};

export async function startModel({ name, input }) {
  const requests = [], tool = { name, input, calls: 0 };
  const server = http.createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    if (!request.url.startsWith("/v1/messages") || request.url.includes("count_tokens")) {
      return response.writeHead(404).end("{}");
    }
    const body = JSON.parse(text);
    requests.push(body);
    const content = answer(body, requests.length, tool);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events(body, content, requests.length)) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { requests, url: `http://127.0.0.1:${server.address().port}`, stop: () => { server.closeAllConnections(); server.close(); } };
}
