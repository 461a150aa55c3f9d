// Reads a stream's events with AG-UI's own client, which verifies their order, and prints the resulting messages.
import { HttpAgent } from "@ag-ui/client";

const given = JSON.parse(process.argv[2]);

class Reader extends HttpAgent {
  requestInit(input) {
    return { ...super.requestInit(input), method: "GET", body: undefined };
  }
}

for (const [task, stream] of Object.entries(given.streams)) {
  const agent = new Reader({
    url: `${given.base}/api/streams/${stream}/events`,
    headers: given.cookie ? { cookie: given.cookie } : { authorization: `Bearer ${given.key}` },
  });
  const types = [];
  try {
    await agent.runAgent({}, { onEvent: ({ event }) => void types.push(event.type) });
    console.log(JSON.stringify({ task, messages: agent.messages, types }));
  } catch (error) {
    console.log(JSON.stringify({ task, error: String(error), types }));
  }
}
