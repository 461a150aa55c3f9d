// Reads runs from a file, one list of events per line, and prints the objections of AG-UI's own verifier.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { verifyEvents } from "@ag-ui/client";
import { from, lastValueFrom } from "rxjs";

let runs = 0;
const against = [];
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const { name, events } = JSON.parse(line);
  runs += 1;
  try {
    await lastValueFrom(verifyEvents()(from(events)));
  } catch (error) {
    against.push(`${name}: ${error}`);
  }
}
console.log(JSON.stringify({ runs, against }));
