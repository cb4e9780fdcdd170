import type { InvoiceEvent, RampEvent } from "../../events/model.ts";
import { STATUS_AFTER } from "../../invoices/model.ts";
import { buildExample, type Json } from "./build-example.ts";
import {
  INVOICE_EVENT_MEANINGS,
  RAMP_EVENT_MEANINGS,
  RAMP_EVENT_RECORDS,
} from "./event-meanings.ts";

const header = (name: string, description: string, example: string) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" },
  example,
});
const SIGNATURE_HEX = "4f1c9a27e8b3d6505c7e2f19ab8d4c3e6f70918273645546372819a0bcdef123";
const HEADERS = {
  WebhookSignatureHex: header(
    "X-Webhook-Signature",
    "Lowercase hex of HMAC-SHA256 over the raw body, keyed with the webhook secret.",
    SIGNATURE_HEX,
  ),
  WebhookId: header("webhook-id", "Id of the event, the same on every attempt.", "019a8f3c-7a10"),
  WebhookTimestamp: header("webhook-timestamp", "Unix seconds of this attempt.", "1794821400"),
  WebhookSignature: header(
    "webhook-signature",
    "Standard Webhooks: `v1,` and the base64 of the HMAC over `id.timestamp.body`.",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  ),
  WebhookSequence: header("X-Webhook-Sequence", "Number of this change of the record.", "4"),
};

/** The requests that Sliproad sends: OpenAPI 3.1 calls them webhooks. */
export function addWebhooks(document: Json): Json {
  const { schemas, parameters } = document.components;
  const events = [
    ...Object.entries(INVOICE_EVENT_MEANINGS).map(([event, meaning]) => ({
      event,
      meaning,
      schema: invoiceEventSchema(event),
      // The invoice after the event.
      change: (example: Json) => ({
        ...example,
        invoice: { ...example.invoice, status: STATUS_AFTER[event as InvoiceEvent] },
      }),
    })),
    ...Object.entries(RAMP_EVENT_MEANINGS).map(([event, meaning]) => ({
      event,
      meaning,
      schema: rampEventSchema(event as RampEvent),
      change: (example: Json) => example,
    })),
  ];
  const webhooks = events.map(({ event, meaning, schema, change }) => {
    const example = change(buildExample(schemas, schema));
    return [event, { post: operationOf(event, meaning, schema, example) }];
  });
  return {
    ...document,
    webhooks: Object.fromEntries(webhooks),
    components: { ...document.components, parameters: { ...parameters, ...HEADERS } },
  };
}

function operationOf(event: string, meaning: string, schema: Json, example: Json): Json {
  return {
    operationId: `on${event.split("_").map(capitalised).join("")}`,
    summary: event,
    description: meaning,
    tags: ["Webhook events"],
    security: [],
    parameters: Object.keys(HEADERS).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    requestBody: { required: true, content: { "application/json": { schema, example } } },
    responses: {
      "2XX": { description: "Received. Anything else is tried again." },
      410: { description: "Gone: the endpoint is disabled." },
    },
  };
}

function invoiceEventSchema(event: string): Json {
  return {
    type: "object",
    required: ["variant", "event", "timestamp", "invoice"],
    properties: {
      variant: { $ref: "#/components/schemas/InvoiceFormat" },
      event: { type: "string", const: event, examples: [event] },
      timestamp: { type: "integer", description: "Unix time in milliseconds." },
      invoice: { $ref: "#/components/schemas/Invoice" },
    },
  };
}

function rampEventSchema(event: RampEvent): Json {
  const [key, component] = RAMP_EVENT_RECORDS[event];
  return {
    type: "object",
    required: ["event", "timestamp", "payload"],
    properties: {
      event: { type: "string", const: event, examples: [event] },
      timestamp: { type: "integer", description: "Unix time in milliseconds." },
      payload: {
        type: "object",
        required: [key],
        properties: { [key]: { $ref: `#/components/schemas/${component}` } },
      },
    },
  };
}

function capitalised(word: string): string {
  return word[0]!.toUpperCase() + word.slice(1);
}
