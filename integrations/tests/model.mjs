// A stand-in for a provider of models, on this machine: it answers Anthropic's Messages API in a stream and keeps
// the requests.
import http from "node:http";

// The first request of each question is answered with a call of `tool`, and the next one with words.
const answer = (body, count, tool) => {
  const last = JSON.stringify(body.messages.at(-1).content);
  const text = { type: "text", text: `Answer ${count}.` };
  const asks = body.tools?.some(({ name }) => name === tool.name) && last.includes("Question") && !last.includes("tool_result");
  return asks ? [text, { type: "tool_use", id: `toolu_${count}`, ...tool }] : [text];
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

export async function startModel(tool) {
  const requests = [];
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
