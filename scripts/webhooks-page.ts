import { RAMP_EVENTS } from "../src/apps/model.ts";
import {
  INVOICE_EVENT_MEANINGS,
  RAMP_EVENT_MEANINGS,
  RAMP_EVENT_RECORDS,
} from "../src/docs/api/event-meanings.ts";
import {
  CIRCUIT_FAILURES,
  DISABLE_AFTER_MS,
  JITTER_MAX,
  RETRY_AFTER_MAX_MS,
  RETRY_DELAYS_MS,
} from "../src/webhooks/model.ts";
import { INVOICE_EVENTS } from "../src/webhooks/record-events.ts";

/** The parts of the page about webhooks; tables come from the code that acts by them. */
export function webhooksPage(table: (head: string[], rows: string[][]) => string): string[] {
  return [
    "An application is sent events once its account is enabled (`sliproad accounts " +
      "enable-webhooks`) and it has a URL and a secret. `GET /apps/:app_id` says in `webhook.state` " +
      "and `webhook.reason` what is missing.",
    "## Events of invoices",
    "Body: `{ variant, event, timestamp, invoice }`. They need not be chosen. An application that " +
      "was never used is told of every invoice of its account; one with the authorization code " +
      "flow, of every invoice of the accounts that authorised it; one with client credentials, of " +
      "the invoices it created.",
    table(
      ["event", "meaning"],
      INVOICE_EVENTS.map((name) => [`\`${name}\``, INVOICE_EVENT_MEANINGS[name]]),
    ),
    "## Events of the ramp",
    "Body: `{ event, timestamp, payload }`. Chosen per application (`events`).",
    table(
      ["event", "in the body", "meaning"],
      RAMP_EVENTS.map((name) => [
        `\`${name}\``,
        `\`payload.${RAMP_EVENT_RECORDS[name][0]}\``,
        RAMP_EVENT_MEANINGS[name],
      ]),
    ),
    "## Headers",
    table(["header", "holds"], HEADERS),
    "`timestamp` in the body and `X-Webhook-Sequence` rise with every event of a record: go by " +
      "them, not by the order of arrival, or choose `is_ordered`. Deliveries may come twice, also " +
      "within one attempt: a request that meets a kept connection just as it is closed, unanswered, " +
      "is repeated on a new one. `webhook-id` tells.",
    "## Verifying",
    "Compute over the raw bytes of the body, before anything parses them, and compare in constant " +
      "time:",
    SAMPLE,
    "Libraries of Standard Webhooks take `webhook_secret_standard`. During a rotation " +
      "`X-Webhook-Signature` keeps the old secret until the switch (24 hours, or when you say so), " +
      "while `webhook-signature` carries both.",
    "## Delivery",
    `Any 2xx within 15 seconds (5 to connect) is success; redirects are failures. After a failure ` +
      `it is tried again after ${RETRY_DELAYS_MS.map(duration).join(", ")}, each lengthened by up ` +
      `to ${JITTER_MAX * 100} %. \`Retry-After\` of a 429 or 503 can lengthen it further, to ` +
      `${duration(RETRY_AFTER_MAX_MS)} at most. After ${CIRCUIT_FAILURES} failures in a row an ` +
      `endpoint is left alone for 30 seconds and then tried with one request, for longer each time ` +
      `that fails. 410, or ${duration(DISABLE_AFTER_MS)} of nothing but failures, disables it.`,
    "A pause, another address or secret, a consent taken back or a person erased takes effect " +
      "within a quarter of a second, also for what is about to be sent; a request that has left is " +
      "not called back. What it is answered says nothing about an endpoint that its owner has " +
      "changed since. Where one account has hundreds of slow endpoints, some of them wait their turn.",
    table(["delivery", "meaning"], STATES),
    "`POST /webhook_events/:id/redeliver` sends one event again, `POST /apps/:app_id/replay` a range " +
      "of time or all that failed, by the time of the event. Both refuse an endpoint that nothing " +
      "can be sent to, and say why. Who would rather ask reads `GET /webhook_events`: oldest first, " +
      "and nothing ever enters behind an event that was read.",
  ];
}

const HEADERS = [
  [
    "`X-Webhook-Signature`",
    "Lowercase hex of HMAC-SHA256 over the body, keyed with the secret's text.",
  ],
  ["`webhook-id`", "The event's id, the same on every attempt."],
  ["`webhook-timestamp`", "Unix seconds of this attempt."],
  [
    "`webhook-signature`",
    "Standard Webhooks: `v1,` and the base64 of the HMAC over `id.timestamp.body`.",
  ],
  ["`X-Webhook-Sequence`", "The number of this change of the record, from 1."],
];
const STATES = [
  ["`pending`", "It waits for its next attempt, or for the endpoint to be resumed."],
  ["`delivered`", "It was acknowledged, and is not sent again unless you ask."],
  ["`failed`", "All attempts failed."],
  ["`skipped`", "Nothing is to be sent any more; `reason` says why."],
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
