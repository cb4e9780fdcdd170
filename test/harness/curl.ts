// As much of curl as our README uses, for machines without one.
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    silent: { type: "boolean", short: "s" },
    request: { type: "string", short: "X", default: "GET" },
    header: { type: "string", short: "H", multiple: true, default: [] },
    data: { type: "string", short: "d" },
  },
});

const answer = await fetch(positionals[0]!, {
  method: values.request,
  headers: values.header.map((line) => line.split(/:\s*/, 2) as [string, string]),
  ...(values.data === undefined ? {} : { body: values.data }),
});
process.stdout.write(await answer.text());
