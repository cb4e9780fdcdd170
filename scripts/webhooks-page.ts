import {
  INVOICE_EVENT_MEANINGS,
  RAMP_EVENT_MEANINGS,
  RAMP_EVENT_RECORDS,
} from "../src/docs/api/event-meanings.ts";
import { INVOICE_EVENTS, RAMP_EVENTS } from "../src/events/model.ts";
import {
  CIRCUIT_FAILURES,
  DISABLE_AFTER_MS,
  JITTER_MAX,
  RETRY_AFTER_MAX_MS,
  RETRY_DELAYS_MS,
} from "../src/webhooks/delivery/retry-schedule.ts";

/** The webhooks page; its tables come from the code that uses them. */
export function webhooksPage(table: (head: string[], rows: string[][]) => string): string[] {
  return [
    "Sliproad sends events to an application when webhooks are enabled for its account (`sliproad " +
      "accounts enable-webhooks`) and the application has a URL and a secret. If nothing is sent, " +
      "`webhook.state` and `webhook.reason` of `GET /apps/:app_id` say why.",
    "## Invoice events",
    "Body: `{ variant, event, timestamp, invoice }`. Applications receive these events without " +
      "subscribing. An application that has not been used yet receives the events of every invoice " +
      "of its account. After its first use, an application with the authorization code flow " +
      "receives the events of every invoice of the accounts that authorized it; an application with " +
      "client credentials receives the events of the invoices that it created.",
    table(
      ["event", "meaning"],
      INVOICE_EVENTS.map((name) => [`\`${name}\``, INVOICE_EVENT_MEANINGS[name]]),
    ),
    "## Ramp events",
    "Body: `{ event, timestamp, payload }`. Choose them for each application (`events`).",
    table(
      ["event", "record in the body", "meaning"],
      RAMP_EVENTS.map((name) => [
        `\`${name}\``,
        `\`payload.${RAMP_EVENT_RECORDS[name][0]}\``,
        RAMP_EVENT_MEANINGS[name],
      ]),
    ),
    "## Headers",
    table(["header", "value"], HEADERS),
    "Events of one record arrive in order, unless the application sets `is_ordered` to false. Then " +
      "use `timestamp` in the body or `X-Webhook-Sequence` to order them: both increase with every " +
      "event of a record. An event can arrive more than once, for example if the connection closes " +
      "before your answer arrives. Use `webhook-id` to detect duplicates.",
    "## Verify the signature",
    "Compute the signature over the raw bytes of the body, before you parse it, and compare it in " +
      "constant time:",
    SAMPLE,
    "With a Standard Webhooks library, use `webhook_secret_standard`. While a secret is rotated (24 " +
      "hours by default), `X-Webhook-Signature` is signed with the old secret, and " +
      "`webhook-signature` contains a signature for each of the two secrets.",
    "## Delivery",
    `A delivery succeeds if your endpoint answers 2xx within 15 seconds (5 seconds to connect). ` +
      `Redirects count as failures. Sliproad retries after ` +
      `${RETRY_DELAYS_MS.map(duration).join(", ")}, plus up to ${JITTER_MAX * 100} % jitter. ` +
      `\`Retry-After\` of a 429 or 503 can extend a delay to at most ` +
      `${duration(RETRY_AFTER_MAX_MS)}. After ${CIRCUIT_FAILURES} failures in a row, Sliproad sends ` +
      `nothing to the endpoint for 30 seconds, then tries one request; each further failure extends ` +
      `the wait. Sliproad disables an endpoint that answers 410 or only fails for ` +
      `${duration(DISABLE_AFTER_MS)}.`,
    "A pause, a new URL or secret, a withdrawn consent or an erased person takes effect within 250 " +
      "milliseconds. Requests that are already under way are not cancelled; if you change the " +
      "endpoint meanwhile, their result does not count for the new one. If one account has hundreds " +
      "of slow endpoints, deliveries to some of them wait.",
    table(["delivery", "meaning"], STATES),
    "`POST /webhook_events/:id/redeliver` sends one event again. `POST /apps/:app_id/replay` sends " +
      "all events of a period again, or only those that failed. Both return an error that says why " +
      "if nothing can be sent to the endpoint. To poll instead, read `GET /webhook_events`: it lists " +
      "the oldest event first, and never adds an event before one that you have read.",
  ];
}

const HEADERS = [
  [
    "`X-Webhook-Signature`",
    "HMAC-SHA256 of the body in lowercase hex; the key is the text of the secret.",
  ],
  ["`webhook-id`", "Id of the event; the same for every attempt."],
  ["`webhook-timestamp`", "Time of this attempt in Unix seconds."],
  [
    "`webhook-signature`",
    "Standard Webhooks: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64.",
  ],
  ["`X-Webhook-Sequence`", "Number of this event among the events of its record, starting at 1."],
];
const STATES = [
  ["`pending`", "Waits for the next attempt, or for the endpoint to be resumed."],
  ["`delivered`", "The endpoint answered 2xx."],
  ["`failed`", "All attempts failed."],
  ["`skipped`", "Not sent; `reason` says why."],
];
const SAMPLE = `\`\`\`js
import { createHmac, timingSafeEqual } from "node:crypto";

function isValid(raw_body, header, secret) {
  const expected = createHmac("sha256", secret).update(raw_body).digest();
  const given = Buffer.from(header, "hex");
  return given.length === expected.length && timingSafeEqual(given, expected);
}
\`\`\``;

function duration(ms: number): string {
  const units = [
    ["days", 86_400_000],
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
  ] as const;
  const [name, unit] = units.find(([name, unit]) => ms >= unit * (name === "days" ? 2 : 1))!;
  return `${ms / unit} ${name}`;
}
