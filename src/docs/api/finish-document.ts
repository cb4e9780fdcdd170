import { buildExample, type Json } from "./build-example.ts";
import {
  mapOperations,
  shareEnums,
  shareErrors,
  shareParameters,
  shortenNullables,
  withoutErrorMessages,
} from "./share-parts.ts";
import { TAGS } from "./tags.ts";
import { addWebhooks } from "./webhooks-section.ts";

/**
 * The OpenAPI document for people and generators, built from what the routes declare: enums,
 * parameters and errors as shared components, tags in reading order, an example for every response,
 * and the webhooks.
 */
export function finishDocument(described: Json): Json {
  const steps = [
    withoutErrorMessages,
    shareErrors,
    shareEnums,
    shareParameters,
    addAnswerExamples,
    inReadingOrder,
    addWebhooks,
    shortenNullables,
  ];
  // The library's object has symbols and references to itself; a copy has JSON only.
  const plain = JSON.parse(JSON.stringify(described));
  return steps.reduce((document, step) => step(document), plain);
}

/** How a file of each type begins; the document's readers see that it is no JSON. */
const FILE_EXAMPLES: Readonly<Record<string, string>> = {
  "application/pdf": "%PDF-1.7 …",
  "image/jpeg": "ÿØÿà…JFIF…",
  "image/png": "‰PNG…",
  "text/csv": "id,created_at,status\r\n…",
  "application/jsonl": '{"id":"…","created_at":"…","status":"…"}\n…',
};

function addAnswerExamples(document: Json): Json {
  const { schemas } = document.components;
  return mapOperations(document, (operation) => {
    const { description: _, ...success } = operation.responses["200"];
    const content = Object.entries<Json>(success.content).map(([type, { schema }]) => {
      if (type !== "application/json") return [type, { schema, example: FILE_EXAMPLES[type] }];
      // The library repeats the response's description in its schema.
      const { description: __, ...rest } = schema;
      return [type, { schema: rest, example: buildExample(schemas, rest, operation.operationId) }];
    });
    const answer = { description: "Success.", ...success, content: Object.fromEntries(content) };
    return { ...operation, responses: { ...operation.responses, 200: answer } };
  });
}

/** Tags in the order a newcomer needs, and the paths in the order of their tags. */
function inReadingOrder(document: Json): Json {
  const place = (methods: Json) => {
    const tag = Object.values<Json>(methods)[0].tags[0];
    return TAGS.findIndex(({ name }) => name === tag);
  };
  const paths = Object.entries<Json>(document.paths).sort(
    ([, one], [, other]) => place(one) - place(other),
  );
  const tags = TAGS.map(({ name, description }) => ({ name, description }));
  return { ...document, tags, paths: Object.fromEntries(paths) };
}
