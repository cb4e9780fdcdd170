import manifest from "../../../package.json" with { type: "json" };
import type {
  OutboundAnswer,
  OutboundFailure,
  OutboundRequest,
} from "../../partners/outbound-http/outbound-request.ts";
import type { Clock } from "../../platform/clock.ts";
import { traceparentOf } from "../../platform/http/trace-context.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { ANSWER_BYTES_MAX } from "../model.ts";
import type { OpenEndpoint } from "./due-pages.ts";
import { readRetryAfter } from "./retry-schedule.ts";
import { secretsAt, signatureHeaders } from "./sign.ts";
import type { DueDelivery } from "./store.ts";

export type SendResult = {
  is_success: boolean;
  /** 410: the endpoint asks for no more requests. */
  is_gone: boolean;
  status: number | null;
  /** The error message for the owner. */
  error: string | null;
  answer: Buffer | null;
  retry_after_ms: number;
};

export const USER_AGENT = `Sliproad-Webhooks/${manifest.version}`;

/** A signed request. Each attempt has a new timestamp and signature; the body never changes. */
export function requestOf(
  clock: Clock,
  endpoint: OpenEndpoint,
  delivery: DueDelivery,
  body: Buffer,
): OutboundRequest {
  const secrets = secretsAt(
    {
      current: endpoint.secret!,
      next: endpoint.next_secret,
      switch_at: endpoint.webhook_secret_switch_at,
    },
    clock.now(),
  );
  const timestamp_s = Math.floor(realTime(clock).getTime() / 1000);
  return {
    account_id: endpoint.account_id,
    method: "POST",
    url: endpoint.webhook_url!,
    headers: {
      ...endpoint.headers,
      "content-type": "application/json",
      "user-agent": USER_AGENT,
      // The trace of the request that caused the event; otherwise one trace for all attempts.
      traceparent: traceparentOf(delivery.trace_id ?? delivery.event_id),
      "x-webhook-sequence": String(delivery.sequence),
      ...signatureHeaders(secrets, { id: delivery.event_id, timestamp_s, body }),
    },
    body,
    max_answer_bytes: ANSWER_BYTES_MAX,
  };
}

export function readResult(clock: Clock, result: OutboundAnswer | OutboundFailure): SendResult {
  if ("failure" in result) {
    const { status, message, body: answer } = result;
    // The endpoint accepted the event, even if the rest of its response was lost.
    if (status !== null && isSuccess(status)) {
      return { ...PLAIN, is_success: true, status, error: null, answer };
    }
    return { ...PLAIN, is_gone: status === 410, status, error: message, answer };
  }
  const { status, headers } = result;
  if (isSuccess(status)) {
    return { ...PLAIN, is_success: true, status, error: null, answer: result.body };
  }
  return {
    is_success: false,
    is_gone: status === 410,
    status,
    error: `The endpoint answered ${status}.`,
    answer: result.body,
    retry_after_ms: readRetryAfter(status, headers["retry-after"], realTime(clock)),
  };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

const PLAIN = { is_success: false, is_gone: false, retry_after_ms: 0 };
