// The subset of curl that our documentation uses, for machines without curl.
import { readFile, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    silent: { type: "boolean", short: "s" },
    fail: { type: "boolean", short: "f" },
    output: { type: "string", short: "o" },
    request: { type: "string", short: "X" },
    header: { type: "string", short: "H", multiple: true, default: [] },
    user: { type: "string", short: "u" },
    data: { type: "string", short: "d", multiple: true, default: [] },
    form: { type: "string", short: "F", multiple: true, default: [] },
    retry: { type: "string", default: "0" },
    "retry-connrefused": { type: "boolean" },
    "retry-delay": { type: "string", default: "1" },
  },
});

const headers = new Headers(values.header.map((line) => line.split(/:\s*/, 2) as [string, string]));
if (values.user) headers.set("Authorization", `Basic ${btoa(values.user)}`);
const body = await readBody();
if (typeof body === "string" && !headers.has("Content-Type")) {
  headers.set("Content-Type", "application/x-www-form-urlencoded");
}
const method = values.request ?? (body === undefined ? "GET" : "POST");

const answer = await ask(Number(values.retry));
if (values.fail && !answer.ok) process.exit(22);
const bytes = Buffer.from(await answer.arrayBuffer());
if (values.output) await writeFile(values.output, bytes);
else process.stdout.write(bytes);

async function ask(retries: number): Promise<Response> {
  const asked = fetch(positionals[0]!, { method, headers, ...(body ? { body } : {}) });
  if (retries === 0) return asked;
  const got = await asked.catch(() => null);
  if (got && got.status !== 503) return got;
  await new Promise((resolve) => setTimeout(resolve, Number(values["retry-delay"]) * 1000));
  return ask(retries - 1);
}

async function readBody(): Promise<string | FormData | undefined> {
  if (values.form.length > 0) return readForm();
  return values.data.length > 0 ? values.data.join("&") : undefined;
}

async function readForm(): Promise<FormData> {
  const form = new FormData();
  for (const part of values.form) {
    const [, name = "", file = ""] = /^([^=]+)=@(.*)$/.exec(part) ?? [];
    form.set(name, new Blob([await readFile(file)]), basename(file));
  }
  return form;
}
