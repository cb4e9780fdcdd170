import { Counter } from "prom-client";

const RESULTS = ["delivered", "retried", "failed"] as const;
/** The result of one webhook request. */
export type AttemptResult = (typeof RESULTS)[number];

export function createAttemptCounter() {
  const counter = new Counter({
    name: "sliproad_webhook_attempts_total",
    help: "Webhook requests sent by this process: delivered, retried later, or failed permanently.",
    labelNames: ["result"],
    registers: [],
  });
  for (const result of RESULTS) counter.inc({ result }, 0);
  return { counter, countAttempt: (result: AttemptResult) => counter.inc({ result }) };
}
