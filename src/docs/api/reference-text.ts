import type { Json } from "./build-example.ts";
import { cell, fieldRows, schemaName } from "./field-rows.ts";
import { TAGS } from "./tags.ts";

export const API_PATH = "/docs/api";
const KEY = "$SLIPROAD_API_KEY";

type ApiText = { url: string; title: string; text: string };

/** The API reference as Markdown: an overview, a page for each tag, and one for the webhooks. */
export function referenceTexts(document: Json, base_url: string): ApiText[] {
  const owners = findOwners(document);
  const pages = TAGS.map(({ name }) => tagPage(document, name, owners, base_url));
  return [overview(document, base_url), ...pages, webhooksPage(document, owners)];
}

/** The URL of every page, without a document. */
export function listApiUrls(): string[] {
  return [API_PATH, ...TAGS.map(({ name }) => tagUrl(name)), `${API_PATH}/webhooks`];
}

type Operation = Json & { method: string; path: string };

function operationsOf(document: Json, tag: string): Operation[] {
  return Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods)
      .filter(([, operation]) => operation.tags[0] === tag)
      .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
}

function overview(document: Json, base_url: string): ApiText {
  const groups = TAGS.map(({ name, description }) => {
    const operations = operationsOf(document, name);
    if (operations.length === 0) return "";
    const rows = operations.map(
      ({ method, path, summary }) =>
        `| \`${method} ${path}\` | [${summary}](${tagUrl(name)}#${slug(summary)}) |`,
    );
    return `## ${name}\n\n${description}\n\n${table("| Route | Page |", rows)}`;
  });
  const text = [
    "# API reference",
    `${document.info.description} The base URL of this server is \`${base_url}\`.`,
    `All errors have the same body: [errors](${ERRORS_URL}). The machine-readable document is ` +
      "at `/openapi.json` (OpenAPI 3.1). New here? Start with the guide " +
      "[first payout](/docs/guides/first-payout).",
    ...groups,
    "## Webhooks",
    `The requests that Sliproad sends to your server: [all events](${API_PATH}/webhooks).`,
  ];
  return { url: API_PATH, title: "API reference", text: text.filter(Boolean).join("\n\n") };
}

const ERRORS_URL = "/docs/reference/errors";

function tagPage(document: Json, tag: string, owners: Owners, base_url: string): ApiText {
  const { description, guides } = TAGS.find(({ name }) => name === tag)!;
  const links = guides.map((guide) => `[${guide.replaceAll("-", " ")}](/docs/guides/${guide})`);
  const operations = operationsOf(document, tag);
  const objects = [...owners].filter(([, owner]) => owner === tagUrl(tag)).map(([name]) => name);
  const parts = [
    `# ${tag}`,
    description,
    `Guides: ${links.join(", ")}. Back to [all routes](${API_PATH}).`,
    ...operations.map((operation) => operationText(document, operation, owners, base_url)),
    ...objects.map((name) => objectText(document, name, owners)),
  ];
  return { url: tagUrl(tag), title: tag, text: parts.join("\n\n") };
}

function operationText(
  document: Json,
  operation: Operation,
  owners: Owners,
  base_url: string,
): string {
  const { summary, description, method, path, operationId } = operation;
  const parameters = (operation.parameters ?? [])
    .map((parameter: Json) => follow(document, parameter))
    .filter(({ in: place }: Json) => place !== "path");
  const body = operation.requestBody?.content["application/json"];
  const answer = operation.responses["200"].content["application/json"];
  return [
    `## ${summary}`,
    `\`${method} ${path}\``,
    description,
    parameters.length > 0 && fieldTable("Parameter", parameterRows(document, parameters, owners)),
    body && fieldTable("Body", fieldRows(document, body.schema, owners)),
    fence("sh", curl(operation, base_url)),
    answer
      ? `The answer holds ${answerWords(answer.schema, owners)}.`
      : "The answer is the file itself.",
    answer && fence("json", JSON.stringify(answer.example, null, 2)),
    `Errors: ${errorLinks(document, operation)}. Name in clients: \`${operationId}\`.`,
  ]
    .filter(Boolean)
    .join("\n\n");
}

function curl({ method, path, requestBody }: Operation, base_url: string): string {
  const shown_path = path.replace(
    /\{(\w+)\}/g,
    (_: string, name: string) => `$${name.toUpperCase()}`,
  );
  const lines = [
    `curl ${method === "GET" ? "" : `-X ${method} `}"${base_url}${shown_path}"`,
    `-H "Authorization: Bearer ${KEY}"`,
  ];
  const json = requestBody?.content["application/json"];
  if (json?.example) {
    lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(json.example)}'`);
  }
  if (requestBody?.content["multipart/form-data"]) lines.push('-F "file=@document.pdf"');
  return lines.join(" \\\n  ");
}

function parameterRows(document: Json, parameters: Json[], owners: Owners): string[] {
  return parameters.map(({ name, required, description, schema }) => {
    const type = schemaName(document, schema, owners);
    return `| ${name}${required ? " *required*" : ""} | ${type} | ${cell(description ?? "")} |`;
  });
}

/** The keys of the response, with links to their objects. */
function answerWords(schema: Json, owners: Owners): string {
  if (schema.$ref) return objectLink(schema.$ref.split("/").at(-1), owners);
  const choices: Json[] = schema.anyOf ?? [schema];
  const words = choices.map((choice) => {
    const keys = Object.entries<Json>(choice.properties ?? {}).map(([key, inner]) => {
      const ref = inner.$ref ?? inner.items?.$ref;
      const name = ref?.split("/").at(-1);
      return name && owners.has(name) ? `\`${key}\` (${objectLink(name, owners)})` : `\`${key}\``;
    });
    return keys.join(", ");
  });
  return words.join("; or ");
}

function objectText(document: Json, name: string, owners: Owners): string {
  const rows = fieldRows(document, document.components.schemas[name], owners);
  return [`## ${name} object`, fieldTable("Field", rows)].join("\n\n");
}

function webhooksPage(document: Json, owners: Owners): ApiText {
  const events = Object.entries<Json>(document.webhooks).map(([event, { post }]) => {
    const { schema, example } = post.requestBody.content["application/json"];
    const rows = fieldRows(document, schema, owners);
    return [
      `## ${event}`,
      post.description,
      fieldTable("Body", rows),
      fence("json", JSON.stringify(example, null, 2)),
    ].join("\n\n");
  });
  const headers = Object.values<Json>(document.webhooks)[0].post.parameters.map((one: Json) =>
    follow(document, one),
  );
  const text = [
    "# Webhooks",
    "The requests that Sliproad sends to your server. How to receive and verify them: the guide " +
      "[webhooks](/docs/guides/webhooks) and the [reference](/docs/reference/webhooks). Back to " +
      `[all routes](${API_PATH}).`,
    "## Headers",
    fieldTable("Header", parameterRows(document, headers, owners)),
    ...events,
  ];
  return { url: `${API_PATH}/webhooks`, title: "Webhooks", text: text.join("\n\n") };
}

/** The page that explains each object: that of the first tag that returns it. */
type Owners = ReadonlyMap<string, string>;

function findOwners(document: Json): Owners {
  const owners = new Map<string, string>();
  const own = (url: string, value: Json): void => {
    if (value === null || typeof value !== "object") return;
    const name = typeof value.$ref === "string" ? value.$ref.split("/").at(-1) : undefined;
    const schema = document.components.schemas[name];
    if (schema?.properties && name !== "Error" && !owners.has(name)) {
      owners.set(name, url);
      own(url, schema);
    }
    for (const inner of Object.values(value)) own(url, inner);
  };
  for (const { name: tag } of TAGS) {
    for (const operation of operationsOf(document, tag)) own(tagUrl(tag), operation.responses[200]);
  }
  return owners;
}

function objectLink(name: string, owners: Owners): string {
  return `[${name}](${owners.get(name)}#${slug(`${name} object`)})`;
}

function errorLinks(document: Json, operation: Operation): string {
  const codes = Object.entries<Json>(operation.responses)
    .filter(([status]) => status !== "200")
    .flatMap(([, response]) => {
      const { description } = response.description ? response : follow(document, response);
      return [...description.matchAll(/(?:^|, )`(\w+)`/gm)].map((match) => match[1]!);
    });
  return codes.map((code) => `[\`${code}\`](${ERRORS_URL}#${code})`).join(", ");
}

function follow(document: Json, value: Json): Json {
  if (!value.$ref) return value;
  return value.$ref
    .split("/")
    .slice(1)
    .reduce((at: Json, name: string) => at[name], document);
}

function fieldTable(head: string, rows: readonly string[]): string {
  return table(`| ${head} | Type | Meaning |`, rows);
}

function table(head: string, rows: readonly string[]): string {
  return [head, head.replace(/[^|]+/g, " --- "), ...rows].join("\n");
}

function fence(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

function tagUrl(tag: string): string {
  return `${API_PATH}/${slug(tag)}`;
}

function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}
