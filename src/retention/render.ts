import type { Static } from "typebox";
import { compileRender } from "../platform/http/render.ts";
import type { Retention } from "./model.ts";
import { RetentionAnswer, type RetentionRecord } from "./schemas.ts";

const writeRetention = compileRender(RetentionAnswer);

export function renderRetention(retention: Retention): string {
  return writeRetention({ retention: toRecord(retention) });
}

export function toRecord(retention: Retention): Static<typeof RetentionRecord> {
  const { requested_at, last_payment_at, erase_after, kept } = retention;
  return {
    ...retention,
    requested_at: toText(requested_at),
    last_payment_at: toText(last_payment_at),
    erase_after: toText(erase_after),
    kept: kept.map((one) => ({ ...one, until: toText(one.until) })),
  };
}

function toText(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}
